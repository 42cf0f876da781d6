package sim

import (
	"fmt"
	"time"
)

// The kinds of occurrences.
const (
	PodCreated          = "pod created"
	PodBound            = "pod bound"
	PodUnschedulable    = "pod unschedulable"
	PodRunning          = "pod running"
	PodFinished         = "pod finished"
	PodGone             = "pod gone"
	NodeClaimCreated    = "nodeclaim created"
	NodeClaimGone       = "nodeclaim gone"
	NodeRegistered      = "node registered"
	NodeReady           = "node ready"
	NodeUnreachable     = "node unreachable"
	NodeGone            = "node gone"
	InstanceLaunched    = "instance launched"
	InstanceRunning     = "instance running"
	InstanceInterrupted = "instance interrupted"
	InstanceShutdown    = "instance shutting down"
	InstanceTerminated  = "instance terminated"
	LaunchRefused       = "launch refused"
	MessageSent         = "message sent"
	MessageDropped      = "message dropped"
	MessageDead         = "message dead"
	FunctionInvoked     = "function invoked"
	FunctionFailed      = "function failed"
	FunctionCrashed     = "function crashed"
	EventRecorded       = "event recorded"
	AdmissionDenied     = "admission denied"
	AdmissionIgnored    = "admission ignored"
)

// Occurrence is something that happened in the world.
type Occurrence struct {
	At time.Time
	// Kind is one of the constants above.
	Kind string
	// Object it happened to: namespace/name of a pod, name of a node, id of an instance, name of a queue.
	Object string
	// Detail for people, such as the node a pod was bound to.
	Detail string
}

// String is the occurrence on one line.
func (o Occurrence) String() string {
	text := o.At.Format("15:04:05.000") + " " + o.Kind + " " + o.Object
	if o.Detail != "" {
		text += ": " + o.Detail
	}
	return text
}

// Observe calls f with everything that happens from now on. f must not change the world.
func (w *World) Observe(f func(Occurrence)) {
	w.observers = append(w.observers, f)
}

func (w *World) occur(kind, object, format string, args ...any) {
	if len(w.observers) == 0 {
		return
	}
	detail := format
	if len(args) > 0 {
		detail = fmt.Sprintf(format, args...)
	}
	occurrence := Occurrence{At: w.clock.now, Kind: kind, Object: object, Detail: detail}
	for _, observe := range w.observers {
		observe(occurrence)
	}
}
