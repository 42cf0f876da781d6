package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/karpenter"
)

var errModified = errors.New("the object has changed since it was read")

// store holds the cluster's objects as etcd does. An object in it never changes: a write puts another in
// its place. So the world itself may read without copying, and what leaves or enters the world is copied.
type store struct {
	clock    *clock
	ids      *identifiers
	version  uint64
	equal    conversion.Equalities
	objects  map[string]map[key]object
	owned    map[types.UID]map[reference]bool
	bound    map[string]map[key]bool
	watchers []func(change)
}

type key struct{ namespace, name string }

func keyOf(obj metav1.Object) key { return key{obj.GetNamespace(), obj.GetName()} }

func (k key) String() string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// reference names an object of any kind.
type reference struct {
	kind string
	key
}

func sortedReferences(set map[reference]bool) []reference {
	references := make([]reference, 0, len(set))
	for ref := range set {
		references = append(references, ref)
	}
	slices.SortFunc(references, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), compareKeys(a.key, b.key))
	})
	return references
}

// change is one write: old is nil for a new object, now is nil for one that is gone.
type change struct {
	kind     string
	key      key
	old, now object
}

func newStore(c *clock, ids *identifiers) *store {
	equal := equality.Semantic.Copy()
	if err := equal.AddFunc(func(a, b karpenter.NillableDuration) bool { return a.String() == b.String() }); err != nil {
		panic(fmt.Sprintf("sim: compare durations: %v", err))
	}
	return &store{
		clock:   c,
		ids:     ids,
		equal:   equal,
		objects: map[string]map[key]object{},
		owned:   map[types.UID]map[reference]bool{},
		bound:   map[string]map[key]bool{},
	}
}

// watch has f called within every write, after it.
func (s *store) watch(f func(change)) {
	s.watchers = append(s.watchers, f)
}

// lookup finds one object; ok is false when there is none. The object must not be changed.
func lookup[T object](s *store, namespace, name string) (obj T, ok bool) {
	found, ok := s.objects[kindOf(obj).Kind][key{namespace, name}]
	if !ok {
		return obj, false
	}
	return found.(T), true
}

// find is lookup with the API server's error.
func find[T object](s *store, namespace, name string) (T, error) {
	obj, ok := lookup[T](s, namespace, name)
	if !ok {
		return obj, apierrors.NewNotFound(kindOf(obj).resource(), name)
	}
	return obj, nil
}

// list is all objects of a kind by namespace and name. They must not be changed.
func list[T object](s *store) []T {
	var none T
	objects := s.objects[kindOf(none).Kind]
	keys := make([]key, 0, len(objects))
	for k := range objects {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	all := make([]T, len(keys))
	for i, k := range keys {
		all[i] = objects[k].(T)
	}
	return all
}

// ownedBy is all objects of a kind that the object with this UID owns, by name.
func ownedBy[T object](s *store, owner types.UID) []T {
	var (
		none  T
		found []T
	)
	name := kindOf(none).Kind
	for ref := range s.owned[owner] {
		if ref.kind == name {
			found = append(found, s.objects[ref.kind][ref.key].(T))
		}
	}
	slices.SortFunc(found, func(a, b T) int { return compareKeys(keyOf(a), keyOf(b)) })
	return found
}

// podsOn is all pods bound to a node, by namespace and name.
func (s *store) podsOn(node string) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(s.bound[node]))
	for k := range s.bound[node] {
		if pod, ok := lookup[*corev1.Pod](s, k.namespace, k.name); ok {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return compareKeys(keyOf(a), keyOf(b)) })
	return pods
}

// prepare fills in what a new object gets before admission sees it.
func (s *store) prepare(obj object) error {
	k := kindOf(obj)
	if _, exists := s.objects[k.Kind][keyOf(obj)]; exists {
		return apierrors.NewAlreadyExists(k.resource(), obj.GetName())
	}
	if _, exists := lookup[*corev1.Namespace](s, "", obj.GetNamespace()); k.namespaced && !exists {
		return apierrors.NewNotFound(kindOf(&corev1.Namespace{}).resource(), obj.GetNamespace())
	}
	obj.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	obj.SetUID(s.ids.uid())
	obj.SetCreationTimestamp(metav1.NewTime(s.clock.now.Truncate(1e9)))
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetResourceVersion("")
	obj.SetGeneration(0)
	if specOf(obj) != nil {
		obj.SetGeneration(1)
	}
	return nil
}

// insert stores an object that prepare has seen.
func (s *store) insert(obj object) {
	s.put(nil, obj)
}

// check compares an update with what is stored: its resourceVersion, its UID, its finalizers.
func (s *store) check(current, update object) error {
	k := kindOf(update)
	switch version := update.GetResourceVersion(); {
	case version == "" && k.custom:
		problem := field.Invalid(field.NewPath("metadata", "resourceVersion"), "", "must be specified for an update")
		return apierrors.NewInvalid(k.GroupKind(), update.GetName(), field.ErrorList{problem})
	case version != "" && version != current.GetResourceVersion(),
		update.GetUID() != "" && update.GetUID() != current.GetUID():
		return apierrors.NewConflict(k.resource(), update.GetName(), errModified)
	}
	if current.GetDeletionTimestamp() == nil {
		return nil
	}
	for _, finalizer := range update.GetFinalizers() {
		if !slices.Contains(current.GetFinalizers(), finalizer) {
			problem := field.Forbidden(field.NewPath("metadata", "finalizers"), "none can be added to an object that is being deleted")
			return apierrors.NewInvalid(k.GroupKind(), update.GetName(), field.ErrorList{problem})
		}
	}
	return nil
}

// replace stores an update. It keeps what a client cannot change, counts a change of the spec as a
// generation, leaves everything as it is when nothing changed, and removes an object that is being
// deleted with its last finalizer. It returns what is stored now, or was last.
func (s *store) replace(current, update object) object {
	update.GetObjectKind().SetGroupVersionKind(kindOf(update).GroupVersionKind)
	update.SetUID(current.GetUID())
	update.SetCreationTimestamp(current.GetCreationTimestamp())
	update.SetResourceVersion(current.GetResourceVersion())
	update.SetGeneration(current.GetGeneration())
	if spec := specOf(update); spec != nil && !s.equal.DeepEqual(spec, specOf(current)) {
		update.SetGeneration(current.GetGeneration() + 1)
	}
	if s.equal.DeepEqual(current, update) {
		return current
	}
	if update.GetDeletionTimestamp() != nil && len(update.GetFinalizers()) == 0 && !graceful(update) {
		s.remove(current)
		return update
	}
	s.put(current, update)
	return update
}

// graceful reports whether the object is a pod that its kubelet still has to end.
func graceful(obj object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds > 0
}

// edit changes the stored object with obj's name, if it is still there, and returns it as it is then.
func edit[T object](s *store, obj T, change func(T)) T {
	current, ok := lookup[T](s, obj.GetNamespace(), obj.GetName())
	if !ok || current.GetUID() != obj.GetUID() {
		return obj
	}
	update := current.DeepCopyObject().(T)
	change(update)
	return s.replace(current, update).(T)
}

// remove takes an object out at once.
func (s *store) remove(obj object) {
	s.put(obj, nil)
}

// finish deletes an object as the API server does: at once, or when its finalizers are gone.
func (s *store) finish(obj object) {
	if len(obj.GetFinalizers()) == 0 {
		s.remove(obj)
		return
	}
	if obj.GetDeletionTimestamp() != nil {
		return
	}
	update := obj.DeepCopyObject().(object)
	now := metav1.NewTime(s.clock.now.Truncate(1e9))
	none := int64(0)
	update.SetDeletionTimestamp(&now)
	update.SetDeletionGracePeriodSeconds(&none)
	if obj.GetGeneration() > 0 {
		update.SetGeneration(obj.GetGeneration() + 1)
	}
	s.put(obj, update)
}

func (s *store) put(old, now object) {
	s.version++
	present := now
	if present == nil {
		present = old
	}
	c := change{kind: kindOf(present).Kind, key: keyOf(present), old: old, now: now}
	if old != nil {
		s.unindex(c, old)
		delete(s.objects[c.kind], c.key)
	}
	if now != nil {
		now.SetResourceVersion(strconv.FormatUint(s.version, 10))
		if s.objects[c.kind] == nil {
			s.objects[c.kind] = map[key]object{}
		}
		s.objects[c.kind][c.key] = now
		s.index(c, now)
	}
	for _, watch := range s.watchers {
		watch(c)
	}
}

func (s *store) index(c change, obj object) {
	for _, owner := range obj.GetOwnerReferences() {
		if s.owned[owner.UID] == nil {
			s.owned[owner.UID] = map[reference]bool{}
		}
		s.owned[owner.UID][reference{c.kind, c.key}] = true
	}
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		if s.bound[pod.Spec.NodeName] == nil {
			s.bound[pod.Spec.NodeName] = map[key]bool{}
		}
		s.bound[pod.Spec.NodeName][c.key] = true
	}
}

func (s *store) unindex(c change, obj object) {
	for _, owner := range obj.GetOwnerReferences() {
		delete(s.owned[owner.UID], reference{c.kind, c.key})
		if len(s.owned[owner.UID]) == 0 {
			delete(s.owned, owner.UID)
		}
	}
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		delete(s.bound[pod.Spec.NodeName], c.key)
		if len(s.bound[pod.Spec.NodeName]) == 0 {
			delete(s.bound, pod.Spec.NodeName)
		}
	}
}
