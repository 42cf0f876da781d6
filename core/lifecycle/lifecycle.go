// Package lifecycle walks a NodeClaim through its life: launched, registered, initialized, and in the
// end drained, terminated and gone. It is level-based: it looks at the claim and the world, does the one
// thing that is due, and has itself called again when the next thing may be.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/launch"
	"whittle/core/notice"
	"whittle/events"
)

// Reader gathers what a step decides from.
type Reader interface {
	Snapshot(ctx context.Context) (*cluster.Snapshot, error)
}

// Claims writes NodeClaims.
type Claims interface {
	UpdateNodeClaim(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	UpdateNodeClaimStatus(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string) error
}

// Nodes writes nodes.
type Nodes interface {
	UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	DeleteNode(ctx context.Context, name string) error
}

// Pods moves pods off a node.
type Pods interface {
	// Evict asks for the pod's graceful end; a PodDisruptionBudget that forbids it now answers 429.
	Evict(ctx context.Context, pod *corev1.Pod) error
	DeletePod(ctx context.Context, pod *corev1.Pod, grace time.Duration) error
}

// Instances finds and ends the cluster's instances.
type Instances interface {
	Instances(ctx context.Context) ([]cluster.Instance, error)
	Terminate(ctx context.Context, ids ...cluster.InstanceID) error
}

// Launcher launches NodeClaims that were left unlaunched.
type Launcher interface {
	Launch(ctx context.Context, s *cluster.Snapshot, group []*karpenter.NodeClaim) (launch.Outcome, error)
}

// Ledger holds what invocations must know of each other.
type Ledger interface {
	AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, name, owner string) error
	Outages(ctx context.Context) ([]cluster.Outage, error)
}

// Sender sends messages to the other functions.
type Sender interface {
	Send(ctx context.Context, queue string, message events.Outgoing) error
}

// Time limits and rhythms of a claim's life (upstream pkg/controllers/nodeclaim/lifecycle).
const (
	launchTimeout       = 5 * time.Minute
	registrationTimeout = 15 * time.Minute

	pollLaunch      = 10 * time.Second
	pollRegister    = 10 * time.Second
	pollInitialize  = 5 * time.Second
	pollDrain       = time.Second
	pollTermination = 5 * time.Second
	// checkAfter gives kube-scheduler time to bind the pods that a new node was bought for.
	checkAfter = 5 * time.Second
)

// Handler does the steps of one cluster's NodeClaims.
type Handler struct {
	Cluster string
	// Owner names the invocation that a context belongs to, in its leases.
	Owner     func(context.Context) string
	Reader    Reader
	Claims    Claims
	Nodes     Nodes
	Pods      Pods
	Instances Instances
	Launcher  Launcher
	Ledger    Ledger
	Queue     Sender
	Events    notice.Board
	Log       *slog.Logger
}

// leaseTTL is longer than a step may last.
const leaseTTL = time.Minute

// ErrBusy means that another invocation is at the same claim.
var ErrBusy = errors.New("another step for the claim is under way")

// Handle does what is due for the claim that the message names. A claim that is gone, or that changed
// under the step's hands, is no error: the next look will do.
func (h *Handler) Handle(ctx context.Context, step events.Step) error {
	s, err := h.Reader.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("read cluster %s: %w", h.Cluster, err)
	}
	host, found := find(s, step)
	if !found {
		return nil
	}
	lease := "nodeclaim/" + host.Claim.Name
	owner := h.Owner(ctx)
	owned, err := h.Ledger.AcquireLease(ctx, lease, owner, leaseTTL)
	if err != nil {
		return fmt.Errorf("acquire lease %s: %w", lease, err)
	}
	if !owned {
		return fmt.Errorf("step of NodeClaim %s: %w", host.Claim.Name, ErrBusy)
	}
	next, err := h.advance(ctx, s, host)
	if released := h.Ledger.ReleaseLease(ctx, lease, owner); released != nil {
		err = errors.Join(err, fmt.Errorf("release lease %s: %w", lease, released))
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		h.Log.Info("claim changed under the step", slog.String(events.KeyNodeClaim, host.Claim.Name), slog.String(events.KeyReason, err.Error()))
		next, err = pollDrain, nil
	}
	if err != nil || next == done {
		return err
	}
	return h.again(ctx, step, host.Claim.Name, next)
}

// done says that nothing is due until something happens.
const done time.Duration = 0

// again has the step repeated after the delay, unless it went round too often: then the sweep, which
// looks at every claim, takes over.
func (h *Handler) again(ctx context.Context, step events.Step, claim string, delay time.Duration) error {
	step.NodeClaim = claim
	next, ok := step.Next()
	if !ok {
		h.Log.Info("claim left to the sweep", slog.String(events.KeyNodeClaim, claim), slog.Int(events.KeyRounds, step.Round))
		return nil
	}
	if err := h.Queue.Send(ctx, events.QueueLifecycle, next.Outgoing(slower(delay, step.Round))); err != nil {
		return fmt.Errorf("repeat step of NodeClaim %s: %w", claim, err)
	}
	return nil
}

// slower stretches the delay of a claim that has gone round for a while: what has not happened in the first
// rounds is not likely to happen in the next second.
func slower(delay time.Duration, round int) time.Duration {
	switch {
	case round < 20:
		return delay
	case round < 60:
		return max(delay, 5*time.Second)
	default:
		return max(delay, 10*time.Second)
	}
}

// find is the host that the step is about.
func find(s *cluster.Snapshot, step events.Step) (cluster.Host, bool) {
	for _, host := range s.Hosts() {
		if host.Claim == nil || !host.Managed() {
			continue
		}
		switch {
		case step.NodeClaim != "" && host.Claim.Name == step.NodeClaim,
			step.NodeClaim == "" && step.ProviderID != "" && host.Claim.Status.ProviderID == step.ProviderID,
			step.NodeClaim == "" && step.Node != "" && host.Node != nil && host.Node.Name == step.Node:
			return host, true
		}
	}
	return cluster.Host{}, false
}

// advance does what is due and says when to look again.
func (h *Handler) advance(ctx context.Context, s *cluster.Snapshot, host cluster.Host) (time.Duration, error) {
	switch {
	case host.Claim.DeletionTimestamp != nil:
		return h.terminate(ctx, s, host)
	case !conditionTrue(host.Claim, karpenter.ConditionLaunched):
		return h.launch(ctx, s, host.Claim)
	case !conditionTrue(host.Claim, karpenter.ConditionRegistered):
		return h.register(ctx, s, host)
	case !conditionTrue(host.Claim, karpenter.ConditionInitialized):
		return h.initialize(ctx, s, host)
	default:
		return done, h.checkPlanned(ctx, s, host)
	}
}

// checkPlanned has provision look again when pods that the node was bought for are still without one:
// kube-scheduler may have given their room to others, and tells of a pod it has failed before only with
// a count on an Event that exists, which calls nobody.
func (h *Handler) checkPlanned(ctx context.Context, s *cluster.Snapshot, host cluster.Host) error {
	planned := host.PlannedPods()
	for _, pod := range s.Pods {
		if cluster.Provisionable(pod) && slices.Contains(planned, cluster.PodKey(pod)) {
			return h.wakeProvision(ctx, s.Now, "Pod "+cluster.PodKey(pod))
		}
	}
	return nil
}

// launch takes up a launch that nobody finished: of a pass that crashed, or of a claim made by hand.
func (h *Handler) launch(ctx context.Context, s *cluster.Snapshot, claim *karpenter.NodeClaim) (time.Duration, error) {
	if s.Now.Sub(claim.CreationTimestamp.Time) > launchTimeout {
		return h.giveUp(ctx, claim, "launch_timeout", "not launched within "+launchTimeout.String())
	}
	if !slices.Contains(claim.Finalizers, wellknown.FinalizerTermination) {
		// Made by hand: without the finalizer it could be gone before its node is drained.
		claim = claim.DeepCopy()
		claim.Finalizers = append(claim.Finalizers, wellknown.FinalizerTermination)
		if _, err := h.Claims.UpdateNodeClaim(ctx, claim); err != nil {
			return done, fmt.Errorf("put finalizer on NodeClaim %s: %w", claim.Name, err)
		}
		return pollDrain, nil
	}
	var err error
	if s.Outages, err = h.Ledger.Outages(ctx); err != nil {
		return done, fmt.Errorf("read outages: %w", err)
	}
	outcome, err := h.Launcher.Launch(ctx, s, launchGroup(s, claim))
	if err != nil {
		return done, err
	}
	if len(outcome.Failed) > 0 {
		return pollDrain, h.wakeProvision(ctx, s.Now, "NodeClaim "+claim.Name)
	}
	return pollLaunch, nil
}

// launchGroup is all claims of the claim's launch, so that a replay gives each the instance that the
// first attempt bought for it.
func launchGroup(s *cluster.Snapshot, claim *karpenter.NodeClaim) []*karpenter.NodeClaim {
	id := claim.Annotations[wellknown.AnnotationLaunch]
	if id == "" {
		return []*karpenter.NodeClaim{claim}
	}
	var group []*karpenter.NodeClaim
	for _, other := range s.NodeClaims {
		if other.Annotations[wellknown.AnnotationLaunch] == id && other.DeletionTimestamp == nil {
			group = append(group, other)
		}
	}
	return group
}

func (h *Handler) wakeProvision(ctx context.Context, now time.Time, object string) error {
	wake := events.Wake{Cluster: h.Cluster, Reason: events.ReasonCapacity, Object: object}
	if err := h.Queue.Send(ctx, events.QueueProvision, wake.Outgoing(now)); err != nil {
		return fmt.Errorf("wake provision for %s: %w", object, err)
	}
	return nil
}

// giveUp ends a claim that did not come up in time; its pods are planned again.
func (h *Handler) giveUp(ctx context.Context, claim *karpenter.NodeClaim, reason, message string) (time.Duration, error) {
	h.Log.Warn("giving up on NodeClaim", slog.String(events.KeyNodeClaim, claim.Name), slog.String(events.KeyReason, reason), slog.String(events.KeyDetail, message))
	if err := h.Claims.DeleteNodeClaim(ctx, claim.Name); err != nil {
		return done, fmt.Errorf("delete NodeClaim %s (%s): %w", claim.Name, reason, err)
	}
	h.Events.Post(ctx, cluster.Event{
		Object: cluster.NodeClaimRef(claim), Type: corev1.EventTypeWarning, Reason: "FailedToStart", Message: message,
	})
	return pollDrain, nil
}

// setCondition writes a condition of the claim, unless it stands already.
func (h *Handler) setCondition(ctx context.Context, now time.Time, claim *karpenter.NodeClaim, condition metav1.Condition) (*karpenter.NodeClaim, error) {
	claim = claim.DeepCopy()
	if condition.Reason == "" {
		condition.Reason = condition.Type
	}
	condition.LastTransitionTime = metav1.NewTime(now)
	if !meta.SetStatusCondition(&claim.Status.Conditions, condition) {
		return claim, nil
	}
	written, err := h.Claims.UpdateNodeClaimStatus(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("write condition %s of NodeClaim %s: %w", condition.Type, claim.Name, err)
	}
	return written, nil
}

func conditionTrue(claim *karpenter.NodeClaim, kind string) bool {
	return meta.IsStatusConditionTrue(claim.Status.Conditions, kind)
}
