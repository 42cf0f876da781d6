package karpenter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Policy is the consolidation policy in today's spelling, with its default.
func (d *Disruption) Policy() ConsolidationPolicy {
	switch d.ConsolidationPolicy {
	case "", ConsolidateWhenUnderutilized:
		return ConsolidateWhenEmptyOrUnderutilized
	default:
		return d.ConsolidationPolicy
	}
}

// Reasons are the reasons that budgets know.
func Reasons() []DisruptionReason {
	return []DisruptionReason{ReasonUnderutilized, ReasonEmpty, ReasonDrifted}
}

// AllowedDisruptions is how many of a pool's nodes may be going at once for the reason: the least of the
// budgets that cover it and are active at now, and math.MaxInt32 when there are none. The caller subtracts
// the nodes that are going already. A budget that cannot be read allows none, and is the error (upstream
// NodePool.GetAllowedDisruptionsByReason in pkg/apis/v1/nodepool.go).
func (d *Disruption) AllowedDisruptions(now time.Time, nodes int, reason DisruptionReason) (int, error) {
	allowed := math.MaxInt32
	var errs []error
	for i, budget := range d.Budgets {
		if !budget.Covers(reason) {
			continue
		}
		limit, err := budget.limit(now, nodes)
		if err != nil {
			errs = append(errs, fmt.Errorf("read budget %d: %w", i, err))
		}
		allowed = min(allowed, limit)
	}
	return allowed, errors.Join(errs...)
}

// Covers reports whether the budget caps disruptions for the reason.
func (b *Budget) Covers(reason DisruptionReason) bool {
	return len(b.Reasons) == 0 || slices.Contains(b.Reasons, reason)
}

// limit is how many nodes the budget lets go at now; 0 when it cannot be read.
func (b *Budget) limit(now time.Time, nodes int) (int, error) {
	active, err := b.Active(now)
	if err != nil {
		return 0, err
	}
	if !active {
		return math.MaxInt32, nil
	}
	return b.share(nodes)
}

// share is the budget's number, or its percentage of nodes, rounded up.
func (b *Budget) share(nodes int) (int, error) {
	text, isPercent := strings.CutSuffix(b.Nodes, "%")
	value, err := strconv.ParseInt(text, 10, 32)
	if err != nil || value < 0 || isPercent && value > 100 {
		return 0, fmt.Errorf("nodes %q is neither a number such as \"5\" nor a percentage such as \"10%%\"", b.Nodes)
	}
	if !isPercent {
		return int(value), nil
	}
	return (int(value)*nodes + 99) / 100, nil
}

// Active reports whether the budget counts at now: always without a schedule, else from each firing,
// inclusive, until its duration later, exclusive. Without a duration the window is one step of the
// schedule's finest varying field. Schedules are in UTC.
func (b *Budget) Active(now time.Time) (bool, error) {
	if b.Schedule == nil {
		return true, nil
	}
	schedule, err := parseSchedule(*b.Schedule)
	if err != nil {
		return false, fmt.Errorf("parse schedule %q: %w", *b.Schedule, err)
	}
	if b.Duration != nil {
		fired := schedule.Next(now.UTC().Add(-b.Duration.Duration))
		return !fired.IsZero() && !fired.After(now), nil
	}
	step := stepOf(schedule)
	for fired := schedule.Next(step.reach(now.UTC())); !fired.IsZero() && !fired.After(now); fired = schedule.Next(fired) {
		if step.end(fired).After(now) {
			return true, nil
		}
	}
	return false, nil
}
