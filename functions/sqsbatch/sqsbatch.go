// Package sqsbatch makes a Lambda function for an SQS queue out of a handler of single messages. It
// reports which messages of a batch must come again; the event source mapping needs
// ReportBatchItemFailures for that.
package sqsbatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	awsevents "github.com/aws/aws-lambda-go/events"

	"whittle/events"
)

// Record is one message.
type Record struct {
	ID   string
	Body []byte
	// Group is the message group, empty where there is none.
	Group string
	// Received counts the deliveries of the message, this one included; 0 if SQS did not say.
	Received int
	// Sent is when the message was sent; zero if SQS did not say.
	Sent time.Time
}

// Handle handles one message. With an error, the message comes again once its visibility time-out is
// over, until the queue's redrive policy moves it to the dead-letter queue. An error that is
// events.ErrMalformed takes the same way, for want of a shorter one.
type Handle func(ctx context.Context, record Record) error

// Option changes how a batch is handled.
type Option func(*batch)

// WithLogger sends the errors of records to log instead of slog.Default().
func WithLogger(log *slog.Logger) Option {
	return func(b *batch) { b.log = log }
}

type batch struct {
	handle Handle
	log    *slog.Logger
}

// Handler returns the Lambda function that gives each record to handle, one after the other in the
// order they came. Errors and panics end here: each is logged once, and only its record is reported
// as failed. On a FIFO queue, whatever follows a failure in its group is reported too, and not
// handled: it would overtake the failed message. The function itself never fails, since that would
// bring back the records that went well.
func Handler(handle Handle, options ...Option) func(context.Context, awsevents.SQSEvent) (awsevents.SQSEventResponse, error) {
	b := &batch{handle: handle, log: slog.Default()}
	for _, option := range options {
		option(b)
	}
	return b.run
}

func (b *batch) run(ctx context.Context, event awsevents.SQSEvent) (awsevents.SQSEventResponse, error) {
	// Not nil: an empty list says that everything went well, whatever null may say.
	failures := []awsevents.SQSBatchItemFailure{}
	blocked := map[string]bool{}
	for _, message := range event.Records {
		group := orderedGroup(message)
		if !blocked[group] && b.succeeds(ctx, message) {
			continue
		}
		failures = append(failures, awsevents.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
		if group != "" {
			blocked[group] = true
		}
	}
	return awsevents.SQSEventResponse{BatchItemFailures: failures}, nil
}

func (b *batch) succeeds(ctx context.Context, message awsevents.SQSMessage) bool {
	record := recordOf(message)
	err := b.guarded(ctx, record)
	if err == nil {
		return true
	}
	b.log.ErrorContext(ctx, "message not handled", attributes(record, message, err)...)
	return false
}

// panicError is a panic of a handler.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// guarded handles a record, unless time is up, and turns a panic into an error.
func (b *batch) guarded(ctx context.Context, record Record) (err error) {
	defer func() {
		if value := recover(); value != nil {
			if _, ends := value.(interface{ Unrecoverable() }); ends {
				panic(value)
			}
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("no time left to begin: %w", err)
	}
	return b.handle(ctx, record)
}

func attributes(record Record, message awsevents.SQSMessage, err error) []any {
	attrs := []any{
		slog.String(events.KeyMessage, record.ID),
		slog.String(events.KeyQueue, message.EventSourceARN),
		slog.String(events.KeyGroup, record.Group),
		slog.Int(events.KeyReceived, record.Received),
		slog.Bool(events.KeyMalformed, errors.Is(err, events.ErrMalformed)),
		slog.Any(events.KeyError, err),
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, slog.String(events.KeyStack, string(p.stack)))
	}
	return attrs
}

// orderedGroup is the group within which order counts. Messages of standard queues may have a group
// as well, for fairness among tenants, and are not ordered by it.
func orderedGroup(message awsevents.SQSMessage) string {
	if !strings.HasSuffix(message.EventSourceARN, ".fifo") {
		return ""
	}
	return message.Attributes["MessageGroupId"]
}

func recordOf(message awsevents.SQSMessage) Record {
	record := Record{
		ID:    message.MessageId,
		Body:  []byte(message.Body),
		Group: message.Attributes["MessageGroupId"],
	}
	if received, err := strconv.Atoi(message.Attributes["ApproximateReceiveCount"]); err == nil {
		record.Received = received
	}
	if millis, err := strconv.ParseInt(message.Attributes["SentTimestamp"], 10, 64); err == nil {
		record.Sent = time.UnixMilli(millis).UTC()
	}
	return record
}
