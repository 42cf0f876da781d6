package wake

import (
	"encoding/json"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/events"
)

// judgeWritten validates the objects that people write, and wakes whoever acts on them.
func judgeWritten(cluster string, request *admissionv1.AdmissionRequest) (verdict, error) {
	switch resourceOf(request) {
	case "nodepools.v1.karpenter.sh":
		return judgeObject(request, func(pool *karpenter.NodePool) news {
			return wakeNews(cluster, events.ReasonNodePoolChanged, "NodePool "+pool.Name)
		})
	case "ec2nodeclasses.v1.karpenter.k8s.aws":
		return judgeObject(request, func(class *aws.EC2NodeClass) news {
			return wakeNews(cluster, events.ReasonNodeClassChanged, "EC2NodeClass "+class.Name)
		})
	case "nodeclaims.v1.karpenter.sh":
		return judgeObject(request, func(claim *karpenter.NodeClaim) news {
			return stepNews(cluster, claim.Name)
		})
	}
	return verdict{}, refused(statusUnprocessable, "resource is %s, want nodepools.v1.karpenter.sh, "+
		"nodeclaims.v1.karpenter.sh or ec2nodeclasses.v1.karpenter.k8s.aws", resourceOf(request))
}

func wakeNews(cluster, reason, object string) news {
	return news{wake: &events.Wake{Cluster: cluster, Reason: reason, Object: object}}
}

func stepNews(cluster, claim string) news {
	return news{step: &events.Step{Cluster: cluster, NodeClaim: claim}}
}

// object is a pointer to one of the objects people write.
type object[T any] interface {
	*T
	metav1.Object
}

// judgeObject decides on one write. Objects that exist already are not held against rules that came
// after them: a write that leaves the spec as it is, such as one that takes a finalizer off, is
// always allowed, and nobody is woken by it.
func judgeObject[T any, P object[T]](request *admissionv1.AdmissionRequest, tell func(P) news) (verdict, error) {
	current, old := P(new(T)), P(new(T))
	switch request.Operation {
	case admissionv1.Create:
		if err := decodeInto(fieldObject, request.Object, current); err != nil {
			return verdict{}, err
		}
	case admissionv1.Update:
		if sameSpec(request.Object, request.OldObject) {
			return verdict{}, nil
		}
		if err := decodeInto(fieldObject, request.Object, current); err != nil {
			return verdict{}, err
		}
		if err := decodeInto(fieldOldObject, request.OldObject, old); err != nil {
			return verdict{}, err
		}
	case admissionv1.Delete:
		if err := decodeInto(fieldOldObject, request.OldObject, old); err != nil {
			return verdict{}, err
		}
		return verdict{news: tell(old)}, nil
	default:
		return verdict{}, refused(statusUnprocessable, "operation is %q, want CREATE, UPDATE or DELETE", request.Operation)
	}
	return verdict{news: tell(current)}, nil
}

// sameSpec compares what was written, not what we know of it, so that no difference is missed.
func sameSpec(a, b runtime.RawExtension) bool {
	type withSpec struct {
		Spec any `json:"spec"`
	}
	var left, right withSpec
	if json.Unmarshal(a.Raw, &left) != nil || json.Unmarshal(b.Raw, &right) != nil {
		return false
	}
	return reflect.DeepEqual(left, right)
}
