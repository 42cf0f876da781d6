package karpenter_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"whittle/core/api/karpenter"
)

// scheduled is a budget of 35% with a schedule; an empty length leaves the duration out.
func scheduled(schedule, length string) karpenter.Budget {
	budget := karpenter.Budget{Nodes: "35%", Schedule: &schedule}
	if length != "" {
		value, err := time.ParseDuration(length)
		if err != nil {
			panic(err)
		}
		budget.Duration = &metav1.Duration{Duration: value}
	}
	return budget
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	value, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestBudgetActive(t *testing.T) {
	tests := []struct {
		name, schedule, duration string
		active, inactive         []string
	}{
		{
			name: "half open window of a duration", schedule: "0 1 * * mon", duration: "4h",
			active:   []string{"2026-01-05T01:00:00Z", "2026-01-05T01:00:00.5Z", "2026-01-05T04:59:59Z", "2026-01-05T04:59:59.999Z"},
			inactive: []string{"2026-01-05T00:59:59.999Z", "2026-01-05T05:00:00Z", "2026-01-05T05:00:00.5Z", "2026-01-08T14:50:00Z"},
		},
		{
			name: "longer than a day", schedule: "0 12 * * fri", duration: "60h",
			active:   []string{"2026-01-02T12:00:00Z", "2026-01-04T23:59:59Z"},
			inactive: []string{"2026-01-02T11:59:59Z", "2026-01-05T00:00:00Z"},
		},
		{
			name: "longer than its period is always on", schedule: "@daily", duration: "48h",
			active: []string{"2026-01-02T00:00:00Z", "2026-01-02T23:59:59Z"},
		},
		{
			name: "the clock going forward changes nothing, schedules are in UTC", schedule: "0 2 * * *", duration: "1h",
			active:   []string{"2026-03-29T02:30:00Z", "2026-03-29T04:30:00+02:00"},
			inactive: []string{"2026-03-29T01:59:59Z", "2026-03-29T03:00:00Z", "2026-03-29T02:30:00+02:00"},
		},
		{
			name: "hours vary: one hour", schedule: "0 9-17 * * MON-FRI",
			active:   []string{"2026-01-05T09:00:00Z", "2026-01-05T13:30:00Z", "2026-01-05T17:59:59.999Z"},
			inactive: []string{"2026-01-05T08:59:59Z", "2026-01-05T18:00:00Z", "2026-01-04T12:00:00Z", "2026-01-09T18:00:00Z"},
		},
		{
			name: "hours vary over midnight", schedule: "0 0-8,18-23 * * *",
			active:   []string{"2026-01-05T00:00:00Z", "2026-01-05T08:59:59Z", "2026-01-05T18:00:00Z", "2026-01-05T23:59:59Z", "2025-12-31T23:59:59Z"},
			inactive: []string{"2026-01-05T09:00:00Z", "2026-01-05T17:59:59Z"},
		},
		{
			name: "days vary: one day", schedule: "30 2 * * *",
			active: []string{"2026-01-05T02:29:59Z", "2026-01-05T02:30:00Z", "2026-01-01T00:00:00Z"},
		},
		{
			name: "working days: one day each", schedule: "30 2 * * MON-FRI",
			active:   []string{"2026-01-05T02:30:00Z", "2026-01-10T02:29:59Z"},
			inactive: []string{"2026-01-05T02:29:59Z", "2026-01-10T02:30:00Z"},
		},
		{
			name: "one weekday is one day", schedule: "0 0 * * sun",
			active:   []string{"2026-01-04T00:00:00Z", "2026-01-04T23:59:59Z"},
			inactive: []string{"2026-01-03T23:59:59Z", "2026-01-05T00:00:00Z"},
		},
		{
			name: "minutes vary: one minute", schedule: "* * * * *",
			active: []string{"2026-01-05T02:30:00Z", "2026-01-05T02:30:59.999Z"},
		},
		{
			name: "some minutes: one minute each", schedule: "0,30 * * * *",
			active:   []string{"2026-01-05T02:30:00Z", "2026-01-05T02:30:59Z", "2026-01-05T03:00:00Z"},
			inactive: []string{"2026-01-05T02:29:59Z", "2026-01-05T02:31:00Z"},
		},
		{
			name: "months vary: one month", schedule: "0 0 1 * *",
			active: []string{"2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z", "2026-02-28T12:00:00Z", "2028-02-29T12:00:00Z"},
		},
		{
			name: "some months: one month each", schedule: "0 0 1 2,12 *",
			active:   []string{"2026-02-01T00:00:00Z", "2026-02-28T23:59:59Z", "2028-02-29T23:59:59Z", "2025-12-31T23:59:59Z"},
			inactive: []string{"2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z", "2026-03-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		},
		{
			name: "a month from the 31st ends where the calendar says", schedule: "0 0 31 1,3 *",
			active:   []string{"2026-01-31T00:00:00Z", "2026-03-02T23:59:59Z", "2028-03-01T23:59:59Z", "2026-03-31T00:00:00Z", "2026-04-30T23:59:59Z"},
			inactive: []string{"2026-01-30T23:59:59Z", "2026-03-03T00:00:00Z", "2028-03-02T00:00:00Z", "2026-05-01T00:00:00Z"},
		},
		{
			name: "nothing varies: one year", schedule: "0 0 1 1 *",
			active: []string{"2026-01-01T00:00:00Z", "2026-12-31T23:59:59Z"},
		},
		{
			name: "a leap day: the year after it", schedule: "0 0 29 2 *",
			active:   []string{"2028-02-29T00:00:00Z", "2029-02-28T23:59:59Z"},
			inactive: []string{"2028-02-28T23:59:59Z", "2029-03-01T00:00:00Z", "2027-06-01T00:00:00Z"},
		},
		{
			name: "a day of a month or a weekday: one day", schedule: "0 0 1 * mon",
			active:   []string{"2026-01-01T12:00:00Z", "2026-01-05T12:00:00Z"},
			inactive: []string{"2026-01-02T00:00:00Z", "2026-01-06T00:00:00Z"},
		},
		{
			name: "a macro", schedule: "@hourly",
			active: []string{"2026-01-05T02:00:00Z", "2026-01-05T02:59:59Z"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			budget := scheduled(test.schedule, test.duration)
			for _, now := range test.active {
				if active, err := budget.Active(at(t, now)); err != nil || !active {
					t.Errorf("at %s: active %v, %v; want true", now, active, err)
				}
			}
			for _, now := range test.inactive {
				if active, err := budget.Active(at(t, now)); err != nil || active {
					t.Errorf("at %s: active %v, %v; want false", now, active, err)
				}
			}
		})
	}
}

// TestAllowedDisruptions has the vectors of upstream's reports on budgets with schedules.
func TestAllowedDisruptions(t *testing.T) {
	const unbounded = math.MaxInt32
	mixed := []karpenter.Budget{
		scheduled("0 1 * * mon", "4h"),
		{Nodes: "35%", Reasons: []karpenter.DisruptionReason{karpenter.ReasonEmpty}},
	}
	overlapping := []karpenter.Budget{
		{Nodes: "5", Schedule: new("0 9 * * *"), Duration: &metav1.Duration{Duration: 8 * time.Hour}},
		{Nodes: "2", Schedule: new("0 12 * * *"), Duration: &metav1.Duration{Duration: time.Hour}},
	}
	tests := []struct {
		name    string
		budgets []karpenter.Budget
		now     string
		nodes   int
		reason  karpenter.DisruptionReason
		want    int
	}{
		{"outside of the only window that covers the reason", mixed, "2026-01-08T14:50:00Z", 10, karpenter.ReasonDrifted, unbounded},
		{"a budget without schedule", mixed, "2026-01-08T14:50:00Z", 10, karpenter.ReasonEmpty, 4},
		{"at the start of the window", mixed, "2026-01-05T01:00:00Z", 10, karpenter.ReasonDrifted, 4},
		{"at the end of the window", mixed, "2026-01-05T04:59:59Z", 10, karpenter.ReasonDrifted, 4},
		{"after the window", mixed, "2026-01-05T05:00:00Z", 10, karpenter.ReasonDrifted, unbounded},
		{"both windows: the tightest", overlapping, "2026-01-05T12:30:00Z", 100, karpenter.ReasonEmpty, 2},
		{"one window", overlapping, "2026-01-05T13:00:00Z", 100, karpenter.ReasonEmpty, 5},
		{"percent rounds up", []karpenter.Budget{{Nodes: "10%"}}, "2026-01-05T12:30:00Z", 1, karpenter.ReasonEmpty, 1},
		{"percent of whole tens", []karpenter.Budget{{Nodes: "10%"}}, "2026-01-05T12:30:00Z", 20, karpenter.ReasonEmpty, 2},
		{"percent of nothing", []karpenter.Budget{{Nodes: "10%"}}, "2026-01-05T12:30:00Z", 0, karpenter.ReasonEmpty, 0},
		{"nothing at all", []karpenter.Budget{{Nodes: "0"}}, "2026-01-05T12:30:00Z", 7, karpenter.ReasonEmpty, 0},
		{"no budget", nil, "2026-01-05T12:30:00Z", 7, karpenter.ReasonEmpty, unbounded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			disruption := karpenter.Disruption{Budgets: test.budgets}
			got, err := disruption.AllowedDisruptions(at(t, test.now), test.nodes, test.reason)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("allowed %d, want %d", got, test.want)
			}
		})
	}
}

func TestAllowedDisruptionsFailsClosed(t *testing.T) {
	tests := []struct{ name, nodes, schedule, want string }{
		{"a weekday beyond Saturday", "50%", "0 9 * * 1-7", `read budget 1: parse schedule "0 9 * * 1-7": end of range (7) above maximum (6)`},
		{"a time zone", "50%", "TZ=Europe/Berlin 0 9 * * *", "has a time zone; schedules are in UTC"},
		{"an interval", "50%", "@every 1h", "want one of @annually"},
		{"six fields", "50%", "0 0 9 * * *", "has 6 fields, want five"},
		{"no field", "50%", "", "has 0 fields, want five"},
		{"a date that never comes", "50%", "0 0 30 2 *", "names a date that never comes"},
		{"a percentage of more than all", "101%", "* * * * *", `nodes "101%" is neither a number`},
		{"a negative number", "-1", "* * * * *", `nodes "-1" is neither a number`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			disruption := karpenter.Disruption{Budgets: []karpenter.Budget{{Nodes: "10"}, {Nodes: test.nodes, Schedule: &test.schedule}}}
			got, err := disruption.AllowedDisruptions(at(t, "2026-01-05T12:00:00Z"), 10, karpenter.ReasonEmpty)
			if got != 0 || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("allowed %d, error %v; want 0 and %q", got, err, test.want)
			}
		})
	}
}

// TestWindowIsTheUnionOfItsFirings checks the inferred window against a walk over every minute.
func TestWindowIsTheUnionOfItsFirings(t *testing.T) {
	hourly := scheduled("0 9-17 * * MON-FRI", "")
	rapid.Check(t, func(t *rapid.T) {
		minute := rapid.IntRange(0, 366*24*60).Draw(t, "minute")
		now := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(minute) * time.Minute)
		weekday := now.Weekday() >= time.Monday && now.Weekday() <= time.Friday
		want := weekday && now.Hour() >= 9 && now.Hour() < 18
		got, err := hourly.Active(now)
		if err != nil || got != want {
			t.Fatalf("at %s: active %v, %v; want %v", now, got, err, want)
		}
	})
}

func TestPolicy(t *testing.T) {
	got := map[karpenter.ConsolidationPolicy]karpenter.ConsolidationPolicy{}
	for _, policy := range []karpenter.ConsolidationPolicy{"", "WhenUnderutilized", "WhenEmptyOrUnderutilized", "WhenEmpty", "Balanced"} {
		disruption := karpenter.Disruption{ConsolidationPolicy: policy}
		got[policy] = disruption.Policy()
	}
	want := map[karpenter.ConsolidationPolicy]karpenter.ConsolidationPolicy{
		"":                         "WhenEmptyOrUnderutilized",
		"WhenUnderutilized":        "WhenEmptyOrUnderutilized",
		"WhenEmptyOrUnderutilized": "WhenEmptyOrUnderutilized",
		"WhenEmpty":                "WhenEmpty",
		"Balanced":                 "Balanced",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
