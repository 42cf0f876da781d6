package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/warning"
	"whittle/core/api/wellknown"
)

// kind is a kind of object that files may hold.
type kind struct {
	apiVersion, name string
	// goType is nil for kinds that are accepted and have no effect.
	goType reflect.Type
	// decode reads the object's JSON, completes and checks it, and returns what adds it to Objects.
	decode func(data []byte) (add func(*Objects), warnings []warning.Warning, errs field.ErrorList, err error)
}

// kinds are those that files may hold.
func kinds() []kind {
	return []kind{
		read(versionKarpenter, "NodePool", func(o *Objects) *[]karpenter.NodePool { return &o.NodePools }),
		read(versionKarpenter, "NodeClaim", func(o *Objects) *[]karpenter.NodeClaim { return &o.NodeClaims }),
		read(versionAWS, "EC2NodeClass", func(o *Objects) *[]aws.EC2NodeClass { return &o.NodeClasses }),
		read("apps/v1", "Deployment", func(o *Objects) *[]appsv1.Deployment { return &o.Deployments }),
		read("apps/v1", "StatefulSet", func(o *Objects) *[]appsv1.StatefulSet { return &o.StatefulSets }),
		read("apps/v1", "ReplicaSet", func(o *Objects) *[]appsv1.ReplicaSet { return &o.ReplicaSets }),
		read("apps/v1", "DaemonSet", func(o *Objects) *[]appsv1.DaemonSet { return &o.DaemonSets }),
		read("batch/v1", "Job", func(o *Objects) *[]batchv1.Job { return &o.Jobs }),
		read("v1", "Pod", func(o *Objects) *[]corev1.Pod { return &o.Pods }),
		read("v1", "Node", func(o *Objects) *[]corev1.Node { return &o.Nodes }),
		read("v1", "PersistentVolumeClaim", func(o *Objects) *[]corev1.PersistentVolumeClaim { return &o.PersistentVolumeClaims }),
		read("v1", "PersistentVolume", func(o *Objects) *[]corev1.PersistentVolume { return &o.PersistentVolumes }),
		read("storage.k8s.io/v1", "StorageClass", func(o *Objects) *[]storagev1.StorageClass { return &o.StorageClasses }),
		read("storage.k8s.io/v1", "CSINode", func(o *Objects) *[]storagev1.CSINode { return &o.CSINodes }),
		read("policy/v1", "PodDisruptionBudget", func(o *Objects) *[]policyv1.PodDisruptionBudget { return &o.PodDisruptionBudgets }),
		read("v1", "Namespace", func(o *Objects) *[]corev1.Namespace { return &o.Namespaces }),
		read("scheduling.k8s.io/v1", "PriorityClass", func(o *Objects) *[]schedulingv1.PriorityClass { return &o.PriorityClasses }),
		{apiVersion: "v1", name: "ConfigMap"},
		{apiVersion: "v1", name: "Service"},
		{apiVersion: "v1", name: "ServiceAccount"},
	}
}

const (
	versionKarpenter = wellknown.GroupKarpenter + "/v1"
	versionAWS       = wellknown.GroupAWS + "/v1"
)

// completed is an object with defaults and rules of its own.
type completed interface {
	SetDefaults() []warning.Warning
	Validate() field.ErrorList
}

// read is a kind whose objects go into a list of Objects.
func read[T any](apiVersion, name string, list func(*Objects) *[]T) kind {
	decode := func(data []byte) (func(*Objects), []warning.Warning, field.ErrorList, error) {
		object := new(T)
		if err := utiljson.Unmarshal(data, object); err != nil {
			return nil, nil, nil, err
		}
		add := func(o *Objects) { *list(o) = append(*list(o), *object) }
		own, isOwn := any(object).(completed)
		if !isOwn {
			return add, nil, nil, nil
		}
		warnings := own.SetDefaults()
		return add, warnings, own.Validate(), nil
	}
	return kind{apiVersion: apiVersion, name: name, goType: reflect.TypeFor[T](), decode: decode}
}

// findKind is the kind of that name and version, or what to write instead.
func findKind(apiVersion, name string) (kind, error) {
	if name == "" || apiVersion == "" {
		return kind{}, fmt.Errorf("want an apiVersion and a kind, such as %s and NodePool", versionKarpenter)
	}
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return strings.EqualFold(k.name, name) })
	switch {
	case i >= 0 && all[i].name == name && all[i].apiVersion == apiVersion:
		return all[i], nil
	case oldKind(apiVersion, name) != "":
		return kind{}, fmt.Errorf("%s %s %s", apiVersion, name, oldKind(apiVersion, name))
	case i >= 0:
		return kind{}, fmt.Errorf("%s %s is not read, want apiVersion: %s and kind: %s", apiVersion, name, all[i].apiVersion, all[i].name)
	default:
		return kind{}, fmt.Errorf("%s %s is not read, want one of %s", apiVersion, name, kindNames(all))
	}
}

func kindNames(all []kind) string {
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}
