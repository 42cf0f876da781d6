package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle/core/sim"
)

// entry is one line of the timeline: what happened to one or several things at a moment.
type entry struct {
	At time.Time `json:"at"`
	// Kind is a word for what happened, the same in text and JSON.
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Count is how many things it happened to.
	Count int `json:"count,omitempty"`
	// Nodes, Pods and USDPerHour are the cluster's after it: live instances, running pods, and what the
	// instances cost together.
	Nodes      int     `json:"nodes"`
	Pods       int     `json:"pods"`
	USDPerHour float64 `json:"usdPerHour"`
}

// timeline turns the world's occurrences into entries: those of one kind that follow each other within a
// moment become one.
type timeline struct {
	world *sim.World
	// emit takes each entry when it is complete.
	emit func(entry)

	open    *group
	running map[string]bool
}

// group is occurrences of one kind at one moment.
type group struct {
	at      time.Time
	kind    string
	details []string
	objects []string
	entry   entry
}

// moment is how far apart occurrences of one entry may be.
const moment = time.Second

func newTimeline(world *sim.World, emit func(entry)) *timeline {
	t := &timeline{world: world, emit: emit, running: map[string]bool{}}
	world.Observe(t.observe)
	return t
}

// kinds are the occurrences that a person wants to read of, with the word for each.
func kindWord(kind string) string {
	switch kind {
	case sim.PodUnschedulable:
		return "pending"
	case sim.InstanceLaunched:
		return "launch"
	case sim.LaunchRefused:
		return "no capacity"
	case sim.NodeReady:
		return "ready"
	case sim.PodRunning:
		return "running"
	case sim.InstanceInterrupted:
		return "interruption"
	case sim.PodGone:
		return "gone"
	case sim.InstanceShutdown:
		return "terminate"
	case sim.InstanceTerminated:
		return "terminated"
	case sim.MessageDead:
		return "dead letter"
	case sim.FunctionFailed, sim.FunctionCrashed:
		return "failed"
	default:
		return ""
	}
}

func (t *timeline) observe(o sim.Occurrence) {
	switch o.Kind {
	case sim.PodRunning:
		t.running[o.Object] = true
	case sim.PodGone:
		delete(t.running, o.Object)
	}
	word := kindWord(o.Kind)
	if word == "" {
		return
	}
	if t.open != nil && (t.open.kind != word || o.At.Sub(t.open.at) > moment) {
		t.flush()
	}
	if t.open == nil {
		t.open = &group{at: o.At, kind: word}
	}
	t.open.objects = append(t.open.objects, o.Object)
	t.open.details = append(t.open.details, o.Detail)
	t.open.entry = t.now(word)
}

// say adds an entry of the script's own.
func (t *timeline) say(kind, format string, args ...any) {
	t.flush()
	e := t.now(kind)
	e.Message = fmt.Sprintf(format, args...)
	t.emit(e)
}

func (t *timeline) now(kind string) entry {
	return entry{
		At: t.world.Now(), Kind: kind, Nodes: len(t.world.EC2().Live()), Pods: len(t.running),
		USDPerHour: round(t.world.EC2().CostPerHour()),
	}
}

// flush emits the entry under way.
func (t *timeline) flush() {
	if t.open == nil {
		return
	}
	g := t.open
	t.open = nil
	e := g.entry
	e.At, e.Count, e.Message = g.at, len(g.objects), g.message()
	t.emit(e)
}

func (g *group) message() string {
	switch g.kind {
	case "pending":
		return plural(len(g.objects), "pod", "pods") + " cannot be scheduled: " + g.details[0]
	case "launch":
		return tally(g.details)
	case "ready":
		return plural(len(g.objects), "node is ready", "nodes are ready")
	case "running":
		return plural(len(g.objects), "pod is running", "pods are running")
	case "gone":
		return plural(len(g.objects), "pod is gone", "pods are gone")
	case "terminate":
		return plural(len(g.objects), "instance shuts down", "instances shut down")
	case "terminated":
		return plural(len(g.objects), "instance is terminated", "instances are terminated")
	case "interruption":
		return "EC2 takes back " + g.objects[0] + " (" + g.details[0] + ") in two minutes"
	default:
		return strings.TrimSpace(strings.Join(g.objects, ", ") + " " + g.details[0])
	}
}

// tally counts equal lines: "3 × spot c6a.2xlarge us-east-1a at $0.1316/h".
func tally(lines []string) string {
	counts := map[string]int{}
	for _, line := range lines {
		counts[line]++
	}
	var parts []string
	for line := range counts {
		parts = append(parts, line)
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, line := range parts {
		parts[i] = fmt.Sprintf("%d × %s", counts[line], line)
	}
	return strings.Join(parts, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// round keeps dollars to a hundredth of a cent, so that figures do not show how they were added up.
func round(usd float64) float64 {
	return float64(int64(usd*10000+0.5)) / 10000
}
