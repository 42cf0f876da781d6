package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/events"
)

// How old things must be before they are taken for forgotten: longer than any function runs, so that
// what a live invocation is about to write down is left alone.
const (
	leakAge   = 3 * time.Minute
	orphanAge = 3 * time.Minute
)

// collect squares EC2 with the cluster: instances that no claim knows are terminated, claims whose
// instance is gone are deleted, and claims whose node was deleted by hand follow it.
func (h *Handler) collect(ctx context.Context, s *cluster.Snapshot) error {
	return errors.Join(h.collectInstances(ctx, s), h.collectClaims(ctx, s), h.collectNodes(ctx, s))
}

// collectNodes removes nodes of ours that have outlived both their claim and their instance.
func (h *Handler) collectNodes(ctx context.Context, s *cluster.Snapshot) error {
	live := liveInstances(s)
	var failures []error
	for _, host := range s.Hosts() {
		if host.Claim != nil || !host.Managed() || host.Ready() || live[host.InstanceID()] ||
			!slices.Contains(host.Node.Finalizers, wellknown.FinalizerTermination) || s.Now.Sub(host.Node.CreationTimestamp.Time) < orphanAge {
			continue
		}
		node := host.Node.DeepCopy()
		node.Finalizers = slices.DeleteFunc(node.Finalizers, func(f string) bool { return f == wellknown.FinalizerTermination })
		if _, err := h.Writer.UpdateNode(ctx, node); err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, fmt.Errorf("take finalizer off node %s, whose instance is gone: %w", node.Name, err))
			continue
		}
		if err := h.Writer.DeleteNode(ctx, node.Name); err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, fmt.Errorf("delete node %s, whose instance is gone: %w", node.Name, err))
			continue
		}
		h.Log.Warn("garbage collected node", slog.String(events.KeyNode, node.Name), slog.String(events.KeyReason, "its claim and its instance are gone"))
	}
	return errors.Join(failures...)
}

// liveInstances are those that may still run pods.
func liveInstances(s *cluster.Snapshot) map[cluster.InstanceID]bool {
	live := map[cluster.InstanceID]bool{}
	for _, instance := range s.Instances {
		if instance.State.Live() || instance.State == cluster.InstanceStopping {
			live[instance.ID] = true
		}
	}
	return live
}

func (h *Handler) collectInstances(ctx context.Context, s *cluster.Snapshot) error {
	known := map[cluster.InstanceID]bool{}
	names := map[string]bool{}
	unlaunched := map[string]bool{}
	for _, claim := range s.NodeClaims {
		known[cluster.InstanceIDOf(claim.Status.ProviderID)] = true
		names[claim.Name] = true
		if claim.Status.ProviderID == "" {
			unlaunched[claim.Annotations[wellknown.AnnotationLaunch]] = true
		}
	}
	var failures []error
	for _, instance := range s.Instances {
		tags := instance.Tags
		switch {
		case !instance.State.Live(), s.Now.Sub(instance.LaunchedAt) < leakAge, known[instance.ID]:
			continue
		case names[tags[wellknown.TagNodeClaim]], tags[wellknown.TagLaunch] != "" && unlaunched[tags[wellknown.TagLaunch]]:
			// Its claim is about to be told of it: lifecycle replays the launch.
			continue
		}
		if err := h.Instances.Terminate(ctx, instance.ID); err != nil {
			failures = append(failures, fmt.Errorf("terminate leaked instance %s: %w", instance.ID, err))
			continue
		}
		h.Log.Warn("terminated instance", slog.String(events.KeyInstance, string(instance.ID)),
			slog.String(events.KeyInstanceType, instance.InstanceType), slog.String(events.KeyReason, "no NodeClaim knows it"))
	}
	return errors.Join(failures...)
}

func (h *Handler) collectClaims(ctx context.Context, s *cluster.Snapshot) error {
	live := liveInstances(s)
	var failures []error
	for _, host := range s.Hosts() {
		if host.Claim == nil || !host.Managed() || host.Claim.DeletionTimestamp != nil {
			continue
		}
		reason := orphaned(host, live[host.InstanceID()], s.Now)
		if reason == "" {
			continue
		}
		h.Log.Warn("garbage collected NodeClaim", slog.String(events.KeyNodeClaim, host.Claim.Name), slog.String(events.KeyReason, reason))
		if err := h.Writer.DeleteNodeClaim(ctx, host.Claim.Name); err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, fmt.Errorf("delete NodeClaim %s, because %s: %w", host.Claim.Name, reason, err))
			continue
		}
		failures = append(failures, h.step(ctx, host.Claim.Name))
	}
	return errors.Join(failures...)
}

// orphaned says why the host's claim has nothing to claim any more; it is empty while it has.
func orphaned(host cluster.Host, instanceLives bool, now time.Time) string {
	switch {
	case host.Node != nil && host.Node.DeletionTimestamp != nil:
		return "its node was deleted"
	case host.Launched() && !instanceLives && !host.Ready() && now.Sub(host.LaunchedAt()) > orphanAge:
		return "its instance is gone"
	default:
		return ""
	}
}
