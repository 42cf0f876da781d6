package embedded_test

import (
	"fmt"
	"testing"
	"time"

	"whittle/core/sim"
)

// play runs a small life: pods come, a Spot instance is taken back, everything goes. It returns what is
// wrong, and how many effects the functions had.
func play(t *testing.T, scenario string, crashAt int) (problem string, effects int) {
	t.Helper()
	s := newSmallStage(t)
	s.World.OnEffect(func(effect sim.Effect) error {
		if !effect.After {
			return nil
		}
		effects++
		if effects == crashAt {
			return sim.ErrCrash
		}
		return nil
	})
	s.apply(scenario)
	wanted := int(*s.World.Kube().Deployments()[0].Spec.Replicas)
	if !s.World.RunUntil(func() bool { return s.running() == wanted }, 15*time.Minute) {
		return fmt.Sprintf("%d of %d pods run", s.running(), wanted), effects
	}
	if live := s.live(); len(live) > 0 {
		if err := s.World.EC2().Interrupt(t.Context(), live[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	s.World.Advance(15 * time.Minute)
	if s.running() != wanted {
		return fmt.Sprintf("%d of %d pods run after the interruption", s.running(), wanted), effects
	}
	if claims, live := len(s.World.Kube().NodeClaims()), len(s.live()); claims != live {
		return fmt.Sprintf("%d NodeClaims for %d instances", claims, live), effects
	}
	if err := s.World.Kube().Scale(t.Context(), "default", s.World.Kube().Deployments()[0].Name, 0); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(30 * time.Minute)
	if claims, nodes, live := len(s.World.Kube().NodeClaims()), len(s.World.Kube().Nodes()), len(s.live()); claims+nodes+live > 0 {
		return fmt.Sprintf("%d NodeClaims, %d nodes and %d instances are left", claims, nodes, live), effects
	}
	return "", effects
}

// TestACrashAfterAnySingleEffectChangesNothingInTheEnd kills the function that has the k-th effect right
// after it, for every k.
func TestACrashAfterAnySingleEffectChangesNothingInTheEnd(t *testing.T) {
	t.Parallel()
	oneCPUEach := "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1}}}]}"
	scenarios := map[string]string{
		"nodes of different types": class + pool("default", "c6a", "", "spot") + deployment("web", 5, oneCPUEach),
		// All claims share one launch, so that a replay finds some of its instances taken.
		"nodes of one launch": class + pool("default", "c6a", "", "spot", "large") + deployment("web", 3, oneCPUEach),
	}
	for name, scenario := range scenarios {
		problem, effects := play(t, scenario, 0)
		if problem != "" {
			t.Fatalf("%s, without a crash: %s", name, problem)
		}
		for k := 1; k <= effects; k++ {
			t.Run(fmt.Sprintf("%s, effect %d", name, k), func(t *testing.T) {
				t.Parallel()
				if problem, _ := play(t, scenario, k); problem != "" {
					t.Error(problem)
				}
			})
		}
	}
}
