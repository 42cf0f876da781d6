package sim

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/cluster"
	"whittle/events"
)

// Kube is the cluster's Kubernetes API, with the control plane behind it. The methods in this file are
// what the verbs use; those of a cluster's users are in user.go.
type Kube struct {
	world     *World
	store     *store
	admission admission
	recorder  *recorder
	kubelets  *kubelets
	lifecycle *nodeLifecycle
}

func newKube(w *World) *Kube {
	k := &Kube{world: w, store: newStore(w.clock, w.ids)}
	k.recorder = newRecorder(k)
	for _, name := range []string{"default", "kube-system"} {
		namespace := &corev1.Namespace{}
		namespace.Name = name
		if err := k.create(namespace); err != nil {
			panic(fmt.Sprintf("sim: create namespace %s: %v", name, err))
		}
	}
	k.store.watch(k.narrate)
	newScheduler(k)
	newWorkloads(k)
	newDaemonSets(k)
	newDisruptionBudgets(k)
	newVolumeBinder(k)
	k.lifecycle = newNodeLifecycle(k)
	newGarbageCollector(k)
	newDiscovery(k)
	k.kubelets = newKubelets(k)
	return k
}

// Snapshot is the cluster as it is now, with the catalog; what EC2 and the ledger know is for the caller
// to add. NodePools and classes are completed as whoever reads them from a cluster must: older spellings
// are in their present places, and defaults that the API server does not know are there.
func (k *Kube) Snapshot(context.Context) (*cluster.Snapshot, error) {
	s := k.store
	snapshot := &cluster.Snapshot{
		Name:                 k.world.options.Cluster,
		Now:                  k.world.clock.now,
		NodePools:            copies(list[*karpenter.NodePool](s)),
		NodeClasses:          copies(list[*aws.EC2NodeClass](s)),
		NodeClaims:           copies(list[*karpenter.NodeClaim](s)),
		Nodes:                copies(list[*corev1.Node](s)),
		Pods:                 copies(list[*corev1.Pod](s)),
		DaemonSets:           copies(list[*appsv1.DaemonSet](s)),
		Owners:               k.owners(),
		PodDisruptionBudgets: copies(list[*policyv1.PodDisruptionBudget](s)),
		PersistentVolumes:    copies(list[*corev1.PersistentVolume](s)),
		VolumeClaims:         copies(list[*corev1.PersistentVolumeClaim](s)),
		StorageClasses:       copies(list[*storagev1.StorageClass](s)),
		Namespaces:           copies(list[*corev1.Namespace](s)),
		Catalog:              k.world.options.Catalog,
	}
	for _, pool := range snapshot.NodePools {
		pool.SetDefaults()
	}
	for _, class := range snapshot.NodeClasses {
		class.SetDefaults()
	}
	return snapshot, nil
}

func (k *Kube) owners() []cluster.Owner {
	var owners []cluster.Owner
	add := func(obj object, desired int32) {
		owners = append(owners, cluster.Owner{
			UID: obj.GetUID(), Kind: kindOf(obj).Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Desired: int(desired),
		})
	}
	for _, set := range list[*appsv1.ReplicaSet](k.store) {
		add(set, orOne(set.Spec.Replicas))
	}
	for _, set := range list[*appsv1.StatefulSet](k.store) {
		add(set, orOne(set.Spec.Replicas))
	}
	for _, job := range list[*batchv1.Job](k.store) {
		add(job, wantedPods(job))
	}
	return owners
}

// GetNodeClaim reads one NodeClaim.
func (k *Kube) GetNodeClaim(_ context.Context, name string) (*karpenter.NodeClaim, error) {
	return read[*karpenter.NodeClaim](k, "", name)
}

// CreateNodeClaim stores a new NodeClaim, without its status, and returns it as stored.
func (k *Kube) CreateNodeClaim(_ context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error) {
	created := claim.DeepCopy()
	err := k.world.effect("kube.CreateNodeClaim", claim.Name, func() error {
		created.Status = karpenter.NodeClaimStatus{}
		return k.create(created)
	})
	return outcome(created, err)
}

// UpdateNodeClaim writes a NodeClaim's metadata: its status is left as it is, and a change of its spec is
// refused. Taking the last finalizer off a NodeClaim that is being deleted removes it.
func (k *Kube) UpdateNodeClaim(_ context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error) {
	return update(k, "kube.UpdateNodeClaim", claim, func(current, update *karpenter.NodeClaim) error {
		if !k.store.equal.DeepEqual(current.Spec, update.Spec) {
			problem := field.Invalid(field.NewPath("spec"), "object", "spec is immutable")
			return apierrors.NewInvalid(kindOf(claim).GroupKind(), claim.Name, field.ErrorList{problem})
		}
		update.Status = current.Status
		return nil
	})
}

// UpdateNodeClaimStatus writes a NodeClaim's status and nothing else.
func (k *Kube) UpdateNodeClaimStatus(_ context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error) {
	return updateStatus(k, "kube.UpdateNodeClaimStatus", claim)
}

// DeleteNodeClaim deletes a NodeClaim: it goes when its finalizers are gone.
func (k *Kube) DeleteNodeClaim(_ context.Context, name string) error {
	return remove[*karpenter.NodeClaim](k, "kube.DeleteNodeClaim", name)
}

// GetNode reads one Node.
func (k *Kube) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	return read[*corev1.Node](k, "", name)
}

// UpdateNode writes a Node's metadata and spec; its status is the kubelet's and left as it is.
func (k *Kube) UpdateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	return update(k, "kube.UpdateNode", node, func(current, update *corev1.Node) error {
		update.Status = current.Status
		return nil
	})
}

// DeleteNode deletes a Node: it goes when its finalizers are gone.
func (k *Kube) DeleteNode(_ context.Context, name string) error {
	return remove[*corev1.Node](k, "kube.DeleteNode", name)
}

// UpdateNodePoolStatus writes a NodePool's status and nothing else.
func (k *Kube) UpdateNodePoolStatus(_ context.Context, pool *karpenter.NodePool) (*karpenter.NodePool, error) {
	return updateStatus(k, "kube.UpdateNodePoolStatus", pool)
}

// UpdateNodeClassStatus writes an EC2NodeClass's status and nothing else.
func (k *Kube) UpdateNodeClassStatus(_ context.Context, class *aws.EC2NodeClass) (*aws.EC2NodeClass, error) {
	return updateStatus(k, "kube.UpdateNodeClassStatus", class)
}

// Record writes an Event about an object. One that repeats within six minutes counts up instead, as
// client-go's recorder does.
func (k *Kube) Record(_ context.Context, event cluster.Event) error {
	return k.world.effect("kube.Record", event.Object.Name+" "+event.Reason, func() error {
		return k.recorder.record(events.ReportingController, event)
	})
}

// create admits and stores a new object.
func (k *Kube) create(obj object) error {
	if err := k.store.prepare(obj); err != nil {
		return err
	}
	setDefaults(obj)
	if err := k.admission.review(k.world, admissionRequest{operation: operationCreate, object: obj}); err != nil {
		return err
	}
	if _, exists := k.store.objects[kindOf(obj).Kind][keyOf(obj)]; exists {
		return apierrors.NewAlreadyExists(kindOf(obj).resource(), obj.GetName())
	}
	k.store.insert(obj)
	return nil
}

// save checks, admits and stores an update of an object or of its subresource. An object with whose
// resourceVersion it does not agree is left alone.
func (k *Kube) save(current, update object, subresource string) (object, error) {
	if err := k.store.check(current, update); err != nil {
		return nil, err
	}
	update.SetDeletionTimestamp(current.GetDeletionTimestamp())
	update.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	request := admissionRequest{operation: operationUpdate, object: update, old: current, subresource: subresource}
	if err := k.admission.review(k.world, request); err != nil {
		return nil, err
	}
	return k.store.replace(current, update), nil
}

func read[T object](k *Kube, namespace, name string) (T, error) {
	obj, err := find[T](k.store, namespace, name)
	if err != nil {
		return obj, err
	}
	return obj.DeepCopyObject().(T), nil
}

// update is an effect that writes an object; keep refuses it, or takes over what it must not change.
func update[T object](k *Kube, effect string, obj T, keep func(current, update T) error) (T, error) {
	var stored T
	err := k.world.effect(effect, obj.GetName(), func() error {
		current, err := find[T](k.store, obj.GetNamespace(), obj.GetName())
		if err != nil {
			return err
		}
		update := obj.DeepCopyObject().(T)
		if err := keep(current, update); err != nil {
			return err
		}
		saved, err := k.save(current, update, "")
		if err != nil {
			return err
		}
		stored = saved.(T)
		return nil
	})
	return outcome(stored, err)
}

func updateStatus[T object](k *Kube, effect string, obj T) (T, error) {
	var stored T
	err := k.world.effect(effect, obj.GetName(), func() error {
		current, err := find[T](k.store, obj.GetNamespace(), obj.GetName())
		if err != nil {
			return err
		}
		update := current.DeepCopyObject().(T)
		update.SetResourceVersion(obj.GetResourceVersion())
		update.SetUID(obj.GetUID())
		keepStatus(update, obj.DeepCopyObject().(T))
		saved, err := k.save(current, update, "status")
		if err != nil {
			return err
		}
		stored = saved.(T)
		return nil
	})
	return outcome(stored, err)
}

func remove[T object](k *Kube, effect, name string) error {
	return k.world.effect(effect, name, func() error {
		obj, err := find[T](k.store, "", name)
		if err != nil {
			return err
		}
		k.store.finish(obj)
		return nil
	})
}

// outcome is a copy of what was stored, or the error.
func outcome[T object](stored T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return stored.DeepCopyObject().(T), nil
}

func copies[T object](objects []T) []T {
	all := make([]T, len(objects))
	for i, obj := range objects {
		all[i] = obj.DeepCopyObject().(T)
	}
	return all
}

// narrate tells observers of the objects that come and go.
func (k *Kube) narrate(c change) {
	w := k.world
	switch {
	case c.kind == "Pod" && c.old == nil:
		w.occur(PodCreated, c.key.String(), "")
	case c.kind == "Pod" && c.now == nil:
		w.occur(PodGone, c.key.String(), "%s", c.old.(*corev1.Pod).Spec.NodeName)
	case c.kind == "NodeClaim" && c.old == nil:
		w.occur(NodeClaimCreated, c.key.String(), "")
	case c.kind == "NodeClaim" && c.now == nil:
		w.occur(NodeClaimGone, c.key.String(), "")
	case c.kind == "Node" && c.now == nil:
		w.occur(NodeGone, c.key.String(), "")
	}
}
