package sweep

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/wellknown"
	"whittle/core/cluster"
)

// notePodChanges writes on each claim when a pod last came or went. Nothing tells of a pod that left, so
// the set of pods seen last is kept on the claim, as a hash, and compared. The snapshot's claims are
// replaced by the written ones, so that the same sweep decides by them.
func (h *Handler) notePodChanges(ctx context.Context, s *cluster.Snapshot) error {
	position := make(map[string]int, len(s.NodeClaims))
	for i, claim := range s.NodeClaims {
		position[claim.Name] = i
	}
	s.NodeClaims = slices.Clone(s.NodeClaims)
	var failures []error
	for _, host := range s.Hosts() {
		if host.Claim == nil || !host.Managed() || !host.Initialized() || host.Leaving() {
			continue
		}
		seen := fingerprint(host)
		before := host.Claim.Annotations[wellknown.AnnotationPodsSeen]
		if seen == before || before == "" && seen == fingerprint(cluster.Host{}) {
			continue
		}
		// The time first: a crash before the hash is written only has it noted again.
		claim := host.Claim.DeepCopy()
		claim.Status.LastPodEventTime = metav1.NewTime(s.Now)
		claim, err := h.Writer.UpdateNodeClaimStatus(ctx, claim)
		if err != nil {
			failures = append(failures, fmt.Errorf("note pod change of NodeClaim %s: %w", host.Claim.Name, err))
			continue
		}
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[wellknown.AnnotationPodsSeen] = seen
		if claim, err = h.Writer.UpdateNodeClaim(ctx, claim); err != nil {
			failures = append(failures, fmt.Errorf("note pods of NodeClaim %s: %w", host.Claim.Name, err))
			continue
		}
		s.NodeClaims[position[claim.Name]] = claim
	}
	return errors.Join(failures...)
}

// fingerprint is equal for the same pods, those of DaemonSets and kubelets aside.
func fingerprint(host cluster.Host) string {
	var uids []string
	for _, pod := range host.Pods {
		if cluster.Moves(pod) {
			uids = append(uids, string(pod.UID))
		}
	}
	slices.Sort(uids)
	hash := fnv.New64a()
	for _, uid := range uids {
		hash.Write([]byte(uid))
		hash.Write([]byte{0})
	}
	return fmt.Sprintf("%d-%016x", len(uids), hash.Sum64())
}
