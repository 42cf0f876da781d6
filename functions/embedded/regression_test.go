package embedded_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/sim"
)

// Each test is named for what went wrong.

func TestCapacityThatComesBackIsUsed(t *testing.T) {
	s := newSmallStage(t)
	s.World.EC2().SetCapacity(cluster.Offering{}, 0)
	counts := s.count()
	s.apply(class + pool("default", "c6a", "", "on-demand", "large") + deployment("web", 1, oneCPU))
	s.World.Advance(20 * time.Minute)
	s.wantInstances(0)
	// At most one probe per offering in each three minutes: six zones at the most.
	if refused := counts[sim.LaunchRefused]; refused > 6*7 {
		t.Errorf("EC2 refused %d launches in 20 minutes", refused)
	}
	s.World.EC2().SetCapacity(cluster.Offering{}, -1)
	s.wantRunning(1, 6*time.Minute)
}

func TestSpotWithoutCapacityFallsBackToOnDemand(t *testing.T) {
	s := newSmallStage(t)
	s.World.EC2().SetCapacity(cluster.Offering{CapacityType: wellknown.CapacityTypeSpot}, 0)
	s.apply(class + pool("default", "c6a", "", "spot, on-demand") + deployment("web", 1, oneCPU))
	s.wantRunning(1, 5*time.Minute)
	if got := s.live()[0].CapacityType; got != wellknown.CapacityTypeOnDemand {
		t.Errorf("the pod runs on %s, want on-demand", got)
	}
}

func TestPartialFleetKeepsWhatCameAndPlansTheRestAnew(t *testing.T) {
	s := newSmallStage(t)
	s.World.EC2().SetCapacity(cluster.Offering{InstanceType: "c6a.large"}, 1)
	s.apply(class + pool("default", "c6a", "", "on-demand") + deployment("web", 3, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1500m}}}]}"))
	s.wantRunning(3, 10*time.Minute)
	if claims, live := len(s.World.Kube().NodeClaims()), len(s.live()); claims != live {
		t.Errorf("%d NodeClaims for %d instances", claims, live)
	}
}

func TestNodeThatNeverJoinsIsReplacedByANewInstance(t *testing.T) {
	s := newSmallStage(t)
	first := cluster.InstanceID("")
	s.World.EC2().NeverJoin(func(i cluster.Instance) bool {
		if first == "" {
			first = i.ID
		}
		return i.ID == first
	})
	s.apply(class + pool("default", "c6a", "") + deployment("web", 1, oneCPU))
	s.wantRunning(1, 25*time.Minute)
	s.World.Advance(5 * time.Minute)
	s.wantInstances(1)
	if s.live()[0].ID == first {
		t.Errorf("the pod runs on %s, which never joined", first)
	}
}

func TestNodeClaimMadeByHandIsLaunchedAndDrainedBeforeItGoes(t *testing.T) {
	s := newSmallStage(t)
	s.apply(class)
	hand := &karpenter.NodeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: "hand"},
		Spec: karpenter.NodeClaimSpec{
			NodeClassRef: karpenter.NodeClassReference{Group: wellknown.GroupAWS, Kind: "EC2NodeClass", Name: "default"},
			Requirements: []karpenter.Requirement{{Key: "node.kubernetes.io/instance-type", Operator: karpenter.OpIn, Values: []string{"c6a.large"}}},
		},
	}
	if err := s.World.Kube().Apply(t.Context(), hand); err != nil {
		t.Fatal(err)
	}
	s.apply(deployment("web", 1, oneCPU))
	s.wantRunning(1, 8*time.Minute)
	s.wantInstances(1)
	s.apply(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
`)
	if err := s.World.Kube().Delete(t.Context(), "NodeClaim", "", "hand"); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(10 * time.Minute)
	if s.running() != 1 || len(s.live()) != 1 {
		t.Errorf("%d pods run on %d instances, the budget forbids evicting the one there is", s.running(), len(s.live()))
	}
	if err := s.World.Kube().Scale(t.Context(), "default", "web", 0); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(5 * time.Minute)
	s.wantInstances(0)
	if nodes := s.World.Kube().Nodes(); len(nodes) > 0 {
		t.Errorf("node %s is left", nodes[0].Name)
	}
}

// blocked is a pod on a Spot node that a budget keeps from ever being evicted.
func blocked(t *testing.T) *stage {
	t.Helper()
	s := newSmallStage(t)
	s.apply(class + pool("default", "c6a", "", "spot") + `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
---
` + deployment("web", 1, oneCPU))
	s.wantRunning(1, 5*time.Minute)
	return s
}

func TestSpotWarningForADrainingNodeStillSetsItsDeadline(t *testing.T) {
	s := blocked(t)
	claim := s.World.Kube().NodeClaims()[0]
	if err := s.World.Kube().DeleteNodeClaim(t.Context(), claim.Name); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(30 * time.Second)
	if err := s.World.EC2().Interrupt(t.Context(), s.live()[0].ID); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(110 * time.Second)
	for _, pod := range s.World.Kube().Pods() {
		if pod.Spec.NodeName == claim.Status.NodeName && pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" {
			t.Errorf("pod %s still runs ten seconds before EC2 takes its instance", pod.Name)
		}
	}
}

func TestDrainOfADeadInstanceWaitsForNoBudget(t *testing.T) {
	s := blocked(t)
	if err := s.World.EC2().Kill(s.live()[0].ID); err != nil {
		t.Fatal(err)
	}
	s.wantRunning(1, 3*time.Minute)
	s.World.Advance(3 * time.Minute)
	s.wantInstances(1)
}

func TestBlockedDrainDoesNotKeepLifecycleBusy(t *testing.T) {
	s := blocked(t)
	if err := s.World.Kube().DeleteNodeClaim(t.Context(), s.World.Kube().NodeClaims()[0].Name); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(20 * time.Minute)
	invoked := 0
	s.World.Observe(func(o sim.Occurrence) {
		if o.Kind == sim.FunctionInvoked && o.Object == "lifecycle" {
			invoked++
		}
	})
	s.World.Advance(10 * time.Minute)
	if invoked > 20 {
		t.Errorf("lifecycle ran %d times in ten minutes for one claim that a budget blocks", invoked)
	}
}

func TestPodsThatCanNeverBeEvictedBuyNoReplacement(t *testing.T) {
	s := blocked(t)
	if err := s.World.Kube().DeleteNodeClaim(t.Context(), s.World.Kube().NodeClaims()[0].Name); err != nil {
		t.Fatal(err)
	}
	counts := s.count()
	s.World.Advance(10 * time.Minute)
	wakeUp(t, s)
	if counts[sim.InstanceLaunched] > 0 {
		t.Errorf("%d instances were launched for a pod that stays where it is", counts[sim.InstanceLaunched])
	}
}

func TestEventsThatCannotBeWrittenStopNothing(t *testing.T) {
	s := newSmallStage(t)
	s.World.OnEffect(func(effect sim.Effect) error {
		if effect.Name == "kube.Record" && !effect.After {
			return errors.New("events are down")
		}
		return nil
	})
	s.apply(class + pool("default", "c6a", "", "spot") + deployment("web", 2, oneCPU))
	s.wantRunning(2, 5*time.Minute)
	victim := s.live()[0].ID
	if err := s.World.EC2().Interrupt(t.Context(), victim); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(10 * time.Second)
	for _, claim := range s.World.Kube().NodeClaims() {
		if strings.HasSuffix(claim.Status.ProviderID, string(victim)) && claim.DeletionTimestamp == nil {
			t.Errorf("NodeClaim %s is not being deleted ten seconds after the warning", claim.Name)
		}
	}
	s.wantRunning(2, 5*time.Minute)
}
