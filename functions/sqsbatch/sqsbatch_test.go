package sqsbatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	awsevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"whittle/events"
	"whittle/functions/sqsbatch"
)

const (
	fifoARN     = "arn:aws:sqs:us-east-1:123456789012:whittle-provision.fifo"
	standardARN = "arn:aws:sqs:us-east-1:123456789012:whittle-lifecycle"
)

// batch makes records named id:group, each with its id as body.
func batch(arn string, names ...string) awsevents.SQSEvent {
	var event awsevents.SQSEvent
	for _, name := range names {
		id, group, _ := strings.Cut(name, ":")
		message := awsevents.SQSMessage{MessageId: id, Body: id, EventSourceARN: arn, Attributes: map[string]string{}}
		if group != "" {
			message.Attributes["MessageGroupId"] = group
		}
		event.Records = append(event.Records, message)
	}
	return event
}

func TestBatchReportsWhatMustComeAgain(t *testing.T) {
	tests := []struct {
		name    string
		event   awsevents.SQSEvent
		failing string
		handled []string
		failed  []string
	}{
		{
			name: "all well", event: batch(standardARN, "1", "2", "3"),
			handled: []string{"1", "2", "3"},
		},
		{
			name: "empty", event: batch(standardARN),
		},
		{
			name: "a failure among many", event: batch(standardARN, "1", "2", "3"), failing: "2",
			handled: []string{"1", "2", "3"}, failed: []string{"2"},
		},
		{
			name: "FIFO: what follows in the group is not handled", failing: "2",
			event:   batch(fifoARN, "1:a", "2:a", "3:b", "4:a", "5:b"),
			handled: []string{"1", "2", "3", "5"}, failed: []string{"2", "4"},
		},
		{
			name: "groups of a standard queue are not ordered", failing: "2",
			event:   batch(standardARN, "1:a", "2:a", "3:a"),
			handled: []string{"1", "2", "3"}, failed: []string{"2"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var handled []string
			handler := sqsbatch.Handler(func(_ context.Context, record sqsbatch.Record) error {
				handled = append(handled, record.ID)
				if record.ID == test.failing {
					return errors.New("read snapshot: throttled")
				}
				return nil
			}, sqsbatch.WithLogger(slog.New(slog.DiscardHandler)))
			response, err := handler(t.Context(), test.event)
			if err != nil {
				t.Fatal(err)
			}
			if response.BatchItemFailures == nil {
				t.Error("the list of failures is null, which Lambda need not take for an empty one")
			}
			var failed []string
			for _, failure := range response.BatchItemFailures {
				failed = append(failed, failure.ItemIdentifier)
			}
			if diff := cmp.Diff(test.failed, failed); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.handled, handled); diff != "" {
				t.Errorf("handled (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryFailureIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	handler := sqsbatch.Handler(func(_ context.Context, record sqsbatch.Record) error {
		switch record.ID {
		case "1":
			return errors.New("read snapshot: throttled")
		case "2":
			return fmt.Errorf("step: %w", &events.MalformedError{Message: "step message", Problem: "cluster is missing"})
		case "3":
			panic("index out of range")
		}
		return nil
	}, sqsbatch.WithLogger(slog.New(slog.NewJSONHandler(&log, nil))))
	response, err := handler(t.Context(), batch(standardARN, "1", "2", "3", "4"))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(response.BatchItemFailures); got != 3 {
		t.Errorf("%d records failed, want 3", got)
	}
	type line struct {
		Level, MessageID, Queue, Error string
		Malformed                      bool
	}
	var lines []line
	decoder := json.NewDecoder(&log)
	for decoder.More() {
		var l line
		if err := decoder.Decode(&l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	want := []line{
		{"ERROR", "1", standardARN, "read snapshot: throttled", false},
		{"ERROR", "2", standardARN, "step: step message: cluster is missing", true},
		{"ERROR", "3", standardARN, "panic: index out of range", false},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestAPanicIsLoggedWithItsPlace(t *testing.T) {
	var log bytes.Buffer
	handler := sqsbatch.Handler(func(context.Context, sqsbatch.Record) error {
		panic("index out of range")
	}, sqsbatch.WithLogger(slog.New(slog.NewJSONHandler(&log, nil))))
	if _, err := handler(t.Context(), batch(standardARN, "1")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "sqsbatch_test.go") {
		t.Errorf("log does not name the file that panicked: %s", log.String())
	}
}

func TestNothingBeginsAfterTheDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var handled []string
	handler := sqsbatch.Handler(func(_ context.Context, record sqsbatch.Record) error {
		handled = append(handled, record.ID)
		cancel()
		return nil
	}, sqsbatch.WithLogger(slog.New(slog.DiscardHandler)))
	response, err := handler(ctx, batch(standardARN, "1", "2"))
	if err != nil {
		t.Fatal(err)
	}
	want := awsevents.SQSEventResponse{BatchItemFailures: []awsevents.SQSBatchItemFailure{{ItemIdentifier: "2"}}}
	if diff := cmp.Diff(want, response); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1"}, handled); diff != "" {
		t.Errorf("handled (-want +got):\n%s", diff)
	}
}

// The payloads go through the runtime's own decoding, as they do in Lambda.
func TestPayloadsThroughTheRuntime(t *testing.T) {
	tests := []struct {
		file string
		fn   sqsbatch.Handle
		want []sqsbatch.Record
	}{
		{
			file: "sqs-provision.json",
			fn: func(_ context.Context, record sqsbatch.Record) error {
				_, err := events.DecodeWake(record.Body)
				return err
			},
			want: []sqsbatch.Record{{ID: "8d1c4b70-52ef-4a6b-9e3d-30f710000001", Group: "demo", Received: 1}},
		},
		{
			file: "sqs-lifecycle.json",
			fn: func(_ context.Context, record sqsbatch.Record) error {
				_, err := events.DecodeStep(record.Body)
				return err
			},
			want: []sqsbatch.Record{
				{ID: "8d1c4b70-52ef-4a6b-9e3d-30f710000001", Received: 1},
				{ID: "8d1c4b70-52ef-4a6b-9e3d-30f710000002", Received: 1},
			},
		},
		{
			file: "sqs-interrupt.json",
			fn: func(_ context.Context, record sqsbatch.Record) error {
				_, err := events.Parse(record.Body)
				return err
			},
			want: []sqsbatch.Record{{ID: "8d1c4b70-52ef-4a6b-9e3d-30f710000001", Received: 1}},
		},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			payload, err := os.ReadFile("../../events/" + test.file)
			if err != nil {
				t.Fatal(err)
			}
			var got []sqsbatch.Record
			handler := sqsbatch.Handler(func(ctx context.Context, record sqsbatch.Record) error {
				err := test.fn(ctx, record)
				if want := time.Date(2026, 3, 2, 9, 30, 12, 145e6, time.UTC); !record.Sent.Equal(want) {
					t.Errorf("sent at %s, want %s", record.Sent, want)
				}
				record.Body, record.Sent = nil, time.Time{}
				got = append(got, record)
				return err
			}, sqsbatch.WithLogger(slog.New(slog.DiscardHandler)))
			response, err := lambda.NewHandler(handler).Invoke(t.Context(), payload)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{"batchItemFailures":[]}`, string(response)); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}
