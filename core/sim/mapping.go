package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Mapping is an event source mapping from a queue to a function.
type Mapping struct {
	// BatchSize is the most messages of one invocation; default 10.
	BatchSize int
	// Visibility hides what was received until it is deleted or delivered again; default 30 s.
	Visibility time.Duration
}

// Function is a Lambda function: JSON in, JSON out.
type Function = func(ctx context.Context, payload []byte) ([]byte, error)

type subscription struct {
	Mapping
	function Function
	planned  time.Time
}

// Map has a queue's messages delivered to a function, as the event source mapping of Lambda does: in
// batches, in the shape of SQS events. What the response does not list in batchItemFailures is deleted;
// the rest, and everything of an invocation that fails or crashes, is delivered again when its visibility
// is over. A FIFO queue has one batch of a group under way at a time.
func (w *World) Map(queue string, mapping Mapping, function Function) {
	if mapping.BatchSize == 0 {
		mapping.BatchSize = 10
	}
	if mapping.Visibility == 0 {
		mapping.Visibility = defaultVisibility
	}
	q := w.Queue(queue)
	q.mapping = &subscription{Mapping: mapping, function: function}
	q.pollAfter(0)
}

// pollAfter plans a poll, unless one is planned that comes earlier.
func (q *Queue) pollAfter(d time.Duration) {
	if q.mapping == nil {
		return
	}
	clock := q.world.clock
	at := clock.now.Add(d + q.world.options.QueueLag)
	if planned := q.mapping.planned; planned.After(clock.now) && !planned.After(at) {
		return
	}
	q.mapping.planned = at
	clock.after(d+q.world.options.QueueLag, q.poll)
}

// poll receives one batch and has it handled; the next poll follows at once, while that goes on.
func (q *Queue) poll() {
	batch := q.receive(q.mapping.BatchSize, q.mapping.Visibility)
	if len(batch) > 0 {
		q.pollAfter(0)
		q.deliver(batch)
	}
	if next, ok := q.nextVisible(); ok {
		q.pollAfter(next.Sub(q.world.clock.now))
	}
}

// deliver invokes the function with a batch.
func (q *Queue) deliver(batch []*Message) {
	receipts := make([]string, len(batch))
	for i, m := range batch {
		receipts[i] = m.receipt
	}
	failed, err := q.invoke(batch)
	if err != nil {
		return
	}
	for i, m := range batch {
		if !failed[m.ID] {
			q.delete(m, receipts[i])
		}
	}
	q.pollAfter(0)
}

// invoke returns the ids of the messages that failed, or an error when all of them did.
func (q *Queue) invoke(batch []*Message) (failed map[string]bool, err error) {
	payload, err := q.encode(batch)
	if err != nil {
		return nil, err
	}
	w := q.world
	w.occur(FunctionInvoked, q.name, "%d messages", len(batch))
	var response []byte
	err = survive(func() (err error) {
		response, err = q.mapping.function(invocation{}, payload)
		return err
	})
	if errors.Is(err, ErrCrash) {
		w.occur(FunctionCrashed, q.name, "%v", err)
		return nil, err
	}
	if err == nil {
		failed, err = failures(batch, response)
	}
	switch {
	case err != nil:
		w.occur(FunctionFailed, q.name, "%v", err)
	case len(failed) > 0:
		w.occur(FunctionFailed, q.name, "%d of %d messages", len(failed), len(batch))
	}
	return failed, err
}

// failures reads a function's response. No response, and none that lists anything, is success; an id that
// is empty or unknown makes the whole batch fail (Lambda Developer Guide, reporting batch item failures).
func failures(batch []*Message, response []byte) (map[string]bool, error) {
	var report struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(response) > 0 {
		if err := json.Unmarshal(response, &report); err != nil {
			return nil, fmt.Errorf("decode the function's response: %w", err)
		}
	}
	known := map[string]bool{}
	for _, m := range batch {
		known[m.ID] = true
	}
	failed := map[string]bool{}
	for _, failure := range report.BatchItemFailures {
		if !known[failure.ItemIdentifier] {
			return nil, fmt.Errorf("batch item failure %q is not of this batch", failure.ItemIdentifier)
		}
		failed[failure.ItemIdentifier] = true
	}
	return failed, nil
}

// record is a message as Lambda hands it to a function.
type record struct {
	MessageID         string            `json:"messageId"`
	ReceiptHandle     string            `json:"receiptHandle"`
	Body              string            `json:"body"`
	Attributes        map[string]string `json:"attributes"`
	MessageAttributes map[string]any    `json:"messageAttributes"`
	MD5OfBody         string            `json:"md5OfBody"`
	EventSource       string            `json:"eventSource"`
	EventSourceARN    string            `json:"eventSourceARN"`
	AWSRegion         string            `json:"awsRegion"`
}

func (q *Queue) encode(batch []*Message) ([]byte, error) {
	options := q.world.options
	records := make([]record, len(batch))
	for i, m := range batch {
		attributes := map[string]string{
			"ApproximateReceiveCount":          strconv.Itoa(m.Receives),
			"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.first.UnixMilli(), 10),
			"SenderId":                         "AIDAEXAMPLE",
			"SentTimestamp":                    strconv.FormatInt(m.Sent.UnixMilli(), 10),
		}
		if m.Group != "" {
			attributes["MessageGroupId"] = m.Group
		}
		if q.fifo {
			attributes["MessageDeduplicationId"] = m.DedupID
			attributes["SequenceNumber"] = fmt.Sprintf("%020d", m.sequence)
		}
		records[i] = record{
			MessageID: m.ID, ReceiptHandle: m.receipt, Body: m.Body, Attributes: attributes, MessageAttributes: map[string]any{},
			MD5OfBody: md5Of(m.Body), EventSource: "aws:sqs",
			EventSourceARN: fmt.Sprintf("arn:aws:sqs:%s:%s:%s", options.Region, options.Account, q.name), AWSRegion: options.Region,
		}
	}
	payload, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		return nil, fmt.Errorf("encode SQS event: %w", err)
	}
	return payload, nil
}
