package queue_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"whittle/core/queue"
	"whittle/events"
)

// newClient speaks to an endpoint that is not AWS.
func newClient(t *testing.T, endpoint string) *sqs.Client {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	configuration, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"),
		config.WithSharedConfigFiles(nil), config.WithSharedCredentialsFiles(nil))
	if err != nil {
		t.Fatal(err)
	}
	return sqs.NewFromConfig(configuration, func(options *sqs.Options) {
		options.BaseEndpoint = &endpoint
		options.RetryMaxAttempts = 1
	})
}

const (
	fifoURL     = "https://sqs.us-east-1.amazonaws.com/123456789012/whittle-provision.fifo"
	standardURL = "https://sqs.us-east-1.amazonaws.com/123456789012/whittle-lifecycle"
)

func urls() map[string]string {
	return map[string]string{events.QueueProvision: fifoURL, events.QueueLifecycle: standardURL}
}

func TestSendAsSQSWantsIt(t *testing.T) {
	tests := []struct {
		name    string
		queue   string
		message events.Outgoing
		want    map[string]any
	}{
		{
			name: "FIFO", queue: events.QueueProvision,
			message: events.Outgoing{Body: []byte(`{"cluster":"demo"}`), Group: "demo", DedupID: "demo-1772443812"},
			want: map[string]any{
				"QueueUrl": fifoURL, "MessageBody": `{"cluster":"demo"}`,
				"MessageGroupId": "demo", "MessageDeduplicationId": "demo-1772443812",
			},
		},
		{
			name: "standard, delayed", queue: events.QueueLifecycle,
			message: events.Outgoing{Body: []byte("{}"), Delay: 5 * time.Second},
			want:    map[string]any{"QueueUrl": standardURL, "MessageBody": "{}", "DelaySeconds": 5.0},
		},
		{
			name: "a broken second rounds up", queue: events.QueueLifecycle,
			message: events.Outgoing{Body: []byte("{}"), Delay: 1001 * time.Millisecond},
			want:    map[string]any{"QueueUrl": standardURL, "MessageBody": "{}", "DelaySeconds": 2.0},
		},
		{
			name: "a delay beyond what SQS knows is cut", queue: events.QueueLifecycle,
			message: events.Outgoing{Body: []byte("{}"), Delay: time.Hour},
			want:    map[string]any{"QueueUrl": standardURL, "MessageBody": "{}", "DelaySeconds": 900.0},
		},
		{
			name: "a time gone by is no delay", queue: events.QueueLifecycle,
			message: events.Outgoing{Body: []byte("{}"), Delay: -time.Minute},
			want:    map[string]any{"QueueUrl": standardURL, "MessageBody": "{}"},
		},
		{
			name: "a standard queue may have groups", queue: events.QueueLifecycle,
			message: events.Outgoing{Body: []byte("{}"), Group: "demo"},
			want:    map[string]any{"QueueUrl": standardURL, "MessageBody": "{}", "MessageGroupId": "demo"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var target, contentType string
			var body map[string]any
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				target, contentType = r.Header.Get("X-Amz-Target"), r.Header.Get("Content-Type")
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				_, _ = io.WriteString(w, `{"MessageId":"1"}`)
			}))
			defer server.Close()

			err := queue.New(newClient(t, server.URL), urls()).Send(t.Context(), test.queue, test.message)
			if err != nil {
				t.Fatal(err)
			}
			if target != "AmazonSQS.SendMessage" || contentType != "application/x-amz-json-1.0" {
				t.Errorf("target %q, content type %q", target, contentType)
			}
			if diff := cmp.Diff(test.want, body); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSendRefusesWhatSQSWouldRefuse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("SQS was asked")
	}))
	defer server.Close()
	queues := queue.New(newClient(t, server.URL), urls())
	tests := []struct {
		name    string
		queue   string
		message events.Outgoing
		want    string
	}{
		{"an unknown queue", events.QueueSweep, events.Outgoing{}, "send to queue sweep: its URL is not configured"},
		{"FIFO without group", events.QueueProvision, events.Outgoing{DedupID: "a"}, "send to queue provision: a FIFO queue needs a group"},
		{"FIFO without deduplication id", events.QueueProvision, events.Outgoing{Group: "a"}, "send to queue provision: a FIFO queue needs a group and a deduplication id"},
		{"FIFO with a delay", events.QueueProvision, events.Outgoing{Group: "a", DedupID: "b", Delay: time.Second}, "send to queue provision: a FIFO queue cannot delay a message, asked for 1s"},
		{"standard with a deduplication id", events.QueueLifecycle, events.Outgoing{DedupID: "b"}, "send to queue lifecycle: a standard queue takes no deduplication id"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := queues.Send(t.Context(), test.queue, test.message)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestSendReportsWhatSQSReports(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}`)
	}))
	defer server.Close()
	err := queue.New(newClient(t, server.URL), urls()).Send(t.Context(), events.QueueLifecycle, events.Outgoing{Body: []byte("{}")})
	for _, want := range []string{"send to queue lifecycle: ", "QueueDoesNotExist"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to contain %q", err, want)
		}
	}
}

func TestSendGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := queue.New(newClient(t, "http://127.0.0.1:1"), urls()).Send(ctx, events.QueueLifecycle, events.Outgoing{Body: []byte("{}")})
	if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("error is %v, want %v", err, context.Canceled)
	}
}
