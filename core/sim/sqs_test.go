package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whittle/core/sim"
	"whittle/events"
)

// sqsEvent is what a function receives.
type sqsEvent struct {
	Records []struct {
		MessageID      string            `json:"messageId"`
		ReceiptHandle  string            `json:"receiptHandle"`
		Body           string            `json:"body"`
		Attributes     map[string]string `json:"attributes"`
		MD5OfBody      string            `json:"md5OfBody"`
		EventSource    string            `json:"eventSource"`
		EventSourceARN string            `json:"eventSourceARN"`
		AWSRegion      string            `json:"awsRegion"`
	} `json:"Records"`
}

// batches decodes what a function is invoked with, and notes the bodies of each invocation with the time.
type batches struct {
	t     *testing.T
	world *sim.World
	start time.Time
	got   []string
	last  sqsEvent
}

func newBatches(t *testing.T, w *sim.World) *batches {
	t.Helper()
	return &batches{t: t, world: w, start: w.Now()}
}

func (b *batches) note(payload []byte) sqsEvent {
	b.t.Helper()
	b.last = sqsEvent{}
	if err := json.Unmarshal(payload, &b.last); err != nil {
		b.t.Fatalf("decode payload: %v", err)
	}
	var bodies []string
	for _, r := range b.last.Records {
		bodies = append(bodies, r.Body)
	}
	b.got = append(b.got, fmt.Sprintf("%v %s", b.world.Now().Sub(b.start).Truncate(time.Second), strings.Join(bodies, "+")))
	return b.last
}

func send(t *testing.T, w *sim.World, queue string, messages ...events.Outgoing) {
	t.Helper()
	for _, m := range messages {
		if err := w.Sender().Send(t.Context(), queue, m); err != nil {
			t.Fatalf("send to %s: %v", queue, err)
		}
	}
}

func message(body string) events.Outgoing { return events.Outgoing{Body: []byte(body)} }

func grouped(body, group, dedup string) events.Outgoing {
	return events.Outgoing{Body: []byte(body), Group: group, DedupID: dedup}
}

func TestPayloadIsAnSQSEvent(t *testing.T) {
	w := newWorld(sim.Options{})
	b := newBatches(t, w)
	w.Map("work.fifo", sim.Mapping{}, func(_ context.Context, payload []byte) ([]byte, error) {
		b.note(payload)
		return nil, nil
	})
	send(t, w, "work.fifo", grouped("hello", "g", "d"))
	w.Advance(time.Second)
	r := b.last.Records[0]
	if r.MessageID == "" || r.ReceiptHandle == "" || r.Body != "hello" || r.EventSource != "aws:sqs" || r.AWSRegion != "us-east-1" {
		t.Errorf("record %+v", r)
	}
	if want := "arn:aws:sqs:us-east-1:123456789012:work.fifo"; r.EventSourceARN != want {
		t.Errorf("ARN %q, want %q", r.EventSourceARN, want)
	}
	if want := "5d41402abc4b2a76b9719d911017c592"; r.MD5OfBody != want {
		t.Errorf("MD5 %q, want %q", r.MD5OfBody, want)
	}
	want := map[string]string{
		"ApproximateReceiveCount": "1", "MessageGroupId": "g", "MessageDeduplicationId": "d", "SequenceNumber": "00000000000000000001",
		"SentTimestamp": strconv.FormatInt(b.start.UnixMilli(), 10), "SenderId": "AIDAEXAMPLE",
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(b.start.Add(50*time.Millisecond).UnixMilli(), 10),
	}
	if diff := cmp.Diff(want, r.Attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestStandardQueueDeliversAfterTheDelay(t *testing.T) {
	w := newWorld(sim.Options{})
	b := newBatches(t, w)
	w.Map("work", sim.Mapping{BatchSize: 2}, func(_ context.Context, payload []byte) ([]byte, error) {
		b.note(payload)
		return nil, nil
	})
	late := message("late")
	late.Delay = 10 * time.Second
	send(t, w, "work", late, message("a"), message("b"), message("c"))
	w.Advance(time.Minute)
	if diff := cmp.Diff([]string{"0s a+b", "0s c", "10s late"}, b.got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
	if left := w.Queue("work").Messages(); len(left) != 0 {
		t.Errorf("left in the queue: %v", left)
	}
}

func TestQueuesRefuse(t *testing.T) {
	w := newWorld(sim.Options{})
	tests := []struct {
		name    string
		queue   string
		message events.Outgoing
		want    string
	}{
		{"a delay beyond 15 minutes", "work", events.Outgoing{Body: []byte("x"), Delay: 16 * time.Minute}, "InvalidParameterValue"},
		{"a delay on a FIFO queue", "work.fifo", events.Outgoing{Body: []byte("x"), Group: "g", Delay: time.Second}, "InvalidParameterValue"},
		{"a FIFO message without group", events.QueueProvision, message("x"), "MissingParameter"},
		{"a deduplication id on a standard queue", "work", grouped("x", "", "d"), "InvalidParameterValue"},
		{"an empty body", "work", message(""), "MissingParameter"},
		{"15 minutes are fine", "work", events.Outgoing{Body: []byte("x"), Delay: 15 * time.Minute}, ""},
		{"a group on a standard queue is fine", "work", grouped("x", "g", ""), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := w.Sender().Send(t.Context(), test.queue, test.message); code(err) != test.want {
				t.Errorf("send = %v, want code %q", err, test.want)
			}
		})
	}
}

func TestDeduplicationLastsFiveMinutes(t *testing.T) {
	w := newWorld(sim.Options{})
	b := newBatches(t, w)
	w.Map("work.fifo", sim.Mapping{}, func(_ context.Context, payload []byte) ([]byte, error) {
		b.note(payload)
		return nil, nil
	})
	send(t, w, "work.fifo", grouped("a", "g", "d"))
	w.Advance(4 * time.Minute)
	send(t, w, "work.fifo", grouped("swallowed although a was consumed", "g", "d"), grouped("b", "g", "e"))
	w.Advance(2 * time.Minute)
	send(t, w, "work.fifo", grouped("c", "g", "d"), grouped("same body", "g", ""), grouped("same body", "g", ""))
	w.Advance(time.Minute)
	if diff := cmp.Diff([]string{"0s a", "4m0s b", "6m0s c+same body"}, b.got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
}

func TestFIFOHasOneBatchOfAGroupUnderWay(t *testing.T) {
	w := newWorld(sim.Options{})
	b := newBatches(t, w)
	w.Map("work.fifo", sim.Mapping{BatchSize: 2}, func(ctx context.Context, payload []byte) ([]byte, error) {
		b.note(payload)
		return nil, w.Sleep(ctx, 5*time.Second)
	})
	send(t, w, "work.fifo", grouped("a1", "a", "1"), grouped("b1", "b", "2"), grouped("a2", "a", "3"), grouped("a3", "a", "4"))
	w.Advance(time.Minute)
	// The group b goes beside a; a3 waits for the batch before it.
	if diff := cmp.Diff([]string{"0s a1+a2", "0s b1", "5s a3"}, b.got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
}

func TestFailedRecordsComeBack(t *testing.T) {
	failing := func(ids ...string) []byte {
		var items []string
		for _, id := range ids {
			items = append(items, fmt.Sprintf(`{"itemIdentifier":%q}`, id))
		}
		return []byte(`{"batchItemFailures":[` + strings.Join(items, ",") + `]}`)
	}
	tests := []struct {
		name string
		// first answers the first invocation; later ones succeed.
		first func(event sqsEvent) ([]byte, error)
		want  []string
	}{
		{"success", func(sqsEvent) ([]byte, error) { return nil, nil }, []string{"0s a+b"}},
		{"an empty list is success", func(sqsEvent) ([]byte, error) { return failing(), nil }, []string{"0s a+b"}},
		{"null is success", func(sqsEvent) ([]byte, error) { return []byte("null"), nil }, []string{"0s a+b"}},
		{"one record", func(e sqsEvent) ([]byte, error) { return failing(e.Records[1].MessageID), nil }, []string{"0s a+b", "20s b"}},
		{"an error fails all", func(sqsEvent) ([]byte, error) { return nil, errors.New("no") }, []string{"0s a+b", "20s a+b"}},
		{"a crash fails all", func(sqsEvent) ([]byte, error) { panic(sim.Crash{}) }, []string{"0s a+b", "20s a+b"}},
		{"an unknown id fails all", func(sqsEvent) ([]byte, error) { return failing("other"), nil }, []string{"0s a+b", "20s a+b"}},
		{"an empty id fails all", func(sqsEvent) ([]byte, error) { return failing(""), nil }, []string{"0s a+b", "20s a+b"}},
		{"nonsense fails all", func(sqsEvent) ([]byte, error) { return []byte("<html>"), nil }, []string{"0s a+b", "20s a+b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			b := newBatches(t, w)
			w.Map("work", sim.Mapping{Visibility: 20 * time.Second}, func(_ context.Context, payload []byte) ([]byte, error) {
				event := b.note(payload)
				if len(b.got) == 1 {
					return test.first(event)
				}
				return nil, nil
			})
			send(t, w, "work", message("a"), message("b"))
			w.Advance(5 * time.Minute)
			if diff := cmp.Diff(test.want, b.got); diff != "" {
				t.Errorf("invocations (-want +got):\n%s", diff)
			}
			if n := len(test.want); n > 1 && b.last.Records[0].Attributes["ApproximateReceiveCount"] != strconv.Itoa(n) {
				t.Errorf("receive count %s, want %d", b.last.Records[0].Attributes["ApproximateReceiveCount"], n)
			}
		})
	}
}

func TestMessagesThatAlwaysFailDie(t *testing.T) {
	w := newWorld(sim.Options{MaxReceives: 3})
	b := newBatches(t, w)
	w.Map("work.fifo", sim.Mapping{BatchSize: 1, Visibility: 10 * time.Second}, func(_ context.Context, payload []byte) ([]byte, error) {
		if event := b.note(payload); event.Records[0].Body == "bad" {
			return nil, errors.New("no")
		}
		return nil, nil
	})
	send(t, w, "work.fifo", grouped("bad", "g", "1"), grouped("good", "g", "2"))
	w.Advance(5 * time.Minute)
	// A failing record holds its group up until it is dead.
	if diff := cmp.Diff([]string{"0s bad", "10s bad", "20s bad", "30s good"}, b.got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
	dead := w.Queue("work.fifo").DeadLetters()
	if len(dead) != 1 || dead[0].Body != "bad" || dead[0].Receives != 3 {
		t.Errorf("dead letters %+v, want bad after 3 receives", dead)
	}
}

func TestVisibilityThatIsTooShortDeliversTwice(t *testing.T) {
	w := newWorld(sim.Options{})
	b := newBatches(t, w)
	w.Map("work", sim.Mapping{Visibility: 5 * time.Second}, func(ctx context.Context, payload []byte) ([]byte, error) {
		b.note(payload)
		if len(b.got) == 1 {
			return nil, w.Sleep(ctx, 8*time.Second)
		}
		return nil, nil
	})
	send(t, w, "work", message("a"))
	w.Advance(time.Minute)
	if diff := cmp.Diff([]string{"0s a", "5s a"}, b.got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
}

func TestMessagesWaitForTheirFunction(t *testing.T) {
	w := newWorld(sim.Options{})
	send(t, w, "work", message("a"))
	w.Advance(time.Minute)
	b := newBatches(t, w)
	w.Map("work", sim.Mapping{}, func(_ context.Context, payload []byte) ([]byte, error) {
		b.note(payload)
		return nil, nil
	})
	w.Advance(time.Minute)
	if diff := cmp.Diff([]string{"0s a"}, b.got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
}

func TestDisturbance(t *testing.T) {
	deliver := func(d sim.Disturbance, seed uint64) []string {
		w := newWorld(sim.Options{Seed: seed})
		w.Queue("work").Disturb(d)
		var got []string
		w.Map("work", sim.Mapping{BatchSize: 1}, func(_ context.Context, payload []byte) ([]byte, error) {
			got = append(got, newBatches(t, w).note(payload).Records[0].Body)
			return nil, nil
		})
		for i := range 20 {
			send(t, w, "work", message(fmt.Sprintf("%02d", i)))
		}
		w.Advance(time.Hour)
		return got
	}
	calm := deliver(sim.Disturbance{}, 1)
	if len(calm) != 20 || !slices.IsSorted(calm) {
		t.Fatalf("undisturbed: %v", calm)
	}
	if got := deliver(sim.Disturbance{Lose: 0.5}, 1); len(got) == 0 || len(got) >= 20 {
		t.Errorf("%d of 20 messages came, want about half", len(got))
	}
	if got := deliver(sim.Disturbance{Duplicate: 0.3}, 1); len(got) <= 20 {
		t.Errorf("%d deliveries of 20 messages, want more", len(got))
	}
	shuffled := deliver(sim.Disturbance{Reorder: 0.5}, 1)
	if len(shuffled) != 20 || slices.IsSorted(shuffled) {
		t.Errorf("reordered: %v", shuffled)
	}
	if diff := cmp.Diff(shuffled, deliver(sim.Disturbance{Reorder: 0.5}, 1)); diff != "" {
		t.Errorf("the same seed gives another order:\n%s", diff)
	}
	if cmp.Equal(shuffled, deliver(sim.Disturbance{Reorder: 0.5}, 2)) {
		t.Error("another seed gives the same order")
	}
}
