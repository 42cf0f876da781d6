package launch

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/events"
)

// adopt writes on the claim what its instance is.
func (l *Launcher) adopt(ctx context.Context, now time.Time, claim *karpenter.NodeClaim, instance *cluster.Instance, shape *catalog.InstanceType) (*karpenter.NodeClaim, error) {
	if instance.Tags[wellknown.TagNodeClaim] != claim.Name {
		if err := l.Fleet.Tag(ctx, instance.ID, map[string]string{wellknown.TagNodeClaim: claim.Name}); err != nil {
			return nil, fmt.Errorf("tag instance %s with NodeClaim %s: %w", instance.ID, claim.Name, err)
		}
	}
	claim = claim.DeepCopy()
	setLabels(claim, instance, shape)
	claim, err := l.Claims.UpdateNodeClaim(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("label NodeClaim %s: %w", claim.Name, err)
	}
	claim.Status.ProviderID = instance.ProviderID()
	claim.Status.ImageID = instance.ImageID
	if shape != nil {
		claim.Status.Capacity = shape.Capacity.List()
		claim.Status.Allocatable = shape.Allocatable.List()
	}
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: karpenter.ConditionLaunched, Status: metav1.ConditionTrue, Reason: karpenter.ConditionLaunched,
		LastTransitionTime: metav1.NewTime(now),
	})
	written, err := l.Claims.UpdateNodeClaimStatus(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("write status of NodeClaim %s: %w", claim.Name, err)
	}
	l.Log.Info("launched instance", slog.String(events.KeyNodeClaim, claim.Name), slog.String(events.KeyInstance, string(instance.ID)),
		slog.String(events.KeyInstanceType, instance.InstanceType), slog.String(events.KeyZone, instance.Zone),
		slog.String(events.KeyCapacityType, instance.CapacityType))
	return written, nil
}

func setLabels(claim *karpenter.NodeClaim, instance *cluster.Instance, shape *catalog.InstanceType) {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: instance.InstanceType,
		corev1.LabelTopologyZone:       instance.Zone,
		wellknown.LabelCapacityType:    instance.CapacityType,
		wellknown.LabelTenancy:         wellknown.TenancyDefault,
	}
	if shape != nil {
		maps.Copy(labels, shape.Labels)
		for _, offering := range shape.Offerings {
			if offering.Zone == instance.Zone && offering.ZoneID != "" {
				labels[wellknown.LabelZoneID] = offering.ZoneID
			}
		}
	}
	maps.Copy(labels, claim.Labels)
	claim.Labels = labels
}
