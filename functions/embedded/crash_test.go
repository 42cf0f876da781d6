package embedded_test

import (
	"fmt"
	"testing"
	"time"

	"whittle/core/sim"
)

// play runs a small life: pods come, a Spot instance is taken back, everything goes. It returns what is
// wrong, and how many effects the functions had.
func play(t *testing.T, crashAt int) (problem string, effects int) {
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
	s.applyFile("quickstart.yaml")
	if !s.World.RunUntil(func() bool { return s.running() == 10 }, 15*time.Minute) {
		return fmt.Sprintf("%d of 10 pods run", s.running()), effects
	}
	if live := s.live(); len(live) > 0 {
		if err := s.World.EC2().Interrupt(t.Context(), live[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	s.World.Advance(15 * time.Minute)
	if s.running() != 10 {
		return fmt.Sprintf("%d of 10 pods run after the interruption", s.running()), effects
	}
	if claims, live := len(s.World.Kube().NodeClaims()), len(s.live()); claims != live {
		return fmt.Sprintf("%d NodeClaims for %d instances", claims, live), effects
	}
	if err := s.World.Kube().Scale(t.Context(), "default", "inflate", 0); err != nil {
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
	problem, effects := play(t, 0)
	if problem != "" {
		t.Fatalf("without a crash: %s", problem)
	}
	for k := 1; k <= effects; k++ {
		t.Run(fmt.Sprintf("effect %d", k), func(t *testing.T) {
			t.Parallel()
			if problem, _ := play(t, k); problem != "" {
				t.Error(problem)
			}
		})
	}
}
