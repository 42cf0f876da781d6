package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"sigs.k8s.io/yaml"
)

// resultWriter is how a result is written.
func resultWriter(output string) (func(io.Writer, *result) error, error) {
	switch output {
	case "table":
		return writeTable, nil
	case "json":
		return writeJSON, nil
	case "yaml":
		return writeYAML, nil
	default:
		return nil, fmt.Errorf("--output %s: want table, json or yaml", output)
	}
}

func writeJSON(w io.Writer, r *result) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func writeYAML(w io.Writer, r *result) error {
	data, err := yaml.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func writeTable(w io.Writer, r *result) error {
	var out strings.Builder
	for _, warning := range r.Warnings {
		fmt.Fprintln(&out, "warning:", warning)
	}
	if len(r.Nodes) > 0 {
		fmt.Fprintln(&out, nodeTable(r))
	}
	for _, placed := range r.Placed {
		fmt.Fprintf(&out, "pod %s fits on node %s\n", placed.Pod, placed.Node)
	}
	for _, unplaced := range r.Unplaced {
		fmt.Fprintf(&out, "pod %s cannot be placed:\n", unplaced.Pod)
		for _, why := range unplaced.Reasons {
			if why.NodePool == "" {
				fmt.Fprintf(&out, "  %s: %s\n", why.Rule, why.Message)
				continue
			}
			fmt.Fprintf(&out, "  NodePool %s, %s: %s\n", why.NodePool, why.Rule, why.Message)
		}
	}
	if len(r.Nodes)+len(r.Placed)+len(r.Unplaced) == 0 {
		fmt.Fprintln(&out, "nothing to launch: no pod waits for a node")
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func nodeTable(r *result) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"NodePool", "Instance type", "Zone", "Capacity", "$/h", "$/month", "Pods", "Candidates"})
	for _, node := range r.Nodes {
		t.AppendRow(table.Row{
			node.NodePool, node.InstanceType, node.Zone, node.CapacityType,
			fmt.Sprintf("%.4f", node.USDPerHour), fmt.Sprintf("%.2f", node.USDPerHour*hoursPerMonth),
			summarize(node.Pods), len(node.Candidates),
		})
	}
	t.AppendFooter(table.Row{plural(len(r.Nodes), "node", "nodes"), "", "", "", fmt.Sprintf("%.4f", r.USDPerHour), fmt.Sprintf("%.2f", r.USDPerMonth), "", ""})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 5, Align: text.AlignRight, AlignFooter: text.AlignRight}, {Number: 6, Align: text.AlignRight, AlignFooter: text.AlignRight},
	})
	return t.Render()
}

// summarize names a few pods and counts the rest.
func summarize(pods []string) string {
	const shown = 2
	if len(pods) <= shown+1 {
		return strings.Join(pods, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(pods[:shown], ", "), len(pods)-shown)
}
