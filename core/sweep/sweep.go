// Package sweep goes over a whole cluster every minute: it removes nodes that are empty or too old,
// squares EC2 with the cluster, and passes on whatever a lost signal left undone. Were every other
// signal lost, the sweep would find the same a minute later.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/disruption"
	"whittle/core/notice"
	"whittle/core/packing"
	"whittle/events"
)

// Reader gathers what a sweep decides from.
type Reader interface {
	Snapshot(ctx context.Context) (*cluster.Snapshot, error)
}

// Writer closes nodes, and writes and ends NodeClaims.
type Writer interface {
	UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	DeleteNode(ctx context.Context, name string) error
	UpdateNodeClaim(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	UpdateNodeClaimStatus(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string) error
}

// Instances finds and ends the cluster's instances.
type Instances interface {
	Instances(ctx context.Context) ([]cluster.Instance, error)
	Terminate(ctx context.Context, ids ...cluster.InstanceID) error
}

// Sender sends messages to the other functions.
type Sender interface {
	Send(ctx context.Context, queue string, message events.Outgoing) error
}

// Handler sweeps one cluster.
type Handler struct {
	Cluster   string
	Reader    Reader
	Writer    Writer
	Instances Instances
	Queue     Sender
	Events    notice.Board
	Log       *slog.Logger
}

// Handle sweeps. A part that fails does not keep the others from being done; a failed read keeps
// everything from being done.
func (h *Handler) Handle(ctx context.Context, _ events.Sweep) error {
	s, err := h.gather(ctx)
	if err != nil {
		return err
	}
	healed := h.reopen(ctx, s)
	noted := h.notePodChanges(ctx, s)
	return errors.Join(
		healed,
		noted,
		h.remove(ctx, s, disruption.Decide(s)),
		h.collect(ctx, s),
		h.passOn(ctx, s),
	)
}

func (h *Handler) gather(ctx context.Context) (*cluster.Snapshot, error) {
	s, err := h.Reader.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("read cluster %s: %w", h.Cluster, err)
	}
	if s.Instances, err = h.Instances.Instances(ctx); err != nil {
		return nil, fmt.Errorf("list instances of cluster %s: %w", h.Cluster, err)
	}
	return s, nil
}

// remove deletes the claims of what is to go, after closing their nodes to new pods.
func (h *Handler) remove(ctx context.Context, s *cluster.Snapshot, plan disruption.Plan) error {
	var failures []error
	for _, removal := range plan.Removals {
		if err := h.removeOne(ctx, removal); err != nil {
			failures = append(failures, fmt.Errorf("remove %s node %s: %w", removal.Reason, removal.Host.Name(), err))
		}
	}
	for _, blocked := range plan.Blocked {
		h.Log.Info("disruption blocked", slog.String(events.KeyNode, blocked.Host.Name()),
			slog.String(events.KeyReason, blocked.Reason), slog.String(events.KeyDetail, blocked.Message))
	}
	if len(plan.Removals) > 0 {
		failures = append(failures, h.wake(ctx, s, "removed nodes"))
	}
	return errors.Join(failures...)
}

func (h *Handler) removeOne(ctx context.Context, removal disruption.Removal) error {
	host := removal.Host
	h.Log.Info("consolidating", slog.String(events.KeyNode, host.Name()), slog.String(events.KeyNodeClaim, host.Claim.Name),
		slog.String(events.KeyReason, removal.Reason), slog.String(events.KeyDecision, "delete"))
	if host.Node != nil && !cluster.HasTaint(host.Node.Spec.Taints, wellknown.DisruptedTaint()) {
		node := host.Node.DeepCopy()
		node.Spec.Taints = append(node.Spec.Taints, wellknown.DisruptedTaint())
		if _, err := h.Writer.UpdateNode(ctx, node); err != nil {
			return fmt.Errorf("taint node: %w", err)
		}
	}
	if err := h.Writer.DeleteNodeClaim(ctx, host.Claim.Name); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete NodeClaim %s: %w", host.Claim.Name, err)
	}
	h.Events.Post(ctx, cluster.Event{
		Object: cluster.NodeClaimRef(host.Claim), Type: corev1.EventTypeNormal, Reason: "DisruptionTerminating",
		Message: "Disrupting NodeClaim: " + removal.Reason,
	})
	return h.step(ctx, host.Claim.Name)
}

func (h *Handler) step(ctx context.Context, claim string) error {
	step := events.Step{Cluster: h.Cluster, NodeClaim: claim}
	if err := h.Queue.Send(ctx, events.QueueLifecycle, step.Outgoing(0)); err != nil {
		return fmt.Errorf("send NodeClaim %s to lifecycle: %w", claim, err)
	}
	return nil
}

// look has lifecycle look at the claim once. A claim on its way is walked by messages that follow each
// other; the sweep's must not start a second chain of them each minute.
func (h *Handler) look(ctx context.Context, claim string) error {
	step := events.Step{Cluster: h.Cluster, NodeClaim: claim, Round: events.MaxRounds}
	if err := h.Queue.Send(ctx, events.QueueLifecycle, step.Outgoing(0)); err != nil {
		return fmt.Errorf("send NodeClaim %s to lifecycle: %w", claim, err)
	}
	return nil
}

func (h *Handler) wake(ctx context.Context, s *cluster.Snapshot, object string) error {
	wake := events.Wake{Cluster: h.Cluster, Reason: events.ReasonSweep, Object: object}
	if err := h.Queue.Send(ctx, events.QueueProvision, wake.Outgoing(s.Now)); err != nil {
		return fmt.Errorf("wake provision: %w", err)
	}
	return nil
}

// passOn sends to the other functions what they may have missed: claims that are not where they are
// going, and pods without a node.
func (h *Handler) passOn(ctx context.Context, s *cluster.Snapshot) error {
	var failures []error
	waiting := false
	for _, host := range s.Hosts() {
		if host.Claim == nil || !host.Managed() {
			continue
		}
		if host.Claim.DeletionTimestamp != nil || !host.Initialized() {
			failures = append(failures, h.look(ctx, host.Claim.Name))
		}
	}
	for _, pod := range s.Pods {
		waiting = waiting || cluster.Provisionable(pod)
	}
	for _, pool := range s.NodePools {
		waiting = waiting || packing.Missing(s, pool.Name) > 0
	}
	if waiting {
		failures = append(failures, h.wake(ctx, s, "pods without a node, or a static NodePool that lacks some"))
	}
	return errors.Join(failures...)
}
