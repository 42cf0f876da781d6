package events

import "time"

// Logical names of our queues. A deployment maps each to the URL of its queue.
const (
	// QueueProvision holds Wake messages: FIFO, one group per cluster.
	QueueProvision = "provision"
	// QueueLifecycle holds Step messages: standard, each with its own delay.
	QueueLifecycle = "lifecycle"
	// QueueSweep holds Sweep messages: FIFO, one group per cluster.
	QueueSweep = "sweep"
	// QueueInterrupt holds EventBridge events, read with Parse: standard.
	QueueInterrupt = "interrupt"
)

// MaxDelay is the longest delay SQS allows a message (SQS, SendMessage, DelaySeconds).
const MaxDelay = 15 * time.Minute

// Outgoing is a message on its way to a queue.
type Outgoing struct {
	// Body is the message's JSON.
	Body []byte
	// Group is the message group of a FIFO queue: one message of a group is handled at a time, in
	// the order they were sent. Empty on a standard queue.
	Group string
	// DedupID makes a FIFO queue swallow a message whose id it has seen in the last 5 minutes.
	// Empty on a standard queue.
	DedupID string
	// Delay keeps the message from its receiver: at most MaxDelay, in whole seconds, on standard
	// queues only.
	Delay time.Duration
}

// ReportingController is who the Kubernetes Events that Whittle writes say they come from. Callbacks
// about such Events are passed over: else Whittle would wake itself.
const ReportingController = "whittle"
