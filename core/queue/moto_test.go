package queue_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"whittle/core/queue"
	"whittle/events"
)

// startMoto runs the Moto server, an AWS of its own on the loopback interface, until the test ends.
func startMoto(t *testing.T) (endpoint string) {
	t.Helper()
	binary, err := exec.LookPath("moto_server")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("moto_server is not installed: pip install 'moto[server]'")
		}
		t.Skip("moto_server is not installed: pip install 'moto[server]' to run this test")
	}
	port := freePort(t)
	moto := exec.CommandContext(t.Context(), binary, "-H", "127.0.0.1", "-p", port)
	moto.WaitDelay = 5 * time.Second
	if err := moto.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's context, which ends before this, has killed it.
		_ = moto.Wait()
	})
	endpoint = "http://127.0.0.1:" + port
	awaitServer(t, endpoint)
	return endpoint
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// awaitServer returns once the server answers; Python takes a few seconds to start.
func awaitServer(t *testing.T, endpoint string) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-deadline:
			t.Fatalf("moto_server does not answer at %s after a minute", endpoint)
		case <-tick.C:
			response, err := http.Get(endpoint + "/moto-api/")
			if err != nil {
				continue
			}
			_ = response.Body.Close()
			return
		}
	}
}

func TestSendOverMoto(t *testing.T) {
	client := newClient(t, startMoto(t))
	fifo := createQueue(t, client, "whittle-provision.fifo", map[string]string{"FifoQueue": "true"})
	standard := createQueue(t, client, "whittle-lifecycle", nil)
	queues := queue.New(client, map[string]string{events.QueueProvision: fifo, events.QueueLifecycle: standard})

	now := time.Date(2026, 3, 2, 9, 30, 12, 0, time.UTC)
	first := events.Wake{Cluster: "demo", Reason: events.ReasonFailedScheduling, Object: "Pod default/a"}
	same := events.Wake{Cluster: "demo", Reason: events.ReasonFailedScheduling, Object: "Pod default/b"}
	other := events.Wake{Cluster: "other", Reason: events.ReasonFailedScheduling, Object: "Pod default/c"}
	for _, message := range []events.Outgoing{
		first.Outgoing(now), same.Outgoing(now), other.Outgoing(now), first.Outgoing(now.Add(time.Second)),
	} {
		if err := queues.Send(t.Context(), events.QueueProvision, message); err != nil {
			t.Fatal(err)
		}
	}
	step := events.Step{Cluster: "demo", NodeClaim: "default-7kx2p"}
	for _, delay := range []time.Duration{0, events.MaxDelay} {
		if err := queues.Send(t.Context(), events.QueueLifecycle, step.Outgoing(delay)); err != nil {
			t.Fatal(err)
		}
	}

	// A group gives out its next message once the one before is deleted, so receiving takes turns.
	got := map[string][]string{"fifo": receiveAll(t, client, fifo), "standard": receiveAll(t, client, standard)}
	want := map[string][]string{
		"fifo": {
			string(first.Outgoing(now).Body), string(other.Outgoing(now).Body), string(first.Outgoing(now).Body),
		},
		"standard": {string(step.Outgoing(0).Body)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

func createQueue(t *testing.T, client *sqs.Client, name string, attributes map[string]string) (url string) {
	t.Helper()
	created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(fmt.Errorf("create queue %s: %w", name, err))
	}
	return *created.QueueUrl
}

// receiveAll takes what can be received now, one message after the other.
func receiveAll(t *testing.T, client *sqs.Client, url string) []string {
	t.Helper()
	var bodies []string
	for {
		received, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(received.Messages) == 0 {
			return bodies
		}
		for _, message := range received.Messages {
			bodies = append(bodies, *message.Body)
			_, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: message.ReceiptHandle})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
