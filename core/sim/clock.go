package sim

import (
	"container/heap"
	"context"
	"time"
)

// controllerLag is how long a controller takes to notice a change and act on it.
const controllerLag = 10 * time.Millisecond

// clock runs what is due in the order of (time, sequence): of two things due at once, the one that was
// planned first.
type clock struct {
	now      time.Time
	sequence uint64
	due      appointments
	waiting  map[string]bool
}

func newClock(start time.Time) *clock {
	return &clock{now: start, waiting: map[string]bool{}}
}

type appointment struct {
	at       time.Time
	sequence uint64
	run      func()
}

// after plans run for d from now; stop takes it back.
func (c *clock) after(d time.Duration, run func()) (stop func()) {
	c.sequence++
	planned := &appointment{at: c.now.Add(max(d, 0)), sequence: c.sequence, run: run}
	heap.Push(&c.due, planned)
	return func() { planned.run = nil }
}

// soon plans run for one controllerLag from now, unless something with the same key waits already.
func (c *clock) soon(key string, run func()) {
	if c.waiting[key] {
		return
	}
	c.waiting[key] = true
	c.after(controllerLag, func() {
		delete(c.waiting, key)
		run()
	})
}

// step runs the next thing that is due until the limit; ok is false when there is none. It may be called
// from within something that runs, which is how a handler sleeps.
func (c *clock) step(limit time.Time) (ok bool) {
	for c.due.Len() > 0 && !c.due.heap[0].at.After(limit) {
		next := heap.Pop(&c.due).(*appointment)
		if next.run == nil {
			continue
		}
		if next.at.After(c.now) {
			c.now = next.at
		}
		next.run()
		return true
	}
	return false
}

func (c *clock) runTo(limit time.Time) {
	for c.step(limit) {
	}
	if limit.After(c.now) {
		c.now = limit
	}
}

// appointments is a heap.
type appointments struct{ heap []*appointment }

func (a *appointments) Len() int { return len(a.heap) }

func (a *appointments) Less(i, j int) bool {
	if !a.heap[i].at.Equal(a.heap[j].at) {
		return a.heap[i].at.Before(a.heap[j].at)
	}
	return a.heap[i].sequence < a.heap[j].sequence
}

func (a *appointments) Swap(i, j int) { a.heap[i], a.heap[j] = a.heap[j], a.heap[i] }

func (a *appointments) Push(x any) { a.heap = append(a.heap, x.(*appointment)) }

func (a *appointments) Pop() any {
	last := len(a.heap) - 1
	popped := a.heap[last]
	a.heap[last] = nil
	a.heap = a.heap[:last]
	return popped
}

// Now is what the world's clock shows.
func (w *World) Now() time.Time { return w.clock.now }

// Sleep is for a handler that waits: the rest of the world goes on meanwhile, within this call. One who
// sleeps beside another that started later and sleeps longer wakes only with that one.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.Advance(d)
	return ctx.Err()
}

// Advance turns the clock by d and lets happen what is due until then.
func (w *World) Advance(d time.Duration) {
	w.clock.runTo(w.clock.now.Add(d))
}

// RunUntil lets the world go on until the condition holds, and reports whether it came to hold in that
// time. The condition is looked at after everything that happens.
func (w *World) RunUntil(condition func() bool, within time.Duration) bool {
	limit := w.clock.now.Add(within)
	for !condition() {
		if !w.clock.step(limit) {
			w.clock.runTo(limit)
			return condition()
		}
	}
	return true
}

// After runs f once, d from now; stop takes it back.
func (w *World) After(d time.Duration, f func()) (stop func()) {
	return w.clock.after(d, f)
}

// Every runs f each d, first d from now, until it is stopped.
func (w *World) Every(d time.Duration, f func()) (stop func()) {
	stopped := false
	var again func()
	again = func() {
		if stopped {
			return
		}
		f()
		w.clock.after(d, again)
	}
	w.clock.after(d, again)
	return func() { stopped = true }
}
