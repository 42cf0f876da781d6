package packing

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/resource"
)

// Options change what a solve decides about.
type Options struct {
	// Pods to place; nil means those of the snapshot that wait for a node, and those on hosts that are
	// going away.
	Pods []*corev1.Pod
	// Without names hosts that are to be thought away, as if they were gone already.
	Without map[string]bool
	// BestEffortMinValues lowers minValues to the variety there is instead of leaving pods unplaced.
	BestEffortMinValues bool
	// IgnorePreferences has preferred affinities and ScheduleAnyway spreads count for nothing.
	IgnorePreferences bool
}

// Solve plans nodes for pods: what exists or is on its way is filled first, then the cheapest nodes
// are chosen for the rest. The same snapshot gives the same plan, whatever the order of its lists.
func Solve(s *cluster.Snapshot, options Options) *Plan {
	var withheld []Unplaced
	for pass := 0; ; pass++ {
		p := newProblem(s, options, withheld)
		p.place()
		stranded := p.stranded(pass)
		if len(stranded) == 0 {
			return p.plan()
		}
		withheld = append(withheld, stranded...)
	}
}

// place gives every pod room that there is room for, giving up preferences round by round.
func (p *problem) place() {
	for {
		p.spreadOut()
		p.fillHosts()
		p.fillPlanned()
		p.launch()
		p.gatherUp()
		if !p.relax() {
			return
		}
	}
}

// problem is a solve under way.
type problem struct {
	snapshot *cluster.Snapshot
	volumes  cluster.Volumes
	// names are the resources that anything asks for; vectors are in their order.
	names   []corev1.ResourceName
	pools   []*pool
	daemons []daemon
	hosts   []*host
	// roots are the classes as the pods make them, classes those of the round under way: the same, but
	// for those that are pinned to places.
	roots   []*class
	classes []*class
	rules   map[string]*rule
	nodes   []*node

	// terms are the topology constraints of all pods; those on nodes and those over larger domains.
	terms       *termSet
	nodeTerms   []*term
	domainTerms []*term
	// selectable are the labels of pods that any term's selector looks at.
	selectable []string
	// moving are the pods under decision that still run somewhere.
	moving map[types.UID]bool
	// nominated are pods that kube-scheduler has promised room on a node, by node, and not bound yet.
	nominated         map[string][]*corev1.Pod
	ignorePreferences bool
	bestEffort        bool

	placements []Placement
	unplaced   []Unplaced
	// pinned are the pods placed where their terms over domains sent them.
	pinned []pinned
}

// vector holds amounts of the problem's resources.
type vector []int64

// count is how many times v fits into room.
func (v vector) count(room vector) int64 {
	times := int64(-1)
	for i, amount := range v {
		if amount <= 0 {
			continue
		}
		if n := room[i] / amount; times < 0 || n < times {
			times = max(n, 0)
		}
	}
	if times < 0 {
		return 1 << 30
	}
	return times
}

func (v vector) fits(room vector) bool {
	for i, amount := range v {
		if amount > 0 && amount > room[i] {
			return false
		}
	}
	return true
}

// take subtracts v from room n times.
func (v vector) take(room vector, n int64) {
	for i, amount := range v {
		room[i] -= amount * n
	}
}

// newProblem gathers what there is to solve; of the pods, those withheld are unplaced from the start.
func newProblem(s *cluster.Snapshot, options Options, withheld []Unplaced) *problem {
	p := &problem{
		snapshot: s, volumes: s.Volumes(), rules: map[string]*rule{}, terms: newTermSet(s),
		moving: map[types.UID]bool{}, ignorePreferences: options.IgnorePreferences,
		bestEffort: options.BestEffortMinValues,
	}
	p.pools = newPools(s)
	p.nominated = nominatedPods(s)
	all := s.Hosts()
	pods := options.Pods
	if pods == nil {
		pods = pendingPods(s, all)
	}
	pods = slices.Clone(pods)
	slices.SortFunc(pods, comparePods)

	for _, pod := range pods {
		p.moving[pod.UID] = true
	}
	p.unplaced = slices.Clone(withheld)
	out := make(map[*corev1.Pod]bool, len(withheld))
	for _, u := range withheld {
		out[u.Pod] = true
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return out[pod] })
	p.daemons = newDaemons(s)
	p.selectable = selectableLabels(s, pods)
	p.names = resourceNames(pods, p.daemons)
	p.names = append(p.names, p.attachables(pods)...)
	for _, pool := range p.pools {
		pool.limits = newLimits(pool, all, options.Without)
		p.roomOfTypes(pool)
	}
	for _, h := range all {
		if !h.Leaving() && !options.Without[h.Name()] {
			p.hosts = append(p.hosts, p.newHost(h))
		}
	}
	p.addPods(pods)
	return p
}

// nominatedPods are the pods that kube-scheduler has nominated to a node, by node.
func nominatedPods(s *cluster.Snapshot) map[string][]*corev1.Pod {
	nominated := map[string][]*corev1.Pod{}
	for _, pod := range s.Pods {
		if name := pod.Status.NominatedNodeName; name != "" && pod.Spec.NodeName == "" && !cluster.Terminal(pod) {
			nominated[name] = append(nominated[name], pod)
		}
	}
	return nominated
}

// pendingPods are the pods that wait for a node and those that will, because theirs is going away.
func pendingPods(s *cluster.Snapshot, hosts []cluster.Host) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range s.Pods {
		if cluster.Provisionable(pod) {
			pods = append(pods, pod)
		}
	}
	for _, h := range hosts {
		if !h.Leaving() || !h.Managed() {
			continue
		}
		for _, pod := range h.Pods {
			if cluster.Moves(pod) && !cluster.DoNotDisrupt(pod, s.Now) && !s.BlockedForGood(pod) {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// selectableLabels are the labels of pods that any selector of a topology constraint looks at, of pods
// under decision and of those that run: two pods that differ in none of them count the same.
func selectableLabels(s *cluster.Snapshot, pods []*corev1.Pod) []string {
	seen := map[string]bool{}
	for _, list := range [][]*corev1.Pod{pods, s.Pods} {
		for _, pod := range list {
			if hasTerms(pod) {
				noteSelected(seen, pod)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func noteSelected(seen map[string]bool, pod *corev1.Pod) {
	note := func(selector *metav1.LabelSelector, more ...[]string) {
		if selector != nil {
			for key := range selector.MatchLabels {
				seen[key] = true
			}
			for _, expression := range selector.MatchExpressions {
				seen[expression.Key] = true
			}
		}
		for _, key := range slices.Concat(more...) {
			seen[key] = true
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		note(c.LabelSelector, c.MatchLabelKeys)
	}
	if pod.Spec.Affinity == nil {
		return
	}
	var terms []corev1.PodAffinityTerm
	if a := pod.Spec.Affinity.PodAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
		for _, weighted := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			terms = append(terms, weighted.PodAffinityTerm)
		}
	}
	if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
		for _, weighted := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			terms = append(terms, weighted.PodAffinityTerm)
		}
	}
	for i := range terms {
		note(terms[i].LabelSelector, terms[i].MatchLabelKeys, terms[i].MismatchLabelKeys)
	}
}

// resourceNames are all resources asked for, the common ones first, so that the densest comparisons
// come first.
func resourceNames(pods []*corev1.Pod, daemons []daemon) []corev1.ResourceName {
	seen := map[corev1.ResourceName]bool{corev1.ResourceCPU: true, corev1.ResourceMemory: true, corev1.ResourcePods: true}
	names := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}
	var others []corev1.ResourceName
	note := func(amounts resource.Amounts) {
		for name, amount := range amounts {
			if amount > 0 && !seen[name] {
				seen[name] = true
				others = append(others, name)
			}
		}
	}
	for _, pod := range pods {
		noteNames(seen, &others, pod)
	}
	for i := range daemons {
		note(daemons[i].requests)
	}
	slices.Sort(others)
	return append(names, others...)
}

// attachables are the drivers whose volumes the pods have, as resources.
func (p *problem) attachables(pods []*corev1.Pod) []corev1.ResourceName {
	seen := map[corev1.ResourceName]bool{}
	for _, pod := range pods {
		if len(pod.Spec.Volumes) == 0 {
			continue
		}
		for driver := range p.volumes.Attachments(pod) {
			seen[attachable(driver)] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// noteNames adds the resources that the pod's requests name.
func noteNames(seen map[corev1.ResourceName]bool, others *[]corev1.ResourceName, pod *corev1.Pod) {
	note := func(list corev1.ResourceList) {
		for name := range list {
			if !seen[name] {
				seen[name] = true
				*others = append(*others, name)
			}
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			note(containers[i].Resources.Requests)
		}
	}
	note(pod.Spec.Overhead)
	if pod.Spec.Resources != nil {
		note(pod.Spec.Resources.Requests)
	}
}

func (p *problem) vector(amounts resource.Amounts) vector {
	v := make(vector, len(p.names))
	for i, name := range p.names {
		v[i] = amounts[name]
	}
	return v
}

func (p *problem) amounts(v vector) resource.Amounts {
	amounts := make(resource.Amounts, len(v))
	for i, amount := range v {
		if amount != 0 {
			amounts[p.names[i]] = amount
		}
	}
	return amounts
}

// roomOfTypes works out what a new node of each of the pool's types offers beside its DaemonSets.
func (p *problem) roomOfTypes(pool *pool) {
	pool.room = make([]vector, len(pool.types))
	pool.overhead = make([]resource.Amounts, len(pool.types))
	for t := range pool.types {
		pool.room[t] = p.vector(pool.types[t].Allocatable)
		p.placesOfType(&pool.types[t], pool.room[t])
		pool.overhead[t] = resource.Amounts{}
	}
	for i := range p.daemons {
		daemon := &p.daemons[i]
		if !toleratesAll(daemon.tolerations, pool.taints, true) {
			continue
		}
		requests := p.vector(daemon.requests)
		for t, word := range pool.maskOfAny(daemon.alternatives) {
			if word&pool.allowed[t] != 0 {
				requests.take(pool.room[t], 1)
				pool.overhead[t].Add(daemon.requests)
			}
		}
	}
	for _, room := range pool.room {
		room.closeIfOverfull(p.names)
	}
}

// closeIfOverfull leaves no room for any pod where the DaemonSets alone do not fit, even for one that asks
// nothing of what is short.
func (v vector) closeIfOverfull(names []corev1.ResourceName) {
	if !slices.ContainsFunc(v, func(amount int64) bool { return amount < 0 }) {
		return
	}
	if at := slices.Index(names, corev1.ResourcePods); at >= 0 {
		v[at] = min(v[at], 0)
	}
}

// limits are what a NodePool may still launch.
type limits struct {
	names     []corev1.ResourceName
	remaining vector
	// used is what its nodes have now, for the explanation.
	used resource.Amounts
	// reservations are capacity reservations, of which remaining holds the counts after those of names.
	reservations []string
}

func newLimits(p *pool, hosts []cluster.Host, without map[string]bool) limits {
	l := limits{used: resource.Amounts{}}
	for name := range p.object.Spec.Limits {
		l.names = append(l.names, name)
	}
	slices.Sort(l.names)
	for i := range hosts {
		h := &hosts[i]
		if h.NodePool() != p.object.Name || without[h.Name()] {
			continue
		}
		if h.Launched() {
			l.used.Add(h.Capacity())
		} else {
			l.used.Add(p.largestCapacity(h.Claim))
		}
		l.used[wellknown.ResourceNodes]++
	}
	for _, name := range l.names {
		l.remaining = append(l.remaining, resource.Of(name, p.object.Spec.Limits[name])-l.used[name])
	}
	l.addReservations(p, hosts)
	return l
}

// addReservations counts what the pool's capacity reservations still have: what EC2 says, less the claims
// that are on their way there.
func (l *limits) addReservations(p *pool, hosts []cluster.Host) {
	counts := map[string]int64{}
	for t := range p.types {
		for _, offering := range p.types[t].Offerings {
			if offering.ReservationID != "" && offering.Available {
				counts[offering.ReservationID] = int64(offering.Reserved)
			}
		}
	}
	for _, h := range hosts {
		if h.Claim == nil || h.Launched() {
			continue
		}
		for _, r := range h.Claim.Spec.Requirements {
			if r.Key == wellknown.LabelReservationID && len(r.Values) == 1 {
				counts[r.Values[0]]--
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		l.reservations = append(l.reservations, id)
		l.remaining = append(l.remaining, counts[id])
	}
}

// reserve adds to a need what a node in the slot takes of its reservation, and reports whether it has one.
func (l *limits) reserve(need vector, s slot) bool {
	at := slices.Index(l.reservations, s.ReservationID)
	if s.ReservationID == "" || at < 0 {
		return false
	}
	need[len(l.names)+at] = 1
	return true
}

// need is what a node of the type takes of the limits.
func (l *limits) need(capacity resource.Amounts) vector {
	v := make(vector, len(l.names)+len(l.reservations))
	for i, name := range l.names {
		v[i] = capacity[name]
		if name == wellknown.ResourceNodes {
			v[i] = 1
		}
	}
	return v
}
