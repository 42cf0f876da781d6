package provision

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whittle/core/cluster"
)

// How long a pass waits for pods that are still being made: until none was new for settleIdle, at most
// settleMax (upstream BATCH_IDLE_DURATION and BATCH_MAX_DURATION).
const (
	settleIdle = time.Second
	settleMax  = 10 * time.Second
)

// settled reads the cluster until no more pods are to be expected, so that pods that come together are
// planned together.
func (h *Handler) settled(ctx context.Context) (*cluster.Snapshot, error) {
	deadline := h.Clock.Now().Add(settleMax)
	snapshot, err := h.read(ctx)
	if err != nil {
		return nil, err
	}
	seen := waitingPods(snapshot)
	for len(seen) > 0 && !complete(snapshot, seen) && h.Clock.Now().Before(deadline) {
		if err := h.Clock.Sleep(ctx, settleIdle); err != nil {
			return nil, fmt.Errorf("settle: %w", err)
		}
		if snapshot, err = h.read(ctx); err != nil {
			return nil, err
		}
		now := waitingPods(snapshot)
		if !seen.grew(now) {
			break
		}
		seen = now
	}
	return snapshot, nil
}

func (h *Handler) read(ctx context.Context) (*cluster.Snapshot, error) {
	snapshot, err := h.Reader.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("read cluster %s: %w", h.Cluster, err)
	}
	return snapshot, nil
}

// waiting is the UIDs of pods that wait for a node.
type waiting map[types.UID]bool

// grew reports whether now has a pod that w has not.
func (w waiting) grew(now waiting) bool {
	for uid := range now {
		if !w[uid] {
			return true
		}
	}
	return false
}

func waitingPods(s *cluster.Snapshot) waiting {
	pods := waiting{}
	for _, pod := range s.Pods {
		if cluster.Provisionable(pod) {
			pods[pod.UID] = true
		}
	}
	return pods
}

// complete reports whether the owners of all waiting pods have as many pods as they want, each of them
// placed or found unschedulable, so that nothing is gained by waiting for more.
func complete(s *cluster.Snapshot, waiting waiting) bool {
	desired := make(map[types.UID]int, len(s.Owners))
	for _, owner := range s.Owners {
		desired[owner.UID] = owner.Desired
	}
	decided := map[types.UID]int{}
	concerned := map[types.UID]bool{}
	for _, pod := range s.Pods {
		owner := cluster.ControllerOf(pod)
		if owner == nil {
			if waiting[pod.UID] {
				return false
			}
			continue
		}
		if waiting[pod.UID] {
			concerned[owner.UID] = true
		}
		if !cluster.Terminal(pod) && pod.DeletionTimestamp == nil && (pod.Spec.NodeName != "" || waiting[pod.UID]) {
			decided[owner.UID]++
		}
	}
	for uid := range concerned {
		if want, known := desired[uid]; !known || decided[uid] < want {
			return false
		}
	}
	return true
}
