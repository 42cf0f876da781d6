// Package queue puts messages on SQS queues. Receiving is Lambda's business: functions/sqsbatch.
package queue

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"whittle/events"
)

// sendMessageAPI is the part of *sqs.Client that is used.
type sendMessageAPI interface {
	SendMessage(ctx context.Context, input *sqs.SendMessageInput, options ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Queues sends to the queues of a deployment. It is safe for concurrent use.
type Queues struct {
	client sendMessageAPI
	urls   map[string]string
}

// New returns the queues whose URLs are given by logical name (events.QueueProvision and so on).
// Those that a function never sends to may be left out.
func New(client sendMessageAPI, urls map[string]string) *Queues {
	return &Queues{client: client, urls: urls}
}

// fifoSuffix ends the name of every FIFO queue, and of no other (SQS, CreateQueue, QueueName).
const fifoSuffix = ".fifo"

// Send returns when SQS has stored the message. What SQS would refuse, a delay on a FIFO queue or one
// without group, is an error before it is asked. A delay beyond events.MaxDelay is cut to it: the
// receiver looks early, and sends itself on.
func (q *Queues) Send(ctx context.Context, queue string, message events.Outgoing) error {
	url, known := q.urls[queue]
	if !known {
		return fmt.Errorf("send to queue %s: its URL is not configured", queue)
	}
	if err := checkForm(strings.HasSuffix(url, fifoSuffix), message); err != nil {
		return fmt.Errorf("send to queue %s: %w", queue, err)
	}
	input := &sqs.SendMessageInput{
		QueueUrl:     &url,
		MessageBody:  new(string(message.Body)),
		DelaySeconds: delaySeconds(message.Delay),
	}
	if message.Group != "" {
		input.MessageGroupId = &message.Group
	}
	if message.DedupID != "" {
		input.MessageDeduplicationId = &message.DedupID
	}
	if _, err := q.client.SendMessage(ctx, input); err != nil {
		return fmt.Errorf("send to queue %s: %w", queue, err)
	}
	return nil
}

// checkForm holds a message against the kind of its queue. A deduplication id is required of FIFO
// messages here, though a queue could derive one of the body: then two wake-ups five minutes apart
// would be one.
func checkForm(fifo bool, message events.Outgoing) error {
	switch {
	case fifo && (message.Group == "" || message.DedupID == ""):
		return fmt.Errorf("a FIFO queue needs a group and a deduplication id, got %q and %q", message.Group, message.DedupID)
	case fifo && message.Delay > 0:
		return fmt.Errorf("a FIFO queue cannot delay a message, asked for %s", message.Delay)
	case !fifo && message.DedupID != "":
		return fmt.Errorf("a standard queue takes no deduplication id, got %q", message.DedupID)
	}
	return nil
}

// delaySeconds rounds up, so that nothing arrives before its time.
func delaySeconds(delay time.Duration) int32 {
	delay = min(max(delay, 0), events.MaxDelay)
	return int32((delay + time.Second - 1) / time.Second)
}
