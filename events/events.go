// Package events is the wire contract: what travels between Whittle's functions, and what AWS sends
// them. It holds the messages of our own queues, the logical names of those queues, and the parser
// of EventBridge events, with the source and detail-type constants that the rules share. Beside each
// type lies a real payload as JSON, which tests and `sam local invoke` send.
//
// It decides nothing and does no I/O: a message says what happened, the verbs in core say what
// follows from it. Every message is a hint to look again, so none carries state that a handler would
// have to trust.
package events

import (
	"errors"
	"fmt"
)

// ErrMalformed is what every error about an unreadable message is: errors.Is(err, ErrMalformed).
// Such a message will not get better by being delivered again.
var ErrMalformed = errors.New("malformed message")

// MalformedError says which message could not be read and why.
type MalformedError struct {
	// Message names the kind of message, such as "wake message" or "EventBridge event".
	Message string
	// Problem says what is wrong and, where it helps, what would be right.
	Problem string
	// Err is the cause, if something else reported it.
	Err error
}

// Error reads "wake message: cluster is missing".
func (e *MalformedError) Error() string {
	text := e.Message + ": " + e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *MalformedError) Unwrap() error { return e.Err }

// Is makes every MalformedError an ErrMalformed.
func (e *MalformedError) Is(target error) bool { return target == ErrMalformed }

func malformed(message, format string, args ...any) error {
	return &MalformedError{Message: message, Problem: fmt.Sprintf(format, args...)}
}
