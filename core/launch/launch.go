// Package launch turns NodeClaims into instances for the verbs that do so. A launch is recorded whole
// before it is sent and replayed verbatim after a crash, so that a claim gets one instance and no
// more; what came of it is written on the claims.
package launch

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/events"
)

// Fleet launches instances and finds those that run.
type Fleet interface {
	// Launch is idempotent by the request's ID.
	Launch(ctx context.Context, request cluster.LaunchRequest) (cluster.LaunchResult, error)
	Tag(ctx context.Context, id cluster.InstanceID, tags map[string]string) error
}

// Ledger remembers launches and outages across invocations.
type Ledger interface {
	// RecordLaunch stores the request unless one with its ID is there, and returns the stored one.
	RecordLaunch(ctx context.Context, request cluster.LaunchRequest) (recorded cluster.LaunchRequest, existed bool, err error)
	RecordOutage(ctx context.Context, outage cluster.Outage) error
}

// Claims writes NodeClaims.
type Claims interface {
	GetNodeClaim(ctx context.Context, name string) (*karpenter.NodeClaim, error)
	UpdateNodeClaim(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	UpdateNodeClaimStatus(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string) error
}

// Recorder writes Kubernetes Events.
type Recorder interface {
	Record(ctx context.Context, event cluster.Event) error
}

// OutageTTL is how long an offering without capacity is left alone (upstream pkg/cache/cache.go).
const OutageTTL = 3 * time.Minute

// Launcher launches NodeClaims.
type Launcher struct {
	Cluster string
	Fleet   Fleet
	Ledger  Ledger
	Claims  Claims
	Events  Recorder
	Log     *slog.Logger
}

// Outcome is what became of the claims.
type Outcome struct {
	Launched []*karpenter.NodeClaim
	// Failed are the names of claims for which EC2 had no capacity; they are deleted, and their pods
	// are to be planned again.
	Failed []string
}

// GroupID names the launch of claims that ask for the same: it follows from the claims alone. It is put
// on them before they are created, so that a later invocation finds the record of their launch.
func GroupID(claims []*karpenter.NodeClaim) string {
	names := make([]string, len(claims))
	for i, claim := range claims {
		names[i] = claim.Name
	}
	slices.Sort(names)
	hash := fnv.New64a()
	hash.Write([]byte(strings.Join(names, ",")))
	return fmt.Sprintf("whittle-%016x", hash.Sum64())
}

// Group puts together the claims that one call can launch: those that differ in their pods only. It
// marks every claim with its group's launch.
func Group(claims []*karpenter.NodeClaim) [][]*karpenter.NodeClaim {
	var groups [][]*karpenter.NodeClaim
	position := map[string]int{}
	for _, claim := range claims {
		key := likeness(claim)
		at, seen := position[key]
		if !seen {
			at = len(groups)
			position[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], claim)
	}
	for _, group := range groups {
		id := GroupID(group)
		for _, claim := range group {
			claim.Annotations[wellknown.AnnotationLaunch] = id
		}
	}
	return groups
}

// likeness is equal for claims that can share a call.
func likeness(claim *karpenter.NodeClaim) string {
	var key strings.Builder
	fmt.Fprintf(&key, "%s|%v|%v|", claim.Spec.NodeClassRef.Name, claim.Spec.Taints, claim.Spec.StartupTaints)
	for _, r := range claim.Spec.Requirements {
		fmt.Fprintf(&key, "%s %s %v;", r.Key, r.Operator, r.Values)
	}
	for _, label := range slices.Sorted(maps.Keys(claim.Labels)) {
		fmt.Fprintf(&key, "%s=%s;", label, claim.Labels[label])
	}
	return key.String()
}

// Launch launches claims of one group, or what of them has no instance yet.
func (l *Launcher) Launch(ctx context.Context, s *cluster.Snapshot, group []*karpenter.NodeClaim) (Outcome, error) {
	claim := group[0]
	class := s.NodeClass(claim.Spec.NodeClassRef.Name)
	if class == nil {
		return Outcome{}, fmt.Errorf("launch NodeClaim %s: EC2NodeClass %q does not exist", claim.Name, claim.Spec.NodeClassRef.Name)
	}
	offer := packing.OfferFor(s, claim, class)
	if len(offer.Overrides) == 0 {
		return l.settle(ctx, s, group, offer, cluster.LaunchResult{})
	}
	request := l.request(group, class, offer)
	recorded, existed, err := l.Ledger.RecordLaunch(ctx, request)
	if err != nil {
		return Outcome{}, fmt.Errorf("record launch %s: %w", request.ID, err)
	}
	result, err := l.Fleet.Launch(ctx, recorded)
	if err != nil {
		return Outcome{}, fmt.Errorf("launch %s (%d instances for NodePool %s): %w",
			recorded.ID, recorded.Count, recorded.Tags[wellknown.TagNodePool], err)
	}
	if existed {
		l.Log.Info("replayed launch", slog.String(events.KeyLaunch, recorded.ID), slog.Int(events.KeyInstances, len(result.Instances)))
	}
	if err := l.recordOutages(ctx, s.Now, result.Failures); err != nil {
		return Outcome{}, err
	}
	return l.settle(ctx, s, group, offer, result)
}

// request is what EC2 is asked for: any candidate of the claims in any zone they may be in.
func (l *Launcher) request(group []*karpenter.NodeClaim, class *aws.EC2NodeClass, offer packing.Offer) cluster.LaunchRequest {
	claim := group[0]
	id := claim.Annotations[wellknown.AnnotationLaunch]
	if id == "" {
		id = GroupID(group)
	}
	labels := maps.Clone(claim.Labels)
	labels[wellknown.LabelCapacityType] = offer.CapacityType
	labels[wellknown.LabelDoNotSyncTaints] = "true"
	return cluster.LaunchRequest{
		ID:           id,
		Cluster:      l.Cluster,
		NodeClass:    class,
		CapacityType: offer.CapacityType,
		Overrides:    offer.Overrides,
		Count:        len(group),
		Tags: map[string]string{
			wellknown.TagNodePool:                  claim.Labels[wellknown.LabelNodePool],
			wellknown.TagNodeClass:                 class.Name,
			wellknown.TagClusterName:               l.Cluster,
			wellknown.TagClusterPrefix + l.Cluster: wellknown.TagClusterOwned,
			wellknown.TagLaunch:                    id,
		},
		Labels: labels,
		Taints: append(slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints), wellknown.UnregisteredTaint()),
	}
}

// settle gives each instance its claim, and ends the claims that got none.
func (l *Launcher) settle(ctx context.Context, s *cluster.Snapshot, group []*karpenter.NodeClaim, offer packing.Offer, result cluster.LaunchResult) (Outcome, error) {
	var outcome Outcome
	instances := assign(group, result.Instances)
	for i, claim := range group {
		instance := instances[i]
		if instance == nil {
			if err := l.fail(ctx, claim, result.Failures); err != nil {
				return outcome, err
			}
			outcome.Failed = append(outcome.Failed, claim.Name)
			continue
		}
		written, err := l.adopt(ctx, s.Now, claim, instance, offer.Types[instance.InstanceType])
		if err != nil {
			return outcome, err
		}
		outcome.Launched = append(outcome.Launched, written)
	}
	return outcome, nil
}

// assign pairs claims with instances: by the instance's tag where it has one, else in the order of
// names and ids.
func assign(group []*karpenter.NodeClaim, instances []cluster.Instance) []*cluster.Instance {
	assigned := make([]*cluster.Instance, len(group))
	position := make(map[string]int, len(group))
	for i, claim := range group {
		position[claim.Name] = i
	}
	var free []*cluster.Instance
	for i := range instances {
		instance := &instances[i]
		if at, ours := position[instance.Tags[wellknown.TagNodeClaim]]; ours {
			assigned[at] = instance
		} else if instance.Tags[wellknown.TagNodeClaim] == "" && instance.State.Live() {
			free = append(free, instance)
		}
	}
	slices.SortFunc(free, func(a, b *cluster.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for i := range assigned {
		if assigned[i] == nil && group[i].Status.ProviderID == "" && len(free) > 0 {
			assigned[i], free = free[0], free[1:]
		}
	}
	return assigned
}

func (l *Launcher) fail(ctx context.Context, claim *karpenter.NodeClaim, failures []cluster.LaunchFailure) error {
	message := "EC2 has no capacity for any of the candidates"
	if len(failures) > 0 {
		message = failures[0].Code + ": " + failures[0].Message
	}
	l.Log.Warn("insufficient capacity", slog.String(events.KeyNodeClaim, claim.Name), slog.String(events.KeyReason, message))
	if err := l.Events.Record(ctx, cluster.Event{
		Object: cluster.NodeClaimRef(claim), Type: "Warning", Reason: "InsufficientCapacityError", Message: message,
	}); err != nil {
		return fmt.Errorf("record event on NodeClaim %s: %w", claim.Name, err)
	}
	if err := l.Claims.DeleteNodeClaim(ctx, claim.Name); err != nil {
		return fmt.Errorf("delete NodeClaim %s, which has no capacity: %w", claim.Name, err)
	}
	return nil
}

func (l *Launcher) recordOutages(ctx context.Context, now time.Time, failures []cluster.LaunchFailure) error {
	for _, failure := range failures {
		outage := cluster.Outage{Offering: failure.Offering, Until: now.Add(OutageTTL), Reason: failure.Code}
		if err := l.Ledger.RecordOutage(ctx, outage); err != nil {
			return fmt.Errorf("record outage of %s: %w", failure.Offering, err)
		}
	}
	return nil
}
