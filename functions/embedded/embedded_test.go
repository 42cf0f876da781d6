package embedded_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"whittle/core/api/manifest"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/sim"
	"whittle/functions/embedded"
	"whittle/testdata"
)

// stage is a stack with a few words to write tests in.
type stage struct {
	*embedded.Stack
	t *testing.T
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{Stack: embedded.New(embedded.Options{}), t: t}
}

// newSmallStage is a stage in a region that sells little, for tests that play it many times.
func newSmallStage(t *testing.T) *stage {
	t.Helper()
	full, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	small := &catalog.Catalog{Region: full.Region, ZoneIDs: full.ZoneIDs}
	for _, shape := range full.Shapes {
		if family, _, _ := strings.Cut(shape.Name, "."); family == "c6a" || family == "m6i" {
			small.Shapes = append(small.Shapes, shape)
		}
	}
	return &stage{Stack: embedded.New(embedded.Options{World: sim.Options{Catalog: small}}), t: t}
}

// apply applies manifests; a class called default is there from the first.
func (s *stage) apply(manifests string) {
	s.t.Helper()
	objects, _, err := manifest.Decode("test.yaml", []byte(manifests))
	if err != nil {
		s.t.Fatal(err)
	}
	s.applyAll(objects.All())
}

func (s *stage) applyFile(name string) {
	s.t.Helper()
	data, err := testdata.Files.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply(string(data))
}

func (s *stage) applyAll(objects []runtime.Object) {
	s.t.Helper()
	for _, object := range objects {
		if err := s.World.Kube().Apply(s.t.Context(), object); err != nil {
			s.t.Fatalf("apply: %v", err)
		}
	}
}

// running counts the pods that run, those of DaemonSets aside.
func (s *stage) running() int {
	n := 0
	for _, pod := range s.World.Kube().Pods() {
		if !cluster.OwnedByDaemonSet(pod) && pod.Status.Phase == "Running" && pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func (s *stage) wantRunning(n int, within time.Duration) {
	s.t.Helper()
	if !s.World.RunUntil(func() bool { return s.running() == n }, within) {
		s.t.Fatalf("%d pods run after %s, want %d", s.running(), within, n)
	}
}

func (s *stage) live() []cluster.Instance { return s.World.EC2().Live() }

func (s *stage) wantInstances(n int) {
	s.t.Helper()
	if got := len(s.live()); got != n {
		s.t.Fatalf("%d instances live, want %d: %v", got, n, s.live())
	}
}

// count counts what happens from now on, by kind of occurrence.
func (s *stage) count() map[string]int {
	counts := map[string]int{}
	s.World.Observe(func(o sim.Occurrence) { counts[o.Kind]++ })
	return counts
}

const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiFamily: AL2023
  role: node
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: my-cluster}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: my-cluster}}]
---
`

// pool is a NodePool of the families, with more of its spec.template.spec. It is on demand and of any size
// unless a capacity type and a size are given.
func pool(name, families, more string, capacityAndSize ...string) string {
	capacity, size := "on-demand", ""
	if len(capacityAndSize) > 0 {
		capacity = capacityAndSize[0]
	}
	if len(capacityAndSize) > 1 {
		size = "        - {key: karpenter.k8s.aws/instance-size, operator: In, values: [" + capacityAndSize[1] + "]}"
	}
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  disruption: {consolidateAfter: 30s}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [%s]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [%s]}
%s
%s
---
`, name, families, capacity, size, more)
}

// deployment makes pods whose spec is given.
func deployment(name string, replicas int, spec string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: %[3]s
---
`, name, replicas, spec)
}

func TestEveryScenarioOfTestdataRunsAndLeavesNothing(t *testing.T) {
	scenarios := []struct {
		file        string
		deployments []string
	}{
		{"quickstart.yaml", []string{"inflate"}},
		{"critical-flexible.yaml", []string{"payments", "web"}},
		{"gpu.yaml", []string{"inference"}},
		{"minimal.yaml", nil},
		{"flexibility.yaml", nil},
		{"expiry.yaml", nil},
		{"consolidation.yaml", nil},
	}
	for _, scenario := range scenarios {
		t.Run(scenario.file, func(t *testing.T) {
			s := newStage(t)
			s.applyFile(scenario.file)
			wanted := 0
			for _, d := range s.World.Kube().Deployments() {
				wanted += int(*d.Spec.Replicas)
			}
			s.wantRunning(wanted, 10*time.Minute)
			for _, d := range s.World.Kube().Deployments() {
				if err := s.World.Kube().Scale(t.Context(), d.Namespace, d.Name, 0); err != nil {
					t.Fatal(err)
				}
			}
			s.World.Advance(2 * time.Hour)
			s.wantInstances(0)
			if claims, nodes := s.World.Kube().NodeClaims(), s.World.Kube().Nodes(); len(claims)+len(nodes) > 0 {
				t.Errorf("%d NodeClaims and %d nodes are left, want none", len(claims), len(nodes))
			}
		})
	}
}

func TestSpotInterruptionIsReplacedBeforeTheInstanceGoes(t *testing.T) {
	s := newStage(t)
	s.applyFile("quickstart.yaml")
	s.wantRunning(10, 5*time.Minute)
	victim := s.live()[0]

	if err := s.World.EC2().Interrupt(t.Context(), victim.ID); err != nil {
		t.Fatal(err)
	}
	launched := func() bool { return len(s.live()) > 2 }
	if !s.World.RunUntil(launched, 5*time.Second) {
		t.Fatalf("no replacement is launched within 5 s of the warning")
	}
	s.wantRunning(10, 3*time.Minute)

	outages, err := s.World.Ledger().Outages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := cluster.Offering{InstanceType: victim.InstanceType, Zone: victim.Zone, CapacityType: victim.CapacityType}
	if len(outages) != 1 || outages[0].Offering != lost {
		t.Errorf("outages are %v, want the offering that was taken back, %s", outages, lost)
	}
	for _, instance := range s.live() {
		if instance.ID == victim.ID {
			t.Errorf("instance %s is still there", victim.ID)
		}
	}
}

func TestInstanceKilledBehindOurBackIsReplacedAndForgotten(t *testing.T) {
	s := newStage(t)
	s.applyFile("quickstart.yaml")
	s.wantRunning(10, 5*time.Minute)
	if err := s.World.EC2().Kill(s.live()[0].ID); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(10 * time.Minute)
	s.wantRunning(10, time.Minute)
	if claims, live := len(s.World.Kube().NodeClaims()), len(s.live()); claims != live {
		t.Errorf("%d NodeClaims for %d instances", claims, live)
	}
}

func TestNodeOlderThanExpireAfterIsReplaced(t *testing.T) {
	s := newStage(t)
	s.apply(class + pool("default", "c6a", "      expireAfter: 1h") +
		deployment("web", 2, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1}}}]}"))
	s.wantRunning(2, 5*time.Minute)
	first := s.live()
	s.World.Advance(65 * time.Minute)
	s.wantRunning(2, 5*time.Minute)
	for _, old := range first {
		for _, now := range s.live() {
			if now.ID == old.ID {
				t.Errorf("instance %s is older than expireAfter and still there", old.ID)
			}
		}
	}
}

func TestExpireAfterInItsOldPlaceExpiresNodes(t *testing.T) {
	s := newStage(t)
	s.apply(class + strings.Replace(pool("default", "c6a", ""), "consolidateAfter: 30s", "consolidateAfter: 30s, expireAfter: 1h", 1) +
		deployment("web", 1, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1}}}]}"))
	s.wantRunning(1, 5*time.Minute)
	if got := s.World.Kube().NodeClaims()[0].Spec.ExpireAfter.String(); got != "1h" {
		t.Errorf("NodeClaim expires after %s, its NodePool says 1h", got)
	}
}

func TestEmptyNodesGoWithinTheirBudget(t *testing.T) {
	s := newStage(t)
	budget := func(nodes string) string {
		return class + `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidateAfter: 30s, budgets: [{nodes: "` + nodes + `"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [c6a.large]}
---
`
	}
	s.apply(budget("1") + deployment("web", 4, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1}}}]}"))
	s.wantRunning(4, 5*time.Minute)
	s.wantInstances(4)
	most := 0
	s.World.Observe(func(sim.Occurrence) {
		going := 0
		for _, claim := range s.World.Kube().NodeClaims() {
			if claim.DeletionTimestamp != nil {
				going++
			}
		}
		most = max(most, going)
	})
	if err := s.World.Kube().Scale(t.Context(), "default", "web", 0); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(15 * time.Minute)
	s.wantInstances(0)
	if most != 1 {
		t.Errorf("%d nodes were going at once, the budget allows 1", most)
	}

	s.apply(budget("0") + deployment("web", 1, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1}}}]}"))
	s.wantRunning(1, 5*time.Minute)
	if err := s.World.Kube().Scale(t.Context(), "default", "web", 0); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(time.Hour)
	s.wantInstances(1)
}

func TestDoNotDisruptKeepsAnEmptyNode(t *testing.T) {
	s := newStage(t)
	s.apply(class + pool("default", "c6a", "") + `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}, annotations: {karpenter.sh/do-not-disrupt: "true"}}
    spec: {containers: [{name: agent, image: pause}]}
---
` + deployment("web", 1, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1}}}]}"))
	s.wantRunning(1, 5*time.Minute)
	if err := s.World.Kube().Scale(t.Context(), "default", "web", 0); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(time.Hour)
	s.wantInstances(1)
	for _, claim := range s.World.Kube().NodeClaims() {
		if claim.DeletionTimestamp != nil {
			t.Errorf("NodeClaim %s is being deleted, its daemon's pod forbids it", claim.Name)
		}
	}
}

func TestDrainNeverTakesMoreThanThePodDisruptionBudgetAllows(t *testing.T) {
	s := newStage(t)
	s.apply(class + pool("default", "c6a", "") + `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
` + deployment("web", 6, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 500m}}}]}"))
	s.wantRunning(6, 5*time.Minute)
	least := 6
	s.World.Observe(func(sim.Occurrence) {
		ready := 0
		for _, pod := range s.World.Kube().Pods() {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == "Running" {
				ready++
			}
		}
		least = min(least, ready)
	})
	for _, claim := range s.World.Kube().NodeClaims() {
		if err := s.World.Kube().DeleteNodeClaim(t.Context(), claim.Name); err != nil {
			t.Fatal(err)
		}
	}
	s.World.Advance(20 * time.Minute)
	s.wantRunning(6, time.Minute)
	if least < 5 {
		t.Errorf("%d of 6 pods ran at the worst moment, the budget asks for 5", least)
	}
}
