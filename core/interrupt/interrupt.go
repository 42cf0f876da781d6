// Package interrupt reacts to what EC2 announces about instances: it closes the node, ends its
// NodeClaim and has the replacement planned at once. The drain is lifecycle's, the plan is provision's.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/notice"
	"whittle/events"
)

// Reader gathers what a reaction is decided from.
type Reader interface {
	Snapshot(ctx context.Context) (*cluster.Snapshot, error)
}

// Writer closes nodes and ends NodeClaims.
type Writer interface {
	UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	UpdateNodeClaim(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string) error
}

// Ledger remembers offerings without capacity.
type Ledger interface {
	RecordOutage(ctx context.Context, outage cluster.Outage) error
}

// Sender sends messages to the other functions.
type Sender interface {
	Send(ctx context.Context, queue string, message events.Outgoing) error
}

// spotNotice is how long a Spot instance lives after its warning (EC2 User Guide, Spot interruption
// notices).
const spotNotice = 2 * time.Minute

// Handler reacts to messages about one cluster's instances.
type Handler struct {
	Cluster string
	Reader  Reader
	Writer  Writer
	Ledger  Ledger
	Queue   Sender
	Events  notice.Board
	Log     *slog.Logger
}

// Handle reacts to a message. One about instances that are none of the cluster's, of a kind that is not
// acted on, or about a node that is going already, is done with nothing.
func (h *Handler) Handle(ctx context.Context, message events.Message) error {
	reason := reasonOf(message)
	if reason == "" {
		h.Log.Info("ignored message", slog.String(events.KeyKind, message.Kind.String()), slog.String(events.KeyState, message.State))
		return nil
	}
	s, err := h.Reader.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("read cluster %s: %w", h.Cluster, err)
	}
	hosts := make(map[cluster.InstanceID]cluster.Host, len(s.NodeClaims))
	for _, host := range s.Hosts() {
		if host.Claim != nil && host.Managed() && host.InstanceID() != "" {
			hosts[host.InstanceID()] = host
		}
	}
	var failures []error
	for _, id := range message.InstanceIDs {
		host, ours := hosts[cluster.InstanceID(id)]
		if !ours {
			continue
		}
		if err := h.react(ctx, s, host, message, reason); err != nil {
			failures = append(failures, fmt.Errorf("react to %s of instance %s: %w", message.Kind, id, err))
		}
	}
	return errors.Join(failures...)
}

// reasonOf is the reason of the Event that tells of a message that ends nodes, as upstream names it
// (pkg/controllers/interruption); it is empty for every other message. A rebalance recommendation ends
// none.
func reasonOf(message events.Message) string {
	switch message.Kind {
	case events.SpotInterruption:
		return "SpotInterrupted"
	case events.ScheduledChange:
		return "InstanceUnhealthy"
	case events.ReservationInterruption:
		return "CapacityReservationInstanceInterrupted"
	case events.StateChange:
		return reasonOfState(cluster.InstanceState(message.State))
	case events.Unknown, events.RebalanceRecommendation, events.CapacityBlockEnding:
		return ""
	default:
		return ""
	}
}

// reasonOfState is empty for a state in which an instance still serves.
func reasonOfState(state cluster.InstanceState) string {
	switch state {
	case cluster.InstanceStopping, cluster.InstanceStopped:
		return "InstanceStopping"
	case cluster.InstanceShuttingDown, cluster.InstanceTerminated:
		return "InstanceTerminating"
	case cluster.InstancePending, cluster.InstanceRunning:
		return ""
	default:
		return ""
	}
}

func (h *Handler) react(ctx context.Context, s *cluster.Snapshot, host cluster.Host, message events.Message, reason string) error {
	if message.Kind == events.SpotInterruption {
		outage := cluster.Outage{Offering: host.Offering(), Until: s.Now.Add(cluster.OutageTTL), Reason: reason}
		if err := h.Ledger.RecordOutage(ctx, outage); err != nil {
			return fmt.Errorf("record outage of %s: %w", outage.Offering, err)
		}
	}
	if message.Kind == events.SpotInterruption {
		if err := h.setDeadline(ctx, s, host.Claim, message); err != nil {
			return err
		}
	}
	if host.Claim.DeletionTimestamp == nil {
		if err := h.end(ctx, host, message, reason); err != nil {
			return err
		}
	} else if message.Kind == events.StateChange {
		// Our own terminations come back as state changes: nothing is to be replaced.
		return h.step(ctx, host)
	}
	return errors.Join(h.wake(ctx, s.Now, host), h.step(ctx, host))
}

// end closes the node to new pods before it deletes the claim, so that whoever plans next does not
// count on it.
func (h *Handler) end(ctx context.Context, host cluster.Host, message events.Message, reason string) error {
	h.Log.Info("interruption", slog.String(events.KeyKind, message.Kind.String()),
		slog.String(events.KeyNodeClaim, host.Claim.Name), slog.String(events.KeyInstance, string(host.InstanceID())))
	if host.Node != nil && !cluster.HasTaint(host.Node.Spec.Taints, wellknown.DisruptedTaint()) {
		node := host.Node.DeepCopy()
		node.Spec.Taints = append(node.Spec.Taints, wellknown.DisruptedTaint())
		if _, err := h.Writer.UpdateNode(ctx, node); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("taint node %s: %w", node.Name, err)
		}
	}
	if err := h.Writer.DeleteNodeClaim(ctx, host.Claim.Name); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete NodeClaim %s: %w", host.Claim.Name, err)
	}
	h.Events.Post(ctx, cluster.Event{
		Object: cluster.NodeClaimRef(host.Claim), Type: corev1.EventTypeWarning, Reason: reason,
		Message: fmt.Sprintf("EC2 announced %s of instance %s", message.Kind, host.InstanceID()),
	})
	return nil
}

// setDeadline has the drain end with the notice, unless the claim's own deadline is earlier: pods that
// are still there then would be killed without their grace.
func (h *Handler) setDeadline(ctx context.Context, s *cluster.Snapshot, claim *karpenter.NodeClaim, message events.Message) error {
	warned := message.Time
	if warned.IsZero() {
		warned = s.Now
	}
	deadline := warned.Add(spotNotice)
	if known, err := time.Parse(time.RFC3339, claim.Annotations[wellknown.AnnotationTerminationTimestamp]); err == nil && known.Before(deadline) {
		return nil
	}
	claim = claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[wellknown.AnnotationTerminationTimestamp] = deadline.UTC().Format(time.RFC3339)
	if _, err := h.Writer.UpdateNodeClaim(ctx, claim); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write deadline of NodeClaim %s: %w", claim.Name, err)
	}
	return nil
}

// wake has the replacement planned at once.
func (h *Handler) wake(ctx context.Context, now time.Time, host cluster.Host) error {
	wake := events.Wake{Cluster: h.Cluster, Reason: events.ReasonInterruption, Object: "NodeClaim " + host.Claim.Name}
	if err := h.Queue.Send(ctx, events.QueueProvision, wake.Outgoing(now)); err != nil {
		return fmt.Errorf("wake provision: %w", err)
	}
	return nil
}

// step has the old node drained.
func (h *Handler) step(ctx context.Context, host cluster.Host) error {
	step := events.Step{Cluster: h.Cluster, NodeClaim: host.Claim.Name}
	if err := h.Queue.Send(ctx, events.QueueLifecycle, step.Outgoing(0)); err != nil {
		return fmt.Errorf("send NodeClaim %s to lifecycle: %w", host.Claim.Name, err)
	}
	return nil
}
