package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whittle/core/sim"
)

func TestClockRunsByTimeThenBySequence(t *testing.T) {
	w := newWorld(sim.Options{})
	start := w.Now()
	var got []string
	note := func(name string) func() {
		return func() { got = append(got, name+" "+w.Now().Sub(start).String()) }
	}
	w.After(2*time.Second, note("late"))
	w.After(time.Second, note("first of two"))
	w.After(time.Second, note("second of two"))
	stop := w.After(time.Second, note("stopped"))
	stop()
	w.Advance(3 * time.Second)
	if diff := cmp.Diff([]string{"first of two 1s", "second of two 1s", "late 2s"}, got); diff != "" {
		t.Error(diff)
	}
	if got := w.Now().Sub(start); got != 3*time.Second {
		t.Errorf("clock advanced by %v, want 3s", got)
	}
}

func TestSleepLetsTheWorldGoOn(t *testing.T) {
	w := newWorld(sim.Options{})
	start := w.Now()
	var got []string
	note := func(name string) { got = append(got, name+" "+w.Now().Sub(start).String()) }
	w.After(time.Second, func() {
		note("falls asleep")
		if err := w.Sleep(t.Context(), 3*time.Second); err != nil {
			t.Errorf("sleep: %v", err)
		}
		note("wakes")
	})
	w.After(2*time.Second, func() { note("meanwhile") })
	w.After(5*time.Second, func() { note("after") })
	w.Advance(10 * time.Second)
	want := []string{"falls asleep 1s", "meanwhile 2s", "wakes 4s", "after 5s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSleepOfACancelledCallTakesNoTime(t *testing.T) {
	w := newWorld(sim.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := w.Now()
	if err := w.Sleep(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("sleep = %v, want %v", err, context.Canceled)
	}
	if !w.Now().Equal(start) {
		t.Errorf("the clock went on by %v", w.Now().Sub(start))
	}
}

func TestEveryGoesOnUntilStopped(t *testing.T) {
	w := newWorld(sim.Options{})
	ticks := 0
	var stop func()
	stop = w.Every(time.Minute, func() {
		ticks++
		if ticks == 3 {
			stop()
		}
	})
	w.Advance(time.Hour)
	if ticks != 3 {
		t.Errorf("%d ticks, want 3", ticks)
	}
}

func TestRunUntil(t *testing.T) {
	w := newWorld(sim.Options{})
	start := w.Now()
	done := false
	w.After(7*time.Second, func() { done = true })
	if !w.RunUntil(func() bool { return done }, time.Minute) {
		t.Error("the condition holds after 7 s, RunUntil says it does not within a minute")
	}
	if got := w.Now().Sub(start); got != 7*time.Second {
		t.Errorf("stopped after %v, want 7s", got)
	}
	if w.RunUntil(func() bool { return false }, time.Minute) {
		t.Error("RunUntil says that false holds")
	}
	if got := w.Now().Sub(start); got != 67*time.Second {
		t.Errorf("gave up after %v, want 1m7s", got)
	}
}
