package packing_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/core/resource"
)

// Labels that are Kubernetes' or Karpenter's no more than any user's.
const (
	labelRack = "company/rack"
	labelTier = "company/tier"
)

// dice draws what problems are made of.
type dice struct {
	t *rapid.T
	// nodesOnly leaves no topology key but the node's name.
	nodesOnly bool
}

// oneIn is true once in n.
func (d dice) oneIn(n int, what string) bool { return d.upTo(n-1, what) == 0 }

func (d dice) upTo(n int, what string) int { return rapid.IntRange(0, n).Draw(d.t, what) }

func (d dice) one(what string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(d.t, what)
}

// some are at least one of the choices.
func (d dice) some(what string, choices ...string) []string {
	at := d.upTo(len(choices)-1, what)
	picked := []string{choices[at]}
	for i, choice := range choices {
		if i != at && d.oneIn(3, what) {
			picked = append(picked, choice)
		}
	}
	return picked
}

// snapshot draws a cluster in which every kind of constraint meets every other.
func (d dice) snapshot(c *catalog.Catalog) *cluster.Snapshot {
	s := &cluster.Snapshot{
		Name: "mixed", Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), Catalog: c,
		NodeClasses: []*aws.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: aws.EC2NodeClassSpec{AMIFamily: new(aws.FamilyAL2023)}}},
	}
	for _, name := range []string{"default", "other"} {
		s.Namespaces = append(s.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}})
	}
	for i := range d.upTo(2, "pools") + 1 {
		s.NodePools = append(s.NodePools, d.pool(fmt.Sprintf("pool-%d", i)))
	}
	for i := range d.upTo(2, "daemons") {
		s.DaemonSets = append(s.DaemonSets, d.daemonSet(fmt.Sprintf("daemon-%d", i)))
	}
	for i := range d.upTo(3, "nodes") {
		node := d.node(fmt.Sprintf("node-%d", i))
		s.Nodes = append(s.Nodes, node)
		for j := range d.upTo(2, "running") {
			pod := d.pod(fmt.Sprintf("running-%d-%d", i, j))
			pod.Spec.NodeName, pod.Status = node.Name, corev1.PodStatus{Phase: corev1.PodRunning}
			s.Pods = append(s.Pods, pod)
		}
	}
	d.addPods(s, "kind")
	return s
}

// addPods adds a few kinds of pods that wait, a few of each.
func (d dice) addPods(s *cluster.Snapshot, prefix string) {
	for i := range d.upTo(3, "kinds") + 1 {
		pod := d.pod(fmt.Sprintf("%s-%d", prefix, i))
		for j := range d.upTo(5, "pods") + 1 {
			one := pod.DeepCopy()
			one.Name = fmt.Sprintf("%s-%d-%d", prefix, i, j)
			one.UID = types.UID(one.Name)
			s.Pods = append(s.Pods, one)
		}
	}
}

func (d dice) pool(name string) *karpenter.NodePool {
	pool := anyPool(name)
	template := &pool.Spec.Template
	ask := func(key string, operator karpenter.Operator, values ...string) {
		template.Spec.Requirements = append(template.Spec.Requirements, karpenter.Requirement{Key: key, Operator: operator, Values: values})
	}
	if d.oneIn(3, "zonal") {
		ask(corev1.LabelTopologyZone, karpenter.OpIn, d.some("zones", "us-east-1a", "us-east-1b", "us-east-1c")...)
	}
	if d.oneIn(3, "capacity type") {
		ask(wellknown.LabelCapacityType, karpenter.OpIn, d.some("capacity types", "spot", "on-demand")...)
	}
	if d.oneIn(4, "arch") {
		ask(corev1.LabelArchStable, karpenter.OpNotIn, "arm64")
	}
	if d.oneIn(4, "size") {
		operator := rapid.SampledFrom([]karpenter.Operator{karpenter.OpGt, karpenter.OpGte, karpenter.OpLt, karpenter.OpLte}).Draw(d.t, "operator")
		ask(wellknown.LabelCPU, operator, d.one("cpus", "4", "8"))
	}
	if d.oneIn(2, "racks") {
		ask(labelRack, karpenter.OpIn, d.some("rack", "r1", "r2", "r3")...)
	}
	switch d.upTo(5, "tier") {
	case 0:
		ask(labelTier, karpenter.OpExists)
	case 1:
		ask(labelTier, karpenter.OpNotIn, "gold")
	case 2:
		template.ObjectMeta.Labels = map[string]string{labelTier: "gold"}
	}
	if d.oneIn(3, "tainted") {
		effect := rapid.SampledFrom([]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}).Draw(d.t, "effect")
		template.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: effect}}
	}
	if d.oneIn(4, "starting") {
		template.Spec.StartupTaints = []corev1.Taint{{Key: "starting", Effect: corev1.TaintEffectNoSchedule}}
	}
	if d.oneIn(2, "weighted") {
		pool.Spec.Weight = new(int32(d.upTo(2, "weight") + 1))
	}
	if d.oneIn(3, "limited") {
		pool.Spec.Limits = rapid.SampledFrom([]resource.Amounts{
			{corev1.ResourceCPU: 8000},
			{corev1.ResourceCPU: 40000},
			{corev1.ResourceMemory: 64 << 30},
			{wellknown.ResourceNodes: 2},
			{corev1.ResourceCPU: 20000, wellknown.ResourceNodes: 3},
		}).Draw(d.t, "limits").List()
	}
	return pool
}

func (d dice) daemonSet(name string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
	pod := pendingPod(name, resource.Amounts{corev1.ResourceCPU: int64(d.upTo(4, "cpu")) * 100, corev1.ResourceMemory: 64 << 20})
	picky := d.oneIn(3, "picky")
	if picky {
		requireTerms(pod, []corev1.NodeSelectorRequirement{d.expression()})
	}
	if d.oneIn(2, "tolerant") {
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	// Nor is a NodeClaim that has not launched taken to have the labels that a DaemonSet selects.
	if d.oneIn(3, "port") && (!picky || !d.nodesOnly) {
		d.takePort(pod)
	}
	set.Spec.Template.Spec = pod.Spec
	return set
}

func (d dice) node(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: d.one("zone", "us-east-1a", "us-east-1b", "us-east-1c"),
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", wellknown.LabelCPU: "4",
	}}}
	if d.oneIn(2, "in a pool") {
		node.Labels[wellknown.LabelNodePool] = "pool-0"
	}
	if d.oneIn(2, "of a capacity type") {
		node.Labels[wellknown.LabelCapacityType] = d.one("capacity type", "spot", "on-demand")
	}
	if d.oneIn(2, "in a rack") {
		node.Labels[labelRack] = d.one("rack", "r1", "r2", "r3")
	}
	if d.oneIn(4, "tainted") {
		node.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	}
	node.Spec.Unschedulable = d.oneIn(8, "cordoned")
	amounts := resource.Amounts{corev1.ResourceCPU: 3920, corev1.ResourceMemory: 14 << 30, corev1.ResourcePods: int64(d.upTo(6, "places") + 4)}
	node.Status.Allocatable, node.Status.Capacity = amounts.List(), amounts.List()
	return node
}

func (d dice) pod(name string) *corev1.Pod {
	pod := pendingPod(name, resource.Amounts{
		corev1.ResourceCPU:    int64(d.upTo(30, "cpu")+1) * 100,
		corev1.ResourceMemory: int64(d.upTo(60, "memory")+1) << 27,
	})
	pod.Namespace = d.one("namespace", "default", "default", "other")
	pod.Labels = map[string]string{"app": d.one("app", "a", "b", "c"), "version": d.one("version", "1", "2"), "make": name}
	if d.oneIn(2, "tolerates") {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	}
	d.chooseNodes(pod)
	d.addSpreads(pod)
	if d.oneIn(3, "affinity") {
		d.seekCompany(pod)
	}
	if d.oneIn(3, "anti-affinity") {
		affinityOf(pod).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{d.term(pod)}}
	}
	if d.oneIn(6, "port") {
		d.takePort(pod)
	}
	return pod
}

// seekCompany gives the pod an affinity to others: to those of its make, of its or another app.
func (d dice) seekCompany(pod *corev1.Pod) {
	affinityOf(pod).PodAffinity = &corev1.PodAffinity{}
	term := d.term(pod)
	switch d.upTo(3, "company") {
	case 0:
		pod.Spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: 5, PodAffinityTerm: term}}
		return
	case 1:
		term = termOver(term.TopologyKey, "make", pod.Labels["make"])
	case 2:
		others := map[string]string{"a": "b", "b": "c", "c": "a"}
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": others[pod.Labels["app"]]}}
	}
	pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{term}
}

func affinityOf(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	return pod.Spec.Affinity
}

// chooseNodes gives the pod wishes about the labels of its node.
func (d dice) chooseNodes(pod *corev1.Pod) {
	if d.oneIn(5, "selector") {
		pod.Spec.NodeSelector = rapid.SampledFrom([]map[string]string{
			{corev1.LabelTopologyZone: "us-east-1b"}, {wellknown.LabelCapacityType: "on-demand"}, {labelRack: "r1"}, {labelTier: "silver"},
		}).Draw(d.t, "labels")
	}
	if d.oneIn(4, "required") {
		var terms [][]corev1.NodeSelectorRequirement
		for range d.upTo(2, "terms") + 1 {
			term := []corev1.NodeSelectorRequirement{d.expression()}
			if d.oneIn(3, "second") {
				term = append(term, d.expression())
			}
			terms = append(terms, term)
		}
		requireTerms(pod, terms...)
	}
	if d.oneIn(6, "preferred") {
		if affinityOf(pod).NodeAffinity == nil {
			affinityOf(pod).NodeAffinity = &corev1.NodeAffinity{}
		}
		pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{
			Weight: 10, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{d.expression()}},
		}}
	}
}

func (d dice) expression() corev1.NodeSelectorRequirement {
	in := func(key string, values ...string) corev1.NodeSelectorRequirement {
		operator := corev1.NodeSelectorOpIn
		if d.oneIn(3, "not") {
			operator = corev1.NodeSelectorOpNotIn
		}
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: d.some(key, values...)}
	}
	switch d.upTo(7, "expression") {
	case 0:
		return in(corev1.LabelTopologyZone, "us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d")
	case 1:
		return in(wellknown.LabelCapacityType, "spot", "on-demand")
	case 2:
		return in(labelRack, "r1", "r2", "r3")
	case 3:
		return in(labelTier, "gold", "silver")
	case 4:
		return corev1.NodeSelectorRequirement{Key: d.one("key", labelTier, labelRack), Operator: corev1.NodeSelectorOpExists}
	case 5:
		return corev1.NodeSelectorRequirement{Key: d.one("key", labelTier, labelRack), Operator: corev1.NodeSelectorOpDoesNotExist}
	case 6:
		return corev1.NodeSelectorRequirement{Key: wellknown.LabelCPU, Operator: corev1.NodeSelectorOpGt, Values: []string{"3"}}
	default:
		return in(wellknown.LabelFamily, "c6a", "m6a", "m7g", "t3")
	}
}

func (d dice) topologyKey() string {
	if d.nodesOnly {
		return corev1.LabelHostname
	}
	return d.one("topology", corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, corev1.LabelHostname, wellknown.LabelCapacityType, labelRack)
}

// selector selects the pod's like, mostly.
func (d dice) selector(pod *corev1.Pod) *metav1.LabelSelector {
	app := pod.Labels["app"]
	if d.oneIn(4, "others") {
		app = d.one("app", "a", "b", "c")
	}
	if d.oneIn(5, "expression") {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{app}}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// addSpreads gives the pod up to two spreads.
func (d dice) addSpreads(pod *corev1.Pod) {
	for range d.upTo(2, "spreads") {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, d.spread(pod))
	}
}

func (d dice) spread(pod *corev1.Pod) corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: int32(d.upTo(1, "skew") + 1), TopologyKey: d.topologyKey(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: d.selector(pod),
	}
	if d.oneIn(4, "anyway") {
		c.WhenUnsatisfiable = corev1.ScheduleAnyway
	} else if d.oneIn(4, "domains") {
		c.MinDomains = new(int32(d.upTo(3, "minDomains") + 1))
	}
	if d.oneIn(4, "affinity policy") {
		c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
	}
	if d.oneIn(4, "taints policy") {
		c.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
	}
	if d.oneIn(4, "keys") {
		c.MatchLabelKeys = []string{"version"}
	}
	return c
}

func (d dice) term(pod *corev1.Pod) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: d.topologyKey(), LabelSelector: d.selector(pod)}
	switch d.upTo(5, "namespaces") {
	case 0:
		term.Namespaces = []string{"other"}
	case 1:
		term.NamespaceSelector = &metav1.LabelSelector{}
	}
	switch d.upTo(5, "keys") {
	case 0:
		term.MatchLabelKeys = []string{"version"}
	case 1:
		term.MismatchLabelKeys = []string{"version"}
	}
	return term
}

func (d dice) takePort(pod *corev1.Pod) {
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{
		ContainerPort: 80, HostPort: int32(8080 + d.upTo(1, "port")), HostIP: d.one("address", "", "0.0.0.0", "10.0.0.1", "10.0.0.2"),
		Protocol: corev1.Protocol(d.one("protocol", "", "TCP", "UDP")),
	}}
}

// TestTheCheckerFindsFaults gives the checker plans that are wrong, each in one way.
func TestTheCheckerFindsFaults(t *testing.T) {
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		pod := pendingPod(name, resource.Amounts{corev1.ResourceCPU: 1000, corev1.ResourceMemory: 1 << 30})
		pod.Labels = map[string]string{"app": "a"}
		change(pod)
		return pod
	}
	plain := func(*corev1.Pod) {}
	spread := func(pod *corev1.Pod) { spreadOver(pod, corev1.LabelTopologyZone, "x") }
	apart := func(pod *corev1.Pod) {
		affinityOf(pod).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{termOver(corev1.LabelTopologyZone, "app", "a")}}
	}
	lonely := func(pod *corev1.Pod) {
		affinityOf(pod).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{termOver(labelRack, "app", "b")}}
	}
	port := func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }
	tests := []struct {
		name string
		pods []*corev1.Pod
		// on are the nodes that the plan gives to the pods.
		on   []string
		want string
	}{
		{name: "sound", pods: []*corev1.Pod{pod("p", spread), pod("q", spread), pod("r", plain)}, on: []string{"a", "b", "b"}},
		{name: "twice", pods: []*corev1.Pod{pod("p", plain), pod("p", plain)}, on: []string{"a", "b"}, want: "2 times"},
		{name: "nowhere", pods: []*corev1.Pod{pod("p", plain), pod("q", plain)}, on: []string{"a"}, want: "0 times"},
		{name: "no host", pods: []*corev1.Pod{pod("p", plain)}, on: []string{"c"}, want: "no host"},
		{name: "taint", pods: []*corev1.Pod{pod("p", plain)}, on: []string{"tainted"}, want: "does not tolerate"},
		{
			name: "selector", on: []string{"a"}, want: "does not match the labels",
			pods: []*corev1.Pod{pod("p", func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{labelRack: "r1"} })},
		},
		{name: "resources", pods: []*corev1.Pod{pod("p", plain), pod("q", plain), pod("r", plain)}, on: []string{"a", "a", "a"}, want: "which has"},
		{name: "host port", pods: []*corev1.Pod{pod("p", port), pod("q", port)}, on: []string{"a", "a"}, want: "same host port"},
		{name: "spread", pods: []*corev1.Pod{pod("p", spread), pod("q", spread)}, on: []string{"a", "a"}, want: "pod p cannot be bound"},
		{name: "anti-affinity", pods: []*corev1.Pod{pod("p", apart), pod("q", plain)}, on: []string{"a", "a"}, want: "cannot be bound"},
		{name: "affinity", pods: []*corev1.Pod{pod("p", lonely)}, on: []string{"a"}, want: "pod p cannot be bound"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &cluster.Snapshot{Pods: test.pods}
			for _, name := range []string{"a", "b", "tainted"} {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: name}}}
				node.Status.Allocatable = resource.Amounts{corev1.ResourceCPU: 2000, corev1.ResourceMemory: 8 << 30, corev1.ResourcePods: 10}.List()
				s.Nodes = append(s.Nodes, node)
			}
			s.Nodes[2].Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoExecute}}
			plan := &packing.Plan{}
			for i, host := range test.on {
				plan.Placements = append(plan.Placements, packing.Placement{Pod: test.pods[i], Host: host})
			}
			got := strings.Join(checkPlan(s, plan), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// TestTheCheckerKnowsLimits gives the checker a launch that is more than its NodePool may have.
func TestTheCheckerKnowsLimits(t *testing.T) {
	s := &cluster.Snapshot{
		Catalog: smallCatalog(t), NodePools: []*karpenter.NodePool{anyPool("default")},
		NodeClasses: []*aws.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: aws.EC2NodeClassSpec{AMIFamily: new(aws.FamilyAL2023)}}},
		Pods:        []*corev1.Pod{pendingPod("p", resource.Amounts{corev1.ResourceCPU: 3000})},
	}
	plan := packing.Solve(s, packing.Options{})
	if faults := checkPlan(s, plan); len(faults) > 0 || len(plan.Launches) != 1 {
		t.Fatalf("plan\n%shas faults %q", render(plan), faults)
	}
	s.NodePools[0].Spec.Limits = resource.Amounts{corev1.ResourceCPU: 2000}.List()
	if got := strings.Join(checkPlan(s, plan), "\n"); !strings.Contains(got, "NodePool default may use 2 cpu") {
		t.Errorf("found %q, want the limit", got)
	}
}

// mixedCatalog holds the small ones of a few types.
func mixedCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	c := smallCatalog(t)
	c.Shapes = slices.DeleteFunc(c.Shapes, func(shape catalog.Shape) bool { return shape.VCPUs > 8 || shape.GPUCount > 0 })
	return c
}

func TestPlansHoldUnderAllConstraintsMixed(t *testing.T) {
	c := mixedCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		s := dice{t: t}.snapshot(c)
		plan := packing.Solve(s, packing.Options{})
		if faults := checkPlan(s, plan); len(faults) > 0 {
			t.Fatalf("%s\nin the plan\n%sfor\n%s", strings.Join(faults, "\n"), render(plan), describe(s))
		}
	})
}

// TestPlansHoldBesideNodesOnTheirWay plans for more pods while the nodes of an earlier plan are still being
// launched.
func TestPlansHoldBesideNodesOnTheirWay(t *testing.T) {
	c := mixedCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		// A NodeClaim that has not launched has no zone to the solver, even where it asks for a single one: pods
		// planned for it count in no domain but its own node.
		d := dice{t: t, nodesOnly: true}
		s := d.snapshot(c)
		earlier := packing.Solve(s, packing.Options{})
		for i := range earlier.Launches {
			s.NodeClaims = append(s.NodeClaims, earlier.Launches[i].NodeClaim())
		}
		d.addPods(s, "late")
		plan := packing.Solve(s, packing.Options{})
		if faults := checkPlan(s, plan); len(faults) > 0 {
			t.Fatalf("%s\nin the plan\n%safter\n%sfor\n%s", strings.Join(faults, "\n"), render(plan), render(earlier), describe(s))
		}
	})
}

func TestTheOrderOfTheInputChangesNothingUnderAllConstraints(t *testing.T) {
	c := mixedCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		s := dice{t: t}.snapshot(c)
		want := render(packing.Solve(s, packing.Options{}))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffle(random, s.Pods)
		shuffle(random, s.NodePools)
		shuffle(random, s.Nodes)
		shuffle(random, s.DaemonSets)
		shuffle(random, s.Namespaces)
		for _, pool := range s.NodePools {
			shuffle(random, pool.Spec.Template.Spec.Requirements)
		}
		if diff := cmp.Diff(want, render(packing.Solve(s, packing.Options{}))); diff != "" {
			t.Fatalf("plan changed with the order of the input (-want +got):\n%s", diff)
		}
	})
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// describe writes a problem down, to be read where a plan for it is wrong.
func describe(s *cluster.Snapshot) string {
	var text strings.Builder
	line := func(kind, name string, parts ...any) {
		encoded, _ := json.Marshal(parts)
		fmt.Fprintf(&text, "%s %s %s\n", kind, name, encoded)
	}
	for _, pool := range s.NodePools {
		spec := pool.Spec.Template.Spec
		line("pool", pool.Name, pool.WeightOrZero(), pool.Spec.Limits, pool.Spec.Template.ObjectMeta.Labels, spec.Requirements, spec.Taints)
	}
	for _, set := range s.DaemonSets {
		line("daemon", set.Name, set.Spec.Template.Spec)
	}
	for _, node := range s.Nodes {
		line("node", node.Name, node.Labels, node.Spec, node.Status.Allocatable)
	}
	for _, pod := range s.Pods {
		line("pod", cluster.PodKey(pod), pod.Labels, pod.Spec)
	}
	return text.String()
}
