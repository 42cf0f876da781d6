package disruption

import (
	"fmt"

	"whittle/core/api/karpenter"
	"whittle/core/cluster"
)

// Allowed is how many more hosts of the pool may go for the reason now: the tightest active budget less
// those that are going or not ready. A budget that cannot be read allows none. The message says how the
// number came about.
func Allowed(s *cluster.Snapshot, pool *karpenter.NodePool, hosts []cluster.Host, reason karpenter.DisruptionReason) (allowed int, message string) {
	nodes, going := 0, 0
	for _, host := range hosts {
		if host.Claim == nil || !host.Managed() || host.NodePool() != pool.Name || !host.Initialized() {
			continue
		}
		nodes++
		if host.Leaving() || !host.Ready() {
			going++
		}
	}
	budget, err := pool.Spec.Disruption.AllowedDisruptions(s.Now, nodes, reason)
	if err != nil {
		return 0, fmt.Sprintf("NodePool %s: %s", pool.Name, err)
	}
	return max(0, budget-going), fmt.Sprintf("budget of NodePool %s allows %d of %d nodes, %d going", pool.Name, budget, nodes, going)
}
