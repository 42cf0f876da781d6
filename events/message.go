package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

const (
	wakeMessage  = "wake message"
	stepMessage  = "step message"
	sweepMessage = "sweep message"
)

// Why a Wake was sent. The reason is for logs and explanations; the handler does the same for all.
const (
	ReasonFailedScheduling = "FailedScheduling"
	ReasonNodePoolChanged  = "NodePoolChanged"
	ReasonNodeClassChanged = "NodeClassChanged"
	ReasonInterruption     = "Interruption"
	ReasonCapacity         = "Capacity"
	ReasonSweep            = "Sweep"
)

// Wake asks provision to look at a cluster.
type Wake struct {
	Cluster string `json:"cluster"`
	// Reason is one of the Reason constants.
	Reason string `json:"reason"`
	// Object is what the reason is about, such as "Pod default/web-0"; it may be empty.
	Object string `json:"object,omitempty"`
}

// Outgoing is the message for QueueProvision. Two of one cluster within a second carry the same
// DedupID, so that the queue keeps one of them: the second would find what the first one finds.
func (w Wake) Outgoing(now time.Time) Outgoing {
	return Outgoing{
		Body:    encode(w),
		Group:   w.Cluster,
		DedupID: w.Cluster + "-" + strconv.FormatInt(now.Unix(), 10),
	}
}

// DecodeWake reads a message of QueueProvision.
func DecodeWake(body []byte) (Wake, error) {
	wake, err := decode[Wake](wakeMessage, body)
	if err != nil {
		return Wake{}, err
	}
	if err := checkCluster(wakeMessage, wake.Cluster); err != nil {
		return Wake{}, err
	}
	if wake.Reason == "" {
		return Wake{}, malformed(wakeMessage, "reason is missing")
	}
	return wake, nil
}

// MaxRounds is how often a Step may be sent on. Lambda's own guard against functions that feed
// themselves is switched off for lifecycle, so the message brings this one along: beyond it the
// sweep, which visits every NodeClaim each minute, takes over.
const MaxRounds = 100

// Step asks lifecycle to do what is due for one NodeClaim, named by itself or by its node.
type Step struct {
	Cluster string `json:"cluster"`
	// NodeClaim is the claim's name; empty if only its node is known.
	NodeClaim string `json:"nodeClaim,omitempty"`
	// Node is the name of the node, which lifecycle resolves to its NodeClaim: a node that just
	// registered does not name its claim.
	Node string `json:"node,omitempty"`
	// ProviderID is the node's, aws:///<zone>/<instance id>, as far as the sender knew it. It finds
	// the NodeClaim even before the API server has stored the node.
	ProviderID string `json:"providerID,omitempty"`
	// Round counts how often the message went round: 0 at first, at most MaxRounds.
	Round int `json:"round,omitempty"`
}

// Next is the step of the following round; ok is false when the bound is reached and nothing must
// be sent any more.
func (s Step) Next() (next Step, ok bool) {
	if s.Round >= MaxRounds {
		return Step{}, false
	}
	s.Round++
	return s, true
}

// Outgoing is the message for QueueLifecycle, to be received after the delay.
func (s Step) Outgoing(delay time.Duration) Outgoing {
	return Outgoing{Body: encode(s), Delay: delay}
}

// DecodeStep reads a message of QueueLifecycle.
func DecodeStep(body []byte) (Step, error) {
	step, err := decode[Step](stepMessage, body)
	if err != nil {
		return Step{}, err
	}
	if err := checkCluster(stepMessage, step.Cluster); err != nil {
		return Step{}, err
	}
	if step.NodeClaim == "" && step.Node == "" && step.ProviderID == "" {
		return Step{}, malformed(stepMessage, "none of nodeClaim, node and providerID is given")
	}
	if step.Round < 0 || step.Round > MaxRounds {
		return Step{}, malformed(stepMessage, "round is %d, want 0 to %d", step.Round, MaxRounds)
	}
	return step, nil
}

// Sweep asks sweep to go over a whole cluster. EventBridge Scheduler sends one each minute.
type Sweep struct {
	Cluster string `json:"cluster"`
}

// Outgoing is the message for QueueSweep; of those sent within a minute the queue keeps one.
func (s Sweep) Outgoing(now time.Time) Outgoing {
	return Outgoing{
		Body:    encode(s),
		Group:   s.Cluster,
		DedupID: s.Cluster + "-" + strconv.FormatInt(now.Truncate(time.Minute).Unix(), 10),
	}
}

// DecodeSweep reads a message of QueueSweep.
func DecodeSweep(body []byte) (Sweep, error) {
	sweep, err := decode[Sweep](sweepMessage, body)
	if err != nil {
		return Sweep{}, err
	}
	if err := checkCluster(sweepMessage, sweep.Cluster); err != nil {
		return Sweep{}, err
	}
	return sweep, nil
}

// maxClusterName is the longest name EKS allows (EKS, CreateCluster, name).
const maxClusterName = 100

// CheckCluster says whether name can be the name of an EKS cluster: letters, digits, hyphens and
// underscores, a letter or digit first, at most 100 (EKS, CreateCluster, name). The name goes into
// FIFO group and deduplication ids, which take no other characters.
func CheckCluster(name string) error {
	if name == "" {
		return errors.New("cluster is missing")
	}
	if len(name) > maxClusterName {
		return fmt.Errorf("cluster has %d characters, at most %d are allowed", len(name), maxClusterName)
	}
	for i, r := range name {
		alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if alphanumeric || i > 0 && (r == '-' || r == '_') {
			continue
		}
		return fmt.Errorf("cluster %q has %q at position %d, want letters and digits, then hyphens and underscores too", name, r, i)
	}
	return nil
}

func checkCluster(message, name string) error {
	if err := CheckCluster(name); err != nil {
		return &MalformedError{Message: message, Problem: err.Error()}
	}
	return nil
}

// decode is strict: a field we do not know means that the message is somebody else's, or that its
// sender is newer than we are; then a later delivery reaches our successor.
func decode[T any](message string, body []byte) (T, error) {
	var value T
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		return value, &MalformedError{Message: message, Problem: "not the JSON expected", Err: err}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return value, malformed(message, "something follows the JSON object")
	}
	return value, nil
}

// encode cannot fail: its values are structs of strings and integers.
func encode(value any) []byte {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("events: encode %T: %v", value, err))
	}
	return body
}
