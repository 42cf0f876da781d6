package sim

import (
	"errors"
	"fmt"
	"time"
)

// ErrCrash is what the hook of OnEffect returns to end the invocation that is under way as a killed
// process ends: nothing after that point happens, nothing is cleaned up.
var ErrCrash = errors.New("crash")

// Crash is what an invocation panics with when the hook of OnEffect says ErrCrash. The event source
// mapping and the admission call recover it; a test that calls a handler itself has to do so too.
type Crash struct {
	Effect Effect
}

// String says at which effect the crash was.
func (c Crash) String() string {
	when := "before"
	if c.Effect.After {
		when = "after"
	}
	return fmt.Sprintf("%s %s %s", when, c.Effect.Name, c.Effect.Object)
}

// Unrecoverable marks a panic that ends the process, whatever the function does about panics.
func (Crash) Unrecoverable() {}

// Effect is one thing that a function does to the world outside it.
type Effect struct {
	// Name of the effect, such as "kube.CreateNodeClaim", "ec2.Launch" or "queue.Send".
	Name string
	// Object it is done to.
	Object string
	// After is false when the effect is about to happen and true when it has happened.
	After bool
}

// invocation is the context of a function that the world calls. It never ends by itself: time-outs are not
// simulated.
type invocation struct{}

// Deadline is none.
func (invocation) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done is never closed.
func (invocation) Done() <-chan struct{} { return nil }

// Err is always nil.
func (invocation) Err() error { return nil }

// Value is always nil.
func (invocation) Value(any) any { return nil }

type faults struct {
	hook func(Effect) error
}

// OnEffect has the hook called before and after every effect of a function. When it returns ErrCrash the
// running invocation crashes there. Any other error becomes the outcome of the effect: before it, so that
// it does not happen; after it, so that it has happened and its function is told otherwise. There is one
// hook; nil takes it away.
func (w *World) OnEffect(hook func(Effect) error) {
	w.faults.hook = hook
}

// effect does what a function asked for, with the hook before and after.
func (w *World) effect(name, object string, do func() error) error {
	effect := Effect{Name: name, Object: object}
	if err := w.faults.call(effect); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	effect.After = true
	return w.faults.call(effect)
}

func (f faults) call(effect Effect) error {
	if f.hook == nil {
		return nil
	}
	err := f.hook(effect)
	if errors.Is(err, ErrCrash) {
		panic(Crash{Effect: effect})
	}
	return err
}

// survive runs one invocation and turns its crash into an error that is ErrCrash. Any other panic is a defect and goes on.
func survive(run func() error) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case Crash:
			err = fmt.Errorf("%w %s", ErrCrash, cause)
		default:
			panic(cause)
		}
	}()
	return run()
}
