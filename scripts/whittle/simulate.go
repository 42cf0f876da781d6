package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/aws"
	"whittle/core/api/manifest"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/packing"
)

func simulateCommand() *cobra.Command {
	var files []string
	output := ""
	command := &cobra.Command{
		Use:   "simulate -f FILE...",
		Short: "Tell which nodes would be launched for manifests on disk, and why the rest cannot be placed",
		Long: `Reads any mix of NodePools, EC2NodeClasses, Deployments, StatefulSets, Jobs, DaemonSets, Pods and
Nodes as YAML or JSON, and tells which nodes Whittle would launch in us-east-1.

Exits with 0 when every pod has a place, 1 when one has not, 2 when the input is wrong.`,
		Example: "  whittle simulate -f nodepool.yaml -f deployment.yaml\n  kustomize build . | whittle simulate -f - --output json",
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := resultWriter(output)
			if err != nil {
				return &exitError{code: exitBadInput, err: err}
			}
			result, err := simulate(append(files, args...), cmd.InOrStdin())
			if err != nil {
				return &exitError{code: exitBadInput, err: err}
			}
			if err := write(cmd.OutOrStdout(), result); err != nil {
				return err
			}
			if len(result.Unplaced) > 0 {
				return &exitError{code: exitUnplaced}
			}
			return nil
		},
	}
	command.Flags().StringArrayVarP(&files, "filename", "f", nil, "file to read, - for standard input; may be given several times")
	command.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return command
}

// result is what simulate found out.
type result struct {
	Nodes    []plannedNode `json:"nodes"`
	Placed   []placedPod   `json:"placed,omitempty"`
	Unplaced []unplacedPod `json:"unplaced"`
	Warnings []string      `json:"warnings"`
	// USDPerHour is what the nodes cost together, USDPerMonth the same for 730 hours.
	USDPerHour  float64 `json:"usdPerHour"`
	USDPerMonth float64 `json:"usdPerMonth"`
}

// plannedNode is a node that would be launched.
type plannedNode struct {
	NodePool     string `json:"nodePool"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// USDPerHour is the instance's price, ExtraUSDPerHour that of its volumes and its NodePool's surcharge.
	USDPerHour      float64  `json:"usdPerHour"`
	ExtraUSDPerHour float64  `json:"extraUSDPerHour,omitempty"`
	Pods            []string `json:"pods"`
	// Candidates are the instance types EC2 could choose from, cheapest first.
	Candidates []string `json:"candidates"`
}

// placedPod is a pod that fits on a node of the input.
type placedPod struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

type unplacedPod struct {
	Pod     string   `json:"pod"`
	Reasons []reason `json:"reasons"`
}

type reason struct {
	NodePool string `json:"nodePool,omitempty"`
	Rule     string `json:"rule"`
	Message  string `json:"message"`
}

func simulate(files []string, stdin io.Reader) (*result, error) {
	if len(files) == 0 {
		return nil, errors.New("no input: name files with -f, or - for standard input")
	}
	objects, remarks, err := readFiles(files, stdin)
	if err != nil {
		return nil, err
	}
	s := cluster.FromManifests(objects)
	s.Name, s.Now = "simulation", time.Now().UTC()
	if s.Catalog, err = catalog.Embedded(); err != nil {
		return nil, fmt.Errorf("load the embedded catalog: %w", err)
	}
	warnings := assumeClasses(s)
	if err := checkPools(s, objects); err != nil {
		return nil, err
	}
	r := resultOf(packing.Solve(s, packing.Options{}))
	for _, remark := range remarks {
		r.Warnings = append(r.Warnings, remark.String())
	}
	r.Warnings = append(r.Warnings, warnings...)
	for _, pod := range s.Pods {
		if len(pod.Spec.SchedulingGates) > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("pod %s waits for scheduling gate %q, left out", cluster.PodKey(pod), pod.Spec.SchedulingGates[0].Name))
		}
	}
	return r, nil
}

// assumeClasses gives NodePools whose EC2NodeClass is not in the input an ordinary one, and says so.
func assumeClasses(s *cluster.Snapshot) []string {
	var warnings []string
	for _, pool := range s.NodePools {
		name := pool.Spec.Template.Spec.NodeClassRef.Name
		if s.NodeClass(name) != nil {
			continue
		}
		s.NodeClasses = append(s.NodeClasses, &aws.EC2NodeClass{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       aws.EC2NodeClassSpec{AMIFamily: new(aws.FamilyAL2023)},
		})
		warnings = append(warnings, fmt.Sprintf("EC2NodeClass %q is not in the input: taken as amiFamily AL2023 with default disks and kubelet settings", name))
	}
	return warnings
}

// checkPools refuses NodePools that could never launch anything.
func checkPools(s *cluster.Snapshot, objects manifest.Objects) error {
	var failures []error
	for _, impossible := range packing.ImpossiblePools(s) {
		place := objects.PlaceOf("NodePool", impossible.NodePool)
		failures = append(failures, manifest.Error{Place: place, Field: impossible.Field, Message: impossible.Message})
	}
	return errors.Join(failures...)
}

func resultOf(plan *packing.Plan) *result {
	r := &result{
		Nodes: []plannedNode{}, Unplaced: []unplacedPod{}, Warnings: []string{},
		USDPerHour:  round(plan.USDPerHour()),
		USDPerMonth: round(plan.USDPerHour() * hoursPerMonth),
	}
	for _, launch := range plan.Launches {
		node := plannedNode{
			NodePool: launch.NodePool.Name, InstanceType: launch.Offering.InstanceType, Zone: launch.Offering.Zone,
			CapacityType: launch.Offering.CapacityType, USDPerHour: launch.USDPerHour,
			ExtraUSDPerHour: round(launch.ExtraUSDPerHour), Pods: podKeys(launch.Pods),
		}
		for _, candidate := range launch.Candidates {
			node.Candidates = append(node.Candidates, candidate.InstanceType)
		}
		r.Nodes = append(r.Nodes, node)
	}
	for _, placement := range plan.Placements {
		r.Placed = append(r.Placed, placedPod{Pod: cluster.PodKey(placement.Pod), Node: placement.Host})
	}
	for _, unplaced := range plan.Unplaced {
		pod := unplacedPod{Pod: cluster.PodKey(unplaced.Pod)}
		for _, why := range unplaced.Reasons {
			pod.Reasons = append(pod.Reasons, reason{NodePool: why.NodePool, Rule: string(why.Rule), Message: why.Message})
		}
		r.Unplaced = append(r.Unplaced, pod)
	}
	return r
}

func podKeys(pods []*corev1.Pod) []string {
	keys := make([]string, len(pods))
	for i, pod := range pods {
		keys[i] = cluster.PodKey(pod)
	}
	return keys
}
