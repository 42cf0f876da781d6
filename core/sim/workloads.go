package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whittle/core/cluster"
)

// workloads keeps the pods of ReplicaSets, StatefulSets and Jobs, and the ReplicaSets of Deployments.
type workloads struct {
	kube  *Kube
	store *store
}

func newWorkloads(k *Kube) {
	w := &workloads{kube: k, store: k.store}
	k.store.watch(w.observe)
}

// observe plans a look at a workload that changed, or at the workload whose pod or ReplicaSet did.
func (w *workloads) observe(c change) {
	w.plan(c.kind, c.key)
	obj := c.now
	if obj == nil {
		obj = c.old
	}
	if owner := metav1.GetControllerOf(obj); owner != nil {
		w.plan(owner.Kind, key{c.key.namespace, owner.Name})
	}
}

func (w *workloads) plan(kind string, k key) {
	var reconcile func(key)
	switch kind {
	case "Deployment":
		reconcile = w.deployment
	case "ReplicaSet":
		reconcile = w.replicaSet
	case "StatefulSet":
		reconcile = w.statefulSet
	case "Job":
		reconcile = w.job
	default:
		return
	}
	w.kube.world.clock.soon(kind+" "+k.String(), func() { reconcile(k) })
}

// deployment has one ReplicaSet for its template as it is now, and rolls over to it from earlier ones.
func (w *workloads) deployment(k key) {
	deployment, ok := lookup[*appsv1.Deployment](w.store, k.namespace, k.name)
	if !ok || deployment.DeletionTimestamp != nil {
		return
	}
	name := deployment.Name + "-" + templateHash(&deployment.Spec.Template)
	var current *appsv1.ReplicaSet
	var earlier []*appsv1.ReplicaSet
	for _, set := range ownedBy[*appsv1.ReplicaSet](w.store, deployment.UID) {
		if set.Name == name {
			current = set
		} else {
			earlier = append(earlier, set)
		}
	}
	if current == nil {
		current = newReplicaSet(deployment, name)
		if len(earlier) > 0 {
			current.Spec.Replicas = new(int32)
		}
		if err := w.kube.create(current); err != nil {
			return
		}
	}
	w.roll(deployment, current, earlier)
	edit(w.store, deployment, func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation}
		for _, set := range ownedBy[*appsv1.ReplicaSet](w.store, d.UID) {
			d.Status.Replicas += set.Status.Replicas
			d.Status.ReadyReplicas += set.Status.ReadyReplicas
			d.Status.AvailableReplicas += set.Status.AvailableReplicas
		}
	})
}

func newReplicaSet(deployment *appsv1.Deployment, name string) *appsv1.ReplicaSet {
	template := *deployment.Spec.Template.DeepCopy()
	hash := templateHash(&deployment.Spec.Template)
	template.Labels = merge(template.Labels, map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash})
	selector := deployment.Spec.Selector.DeepCopy()
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	selector.MatchLabels = merge(selector.MatchLabels, map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash})
	replicas := orOne(deployment.Spec.Replicas)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: deployment.Namespace, Name: name, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{controllerReference(deployment)},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: template},
	}
}

// roll sets the replicas of a Deployment's ReplicaSets: while there are earlier ones, within maxSurge and
// maxUnavailable.
func (w *workloads) roll(deployment *appsv1.Deployment, current *appsv1.ReplicaSet, earlier []*appsv1.ReplicaSet) {
	wanted := orOne(deployment.Spec.Replicas)
	surge, missing := rolling(deployment)
	var others, ready int32
	for _, set := range earlier {
		others += max(orOne(set.Spec.Replicas), set.Status.Replicas)
		ready += readyReplicas(set)
	}
	w.setReplicas(current, max(0, min(wanted, wanted+surge-others)))
	for _, set := range earlier {
		replicas := orOne(set.Spec.Replicas)
		broken := replicas - readyReplicas(set)
		spare := max(0, ready+readyReplicas(current)-(wanted-missing))
		less := min(replicas, broken+spare)
		ready -= max(0, less-broken)
		w.setReplicas(set, replicas-less)
	}
}

// readyReplicas leaves out pods that are counted as ready still, though they are more than the ReplicaSet
// wants by now.
func readyReplicas(set *appsv1.ReplicaSet) int32 {
	return min(set.Status.ReadyReplicas, orOne(set.Spec.Replicas))
}

// rolling is how many pods more than wanted, and how many fewer ready ones, a rollout may have.
func rolling(deployment *appsv1.Deployment) (surge, missing int32) {
	wanted := int(orOne(deployment.Spec.Replicas))
	if deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, int32(wanted)
	}
	quarter := intstr.FromString("25%")
	maxSurge, maxUnavailable := &quarter, &quarter
	if update := deployment.Spec.Strategy.RollingUpdate; update != nil {
		if update.MaxSurge != nil {
			maxSurge = update.MaxSurge
		}
		if update.MaxUnavailable != nil {
			maxUnavailable = update.MaxUnavailable
		}
	}
	up, _ := intstr.GetScaledValueFromIntOrPercent(maxSurge, wanted, true)
	down, _ := intstr.GetScaledValueFromIntOrPercent(maxUnavailable, wanted, false)
	if up == 0 && down == 0 {
		down = 1
	}
	return int32(up), int32(down)
}

func (w *workloads) setReplicas(set *appsv1.ReplicaSet, replicas int32) {
	edit(w.store, set, func(s *appsv1.ReplicaSet) { s.Spec.Replicas = &replicas })
}

func (w *workloads) replicaSet(k key) {
	set, ok := lookup[*appsv1.ReplicaSet](w.store, k.namespace, k.name)
	if !ok || set.DeletionTimestamp != nil {
		return
	}
	pods := active(ownedBy[*corev1.Pod](w.store, set.UID))
	wanted := int(orOne(set.Spec.Replicas))
	for range wanted - len(pods) {
		w.createPod(set, &set.Spec.Template, set.Name+"-"+w.kube.world.ids.suffix())
	}
	if surplus := len(pods) - wanted; surplus > 0 {
		slices.SortStableFunc(pods, compareForRemoval)
		for _, pod := range pods[:surplus] {
			w.kube.deletePod(pod, gracePeriod(pod))
		}
	}
	edit(w.store, set, func(s *appsv1.ReplicaSet) {
		ready := countReady(pods)
		s.Status = appsv1.ReplicaSetStatus{
			Replicas: int32(len(pods)), ReadyReplicas: ready, AvailableReplicas: ready, ObservedGeneration: s.Generation,
		}
	})
}

// compareForRemoval orders pods as a ReplicaSet removes them: unbound ones first, then unready ones, then
// the youngest.
func compareForRemoval(a, b *corev1.Pod) int {
	rank := func(pod *corev1.Pod) int {
		switch {
		case pod.Spec.NodeName == "":
			return 0
		case !podReady(pod):
			return 1
		default:
			return 2
		}
	}
	if difference := rank(a) - rank(b); difference != 0 {
		return difference
	}
	return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
}

// statefulSet keeps its pods by ordinal: one after the other, unless they may come at once.
func (w *workloads) statefulSet(k key) {
	set, ok := lookup[*appsv1.StatefulSet](w.store, k.namespace, k.name)
	if !ok || set.DeletionTimestamp != nil {
		return
	}
	wanted := int(orOne(set.Spec.Replicas))
	parallel := set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
	pods := ownedBy[*corev1.Pod](w.store, set.UID)
	for ordinal := range wanted {
		name := fmt.Sprintf("%s-%d", set.Name, ordinal)
		w.createVolumeClaims(set, name)
		pod, exists := lookup[*corev1.Pod](w.store, set.Namespace, name)
		if !exists {
			w.createPod(set, &set.Spec.Template, name)
		}
		if !parallel && (!exists || !podReady(pod) || pod.DeletionTimestamp != nil) {
			break
		}
	}
	for _, pod := range slices.Backward(pods) {
		ordinal, err := strconv.Atoi(strings.TrimPrefix(pod.Name, set.Name+"-"))
		if err == nil && ordinal >= wanted && pod.DeletionTimestamp == nil {
			w.kube.deletePod(pod, gracePeriod(pod))
		}
	}
	edit(w.store, set, func(s *appsv1.StatefulSet) {
		ready := countReady(active(pods))
		s.Status = appsv1.StatefulSetStatus{
			Replicas: int32(len(active(pods))), ReadyReplicas: ready, AvailableReplicas: ready, ObservedGeneration: s.Generation,
		}
	})
}

func (w *workloads) createVolumeClaims(set *appsv1.StatefulSet, pod string) {
	for i := range set.Spec.VolumeClaimTemplates {
		claim := set.Spec.VolumeClaimTemplates[i].DeepCopy()
		claim.Namespace = set.Namespace
		claim.Name = claim.Name + "-" + pod
		if _, exists := lookup[*corev1.PersistentVolumeClaim](w.store, claim.Namespace, claim.Name); exists {
			continue
		}
		if err := w.kube.create(claim); err != nil {
			return
		}
	}
}

// job keeps as many pods running as it may at once, until enough have succeeded.
func (w *workloads) job(k key) {
	job, ok := lookup[*batchv1.Job](w.store, k.namespace, k.name)
	if !ok || job.DeletionTimestamp != nil {
		return
	}
	pods := ownedBy[*corev1.Pod](w.store, job.UID)
	running := active(pods)
	var succeeded int32
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded {
			succeeded++
		}
	}
	job = edit(w.store, job, func(j *batchv1.Job) {
		j.Status.Active, j.Status.Succeeded = int32(len(running)), max(j.Status.Succeeded, succeeded)
	})
	for range int(wantedPods(job)) - len(running) {
		w.createPod(job, &job.Spec.Template, job.Name+"-"+w.kube.world.ids.suffix())
	}
}

// wantedPods is how many pods a Job wants to run now.
func wantedPods(job *batchv1.Job) int32 {
	parallelism := orOne(job.Spec.Parallelism)
	if job.Spec.Completions == nil {
		if job.Status.Succeeded > 0 {
			return 0
		}
		return parallelism
	}
	return max(0, min(parallelism, *job.Spec.Completions-job.Status.Succeeded))
}

func (w *workloads) createPod(owner object, template *corev1.PodTemplateSpec, name string) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: name,
			OwnerReferences: []metav1.OwnerReference{controllerReference(owner)},
			Finalizers:      slices.Clone(template.Finalizers),
		},
		Spec: *template.Spec.DeepCopy(),
	}
	pod.Labels = maps.Clone(template.Labels)
	pod.Annotations = maps.Clone(template.Annotations)
	if kindOf(owner).Kind == "StatefulSet" {
		w.mountClaims(pod, owner.(*appsv1.StatefulSet))
	}
	if err := w.kube.create(pod); err != nil {
		return
	}
}

func (w *workloads) mountClaims(pod *corev1.Pod, set *appsv1.StatefulSet) {
	for _, claim := range set.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: claim.Name,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: claim.Name + "-" + pod.Name,
			}},
		})
	}
}

func controllerReference(owner object) metav1.OwnerReference {
	return *metav1.NewControllerRef(owner, kindOf(owner).GroupVersionKind)
}

// templateHash names a pod template.
func templateHash(template *corev1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic(fmt.Sprintf("sim: encode pod template: %v", err))
	}
	return safeText(digest(string(text)), 9)
}

// active are the pods that neither have ended nor are about to.
func active(pods []*corev1.Pod) []*corev1.Pod {
	var alive []*corev1.Pod
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && !cluster.Terminal(pod) {
			alive = append(alive, pod)
		}
	}
	return alive
}

func countReady(pods []*corev1.Pod) int32 {
	var ready int32
	for _, pod := range pods {
		if podReady(pod) {
			ready++
		}
	}
	return ready
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func orOne(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}
