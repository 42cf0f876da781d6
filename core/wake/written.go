package wake

import (
	"encoding/json"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/warning"
	"whittle/core/api/wellknown"
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
			if claim.Annotations[wellknown.AnnotationLaunch] != "" && claim.DeletionTimestamp == nil {
				// Made by provision, which launches it itself and sends it on.
				return news{}
			}
			return stepNews(cluster, claim.Name)
		})
	}
	return verdict{}, refused(statusUnprocessable, "resource is %s, want nodepools.v1.karpenter.sh, "+
		"nodeclaims.v1.karpenter.sh or ec2nodeclasses.v1.karpenter.k8s.aws", resourceOf(request))
}

func wakeNews(cluster, reason, object string) news {
	return news{wake: &events.Wake{Cluster: cluster, Reason: reason, Object: object}}
}

// stepNews is nothing for a claim without a name: whoever calls back about one is no API server, which
// has generated it by then.
func stepNews(cluster, claim string) news {
	if claim == "" {
		return news{}
	}
	return news{step: &events.Step{Cluster: cluster, NodeClaim: claim}}
}

// written is a pointer to one of the objects people write.
type written[T any] interface {
	*T
	SetDefaults() []warning.Warning
	Validate() field.ErrorList
}

// updatable is an object of which something must not change.
type updatable[P any] interface {
	ValidateUpdate(old P) field.ErrorList
}

// judgeObject decides on one write. Objects that exist already are not held against rules that came
// after them: a write that leaves the spec as it is, such as one that takes a finalizer off, is
// always allowed, and nobody is woken by it.
func judgeObject[T any, P written[T]](request *admissionv1.AdmissionRequest, tell func(P) news) (verdict, error) {
	switch request.Operation {
	case admissionv1.Create:
		return judgeSpec[T](request, nil, tell)
	case admissionv1.Update:
		if sameSpec(request.Object, request.OldObject) {
			return verdict{}, nil
		}
		old := P(new(T))
		if err := decodeInto(fieldOldObject, request.OldObject, old); err != nil {
			return verdict{}, err
		}
		return judgeSpec[T](request, old, tell)
	case admissionv1.Delete:
		old := P(new(T))
		if err := decodeInto(fieldOldObject, request.OldObject, old); err != nil {
			return verdict{}, err
		}
		return verdict{news: tell(old)}, nil
	default:
		return verdict{}, refused(statusUnprocessable, "operation is %q, want CREATE, UPDATE or DELETE", request.Operation)
	}
}

// judgeSpec validates the object of the request, and the change from old unless that is nil.
func judgeSpec[T any, P written[T]](request *admissionv1.AdmissionRequest, old P, tell func(P) news) (verdict, error) {
	if len(request.Object.Raw) == 0 {
		return verdict{}, refused(statusBadRequest, "%s is missing", fieldObject)
	}
	v, current := verdict{}, P(new(T))
	if err := json.Unmarshal(request.Object.Raw, current); err != nil {
		// The review is sound, and what was written is not: to refuse the call would let it pass
		// wherever the callback is configured to fail open.
		v.problems = append(v.problems, err.Error())
		return v, nil
	}
	for _, w := range current.SetDefaults() {
		v.warnings = append(v.warnings, w.String())
	}
	errs := current.Validate()
	if guarded, ok := any(current).(updatable[P]); ok && old != nil {
		errs = append(errs, guarded.ValidateUpdate(old)...)
	}
	for _, err := range errs {
		v.problems = append(v.problems, err.Error())
	}
	v.news = tell(current)
	return v, nil
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
