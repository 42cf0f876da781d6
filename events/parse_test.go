package events_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whittle/events"
)

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func at(tb testing.TB, text string) time.Time {
	tb.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		tb.Fatal(err)
	}
	return when
}

func TestParseReadsEveryPayload(t *testing.T) {
	message := func(id, time, source, detailType string, fill func(*events.Message)) events.Message {
		m := events.Message{
			ID: id, Account: "123456789012", Region: "us-east-1", Time: at(t, time),
			Source: source, DetailType: detailType,
		}
		fill(&m)
		return m
	}
	unknown := func(*events.Message) {}
	spot := func(m *events.Message) {
		m.Kind = events.SpotInterruption
		m.InstanceIDs = []string{"i-0a1b2c3d4e5f60718"}
		m.Action = "terminate"
	}
	want := map[string]events.Message{
		"spot-interruption.json": message("1e5527d7-bb36-4607-3370-4164db56a40e", "2026-03-02T09:30:12Z",
			"aws.ec2", "EC2 Spot Instance Interruption Warning", spot),
		"sns-spot-interruption.json": message("1e5527d7-bb36-4607-3370-4164db56a40e", "2026-03-02T09:30:12Z",
			"aws.ec2", "EC2 Spot Instance Interruption Warning", spot),
		"rebalance-recommendation.json": message("e2a1c0d9-6b7f-4f53-8d0a-91c3b5a7e4f2", "2026-03-02T09:21:40Z",
			"aws.ec2", "EC2 Instance Rebalance Recommendation", func(m *events.Message) {
				m.Kind = events.RebalanceRecommendation
				m.InstanceIDs = []string{"i-0a1b2c3d4e5f60718"}
			}),
		"instance-state-change.json": message("7bf73129-1428-4cd3-a780-95db273d1602", "2026-03-02T10:02:54Z",
			"aws.ec2", "EC2 Instance State-change Notification", func(m *events.Message) {
				m.Kind = events.StateChange
				m.InstanceIDs = []string{"i-0f9e8d7c6b5a49382"}
				m.State = events.StateShuttingDown
			}),
		"health-scheduled-change.json": message("21345678-1234-1234-1234-123456789012", "2026-03-02T06:27:57Z",
			"aws.health", "AWS Health Event", func(m *events.Message) {
				m.Kind = events.ScheduledChange
				m.InstanceIDs = []string{"i-0f9e8d7c6b5a49382", "i-0123456789abcdef0"}
				m.State = "upcoming"
				m.Action = "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"
				m.Start = at(t, "2026-03-09T15:10:09Z")
			}),
		"health-reservation-underused.json": message("c3f1d0a4-7e58-4b0e-9a53-1f4a0c6bb210", "2026-03-02T09:30:12Z",
			"aws.health", "AWS Health Event", unknown),
		"reservation-interruption.json": message("0c2d6f3a-5a0d-4c35-b0bd-d2b47a3cb3f1", "2026-03-02T09:30:12Z",
			"aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", func(m *events.Message) {
				m.Kind = events.ReservationInterruption
				m.InstanceIDs = []string{"i-0123456789abcdef0"}
				m.Action = "terminate"
				m.Start = at(t, "2026-03-02T09:32:12Z")
			}),
		"capacity-block-expiration.json": message("5b6a7c8d-1f2e-4a3b-9c4d-5e6f7a8b9c0d", "2026-03-02T10:50:00Z",
			"aws.ec2", "Capacity Block Expiration Warning", func(m *events.Message) {
				m.Region = ""
				m.Kind = events.CapacityBlockEnding
				m.ReservationID = "cr-0a1b2c3d4e5f67890"
				m.Start = at(t, "2026-03-02T11:30:00Z")
			}),
		"spot-request-fulfillment.json": message("ad28ee36-2d6c-4d4e-8a2f-39d2c7f0f4cb", "2026-03-02T09:30:12Z",
			"aws.ec2", "EC2 Spot Instance Request Fulfillment", unknown),
		"fleet-error.json": message("9ecf6a64-4b3f-4b1a-8f7d-e0d6a7d8b0f5", "2026-03-02T09:30:12Z",
			"aws.ec2fleet", "EC2 Fleet Error", unknown),
		"cloudtrail-run-instances.json": message("2f7d3a51-9c9a-4d5a-8a87-6de4c5a8f9b2", "2026-03-02T09:30:12Z",
			"aws.ec2", "AWS API Call via CloudTrail", unknown),
		"eks-addon-update.json": message("6f0c5e0b-7b0a-4a36-8c8b-1e5ff3b38d0c", "2026-03-02T09:30:12Z",
			"aws.eks", "EKS Addon Update Succeeded", unknown),
		"asg-terminate-lifecycle.json": message("f9e8d7c6-b5a4-4938-8271-605f4e3d2c1b", "2026-03-02T09:30:12Z",
			"aws.autoscaling", "EC2 Instance-terminate Lifecycle Action", unknown),
		"asg-test-notification.json": {Time: time.Date(2026, 3, 2, 9, 30, 12, 345e6, time.UTC)},
	}
	for _, name := range bridgePayloads(t) {
		t.Run(name, func(t *testing.T) {
			wanted, listed := want[name]
			if !listed {
				t.Fatalf("no message is expected of %s: add it to the table", name)
			}
			got, err := events.Parse(readFile(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// bridgePayloads are the JSON files that hold an event of AWS, and not one of the envelopes in which
// API Gateway, the API server and SQS deliver.
func bridgePayloads(tb testing.TB) []string {
	tb.Helper()
	all, err := filepath.Glob("*.json")
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, name := range all {
		if strings.HasPrefix(name, "httpapi-") || strings.HasPrefix(name, "admission-") || strings.HasPrefix(name, "sqs-") {
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		tb.Fatal("no payloads found")
	}
	return names
}

func TestParseIsLenientWhereNothingDependsOnIt(t *testing.T) {
	tests := []struct {
		name string
		body string
		want events.Message
	}{
		{
			name: "only what is needed",
			body: `{"source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-1"}}`,
			want: events.Message{
				Kind: events.SpotInterruption, InstanceIDs: []string{"i-1"},
				Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning",
			},
		},
		{
			name: "fields of another form",
			body: `{"version":0,"id":17,"account":123456789012,"region":null,"time":"yesterday","resources":{"a":1},
				"source":"aws.ec2","detail-type":"EC2 Instance State-change Notification","detail":{"instance-id":"i-1","state":"Stopped"}}`,
			want: events.Message{
				Kind: events.StateChange, InstanceIDs: []string{"i-1"}, State: "stopped",
				Source: "aws.ec2", DetailType: "EC2 Instance State-change Notification",
			},
		},
		{
			name: "older name of the reservation's warning",
			body: `{"source":"aws.ec2","detail-type":"EC2 Interruptible Capacity Reservation Instance Interruption Warning",
				"resources":"arn:aws:ec2:us-east-1:123456789012:instance/i-1","detail":{"instance-id":"i-1","capacity-reservation-id":"cr-1"}}`,
			want: events.Message{
				Kind: events.ReservationInterruption, InstanceIDs: []string{"i-1"}, ReservationID: "cr-1",
				Source: "aws.ec2", DetailType: "EC2 Interruptible Capacity Reservation Instance Interruption Warning",
			},
		},
		{
			name: "other name of the rebalance recommendation",
			body: `{"source":"aws.ec2","detail-type":"EC2 Spot Instance Rebalance Recommended","detail":{"instance-id":"i-1"}}`,
			want: events.Message{
				Kind: events.RebalanceRecommendation, InstanceIDs: []string{"i-1"},
				Source: "aws.ec2", DetailType: "EC2 Spot Instance Rebalance Recommended",
			},
		},
		{
			name: "other name of the capacity block's warning",
			body: `{"source":"aws.ec2","detail-type":"Capacity Block Reservation Expiration Warning","detail":{"capacity-reservation-id":"cr-1"}}`,
			want: events.Message{
				Kind: events.CapacityBlockEnding, ReservationID: "cr-1",
				Source: "aws.ec2", DetailType: "Capacity Block Reservation Expiration Warning",
			},
		},
		{
			name: "health about a volume",
			body: `{"source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange",
				"affectedEntities":[{"entityValue":"vol-1"}]}}`,
			want: events.Message{Source: "aws.health", DetailType: "AWS Health Event"},
		},
		{
			name: "health about another service",
			body: `{"source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"RDS","eventTypeCategory":"scheduledChange"}}`,
			want: events.Message{Source: "aws.health", DetailType: "AWS Health Event"},
		},
		{
			name: "health whose weekday is wrong, as in its documentation",
			body: `{"source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange",
				"startTime":"Sat, 05 Jun 2016 15:10:09 GMT","affectedEntities":[{"entityValue":"vol-1"},{"entityValue":"i-1"}]}}`,
			want: events.Message{
				Kind: events.ScheduledChange, InstanceIDs: []string{"i-1"}, Start: time.Date(2016, 6, 5, 15, 10, 9, 0, time.UTC),
				Source: "aws.health", DetailType: "AWS Health Event",
			},
		},
		{
			name: "health whose start cannot be read",
			body: `{"source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange",
				"startTime":"soon","affectedEntities":[{"entityValue":"i-1"}]}}`,
			want: events.Message{
				Kind: events.ScheduledChange, InstanceIDs: []string{"i-1"},
				Source: "aws.health", DetailType: "AWS Health Event",
			},
		},
		{
			name: "a known detail-type of another source",
			body: `{"source":"my.app","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-1"}}`,
			want: events.Message{Source: "my.app", DetailType: "EC2 Spot Instance Interruption Warning"},
		},
		{
			name: "an object that is no event at all",
			body: `{}`,
			want: events.Message{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := events.Parse([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSaysWhatIsMalformed(t *testing.T) {
	ec2 := func(detailType, detail string) string {
		return `{"source":"aws.ec2","detail-type":"` + detailType + `","detail":` + detail + `}`
	}
	health := func(detail string) string {
		return `{"source":"aws.health","detail-type":"AWS Health Event","detail":` + detail + `}`
	}
	tests := []struct {
		name string
		body string
		want string
	}{
		{"empty", "", "EventBridge event: body is empty"},
		{"blank", " \n", "EventBridge event: body is empty"},
		{"null", "null", "EventBridge event: is null, want an object"},
		{"a list", "[]", "EventBridge event: not the JSON expected"},
		{"a string", `"event"`, "EventBridge event: not the JSON expected"},
		{"truncated", `{"source":"aws.ec2","detail-ty`, "EventBridge event: not the JSON expected"},
		{"two objects", `{} {}`, "EventBridge event: not the JSON expected"},
		{"empty SNS message", `{"Type":"Notification","TopicArn":"arn:aws:sns:us-east-1:123456789012:t","Message":""}`, "EventBridge event: body is empty"},
		{"no detail", `{"source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning"}`, "EC2 Spot Instance Interruption Warning: detail is missing"},
		{"null detail", ec2(events.DetailTypeSpotInterruption, "null"), "EC2 Spot Instance Interruption Warning: detail is missing"},
		{"detail of another form", ec2(events.DetailTypeSpotInterruption, "[]"), "EC2 Spot Instance Interruption Warning: not the JSON expected"},
		{"spot without instance", ec2(events.DetailTypeSpotInterruption, "{}"), "EC2 Spot Instance Interruption Warning: detail.instance-id is missing"},
		{"spot with another thing", ec2(events.DetailTypeSpotInterruption, `{"instance-id":"vol-1"}`), `detail.instance-id is "vol-1", want i- and hexadecimal digits`},
		{"spot with a bare prefix", ec2(events.DetailTypeSpotInterruption, `{"instance-id":"i-"}`), `detail.instance-id is "i-", want i- and hexadecimal digits`},
		{"spot with a wildcard", ec2(events.DetailTypeSpotInterruption, `{"instance-id":"i-*"}`), `detail.instance-id is "i-*", want i- and hexadecimal digits`},
		{"rebalance without instance", ec2(events.DetailTypeRebalanceRecommendation, "{}"), "detail.instance-id is missing"},
		{"state change without instance", ec2(events.DetailTypeStateChange, `{"state":"stopped"}`), "detail.instance-id is missing"},
		{"state change without state", ec2(events.DetailTypeStateChange, `{"instance-id":"i-1"}`), "detail.state is missing"},
		{"reservation without instance", ec2(events.DetailTypeReservationInterruption, `{}`), "detail.instance-id is missing"},
		{"capacity block without reservation", ec2(events.DetailTypeCapacityBlockExpiration, `{"end-date":"x"}`), "detail.capacity-reservation-id is missing"},
		{"health without service", health(`{"eventTypeCategory":"scheduledChange"}`), "detail.service is missing"},
		{"health without category", health(`{"service":"EC2"}`), "detail.eventTypeCategory is missing"},
		{"health about nothing", health(`{"service":"EC2","eventTypeCategory":"scheduledChange"}`), "detail.affectedEntities is empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			message, err := events.Parse([]byte(test.body))
			assertMalformed(t, err, test.want)
			if diff := cmp.Diff(events.Message{}, message); diff != "" {
				t.Errorf("message beside an error (-want +got):\n%s", diff)
			}
		})
	}
}

func assertMalformed(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", want)
	}
	if !errors.Is(err, events.ErrMalformed) {
		t.Errorf("error %v is not events.ErrMalformed", err)
	}
	if _, ok := errors.AsType[*events.MalformedError](err); !ok {
		t.Errorf("error is a %T, want *events.MalformedError", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not say %q", err, want)
	}
}

func TestParseReadsNoTruncatedPayload(t *testing.T) {
	for _, name := range bridgePayloads(t) {
		body := []byte(strings.TrimSpace(string(readFile(t, name))))
		for length := range body {
			if _, err := events.Parse(body[:length]); !errors.Is(err, events.ErrMalformed) {
				t.Fatalf("%s cut to %d of %d bytes: error is %v, want ErrMalformed", name, length, len(body), err)
			}
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	want := map[events.Kind]string{
		events.Unknown:                 "Unknown",
		events.SpotInterruption:        "SpotInterruption",
		events.RebalanceRecommendation: "RebalanceRecommendation",
		events.StateChange:             "StateChange",
		events.ScheduledChange:         "ScheduledChange",
		events.ReservationInterruption: "ReservationInterruption",
		events.CapacityBlockEnding:     "CapacityBlockEnding",
		events.Kind(99):                "Kind(99)",
	}
	for kind, name := range want {
		if got := kind.String(); got != name {
			t.Errorf("kind %d is called %q, want %q", int(kind), got, name)
		}
	}
}

// FuzzParse holds Parse to what its callers build on: no panic, every error malformed, and a known
// kind never without what it is about.
func FuzzParse(f *testing.F) {
	for _, name := range bridgePayloads(f) {
		f.Add(readFile(f, name))
	}
	f.Add([]byte(`{"source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":3}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		message, err := events.Parse(body)
		switch {
		case err != nil:
			if !errors.Is(err, events.ErrMalformed) {
				t.Errorf("error %v is not ErrMalformed", err)
			}
		case !json.Valid(body):
			t.Errorf("read %q, which is not JSON", body)
		case message.Kind == events.CapacityBlockEnding && message.ReservationID == "":
			t.Errorf("capacity block without reservation: %+v", message)
		case message.Kind != events.Unknown && message.Kind != events.CapacityBlockEnding && len(message.InstanceIDs) == 0:
			t.Errorf("%s without instance: %+v", message.Kind, message)
		case message.Kind == events.Unknown && len(message.InstanceIDs) > 0:
			t.Errorf("unknown event with instances: %+v", message)
		}
	})
}
