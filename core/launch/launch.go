// Package launch turns NodeClaims into instances for the verbs that do so. A launch is recorded whole
// before it is sent and replayed verbatim after a crash, so that a claim gets one instance and no
// more; what came of it is written on the claims.
package launch

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/notice"
	"whittle/core/packing"
	"whittle/events"
)

// Fleet launches instances and finds those that run.
type Fleet interface {
	// Launch is idempotent by the request's ID.
	Launch(ctx context.Context, request cluster.LaunchRequest) (cluster.LaunchResult, error)
	Instances(ctx context.Context) ([]cluster.Instance, error)
	Tag(ctx context.Context, id cluster.InstanceID, tags map[string]string) error
}

// Ledger remembers launches and outages across invocations.
type Ledger interface {
	RecordedLaunch(ctx context.Context, id string) (recorded cluster.LaunchRequest, found bool, err error)
	// RecordLaunch stores the request unless one with its ID is there, and returns the stored one.
	RecordLaunch(ctx context.Context, request cluster.LaunchRequest) (recorded cluster.LaunchRequest, existed bool, err error)
	RecordOutage(ctx context.Context, outage cluster.Outage) error
}

// Claims writes NodeClaims.
type Claims interface {
	UpdateNodeClaim(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	UpdateNodeClaimStatus(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string) error
}

// Launcher launches NodeClaims.
type Launcher struct {
	Cluster string
	Fleet   Fleet
	Ledger  Ledger
	Claims  Claims
	Events  notice.Board
	Log     *slog.Logger
}

// Outcome is what became of the claims.
type Outcome struct {
	Launched []*karpenter.NodeClaim
	// Failed are the names of claims for which EC2 had no capacity; they are deleted, and their pods
	// are to be planned again.
	Failed []string
}

// Group puts together the claims that one call can launch: those that differ in their pods only. It
// marks every claim with its group's launch before it is created, so that a later invocation finds the
// record of it. The mark holds the time of the plan, for a claim of the same name may have failed before.
func Group(claims []*karpenter.NodeClaim, planned time.Time) [][]*karpenter.NodeClaim {
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
		id := groupID(group, strconv.FormatInt(planned.UnixNano(), 36))
		for _, claim := range group {
			claim.Annotations[wellknown.AnnotationLaunch] = id
		}
	}
	return groups
}

// groupID names the launch of claims that ask for the same.
func groupID(claims []*karpenter.NodeClaim, attempt string) string {
	names := make([]string, len(claims))
	for i, claim := range claims {
		names[i] = claim.Name
	}
	slices.Sort(names)
	hash := fnv.New64a()
	hash.Write([]byte(strings.Join(names, ",") + "/" + attempt))
	return fmt.Sprintf("whittle-%016x", hash.Sum64())
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

// Launch launches those claims of one group that have no instance yet. A launch that was recorded is
// replayed as it was, whatever has changed since.
func (l *Launcher) Launch(ctx context.Context, s *cluster.Snapshot, group []*karpenter.NodeClaim) (Outcome, error) {
	group = slices.DeleteFunc(slices.Clone(group), func(c *karpenter.NodeClaim) bool { return c.Status.ProviderID != "" })
	if len(group) == 0 {
		return Outcome{}, nil
	}
	claim := largest(group)
	class := s.NodeClass(claim.Spec.NodeClassRef.Name)
	if class == nil {
		return Outcome{}, fmt.Errorf("launch NodeClaim %s: EC2NodeClass %q does not exist", claim.Name, claim.Spec.NodeClassRef.Name)
	}
	offer := packing.OfferFor(s, claim, class)
	request, replay, err := l.recorded(ctx, group, claim, class, offer)
	if err != nil {
		return Outcome{}, err
	}
	if request.ID == "" {
		return l.settle(ctx, s, group, offer, cluster.LaunchResult{})
	}
	result, err := l.Fleet.Launch(ctx, request)
	if err != nil {
		return Outcome{}, fmt.Errorf("launch %s (%d instances for NodePool %s): %w",
			request.ID, request.Count, request.Tags[wellknown.TagNodePool], err)
	}
	if replay {
		if result.Instances, err = l.refreshed(ctx, result.Instances); err != nil {
			return Outcome{}, err
		}
		l.Log.Info("replayed launch", slog.String(events.KeyLaunch, request.ID), slog.Int(events.KeyInstances, len(result.Instances)))
	}
	if err := l.recordOutages(ctx, s.Now, result.Failures); err != nil {
		return Outcome{}, err
	}
	return l.settle(ctx, s, group, offer, result)
}

// largest is the claim that asks for most, so that what holds it holds all of its group.
func largest(group []*karpenter.NodeClaim) *karpenter.NodeClaim {
	return slices.MaxFunc(group, func(a, b *karpenter.NodeClaim) int {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if order := a.Spec.Resources.Requests.Name(name, "").Cmp(*b.Spec.Resources.Requests.Name(name, "")); order != 0 {
				return order
			}
		}
		return 0
	})
}

// recorded is the request to send: the one that was recorded for the claims' launch, or one that is
// recorded now. It has no ID when there is nothing to ask for.
func (l *Launcher) recorded(ctx context.Context, group []*karpenter.NodeClaim, claim *karpenter.NodeClaim, class *aws.EC2NodeClass, offer packing.Offer) (request cluster.LaunchRequest, replay bool, err error) {
	id := claim.Annotations[wellknown.AnnotationLaunch]
	if id == "" {
		// Made by somebody else, who gives each claim a UID of its own.
		id = groupID(group, string(claim.UID))
	}
	request, replay, err = l.Ledger.RecordedLaunch(ctx, id)
	if err != nil {
		return cluster.LaunchRequest{}, false, fmt.Errorf("look up launch %s: %w", id, err)
	}
	if replay || len(offer.Overrides) == 0 {
		return request, replay, nil
	}
	request, replay, err = l.Ledger.RecordLaunch(ctx, l.request(id, group, claim, class, offer))
	if err != nil {
		return cluster.LaunchRequest{}, false, fmt.Errorf("record launch %s: %w", id, err)
	}
	return request, replay, nil
}

// refreshed are the instances of a replayed launch as they are now: tagged since, perhaps, or gone.
func (l *Launcher) refreshed(ctx context.Context, launched []cluster.Instance) ([]cluster.Instance, error) {
	listed, err := l.Fleet.Instances(ctx)
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", err)
	}
	byID := make(map[cluster.InstanceID]cluster.Instance, len(listed))
	for _, instance := range listed {
		byID[instance.ID] = instance
	}
	current := slices.Clone(launched)
	for i := range current {
		if now, found := byID[current[i].ID]; found {
			current[i] = now
		}
	}
	return slices.DeleteFunc(current, func(i cluster.Instance) bool { return !i.State.Live() }), nil
}

// request is what EC2 is asked for: any candidate of the claims in any zone they may be in.
func (l *Launcher) request(id string, group []*karpenter.NodeClaim, claim *karpenter.NodeClaim, class *aws.EC2NodeClass, offer packing.Offer) cluster.LaunchRequest {
	labels := map[string]string{}
	maps.Copy(labels, claim.Labels)
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
	var failures []error
	instances := assign(s, group, result.Instances)
	for i, claim := range group {
		instance := instances[i]
		if instance == nil {
			if err := l.fail(ctx, claim, result.Failures); err != nil {
				failures = append(failures, err)
				continue
			}
			outcome.Failed = append(outcome.Failed, claim.Name)
			continue
		}
		written, err := l.adopt(ctx, s.Now, claim, instance, offer.Types[instance.InstanceType])
		if err != nil {
			failures = append(failures, err)
			continue
		}
		outcome.Launched = append(outcome.Launched, written)
	}
	return outcome, errors.Join(failures...)
}

// assign pairs claims with live instances that are no other claim's: by the instance's tag where it has
// one, else in the order of names and ids.
func assign(s *cluster.Snapshot, group []*karpenter.NodeClaim, instances []cluster.Instance) []*cluster.Instance {
	taken := map[cluster.InstanceID]bool{}
	for _, claim := range s.NodeClaims {
		if id := cluster.InstanceIDOf(claim.Status.ProviderID); id != "" {
			taken[id] = true
		}
	}
	position := make(map[string]int, len(group))
	for i, claim := range group {
		position[claim.Name] = i
	}
	assigned := make([]*cluster.Instance, len(group))
	var free []*cluster.Instance
	for i := range instances {
		instance := &instances[i]
		owner := instance.Tags[wellknown.TagNodeClaim]
		switch at, ours := position[owner]; {
		case taken[instance.ID], !instance.State.Live():
		case ours:
			assigned[at] = instance
		case owner == "":
			free = append(free, instance)
		}
	}
	slices.SortFunc(free, func(a, b *cluster.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for i := range assigned {
		if assigned[i] == nil && len(free) > 0 {
			assigned[i], free = free[0], free[1:]
		}
	}
	return assigned
}

// fail ends a claim that got no instance.
func (l *Launcher) fail(ctx context.Context, claim *karpenter.NodeClaim, failures []cluster.LaunchFailure) error {
	message := "no instance could be had for any of the candidates"
	if len(failures) > 0 {
		message = failures[0].Code + ": " + failures[0].Message
	}
	if err := l.Claims.DeleteNodeClaim(ctx, claim.Name); err != nil {
		return fmt.Errorf("delete NodeClaim %s, which has no capacity: %w", claim.Name, err)
	}
	l.Log.Warn("insufficient capacity", slog.String(events.KeyNodeClaim, claim.Name), slog.String(events.KeyReason, message))
	l.Events.Post(ctx, cluster.Event{
		Object: cluster.NodeClaimRef(claim), Type: corev1.EventTypeWarning, Reason: "InsufficientCapacityError", Message: message,
	})
	return nil
}

func (l *Launcher) recordOutages(ctx context.Context, now time.Time, failures []cluster.LaunchFailure) error {
	for _, failure := range failures {
		outage := cluster.Outage{Offering: failure.Offering, Until: now.Add(cluster.OutageTTL), Reason: failure.Code}
		if err := l.Ledger.RecordOutage(ctx, outage); err != nil {
			return fmt.Errorf("record outage of %s: %w", failure.Offering, err)
		}
	}
	return nil
}
