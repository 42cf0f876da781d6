// Package packing decides which nodes to launch for pods that have none, at the least cost per hour,
// and says for every pod that it cannot place why not. It launches nothing itself.
package packing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/cluster"
	"whittle/core/requirement"
	"whittle/core/resource"
)

// Plan is what is to be done about pods without a node.
type Plan struct {
	// Launches are the nodes to launch, dearest first.
	Launches []Launch
	// Placements are the pods that fit on what runs or is on its way.
	Placements []Placement
	// Unplaced are the pods that fit nowhere, with the reasons.
	Unplaced []Unplaced
}

// Launch is one node to launch.
type Launch struct {
	NodePool  *karpenter.NodePool
	NodeClass *aws.EC2NodeClass
	// Offering is the cheapest of the candidates, on which the plan's cost is reckoned.
	Offering   cluster.Offering
	USDPerHour float64
	// ExtraUSDPerHour is what the node costs beside its instance: its volumes and its NodePool's surcharge.
	// The plan weighs it, USDPerHour does not hold it.
	ExtraUSDPerHour float64
	// Rivals are the NodePools of the same weight that were weighed for it, in upstream's order; the
	// cheapest plan decided between them.
	Rivals []string
	// Candidates are the instance types EC2 may choose from, cheapest first. The pods fit on every one.
	Candidates []Candidate
	// Requirements that the node's labels will satisfy: the NodePool's and those of all its pods.
	Requirements requirement.Set
	// Earlier are the UIDs of NodeClaims that exist and were planned for any of the pods.
	Earlier []types.UID
	// MinValuesRelaxed says that the NodePool's minValues were lowered to what there is.
	MinValuesRelaxed bool
	// Requests of the pods, DaemonSets included.
	Requests resource.Amounts
	Pods     []*corev1.Pod
}

// Candidate is an instance type that a launch may use, with what it costs in each zone it may be in.
type Candidate struct {
	InstanceType string
	Zones        []ZonePrice
}

// ZonePrice is what an instance type costs in a zone, in dollars per hour.
type ZonePrice struct {
	Zone       string
	USDPerHour float64
}

// Placement is a pod that fits on a host.
type Placement struct {
	Pod  *corev1.Pod
	Host string
}

// Unplaced is a pod that fits nowhere.
type Unplaced struct {
	Pod     *corev1.Pod
	Reasons []Reason
}

// USDPerHour is what the instances of the plan's launches cost together.
func (p *Plan) USDPerHour() float64 {
	sum := 0.0
	for i := range p.Launches {
		sum += p.Launches[i].USDPerHour
	}
	return sum
}

// sort gives the plan its order: it depends on what is planned only, never on the order of the input.
func (p *Plan) sort() {
	for i := range p.Launches {
		slices.SortFunc(p.Launches[i].Pods, comparePods)
	}
	slices.SortFunc(p.Launches, func(a, b Launch) int {
		return cmp.Or(
			cmp.Compare(b.USDPerHour, a.USDPerHour),
			cmp.Compare(a.NodePool.Name, b.NodePool.Name),
			cmp.Compare(a.Offering.InstanceType, b.Offering.InstanceType),
			cmp.Compare(len(b.Pods), len(a.Pods)),
			slices.CompareFunc(a.Pods, b.Pods, comparePods),
			slices.Compare(a.Earlier, b.Earlier),
		)
	})
	slices.SortFunc(p.Placements, func(a, b Placement) int { return comparePods(a.Pod, b.Pod) })
	slices.SortFunc(p.Unplaced, func(a, b Unplaced) int { return comparePods(a.Pod, b.Pod) })
}

func comparePods(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// Summary is a plan in figures, for one log line.
type Summary struct {
	Launches int
	// Pods that the launches are for, those OnExisting capacity, and those Unplaced.
	Pods, OnExisting, Unplaced int
	USDPerHour                 float64
}

// Summary is the plan in figures.
func (p *Plan) Summary() Summary {
	s := Summary{Launches: len(p.Launches), OnExisting: len(p.Placements), Unplaced: len(p.Unplaced), USDPerHour: p.USDPerHour()}
	for i := range p.Launches {
		s.Pods += len(p.Launches[i].Pods)
	}
	return s
}

// Message is why the pod fits nowhere, in one line: what kubectl describe shows.
func (u *Unplaced) Message() string {
	parts := make([]string, len(u.Reasons))
	for i, reason := range u.Reasons {
		parts[i] = reason.Message
		if reason.NodePool != "" {
			parts[i] = fmt.Sprintf("NodePool %s: %s", reason.NodePool, reason.Message)
		}
	}
	return strings.Join(parts, "; ")
}
