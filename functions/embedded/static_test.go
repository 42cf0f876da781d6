package embedded_test

import (
	"strings"
	"testing"
	"time"
)

func TestStaticNodePoolKeepsItsReplicas(t *testing.T) {
	s := newSmallStage(t)
	s.apply(class + strings.Replace(strings.Replace(pool("static", "c6a", ""), "spec:\n", "spec:\n  replicas: 3\n", 1), "disruption: {consolidateAfter: 30s}", "limits: {nodes: 4}", 1))
	s.World.Advance(5 * time.Minute)
	s.wantInstances(3)
	if err := s.World.Kube().DeleteNodeClaim(t.Context(), s.World.Kube().NodeClaims()[0].Name); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(10 * time.Minute)
	s.wantInstances(3)
	// Nothing of it is consolidated, empty as it is, and pods may use it.
	s.apply(deployment("web", 3, oneCPU))
	s.wantRunning(3, 2*time.Minute)
	s.wantInstances(3)
}
