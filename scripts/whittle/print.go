package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
)

// textPrinter shows a play to a person: one line for each entry, in colour on a terminal.
type textPrinter struct {
	w     io.Writer
	style *lipgloss.Renderer
	began time.Time
}

func newTextPrinter(w io.Writer) *textPrinter {
	return &textPrinter{w: w, style: lipgloss.NewRenderer(w)}
}

func (p *textPrinter) scene(title string) {
	fmt.Fprintf(p.w, "\n%s\n", p.style.NewStyle().Bold(true).Render(title))
}

func (p *textPrinter) entry(e entry) {
	if p.began.IsZero() {
		p.began = e.At
	}
	elapsed := e.At.Sub(p.began).Round(100 * time.Millisecond)
	faint := p.style.NewStyle().Faint(true)
	kind := p.style.NewStyle().Foreground(colorOf(e.Kind)).Render(fmt.Sprintf("%-12s", e.Kind))
	state := faint.Render(fmt.Sprintf("%3d nodes %4d pods $%8.4f/h", e.Nodes, e.Pods, e.USDPerHour))
	fmt.Fprintf(p.w, "%s  %s  %s  %s\n", faint.Render(fmt.Sprintf("%9s", clockTime(elapsed))), state, kind, e.Message)
}

// clockTime writes a duration as minutes and seconds.
func clockTime(d time.Duration) string {
	return fmt.Sprintf("%d:%04.1f", int(d.Minutes()), (d % time.Minute).Seconds())
}

func colorOf(kind string) lipgloss.Color {
	switch kind {
	case "pending", "no capacity", "interruption":
		return lipgloss.Color("3")
	case "failed", "dead letter":
		return lipgloss.Color("1")
	case "launch", "ready", "running":
		return lipgloss.Color("2")
	case "apply", "scale":
		return lipgloss.Color("6")
	default:
		return lipgloss.Color("8")
	}
}

func (p *textPrinter) summary(s summary) {
	p.scene("At the busiest moment")
	var types []string
	for _, name := range slices.Sorted(maps.Keys(s.InstanceTypes)) {
		types = append(types, fmt.Sprintf("%d × %s", s.InstanceTypes[name], name))
	}
	fmt.Fprintf(p.w, "  pods       %d running, %d pending\n", s.Pods, s.Pending)
	fmt.Fprintf(p.w, "  nodes      %d: %s\n", s.Nodes, strings.Join(types, ", "))
	fmt.Fprintf(p.w, "  price      $%.4f/h, $%.2f a month\n", s.USDPerHour, s.USDPerHour*hoursPerMonth)
	fmt.Fprintf(p.w, "  bound      $%.4f/h: no fleet for these pods can cost less; this one is %.1f %% above it\n",
		s.BoundUSDPerHour, (s.USDPerHour/s.BoundUSDPerHour-1)*100)
	fmt.Fprintf(p.w, "  at the end %s left\n", plural(s.Leftover, "instance", "instances"))
}

// hoursPerMonth is what AWS's price pages reckon a month as.
const hoursPerMonth = 730

// jsonPrinter shows a play to a machine: one object on each line.
type jsonPrinter struct{ encoder *json.Encoder }

func newJSONPrinter(w io.Writer) *jsonPrinter {
	return &jsonPrinter{encoder: json.NewEncoder(w)}
}

func (p *jsonPrinter) scene(title string) {
	p.write(map[string]string{"kind": "scene", "message": title})
}
func (p *jsonPrinter) entry(e entry)     { p.write(e) }
func (p *jsonPrinter) summary(s summary) { p.write(s) }

// write leaves a failed write to the next one: there is nobody else to tell when standard output is gone.
func (p *jsonPrinter) write(value any) { _ = p.encoder.Encode(value) }
