package cluster

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/resource"
)

// PodsOf are the pods that a workload will make, as they are when kube-scheduler has found no node for
// them: those of a Deployment, ReplicaSet, StatefulSet or Job, or the pod itself. Names are the
// workload's with a number. Any other object makes none.
func PodsOf(object runtime.Object) []*corev1.Pod {
	switch o := object.(type) {
	case *corev1.Pod:
		pod := o.DeepCopy()
		pod.Namespace = namespaceOf(&o.ObjectMeta)
		if pod.UID == "" {
			pod.UID = types.UID(PodKey(pod))
		}
		resource.DefaultRequests(&pod.Spec)
		if pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0 {
			markUnschedulable(pod)
		}
		return []*corev1.Pod{pod}
	case *appsv1.Deployment:
		return replicate("ReplicaSet", &o.ObjectMeta, replicas(o.Spec.Replicas), &o.Spec.Template)
	case *appsv1.ReplicaSet:
		return replicate("ReplicaSet", &o.ObjectMeta, replicas(o.Spec.Replicas), &o.Spec.Template)
	case *appsv1.StatefulSet:
		pods := replicate("StatefulSet", &o.ObjectMeta, replicas(o.Spec.Replicas), &o.Spec.Template)
		for _, pod := range pods {
			for i := range o.Spec.VolumeClaimTemplates {
				mountTemplate(pod, &o.Spec.VolumeClaimTemplates[i])
			}
		}
		return pods
	case *batchv1.Job:
		return replicate("Job", &o.ObjectMeta, parallelism(o), &o.Spec.Template)
	default:
		return nil
	}
}

// replicas of a workload that leaves them out is 1.
func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// parallelism is how many pods of a Job run at once: never more than it has to complete.
func parallelism(job *batchv1.Job) int {
	n := replicas(job.Spec.Parallelism)
	if job.Spec.Completions != nil {
		n = min(n, int(*job.Spec.Completions))
	}
	return n
}

func replicate(kind string, owner *metav1.ObjectMeta, n int, template *corev1.PodTemplateSpec) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	namespace := namespaceOf(owner)
	uid := owner.UID
	if uid == "" {
		uid = types.UID(kind + "/" + namespace + "/" + owner.Name)
	}
	for i := range pods {
		name := fmt.Sprintf("%s-%d", owner.Name, i)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:   namespace,
				Name:        name,
				UID:         types.UID(fmt.Sprintf("%s/%d", uid, i)),
				Labels:      template.Labels,
				Annotations: template.Annotations,
				OwnerReferences: []metav1.OwnerReference{{
					Kind: kind, Name: owner.Name, UID: uid, Controller: new(true),
				}},
			},
			Spec: *template.Spec.DeepCopy(),
		}
		resource.DefaultRequests(&pod.Spec)
		if len(pod.Spec.SchedulingGates) == 0 {
			markUnschedulable(pod)
		}
		pods[i] = pod
	}
	return pods
}

// namespaceOf is where kubectl would put an object that names no namespace.
func namespaceOf(meta *metav1.ObjectMeta) string {
	if meta.Namespace == "" {
		return metav1.NamespaceDefault
	}
	return meta.Namespace
}

// mountTemplate gives the pod the volume that a StatefulSet makes for it from a claim template. The
// claim does not exist yet, so it is told as what the template will make.
func mountTemplate(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: claim.Name,
		VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{ObjectMeta: claim.ObjectMeta, Spec: claim.Spec},
		}},
	})
}

func markUnschedulable(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
}
