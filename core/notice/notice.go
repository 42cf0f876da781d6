// Package notice writes Kubernetes Events for the verbs: what was done, to whom it matters. An Event that
// cannot be written is logged and stops nothing.
package notice

import (
	"context"
	"log/slog"

	"whittle/core/cluster"
	"whittle/events"
)

// Recorder writes Kubernetes Events.
type Recorder interface {
	Record(ctx context.Context, event cluster.Event) error
}

// Board takes the notices of one verb.
type Board struct {
	Recorder Recorder
	Log      *slog.Logger
}

// Post writes the Event.
func (b Board) Post(ctx context.Context, event cluster.Event) {
	if err := b.Recorder.Record(ctx, event); err != nil {
		b.Log.Warn("event not recorded", slog.String(events.KeyKind, event.Object.Kind), slog.String(events.KeyObject, event.Object.Name),
			slog.String(events.KeyReason, event.Reason), slog.Any(events.KeyError, err))
	}
}
