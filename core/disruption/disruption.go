// Package disruption decides which nodes may go, when, and how many at once. It removes nothing itself.
package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
)

// Plan is which hosts are to go now.
type Plan struct {
	// Removals in the order in which they are to be made.
	Removals []Removal
	// Blocked are the hosts that would go, with what keeps them.
	Blocked []Blocked
}

// Removal is a host that is to go.
type Removal struct {
	Host   cluster.Host
	Reason string
}

// Blocked is a host that would go, and what keeps it.
type Blocked struct {
	Host    cluster.Host
	Reason  string
	Message string
}

// Why a host goes.
const (
	ReasonEmpty   = "empty"
	ReasonExpired = "expired"
)

// Decide finds the hosts that are older than they may be, and those that are empty, as far as budgets
// let the latter go. Expiry is forceful: no budget holds it up, as upstream has it since v1.
func Decide(s *cluster.Snapshot) Plan {
	var plan Plan
	hosts := s.Hosts()
	expired := map[string]bool{}
	for _, host := range hosts {
		if Expired(host, s.Now) {
			expired[host.Claim.Name] = true
			plan.Removals = append(plan.Removals, Removal{Host: host, Reason: ReasonExpired})
		}
	}
	for _, pool := range s.NodePools {
		plan.empty(s, pool, slices.DeleteFunc(slices.Clone(hosts), func(h cluster.Host) bool {
			return h.Claim == nil || !h.Managed() || h.NodePool() != pool.Name || expired[h.Claim.Name]
		}), hosts)
	}
	return plan
}

// Expired reports whether the host's claim has reached its expireAfter.
func Expired(host cluster.Host, now time.Time) bool {
	if host.Claim == nil || host.Claim.DeletionTimestamp != nil || !host.Managed() {
		return false
	}
	after := host.Claim.Spec.ExpireAfter
	return after != nil && after.Duration != nil && !now.Before(host.Claim.CreationTimestamp.Add(*after.Duration))
}

// empty plans the pool's empty hosts, the dearest disruption budget permitting.
func (p *Plan) empty(s *cluster.Snapshot, pool *karpenter.NodePool, hosts, all []cluster.Host) {
	var candidates []cluster.Host
	for _, host := range hosts {
		if !consolidatable(pool, host, s.Now) || !Empty(host) {
			continue
		}
		if message := keeps(s, host); message != "" {
			p.Blocked = append(p.Blocked, Blocked{Host: host, Reason: ReasonEmpty, Message: message})
			continue
		}
		candidates = append(candidates, host)
	}
	slices.SortStableFunc(candidates, func(a, b cluster.Host) int {
		return cmp.Or(cmp.Compare(price(s, b), price(s, a)), cmp.Compare(a.Name(), b.Name()))
	})
	allowed, message := Allowed(s, pool, all, karpenter.ReasonEmpty)
	for i, host := range candidates {
		if i < allowed {
			p.Removals = append(p.Removals, Removal{Host: host, Reason: ReasonEmpty})
		} else {
			p.Blocked = append(p.Blocked, Blocked{Host: host, Reason: ReasonEmpty, Message: message})
		}
	}
}

// consolidatable reports whether the host has been without pod changes for the pool's consolidateAfter.
func consolidatable(pool *karpenter.NodePool, host cluster.Host, now time.Time) bool {
	if pool.Spec.Replicas != nil || !host.Initialized() || host.Leaving() || host.Node == nil {
		return false
	}
	after := pool.Spec.Disruption.ConsolidateAfter
	if after == nil {
		return true
	}
	if after.Duration == nil {
		return false
	}
	return now.Sub(quietSince(host)) >= *after.Duration
}

// quietSince is when a pod last came to the host or left it, or when the host became ready for pods.
func quietSince(host cluster.Host) time.Time {
	since := host.Claim.Status.LastPodEventTime.Time
	if initialized := meta.FindStatusCondition(host.Claim.Status.Conditions, karpenter.ConditionInitialized); initialized != nil && initialized.LastTransitionTime.After(since) {
		since = initialized.LastTransitionTime.Time
	}
	return since
}

// Empty reports whether nothing on the host would have to run elsewhere if it went. Pods whose eviction
// costs nothing do not count (upstream pkg/controllers/disruption/emptiness.go).
func Empty(host cluster.Host) bool {
	for _, pod := range host.Pods {
		if cluster.Moves(pod) && cluster.EvictionCost(pod) > 0 {
			return false
		}
	}
	return true
}

// keeps says what forbids removing the host: empty for nothing.
func keeps(s *cluster.Snapshot, host cluster.Host) string {
	if host.Node.Annotations[wellknown.AnnotationDoNotDisrupt] == "true" || host.Claim.Annotations[wellknown.AnnotationDoNotDisrupt] == "true" {
		return "node has the annotation " + wellknown.AnnotationDoNotDisrupt
	}
	for _, pod := range host.Pods {
		switch {
		case cluster.Terminal(pod) || pod.DeletionTimestamp != nil:
		case cluster.DoNotDisrupt(pod, s.Now):
			return fmt.Sprintf("pod %s has the annotation %s", cluster.PodKey(pod), wellknown.AnnotationDoNotDisrupt)
		case cluster.Evictable(pod):
			if blocked := s.EvictionBlocked(pod); blocked != "" {
				return fmt.Sprintf("pod %s: %s", cluster.PodKey(pod), blocked)
			}
		}
	}
	for _, pod := range planned(s, host) {
		return fmt.Sprintf("pod %s is about to run on it", pod)
	}
	return ""
}

// promiseKept is how long an empty node waits for the pods it was bought for. Those that have not come by
// then will not: they do not fit after all, or found another place.
const promiseKept = 5 * time.Minute

// planned are pods that were promised this host and may still come: they wait for a node, or for theirs to
// be drained.
func planned(s *cluster.Snapshot, host cluster.Host) []string {
	promised := host.PlannedPods()
	if len(promised) == 0 || s.Now.Sub(quietSince(host)) > promiseKept {
		return nil
	}
	leaving := map[string]bool{}
	for _, other := range s.Hosts() {
		if other.Node != nil && other.Leaving() {
			leaving[other.Node.Name] = true
		}
	}
	var waiting []string
	for _, pod := range s.Pods {
		if (cluster.Provisionable(pod) || leaving[pod.Spec.NodeName]) && slices.Contains(promised, cluster.PodKey(pod)) {
			waiting = append(waiting, cluster.PodKey(pod))
		}
	}
	return waiting
}

// price of the host's offering in dollars per hour; 0 when the catalog does not know it.
func price(s *cluster.Snapshot, host cluster.Host) float64 {
	offering := host.Offering()
	usd, _ := s.Catalog.Price(offering.InstanceType, offering.Zone, offering.CapacityType)
	return usd
}
