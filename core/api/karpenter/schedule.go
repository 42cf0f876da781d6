package karpenter

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// macros are the schedules that have a name.
func macros() []string {
	return []string{"@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
}

// parseSchedule reads a cron expression of five fields, or a macro, in UTC.
func parseSchedule(text string) (*cron.SpecSchedule, error) {
	if strings.HasPrefix(text, "@") {
		if !slices.Contains(macros(), text) {
			return nil, fmt.Errorf("want one of %s, or five fields such as \"0 9 * * mon-fri\"", strings.Join(macros(), ", "))
		}
	} else if fields := strings.Fields(text); len(fields) > 0 && strings.Contains(fields[0], "TZ=") {
		return nil, errors.New("has a time zone; schedules are in UTC")
	} else if len(fields) != 5 {
		return nil, fmt.Errorf("has %d fields, want five: minute, hour, day of month, month, day of week", len(fields))
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("%w (months are 1-12 or jan-dec, days of the week 0-6 or sun-sat)", err)
	}
	schedule, isSpec := parsed.(*cron.SpecSchedule)
	if !isSpec {
		return nil, errors.New("want five fields such as \"0 9 * * mon-fri\"")
	}
	schedule.Location = time.UTC
	// A date that never comes, such as 30 February. The longest wait between two firings is from one
	// 29 February over a century that has none to the next, which the parser gives up on; so ask from
	// just before a leap year.
	if schedule.Next(time.Date(2027, time.December, 31, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, errors.New("names a date that never comes")
	}
	return schedule, nil
}

// step is the unit of time in which a schedule counts.
type step int

const (
	stepMinute step = iota
	stepHour
	stepDay
	stepMonth
	stepYear
)

// stepOf is the unit of the finest field of the schedule that takes more than one value: the hour for
// "0 9-17 * * mon-fri", the day for "30 2 * * *", the month for "0 0 1 * *". A fixed weekday counts as a
// day, since it is one that its author thinks of.
func stepOf(schedule *cron.SpecSchedule) step {
	switch {
	case !fixed(schedule.Minute):
		return stepMinute
	case !fixed(schedule.Hour):
		return stepHour
	case !fixed(schedule.Dom) || !starred(schedule.Dow):
		return stepDay
	case !fixed(schedule.Month):
		return stepMonth
	default:
		return stepYear
	}
}

// starBit is how the parser marks a field that was written as * or ?.
const starBit = 1 << 63

// fixed reports whether the field has one value only.
func fixed(field uint64) bool {
	return bits.OnesCount64(field&^starBit) == 1
}

func starred(field uint64) bool {
	return field&starBit != 0
}

// String is one step, in words.
func (s step) String() string {
	switch s {
	case stepMinute:
		return "one minute"
	case stepHour:
		return "one hour"
	case stepDay:
		return "one day"
	case stepMonth:
		return "one month"
	default:
		return "one year"
	}
}

// end is one step after t.
func (s step) end(t time.Time) time.Time {
	switch s {
	case stepMinute:
		return t.Add(time.Minute)
	case stepHour:
		return t.Add(time.Hour)
	case stepDay:
		return t.AddDate(0, 0, 1)
	case stepMonth:
		return t.AddDate(0, 1, 0)
	default:
		return t.AddDate(1, 0, 0)
	}
}

// reach is a time before every firing whose step still holds at t. A month from 31 January ends on
// 2 or 3 March, a year from 29 February on 1 March, so calendar steps reach further back than they are long.
func (s step) reach(t time.Time) time.Time {
	switch s {
	case stepMonth:
		return t.AddDate(0, 0, -32)
	case stepYear:
		return t.AddDate(0, 0, -367)
	default:
		return t.Add(-s.end(t).Sub(t))
	}
}
