package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"whittle/core/api/manifest"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/core/resource"
	"whittle/functions/embedded"
	"whittle/testdata"
)

func demoCommand() *cobra.Command {
	output := ""
	command := &cobra.Command{
		Use:   "demo",
		Short: "Play the scenarios of testdata on an embedded world, through the real handlers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			printer, err := newPrinter(output, cmd.OutOrStdout())
			if err != nil {
				return &exitError{code: exitBadInput, err: err}
			}
			return playDemo(cmd.Context(), printer)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "text", "text, or json for one object per event")
	return command
}

// summary is the demo's result: the cluster at its busiest moment, and what was left at the end.
type summary struct {
	Kind string `json:"kind"`
	// Pods running and Pending at the busiest moment, on so many Nodes at that price.
	Pods       int     `json:"pods"`
	Pending    int     `json:"pending"`
	Nodes      int     `json:"nodes"`
	USDPerHour float64 `json:"usdPerHour"`
	// BoundUSDPerHour is what no fleet for these pods can undercut.
	BoundUSDPerHour float64        `json:"boundUSDPerHour"`
	InstanceTypes   map[string]int `json:"instanceTypes"`
	// Leftover is how many instances were left at the end; there should be none.
	Leftover int `json:"leftover"`
}

// demo is a play under way.
type demo struct {
	*embedded.Stack
	*timeline
	printer printer
}

// patience is how long, in virtual time, a scene may take.
const patience = 30 * time.Minute

func playDemo(ctx context.Context, p printer) error {
	d := &demo{Stack: embedded.New(embedded.Options{}), printer: p}
	d.timeline = newTimeline(d.World, p.entry)
	scenes := []func(context.Context) error{d.quickStart, d.criticalAndFlexible, d.gpu}
	for _, scene := range scenes {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	result, err := d.busiest(ctx)
	if err != nil {
		return err
	}
	for _, scene := range []func(context.Context) error{d.interruption, d.scaleToZero} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	d.flush()
	result.Leftover = len(d.World.EC2().Live())
	p.summary(result)
	if result.Leftover > 0 || result.Pending > 0 {
		return fmt.Errorf("%d pods are pending at the busiest moment and %d instances left at the end, want none", result.Pending, result.Leftover)
	}
	return nil
}

func (d *demo) quickStart(ctx context.Context) error {
	d.printer.scene("Quick start: a NodePool, an EC2NodeClass, and inflate with 10 pods of 1 CPU")
	if err := d.apply(ctx, "quickstart.yaml"); err != nil {
		return err
	}
	if err := d.untilRunning(ctx); err != nil {
		return err
	}
	d.printer.scene("Scale inflate to 100")
	if err := d.scale(ctx, "inflate", 100); err != nil {
		return err
	}
	return d.untilRunning(ctx)
}

func (d *demo) criticalAndFlexible(ctx context.Context) error {
	d.printer.scene("Critical pods on tainted on-demand nodes, flexible ones where it is cheapest")
	if err := d.apply(ctx, "critical-flexible.yaml"); err != nil {
		return err
	}
	return d.untilRunning(ctx)
}

func (d *demo) gpu(ctx context.Context) error {
	d.printer.scene("Pods that ask for GPUs")
	if err := d.apply(ctx, "gpu.yaml"); err != nil {
		return err
	}
	return d.untilRunning(ctx)
}

// interruption takes back the Spot instance with the most pods and waits until all of them run again.
func (d *demo) interruption(ctx context.Context) error {
	d.printer.scene("EC2 takes back the busiest Spot instance")
	snapshot, err := d.World.Kube().Snapshot(ctx)
	if err != nil {
		return err
	}
	var victim cluster.Host
	for _, host := range snapshot.Hosts() {
		if host.Offering().CapacityType == wellknown.CapacityTypeSpot && len(host.Pods) > len(victim.Pods) {
			victim = host
		}
	}
	if victim.Claim == nil {
		return errors.New("no Spot instance runs")
	}
	if err := d.World.EC2().Interrupt(ctx, victim.InstanceID()); err != nil {
		return fmt.Errorf("interrupt %s: %w", victim.InstanceID(), err)
	}
	gone := func() bool {
		return !slices.ContainsFunc(d.World.EC2().Live(), func(i cluster.Instance) bool { return i.ID == victim.InstanceID() })
	}
	if !d.World.RunUntil(gone, patience) {
		return fmt.Errorf("interrupted instance %s is still there after %s", victim.InstanceID(), patience)
	}
	return d.untilRunning(ctx)
}

// scaleToZero takes all pods away and waits until the sweep has emptied the fleet.
func (d *demo) scaleToZero(ctx context.Context) error {
	d.printer.scene("Scale everything to 0: the sweep empties the fleet within the disruption budgets")
	for _, deployment := range d.World.Kube().Deployments() {
		if err := d.scale(ctx, deployment.Name, 0); err != nil {
			return err
		}
	}
	if !d.World.RunUntil(func() bool { return len(d.World.EC2().Live()) == 0 }, 2*patience) {
		return fmt.Errorf("%d instances are left after %s without pods", len(d.World.EC2().Live()), 2*patience)
	}
	// What remains is the end of the last claims, and anything that would wrongly start again.
	d.World.Advance(5 * time.Minute)
	return nil
}

func (d *demo) apply(ctx context.Context, name string) error {
	data, err := testdata.Files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	objects, _, err := manifest.Decode(name, data)
	if err != nil {
		return err
	}
	var names []string
	for _, object := range objects.All() {
		names = append(names, describe(object))
	}
	d.say("apply", "%s: %s", name, strings.Join(names, ", "))
	for _, object := range objects.All() {
		if err := d.World.Kube().Apply(ctx, object); err != nil {
			return fmt.Errorf("apply %s of %s: %w", describe(object), name, err)
		}
	}
	return nil
}

// describe names an object as people do: Deployment inflate.
func describe(object runtime.Object) string {
	name := "?"
	if meta, ok := object.(metav1.Object); ok {
		name = meta.GetName()
	}
	return object.GetObjectKind().GroupVersionKind().Kind + " " + name
}

func (d *demo) scale(ctx context.Context, deployment string, replicas int) error {
	d.say("scale", "Deployment %s to %d replicas", deployment, replicas)
	if err := d.World.Kube().Scale(ctx, corev1.NamespaceDefault, deployment, replicas); err != nil {
		return fmt.Errorf("scale %s: %w", deployment, err)
	}
	return nil
}

// untilRunning waits until every pod that Deployments want is running.
func (d *demo) untilRunning(context.Context) error {
	if !d.World.RunUntil(d.allRunning, patience) {
		return fmt.Errorf("pods are still pending after %s", patience)
	}
	return nil
}

func (d *demo) allRunning() bool {
	wanted, running := 0, 0
	for _, deployment := range d.World.Kube().Deployments() {
		wanted += int(*deployment.Spec.Replicas)
	}
	for _, pod := range d.World.Kube().Pods() {
		if cluster.OwnedByDaemonSet(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	return running == wanted
}

// busiest sums the cluster up as it is now, and checks that no NodePool is beyond its limits.
func (d *demo) busiest(ctx context.Context) (summary, error) {
	d.flush()
	s, err := d.World.Kube().Snapshot(ctx)
	if err != nil {
		return summary{}, err
	}
	result := summary{Kind: "summary", USDPerHour: round(d.World.EC2().CostPerHour()), InstanceTypes: map[string]int{}}
	var pods []*corev1.Pod
	for _, pod := range s.Pods {
		switch {
		case !cluster.Moves(pod):
		case pod.Status.Phase == corev1.PodRunning:
			result.Pods++
			pods = append(pods, pod)
		default:
			result.Pending++
			pods = append(pods, pod)
		}
	}
	for _, instance := range d.World.EC2().Live() {
		result.Nodes++
		result.InstanceTypes[instance.InstanceType]++
	}
	result.BoundUSDPerHour = round(packing.Bound(s, pods))
	return result, withinLimits(s)
}

func withinLimits(s *cluster.Snapshot) error {
	for _, pool := range s.NodePools {
		used := resource.Amounts{}
		for _, host := range s.Hosts() {
			if host.NodePool() == pool.Name {
				used.Add(host.Capacity())
			}
		}
		if limit := resource.FromList(pool.Spec.Limits); len(limit) > 0 {
			for _, name := range limit.Names() {
				if used[name] > limit[name] {
					return fmt.Errorf("NodePool %s uses %d of %s, its limit is %d", pool.Name, used[name], name, limit[name])
				}
			}
		}
	}
	return nil
}

// printer shows a play.
type printer interface {
	scene(title string)
	entry(e entry)
	summary(s summary)
}

func newPrinter(output string, w io.Writer) (printer, error) {
	switch output {
	case "text":
		return newTextPrinter(w), nil
	case "json":
		return newJSONPrinter(w), nil
	default:
		return nil, fmt.Errorf("--output %s: want text or json", output)
	}
}
