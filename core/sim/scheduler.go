package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/cluster"
	"whittle/core/resource"
)

const (
	schedulerName = corev1.DefaultSchedulerName
	// firstBackoff is how long a pod that fits nowhere is left alone at least; it doubles with each attempt,
	// up to lastBackoff (kube-scheduler, podInitialBackoffSeconds and podMaxBackoffSeconds).
	firstBackoff = time.Second
	lastBackoff  = 10 * time.Second
	// flushUnschedulable is how long it is left alone at most (kube-scheduler,
	// pod-max-in-unschedulable-pods-duration).
	flushUnschedulable = 5 * time.Minute
)

// scheduler binds pods to nodes: what fits goes where the least is allocated, ties by name. Topology
// spread constraints, affinity between pods, preferences and preemption are not simulated.
type scheduler struct {
	kube *Kube
	// pending are the pods without a node.
	pending map[types.UID]*attempt
	// used is what the pods of each node ask for.
	used map[string]resource.Amounts
	// retry is when the next backoff ends that a pass is planned for.
	retry time.Time
}

// attempt is a pending pod and how often it was tried.
type attempt struct {
	pod    key
	active bool
	tries  int
	last   time.Time
}

func newScheduler(k *Kube) *scheduler {
	s := &scheduler{kube: k, pending: map[types.UID]*attempt{}, used: map[string]resource.Amounts{}}
	k.store.watch(s.observe)
	return s
}

// observe keeps the books and has pods tried again when something changed that may help them.
func (s *scheduler) observe(c change) {
	switch c.kind {
	case "Pod":
		s.observePod(podOrNil(c.old), podOrNil(c.now))
	case "Node":
		if c.now == nil {
			return
		}
		if c.old == nil || mayHelp(c.old.(*corev1.Node), c.now.(*corev1.Node)) {
			s.activate()
		}
	case "PersistentVolumeClaim", "PersistentVolume", "StorageClass":
		if c.now != nil {
			s.activate()
		}
	}
}

func podOrNil(obj object) *corev1.Pod {
	if obj == nil {
		return nil
	}
	return obj.(*corev1.Pod)
}

// mayHelp reports whether a node changed in what decides if a pod fits.
func mayHelp(old, now *corev1.Node) bool {
	same := slices.EqualFunc(old.Spec.Taints, now.Spec.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
	same = same && old.Spec.Unschedulable == now.Spec.Unschedulable
	same = same && maps.Equal(old.Labels, now.Labels)
	was, is := resource.FromList(old.Status.Allocatable), resource.FromList(now.Status.Allocatable)
	return !same || !is.Fits(was)
}

func (s *scheduler) observePod(old, now *corev1.Pod) {
	was, is := occupies(old), occupies(now)
	if was != is {
		if was != "" {
			s.used[was].Sub(resource.PodRequests(old))
			s.activate()
		}
		if is != "" {
			if s.used[is] == nil {
				s.used[is] = resource.Amounts{}
			}
			s.used[is].Add(resource.PodRequests(now))
		}
	}
	switch {
	case now == nil || now.Spec.NodeName != "" || now.DeletionTimestamp != nil || cluster.Terminal(now):
		if old != nil {
			delete(s.pending, old.UID)
		}
	case now.Spec.SchedulerName != schedulerName || len(now.Spec.SchedulingGates) > 0:
	case s.pending[now.UID] == nil:
		s.pending[now.UID] = &attempt{pod: keyOf(now), active: true}
		s.kube.world.clock.soon("scheduler", s.pass)
	}
}

// occupies is the node whose room the pod takes; empty for none.
func occupies(pod *corev1.Pod) string {
	if pod == nil || cluster.Terminal(pod) {
		return ""
	}
	return pod.Spec.NodeName
}

// activate has the pods tried again that fitted nowhere.
func (s *scheduler) activate() {
	waiting := false
	for _, a := range s.pending {
		a.active = true
		waiting = true
	}
	if waiting {
		s.kube.world.clock.soon("scheduler", s.pass)
	}
}

// pass tries the active pods, the most important first, then in the order of their creation.
func (s *scheduler) pass() {
	now := s.kube.world.clock.now
	var pods []*corev1.Pod
	var next time.Time
	for _, a := range s.pending {
		if !a.active {
			continue
		}
		if due := a.due(); due.After(now) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		if pod, ok := lookup[*corev1.Pod](s.kube.store, a.pod.namespace, a.pod.name); ok {
			pods = append(pods, pod)
		}
	}
	s.planRetry(next)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(priority(b), priority(a)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			compareKeys(keyOf(a), keyOf(b)),
		)
	})
	s.place(pods)
}

// planRetry plans a pass for when the next backoff ends, unless an earlier one is planned.
func (s *scheduler) planRetry(next time.Time) {
	clock := s.kube.world.clock
	if next.IsZero() || s.retry.After(clock.now) && !s.retry.After(next) {
		return
	}
	s.retry = next
	clock.after(next.Sub(clock.now), func() { clock.soon("scheduler", s.pass) })
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// due is when the backoff of the last attempts is over.
func (a *attempt) due() time.Time {
	if a.tries == 0 {
		return a.last
	}
	return a.last.Add(min(firstBackoff<<min(a.tries-1, 10), lastBackoff))
}

// place tries pods in turn. Pods of one ReplicaSet or Job are alike: when one has found no node, the rest
// are not compared with every node again, since binding pods only takes room.
func (s *scheduler) place(pods []*corev1.Pod) {
	nodes := s.candidates()
	hopeless := map[types.UID]string{}
	for _, pod := range pods {
		current, ok := lookup[*corev1.Pod](s.kube.store, pod.Namespace, pod.Name)
		a := s.pending[pod.UID]
		if !ok || current.UID != pod.UID || a == nil {
			continue
		}
		alike := likeness(current)
		note, known := hopeless[alike]
		if !known {
			var node *corev1.Node
			if node, note = s.choose(current, nodes); node != nil {
				s.bind(current, node)
				continue
			}
			if alike != "" {
				hopeless[alike] = note
			}
		}
		s.giveUp(a, current, note)
	}
}

// candidate is a node with what it has to give.
type candidate struct {
	node *corev1.Node
	room resource.Amounts
}

func (s *scheduler) candidates() []candidate {
	nodes := list[*corev1.Node](s.kube.store)
	candidates := make([]candidate, len(nodes))
	for i, node := range nodes {
		candidates[i] = candidate{node: node, room: resource.FromList(node.Status.Allocatable)}
	}
	return candidates
}

// likeness is the same for pods that the scheduler cannot tell apart; empty for a pod of its own kind.
func likeness(pod *corev1.Pod) types.UID {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "ReplicaSet" && owner.Kind != "Job" {
		return ""
	}
	return owner.UID
}

// choose finds the node with the least allocated share of CPU and memory among those the pod fits on; or
// none, and says why.
func (s *scheduler) choose(pod *corev1.Pod, candidates []candidate) (best *corev1.Node, note string) {
	if len(candidates) == 0 {
		return nil, "no nodes available to schedule pods"
	}
	if problem := s.kube.volumeProblem(pod); problem != "" {
		return nil, fmt.Sprintf("0/%d nodes are available: %s.", len(candidates), problem)
	}
	fit := newFit(s.kube, pod)
	refusals := map[string]int{}
	var share float64
	for _, c := range candidates {
		used := s.used[c.node.Name]
		if reasons := fit.refusals(c.node, c.room, used); len(reasons) > 0 {
			for _, reason := range reasons {
				refusals[reason]++
			}
			continue
		}
		if allocated := allocatedShare(fit.requests, used, c.room); best == nil || allocated < share {
			best, share = c.node, allocated
		}
	}
	return best, unavailable(len(candidates), refusals)
}

func allocatedShare(requests, used, room resource.Amounts) float64 {
	var share float64
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if room[name] > 0 {
			share += float64(requests[name]+used[name]) / float64(room[name]) / 2
		}
	}
	return share
}

// unavailable is kube-scheduler's sentence: how many nodes there are and how many each reason rules out.
func unavailable(nodes int, refusals map[string]int) string {
	parts := make([]string, 0, len(refusals))
	for reason, count := range refusals {
		parts = append(parts, fmt.Sprintf("%d %s", count, reason))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(parts, ", "))
}

func (s *scheduler) bind(pod *corev1.Pod, node *corev1.Node) {
	now := metav1.NewTime(s.kube.world.clock.now.Truncate(time.Second))
	edit(s.kube.store, pod, func(p *corev1.Pod) {
		p.Spec.NodeName = node.Name
		setPodCondition(p, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now})
	})
	s.kube.world.occur(PodBound, keyOf(pod).String(), "%s", node.Name)
}

// giveUp marks the pod Unschedulable and says so in an Event.
func (s *scheduler) giveUp(a *attempt, pod *corev1.Pod, note string) {
	w := s.kube.world
	a.active = false
	a.tries++
	a.last = w.clock.now
	tried := a.last
	w.clock.after(flushUnschedulable, func() {
		if s.pending[pod.UID] == a && a.last.Equal(tried) {
			a.active = true
			w.clock.soon("scheduler", s.pass)
		}
	})
	now := metav1.NewTime(w.clock.now.Truncate(time.Second))
	edit(s.kube.store, pod, func(p *corev1.Pod) {
		setPodCondition(p, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: note, LastTransitionTime: now,
		})
	})
	if a.tries == 1 {
		w.occur(PodUnschedulable, keyOf(pod).String(), "%s", note)
	}
	event := cluster.Event{Object: referenceTo(pod), Type: corev1.EventTypeWarning, Reason: reasonFailedScheduling, Message: note}
	w.clock.after(controllerLag, func() {
		if err := s.kube.recorder.recordSeries(schedulerName, event); err != nil {
			w.occur(AdmissionDenied, keyOf(pod).String(), "%v", err)
		}
	})
}

// setPodCondition puts a condition in the place of the one of its type; its transition time stays when its
// status does.
func setPodCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if current := &pod.Status.Conditions[i]; current.Type == condition.Type {
			if current.Status == condition.Status {
				condition.LastTransitionTime = current.LastTransitionTime
			}
			*current = condition
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
}
