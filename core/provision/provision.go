// Package provision gives pods that wait for a node the cheapest nodes that take them. It reads the
// cluster, lets packing decide, writes NodeClaims and launches them. It never binds a pod.
package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"whittle/core/api/karpenter"
	"whittle/core/cluster"
	"whittle/core/launch"
	"whittle/core/notice"
	"whittle/core/packing"
	"whittle/events"
)

// Reader gathers what a pass decides from.
type Reader interface {
	Snapshot(ctx context.Context) (*cluster.Snapshot, error)
}

// Claims creates NodeClaims.
type Claims interface {
	CreateNodeClaim(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
}

// Launcher launches NodeClaims that exist.
type Launcher interface {
	Launch(ctx context.Context, s *cluster.Snapshot, group []*karpenter.NodeClaim) (launch.Outcome, error)
}

// Ledger holds what passes must know of each other.
type Ledger interface {
	Outages(ctx context.Context) ([]cluster.Outage, error)
	AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, name, owner string) error
}

// Sender sends messages to the other functions.
type Sender interface {
	Send(ctx context.Context, queue string, message events.Outgoing) error
}

// Clock is the time, and the wait for pods that are still being made.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Handler runs passes for one cluster.
type Handler struct {
	Cluster string
	// Owner names the invocation that a context belongs to, in its leases.
	Owner    func(context.Context) string
	Reader   Reader
	Claims   Claims
	Launcher Launcher
	Ledger   Ledger
	Queue    Sender
	Events   notice.Board
	Clock    Clock
	Log      *slog.Logger
}

// leaseTTL is longer than a pass may last, so that a lease outlives its pass only after a crash.
const leaseTTL = time.Minute

// ErrBusy means that another pass for the cluster is under way. The message is to come back later: that
// pass may have read the cluster before what this message tells of.
var ErrBusy = errors.New("another pass for the cluster is under way")

// Handle runs a pass. The message is a hint only: what is done follows from what the cluster shows.
func (h *Handler) Handle(ctx context.Context, wake events.Wake) error {
	lease := "provision/" + h.Cluster
	owner := h.Owner(ctx)
	owned, err := h.Ledger.AcquireLease(ctx, lease, owner, leaseTTL)
	if err != nil {
		return fmt.Errorf("acquire lease %s: %w", lease, err)
	}
	if !owned {
		return fmt.Errorf("provision %s: %w", h.Cluster, ErrBusy)
	}
	err = h.pass(ctx, wake)
	if released := h.Ledger.ReleaseLease(ctx, lease, owner); released != nil {
		err = errors.Join(err, fmt.Errorf("release lease %s: %w", lease, released))
	}
	return err
}

// pass settles, plans and acts; and looks once more when the second is over in which it began, because
// wakes of one second are sent once and a pod may have come after the first look.
func (h *Handler) pass(ctx context.Context, wake events.Wake) error {
	began := h.Clock.Now()
	if err := h.look(ctx, wake); err != nil {
		return err
	}
	rest := began.Truncate(time.Second).Add(time.Second).Sub(h.Clock.Now())
	if rest <= 0 {
		return nil
	}
	if err := h.Clock.Sleep(ctx, rest); err != nil {
		return fmt.Errorf("wait for the second to end: %w", err)
	}
	return h.look(ctx, wake)
}

// look reads a settled cluster and acts on it.
func (h *Handler) look(ctx context.Context, wake events.Wake) error {
	snapshot, err := h.settled(ctx)
	if err != nil {
		return err
	}
	snapshot.Outages, err = h.Ledger.Outages(ctx)
	if err != nil {
		return fmt.Errorf("read outages: %w", err)
	}
	plan := packing.Solve(snapshot, packing.Options{})
	h.logPlan(wake, plan)
	return h.act(ctx, snapshot, plan)
}

// act creates the plan's NodeClaims, launches them with as few calls as it can, and says what it did.
// All claims are written before the first launch, so that whatever stops a launch, no pass plans the
// same pods anew.
func (h *Handler) act(ctx context.Context, s *cluster.Snapshot, plan *packing.Plan) error {
	claims := make([]*karpenter.NodeClaim, len(plan.Launches))
	for i := range plan.Launches {
		claims[i] = plan.Launches[i].NodeClaim()
	}
	groups := launch.Group(claims, s.Now)
	for i := range groups {
		created, err := h.create(ctx, groups[i])
		if err != nil {
			return err
		}
		groups[i] = created
	}
	for _, group := range groups {
		if len(group) == 0 {
			continue
		}
		if err := h.launch(ctx, s, group); err != nil {
			return err
		}
	}
	h.report(ctx, plan, claims)
	return nil
}

// create writes the claims, and returns those that were not there before.
func (h *Handler) create(ctx context.Context, group []*karpenter.NodeClaim) ([]*karpenter.NodeClaim, error) {
	var created []*karpenter.NodeClaim
	for _, claim := range group {
		written, err := h.Claims.CreateNodeClaim(ctx, claim)
		if apierrors.IsAlreadyExists(err) {
			// A pass that ran at the same time planned the same node; it is launched already or will be.
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create NodeClaim %s: %w", claim.Name, err)
		}
		created = append(created, written)
	}
	return created, nil
}

// launch launches the claims. A launch that fails is lifecycle's to take up again: the message is not
// failed for it, since it would hold up all later ones of the cluster.
func (h *Handler) launch(ctx context.Context, s *cluster.Snapshot, group []*karpenter.NodeClaim) error {
	outcome, err := h.Launcher.Launch(ctx, s, group)
	if err != nil {
		h.Log.Error("launch left to lifecycle", slog.String(events.KeyCluster, h.Cluster), slog.Any(events.KeyError, err))
		return h.step(ctx, group, retryLaunch)
	}
	if len(outcome.Failed) > 0 {
		wake := events.Wake{Cluster: h.Cluster, Reason: events.ReasonCapacity, Object: "NodeClaim " + outcome.Failed[0]}
		message := wake.Outgoing(h.Clock.Now())
		message.DedupID += "-" + outcome.Failed[0]
		if err := h.Queue.Send(ctx, events.QueueProvision, message); err != nil {
			return fmt.Errorf("wake provision after failed launches: %w", err)
		}
	}
	return h.step(ctx, outcome.Launched, firstStep)
}

// When lifecycle looks first: after the time that a quick node needs to register, or soon when the
// launch has to be taken up again.
const (
	firstStep   = 20 * time.Second
	retryLaunch = 5 * time.Second
)

func (h *Handler) step(ctx context.Context, claims []*karpenter.NodeClaim, delay time.Duration) error {
	for _, claim := range claims {
		step := events.Step{Cluster: h.Cluster, NodeClaim: claim.Name}
		if err := h.Queue.Send(ctx, events.QueueLifecycle, step.Outgoing(delay)); err != nil {
			return fmt.Errorf("send NodeClaim %s to lifecycle: %w", claim.Name, err)
		}
	}
	return nil
}
