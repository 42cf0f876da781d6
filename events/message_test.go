package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whittle/events"
)

// The bodies are spelled out: a message sent by one version of a function is read by the next one.
func TestMessagesOnTheWire(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 30, 12, 987654321, time.UTC)
	type wire struct {
		Body, Group, DedupID string
		Delay                time.Duration
	}
	tests := []struct {
		name string
		out  events.Outgoing
		want wire
	}{
		{
			name: "wake",
			out:  events.Wake{Cluster: "demo", Reason: events.ReasonFailedScheduling, Object: "Pod default/web-0"}.Outgoing(now),
			want: wire{`{"cluster":"demo","reason":"FailedScheduling","object":"Pod default/web-0"}`, "demo", "demo-1772443812", 0},
		},
		{
			name: "step of a claim",
			out:  events.Step{Cluster: "demo", NodeClaim: "default-7kx2p", Round: 3}.Outgoing(5 * time.Second),
			want: wire{`{"cluster":"demo","nodeClaim":"default-7kx2p","round":3}`, "", "", 5 * time.Second},
		},
		{
			name: "step of a node",
			out:  events.Step{Cluster: "demo", Node: "ip-10-0-0-1.ec2.internal", ProviderID: "aws:///us-east-1a/i-1"}.Outgoing(0),
			want: wire{`{"cluster":"demo","node":"ip-10-0-0-1.ec2.internal","providerID":"aws:///us-east-1a/i-1"}`, "", "", 0},
		},
		{
			name: "sweep",
			out:  events.Sweep{Cluster: "demo"}.Outgoing(now),
			want: wire{`{"cluster":"demo"}`, "demo", "demo-1772443800", 0},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := wire{string(test.out.Body), test.out.Group, test.out.DedupID, test.out.Delay}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outgoing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesComeBackAsTheyWereSent(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 30, 12, 0, time.UTC)
	wake := events.Wake{Cluster: "demo_2", Reason: events.ReasonNodePoolChanged, Object: `NodePool "ä"`}
	step := events.Step{Cluster: "demo", NodeClaim: "a", Node: "b", ProviderID: "c", Round: events.MaxRounds}
	sweep := events.Sweep{Cluster: "D3mo-"}

	gotWake, err := events.DecodeWake(wake.Outgoing(now).Body)
	if diff := cmp.Diff(wake, gotWake); err != nil || diff != "" {
		t.Errorf("wake: error %v (-want +got):\n%s", err, diff)
	}
	gotStep, err := events.DecodeStep(step.Outgoing(0).Body)
	if diff := cmp.Diff(step, gotStep); err != nil || diff != "" {
		t.Errorf("step: error %v (-want +got):\n%s", err, diff)
	}
	gotSweep, err := events.DecodeSweep(sweep.Outgoing(now).Body)
	if diff := cmp.Diff(sweep, gotSweep); err != nil || diff != "" {
		t.Errorf("sweep: error %v (-want +got):\n%s", err, diff)
	}
}

func TestDecodeSaysWhatIsMalformed(t *testing.T) {
	wake := func(body []byte) error { _, err := events.DecodeWake(body); return err }
	step := func(body []byte) error { _, err := events.DecodeStep(body); return err }
	sweep := func(body []byte) error { _, err := events.DecodeSweep(body); return err }
	tests := []struct {
		name   string
		decode func([]byte) error
		body   string
		want   string
	}{
		{"wake empty", wake, "", "wake message: not the JSON expected"},
		{"wake truncated", wake, `{"cluster":"de`, "wake message: not the JSON expected"},
		{"wake followed by more", wake, `{"cluster":"demo","reason":"x"}{}`, "wake message: something follows the JSON object"},
		{"wake null", wake, "null", "wake message: cluster is missing"},
		{"wake without reason", wake, `{"cluster":"demo"}`, "wake message: reason is missing"},
		{"wake of somebody else", wake, `{"cluster":"demo","reason":"x","round":1}`, `unknown field "round"`},
		{"wake with a number for its cluster", wake, `{"cluster":3,"reason":"x"}`, "wake message: not the JSON expected"},
		{"step without cluster", step, `{"nodeClaim":"a"}`, "step message: cluster is missing"},
		{"step of nothing", step, `{"cluster":"demo","round":1}`, "step message: none of nodeClaim, node and providerID is given"},
		{"step before its first round", step, `{"cluster":"demo","nodeClaim":"a","round":-1}`, "step message: round is -1, want 0 to 100"},
		{"step beyond its last round", step, `{"cluster":"demo","nodeClaim":"a","round":101}`, "step message: round is 101, want 0 to 100"},
		{"sweep without cluster", sweep, `{}`, "sweep message: cluster is missing"},
		{"sweep of an impossible cluster", sweep, `{"cluster":"-demo"}`, `cluster "-demo" has '-' at position 0`},
		{"sweep of a cluster with spaces", sweep, `{"cluster":"my demo"}`, `cluster "my demo" has ' ' at position 2`},
		{"sweep of a cluster with a long name", sweep, `{"cluster":"` + strings.Repeat("a", 101) + `"}`, "cluster has 101 characters, at most 100 are allowed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assertMalformed(t, test.decode([]byte(test.body)), test.want)
		})
	}
}

func TestStepEndsAtItsBound(t *testing.T) {
	step := events.Step{Cluster: "demo", NodeClaim: "a"}
	sent := 0
	for {
		next, ok := step.Next()
		if !ok {
			break
		}
		step = next
		if sent++; sent > events.MaxRounds {
			t.Fatalf("sent on more than %d times", events.MaxRounds)
		}
		if step.Round != sent || step.NodeClaim != "a" {
			t.Fatalf("step sent on the %dth time is %+v", sent, step)
		}
	}
	if sent != events.MaxRounds {
		t.Errorf("sent on %d times, want %d", sent, events.MaxRounds)
	}
}

func TestDedupIDOfTheLongestClusterNameIsOneSQSTakes(t *testing.T) {
	out := events.Wake{Cluster: strings.Repeat("a", 100), Reason: "x"}.Outgoing(time.Date(2286, 11, 20, 17, 46, 40, 0, time.UTC))
	if got := len(out.DedupID); got > 128 {
		t.Errorf("deduplication id has %d characters, SQS takes 128", got)
	}
}
