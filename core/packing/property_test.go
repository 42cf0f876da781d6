package packing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// smallCatalog holds a few types of the embedded snapshot, so that properties are tried quickly.
func smallCatalog(t interface{ Fatal(args ...any) }) *catalog.Catalog {
	embedded, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	families := []string{"c6a", "m6a", "r6a", "m7g", "t3", "g5"}
	small := &catalog.Catalog{Region: embedded.Region, ZoneIDs: embedded.ZoneIDs}
	for _, shape := range embedded.Shapes {
		if family, size, _ := strings.Cut(shape.Name, "."); slices.Contains(families, family) && size != "metal" {
			small.Shapes = append(small.Shapes, shape)
		}
	}
	return small
}

// randomSnapshot draws a cluster with one to three NodePools and pods of a few kinds.
func randomSnapshot(t *rapid.T, c *catalog.Catalog) *cluster.Snapshot {
	s := &cluster.Snapshot{
		Name: "random", Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), Catalog: c,
		NodeClasses: []*aws.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: aws.EC2NodeClassSpec{AMIFamily: new(aws.FamilyAL2023)}}},
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "pools") {
		s.NodePools = append(s.NodePools, randomPool(t, fmt.Sprintf("pool-%d", i)))
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "kinds") {
		pod := randomPod(t)
		for j := range rapid.IntRange(1, 12).Draw(t, "pods") {
			one := pod.DeepCopy()
			one.Name = fmt.Sprintf("kind-%d-%d", i, j)
			one.UID = types.UID(one.Name)
			s.Pods = append(s.Pods, one)
		}
	}
	return s
}

func randomPool(t *rapid.T, name string) *karpenter.NodePool {
	pool := &karpenter.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Spec.NodeClassRef = karpenter.NodeClassReference{Group: wellknown.GroupAWS, Kind: "EC2NodeClass", Name: "default"}
	if rapid.Bool().Draw(t, "weighted") {
		pool.Spec.Weight = new(int32(rapid.IntRange(1, 3).Draw(t, "weight")))
	}
	if rapid.Bool().Draw(t, "amd64") {
		pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements,
			karpenter.Requirement{Key: corev1.LabelArchStable, Operator: karpenter.OpIn, Values: []string{"amd64"}})
	}
	if rapid.Bool().Draw(t, "tainted") {
		pool.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	}
	if rapid.Bool().Draw(t, "limited") {
		limit := resource.Amounts{corev1.ResourceCPU: int64(rapid.IntRange(1, 40).Draw(t, "limit")) * 1000}
		pool.Spec.Limits = limit.List()
	}
	if rapid.Bool().Draw(t, "labelled") {
		pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements,
			karpenter.Requirement{Key: "company/tier", Operator: karpenter.OpIn, Values: []string{"gold", "silver"}})
	}
	return pool
}

func randomPod(t *rapid.T) *corev1.Pod {
	pod := pendingPod("pod", resource.Amounts{
		corev1.ResourceCPU:    int64(rapid.IntRange(1, 60).Draw(t, "cpu")) * 100,
		corev1.ResourceMemory: int64(rapid.IntRange(1, 200).Draw(t, "memory")) << 27,
	})
	if rapid.Bool().Draw(t, "tolerates") {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	}
	switch rapid.IntRange(0, 4).Draw(t, "selector") {
	case 0:
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1b"}
	case 1:
		pod.Spec.NodeSelector = map[string]string{"company/tier": rapid.SampledFrom([]string{"gold", "silver"}).Draw(t, "tier")}
	case 2:
		pod.Spec.NodeSelector = map[string]string{wellknown.LabelCapacityType: wellknown.CapacityTypeOnDemand}
	}
	return pod
}

func TestEveryPodIsPlacedOnceOrExplained(t *testing.T) {
	c := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		s := randomSnapshot(t, c)
		plan := packing.Solve(s, packing.Options{})
		times := map[string]int{}
		for _, launch := range plan.Launches {
			for _, pod := range launch.Pods {
				times[pod.Name]++
			}
		}
		for _, unplaced := range plan.Unplaced {
			times[unplaced.Pod.Name]++
			if unplaced.Message() == "" || len(unplaced.Reasons) != len(s.NodePools) {
				t.Fatalf("pod %s has reasons %v for %d NodePools", unplaced.Pod.Name, unplaced.Reasons, len(s.NodePools))
			}
		}
		for _, pod := range s.Pods {
			if times[pod.Name] != 1 {
				t.Fatalf("pod %s is in the plan %d times", pod.Name, times[pod.Name])
			}
		}
	})
}

func TestEveryCandidateHoldsThePodsOfItsNode(t *testing.T) {
	c := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		s := randomSnapshot(t, c)
		types := map[string]catalog.InstanceType{}
		for _, instanceType := range c.InstanceTypes(s.NodeClasses[0], catalog.Settings{}) {
			types[instanceType.Name] = instanceType
		}
		for _, launch := range packing.Solve(s, packing.Options{}).Launches {
			sum := resource.Amounts{}
			for _, pod := range launch.Pods {
				sum.Add(resource.PodRequests(pod))
				for key, value := range pod.Spec.NodeSelector {
					if r := launch.Requirements.Get(key); !r.Has(value) || len(r.Values()) != 1 {
						t.Fatalf("pod %s asks for %s=%s, its node for %s", pod.Name, key, value, r)
					}
				}
			}
			for _, candidate := range launch.Candidates {
				if room := types[candidate.InstanceType].Allocatable; !sum.Fits(room) {
					t.Fatalf("pods ask for %v, candidate %s has %v", sum, candidate.InstanceType, room)
				}
			}
		}
	})
}

func TestLimitsHoldWhicheverCandidateEC2Picks(t *testing.T) {
	c := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		s := randomSnapshot(t, c)
		used := map[string]int64{}
		for _, launch := range packing.Solve(s, packing.Options{}).Launches {
			most := int64(0)
			for _, candidate := range launch.Candidates {
				shape, _ := c.Shape(candidate.InstanceType)
				most = max(most, int64(shape.VCPUs)*1000)
			}
			used[launch.NodePool.Name] += most
		}
		for _, pool := range s.NodePools {
			if limit, limited := pool.Spec.Limits[corev1.ResourceCPU]; limited && used[pool.Name] > limit.MilliValue() {
				t.Fatalf("NodePool %s may use %s, the plan %dm", pool.Name, limit.String(), used[pool.Name])
			}
		}
	})
}

func TestThePlanDoesNotDependOnTheOrderOfItsInput(t *testing.T) {
	c := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		s := randomSnapshot(t, c)
		want := render(packing.Solve(s, packing.Options{}))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
		random.Shuffle(len(s.NodePools), func(i, j int) { s.NodePools[i], s.NodePools[j] = s.NodePools[j], s.NodePools[i] })
		if diff := cmp.Diff(want, render(packing.Solve(s, packing.Options{}))); diff != "" {
			t.Fatalf("plan changed with the order of the input (-want +got):\n%s", diff)
		}
	})
}

// render writes a plan as text: what golden files hold.
func render(plan *packing.Plan) string {
	var text strings.Builder
	for _, l := range plan.Launches {
		fmt.Fprintf(&text, "launch %s %s in %s, %s, $%.4f/h, %d candidates:", l.NodePool.Name, l.Offering.InstanceType, l.Offering.Zone,
			l.Offering.CapacityType, l.USDPerHour, len(l.Candidates))
		for _, pod := range l.Pods {
			fmt.Fprintf(&text, " %s", cluster.PodKey(pod))
		}
		text.WriteByte('\n')
	}
	for _, p := range plan.Placements {
		fmt.Fprintf(&text, "place %s on %s\n", cluster.PodKey(p.Pod), p.Host)
	}
	for _, u := range plan.Unplaced {
		fmt.Fprintf(&text, "unplaced %s\n", cluster.PodKey(u.Pod))
		for _, r := range u.Reasons {
			fmt.Fprintf(&text, "  %s [%s]: %s\n", r.NodePool, r.Rule, r.Message)
		}
	}
	return text.String()
}
