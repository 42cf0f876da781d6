package packing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/core/resource"
)

// TestPlansCostAlmostTheOptimum compares the plans for tiny problems with the cheapest of all plans.
func TestPlansCostAlmostTheOptimum(t *testing.T) {
	const problems = 2000
	shapes := smallCatalog(t).Shapes
	random := rand.New(rand.NewPCG(2026, 1))
	sum, worst, worstAt := 0.0, 0.0, 0
	for i := range problems {
		s := tinySnapshot(random, shapes)
		o := newOracle(s)
		plan := packing.Solve(s, packing.Options{})
		if faults := checkPlan(s, plan); len(faults) > 0 {
			t.Fatalf("problem %d: %s\nin the plan\n%s", i, strings.Join(faults, "\n"), render(plan))
		}
		best := o.cheapest(o.placeable())
		if got := o.unplaced(); got != len(plan.Unplaced) {
			t.Fatalf("problem %d: %d pods fit nowhere, the plan leaves out %d\n%s", i, got, len(plan.Unplaced), render(plan))
		}
		if best == 0 {
			continue
		}
		gap := o.price(plan)/best - 1
		if gap < -1e-9 {
			t.Fatalf("problem %d: the plan costs %.5f, less than the optimum %.5f: the oracle is wrong\n%s", i, o.price(plan), best, render(plan))
		}
		sum += gap
		if gap > worst {
			worst, worstAt = gap, i
		}
	}
	mean := sum / problems
	t.Logf("%d problems: %.3f %% above the optimum on average, at worst %.1f %% (problem %d)", problems, 100*mean, 100*worst, worstAt)
	if mean > 0.01 {
		t.Errorf("plans cost %.2f %% more than the optimum on average, want at most 1 %%", 100*mean)
	}
}

// tinySnapshot has one NodePool, up to five instance types and up to six pods, some bound to zones.
func tinySnapshot(random *rand.Rand, shapes []catalog.Shape) *cluster.Snapshot {
	c := &catalog.Catalog{Region: "us-east-1", ZoneIDs: map[string]string{"us-east-1a": "use1-az6", "us-east-1b": "use1-az1"}}
	for len(c.Shapes) < 1+random.IntN(5) {
		shape := shapes[random.IntN(len(shapes))]
		known := slices.ContainsFunc(c.Shapes, func(o catalog.Shape) bool { return o.Name == shape.Name })
		// Types with GPUs serve only pods that ask for some, at any price.
		if !known && shape.GPUCount == 0 && shape.VCPUs <= 16 {
			c.Shapes = append(c.Shapes, shape)
		}
	}
	slices.SortFunc(c.Shapes, func(a, b catalog.Shape) int { return strings.Compare(a.Name, b.Name) })
	s := &cluster.Snapshot{
		Name: "tiny", Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), Catalog: c,
		NodePools:   []*karpenter.NodePool{anyPool("default")},
		NodeClasses: []*aws.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: aws.EC2NodeClassSpec{AMIFamily: new(aws.FamilyAL2023)}}},
	}
	for i := range 1 + random.IntN(6) {
		pod := pendingPod(fmt.Sprintf("pod-%d", i), resource.Amounts{
			corev1.ResourceCPU: int64(1+random.IntN(40)) * 100, corev1.ResourceMemory: int64(1+random.IntN(80)) << 27,
		})
		if random.IntN(3) == 0 {
			pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: []string{"us-east-1a", "us-east-1b"}[random.IntN(2)]}
		}
		s.Pods = append(s.Pods, pod)
	}
	return s
}

// oracle knows what every set of a problem's pods costs together, as a bit mask of them.
type oracle struct {
	types []catalog.InstanceType
	// extra is what a node costs beside its instance.
	extra float64
	pods  []*corev1.Pod
	// oneNode is the price of the cheapest node that holds a set, +Inf where none does; fleet that of the
	// cheapest nodes, whatever number of them.
	oneNode, fleet []float64
}

func newOracle(s *cluster.Snapshot) *oracle {
	o := &oracle{types: s.InstanceTypes(s.NodeClasses[0]), extra: catalog.VolumesUSDPerHour(s.NodeClasses[0]), pods: s.Pods}
	o.oneNode = make([]float64, 1<<len(o.pods))
	o.fleet = make([]float64, len(o.oneNode))
	for set := 1; set < len(o.oneNode); set++ {
		o.oneNode[set] = o.priceOfNode(set)
		o.fleet[set] = math.Inf(1)
		for part := set; part > 0; part = (part - 1) & set {
			o.fleet[set] = min(o.fleet[set], o.oneNode[part]+o.fleet[set&^part])
		}
	}
	return o
}

func (o *oracle) priceOfNode(set int) float64 {
	sum, zone := resource.Amounts{}, ""
	for i, pod := range o.pods {
		if set>>i&1 == 0 {
			continue
		}
		sum.Add(resource.PodRequests(pod))
		wanted := pod.Spec.NodeSelector[corev1.LabelTopologyZone]
		if zone != "" && wanted != "" && zone != wanted {
			return math.Inf(1)
		}
		zone += strings.TrimPrefix(wanted, zone)
	}
	least := math.Inf(1)
	for i := range o.types {
		if !sum.Fits(o.types[i].Allocatable) {
			continue
		}
		for _, offering := range o.types[i].Offerings {
			if offering.Available && (zone == "" || offering.Zone == zone) {
				least = min(least, offering.USDPerHour+o.extra)
			}
		}
	}
	return least
}

// placeable is the set of pods that fit on some node.
func (o *oracle) placeable() int {
	set := 0
	for i := range o.pods {
		if !math.IsInf(o.oneNode[1<<i], 1) {
			set |= 1 << i
		}
	}
	return set
}

func (o *oracle) unplaced() int {
	count := 0
	for i := range o.pods {
		if o.placeable()>>i&1 == 0 {
			count++
		}
	}
	return count
}

func (o *oracle) cheapest(set int) float64 { return o.fleet[set] }

// price is what a plan's nodes cost, by the oracle's own reckoning.
func (o *oracle) price(plan *packing.Plan) float64 {
	sum := 0.0
	for i := range plan.Launches {
		chosen := plan.Launches[i].Offering
		for t := range o.types {
			for _, offering := range o.types[t].Offerings {
				if o.types[t].Name == chosen.InstanceType && offering.Zone == chosen.Zone && offering.CapacityType == chosen.CapacityType {
					sum += offering.USDPerHour + o.extra
				}
			}
		}
	}
	return sum
}
