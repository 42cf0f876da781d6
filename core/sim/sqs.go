package sim

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle/events"
)

const (
	// dedupInterval is how long a FIFO queue remembers a deduplication id (SQS Developer Guide,
	// exactly-once processing).
	dedupInterval = 5 * time.Minute
	// defaultVisibility hides a received message from other receivers (SQS, VisibilityTimeout).
	defaultVisibility = 30 * time.Second
)

// Queue is an SQS queue: standard, which delivers at least once and in no promised order, or FIFO.
type Queue struct {
	world    *World
	name     string
	fifo     bool
	messages []*Message
	dead     []Message
	seen     map[string]time.Time
	sequence uint64
	disturb  Disturbance
	mapping  *subscription
}

// Message is a message in a queue.
type Message struct {
	ID    string
	Body  string
	Group string
	// DedupID of a FIFO queue's message.
	DedupID string
	Sent    time.Time
	// Receives is how often it was delivered.
	Receives int

	sequence uint64
	first    time.Time
	visible  time.Time
	receipt  string
}

// Disturbance is how often, from 0 to 1, a standard queue does what it may do.
type Disturbance struct {
	// Duplicate delivers a message once more although it was deleted.
	Duplicate float64
	// Reorder delivers another message first.
	Reorder float64
	// Lose drops a message that was sent. SQS does not; EventBridge and callbacks do.
	Lose float64
}

// Queue is the queue of that name, made when it is first asked for. It is FIFO when its name ends in
// .fifo, and when it is the logical name of one of our FIFO queues.
func (w *World) Queue(name string) *Queue {
	q := w.queues[name]
	if q == nil {
		q = &Queue{world: w, name: name, seen: map[string]time.Time{}}
		q.fifo = strings.HasSuffix(name, ".fifo") || name == events.QueueProvision || name == events.QueueSweep
		w.queues[name] = q
	}
	return q
}

// Sender sends to the world's queues by name, as an effect of a function.
type Sender struct {
	world *World
}

// Sender for the verbs.
func (w *World) Sender() Sender { return Sender{world: w} }

// Send puts a message into the queue of that name.
func (s Sender) Send(ctx context.Context, queue string, message events.Outgoing) error {
	return s.world.effect("queue.Send", queue, func() error {
		return s.world.Queue(queue).Send(ctx, message)
	})
}

// Disturb makes the queue do more often what a queue may do, with the world's own randomness.
func (q *Queue) Disturb(d Disturbance) { q.disturb = d }

// Send puts a message into the queue. What SQS refuses is an error: a delay on a FIFO queue or beyond 15
// minutes, a FIFO message without group, a deduplication id on a standard queue.
func (q *Queue) Send(_ context.Context, message events.Outgoing) error {
	return q.put(message)
}

func (q *Queue) put(message events.Outgoing) error {
	if err := q.accepts(message); err != nil {
		return fmt.Errorf("send to queue %s: %w", q.name, err)
	}
	w := q.world
	if q.fifo {
		id := message.DedupID
		if id == "" {
			sum := sha256.Sum256(message.Body)
			id = hex.EncodeToString(sum[:])
		}
		if last, ok := q.seen[id]; ok && w.clock.now.Sub(last) < dedupInterval {
			return nil
		}
		q.seen[id] = w.clock.now
		message.DedupID = id
	}
	if q.chance(q.disturb.Lose) {
		w.occur(MessageDropped, q.name, "%s", message.Body)
		return nil
	}
	q.sequence++
	q.messages = append(q.messages, &Message{
		ID: string(w.ids.uid()), Body: string(message.Body), Group: message.Group, DedupID: message.DedupID,
		Sent: w.clock.now, sequence: q.sequence, visible: w.clock.now.Add(message.Delay),
	})
	w.occur(MessageSent, q.name, "%s", message.Body)
	q.pollAfter(message.Delay)
	return nil
}

func (q *Queue) accepts(message events.Outgoing) error {
	switch {
	case len(message.Body) == 0:
		return &APIError{"MissingParameter", "The request must contain the parameter MessageBody."}
	case message.Delay < 0 || message.Delay > events.MaxDelay:
		return &APIError{"InvalidParameterValue", fmt.Sprintf("DelaySeconds is %v, it must be between 0 and %v.", message.Delay, events.MaxDelay)}
	case q.fifo && message.Delay > 0:
		return &APIError{"InvalidParameterValue", "DelaySeconds is not valid for a message of a FIFO queue."}
	case q.fifo && message.Group == "":
		return &APIError{"MissingParameter", "The request must contain the parameter MessageGroupId."}
	case !q.fifo && message.DedupID != "":
		return &APIError{"InvalidParameterValue", "MessageDeduplicationId is not valid for a standard queue."}
	default:
		return nil
	}
}

// chance decides something that happens with this probability. FIFO queues are not disturbed.
func (q *Queue) chance(probability float64) bool {
	return !q.fifo && probability > 0 && q.world.random.Float64() < probability
}

// Messages are those that are neither deleted nor dead, in the order in which they were sent.
func (q *Queue) Messages() []Message {
	all := make([]Message, len(q.messages))
	for i, m := range q.messages {
		all[i] = *m
	}
	return all
}

// DeadLetters are the messages that were received too often without success.
func (q *Queue) DeadLetters() []Message { return slices.Clone(q.dead) }

// receive takes up to n messages that are visible, and hides them. Of a FIFO queue they are the oldest of
// one group of which no message is under way.
func (q *Queue) receive(n int, visibility time.Duration) []*Message {
	now := q.world.clock.now
	var batch []*Message
	blocked := map[string]bool{}
	for _, m := range q.candidates() {
		if len(batch) == n {
			break
		}
		hidden := m.visible.After(now)
		if q.fifo {
			if hidden {
				blocked[m.Group] = true
			}
			if blocked[m.Group] || len(batch) > 0 && m.Group != batch[0].Group {
				continue
			}
		} else if hidden {
			continue
		}
		if m.Receives >= q.world.options.MaxReceives {
			q.bury(m)
			continue
		}
		batch = append(batch, m)
	}
	for _, m := range batch {
		m.Receives++
		m.visible = now.Add(visibility)
		m.receipt = q.world.ids.hex("receipt", 32)
		if m.first.IsZero() {
			m.first = now
		}
	}
	return batch
}

// candidates are the queue's messages in the order in which they are looked at.
func (q *Queue) candidates() []*Message {
	candidates := slices.Clone(q.messages)
	if !q.fifo && q.disturb.Reorder > 0 {
		for i := len(candidates) - 1; i > 0; i-- {
			if q.chance(q.disturb.Reorder) {
				j := q.world.random.IntN(i + 1)
				candidates[i], candidates[j] = candidates[j], candidates[i]
			}
		}
	}
	return candidates
}

func (q *Queue) bury(m *Message) {
	q.drop(m)
	q.dead = append(q.dead, *m)
	q.world.occur(MessageDead, q.name, "%s", m.Body)
}

func (q *Queue) drop(m *Message) {
	q.messages = slices.DeleteFunc(q.messages, func(other *Message) bool { return other == m })
}

// delete takes a message out that was handled, if nobody has received it since: then the receipt is no
// longer good on a FIFO queue.
func (q *Queue) delete(m *Message, receipt string) {
	if q.fifo && m.receipt != receipt {
		return
	}
	if q.chance(q.disturb.Duplicate) {
		m.visible = q.world.clock.now
		return
	}
	q.drop(m)
}

// nextVisible is when the next hidden message becomes visible; ok is false when none is hidden.
func (q *Queue) nextVisible() (next time.Time, ok bool) {
	for _, m := range q.messages {
		if m.visible.After(q.world.clock.now) && (!ok || m.visible.Before(next)) {
			next, ok = m.visible, true
		}
	}
	return next, ok
}

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
