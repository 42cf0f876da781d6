package packing

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"whittle/core/cluster"
	"whittle/core/requirement"
)

// termKind is what a term asks of the domain that a pod goes to.
type termKind int

const (
	// termSpread wants the pods that the selector matches spread evenly over domains.
	termSpread termKind = iota + 1
	// termAffinity wants a domain that has a pod the selector matches.
	termAffinity
	// termAntiAffinity wants a domain that has none.
	termAntiAffinity
	// termPort is a host port: no two pods that conflict share a node.
	termPort
)

// term is one topology constraint, shared by all pods that carry the same: a spread constraint, a pod
// affinity or anti-affinity term, or a host port. It counts pods by domain.
type term struct {
	kind termKind
	key  string
	// topologyKey is the label whose values are the domains.
	topologyKey string
	// namespaces in which the selector looks.
	namespaces map[string]bool
	selector   labels.Selector
	port       hostPort

	maxSkew, minDomains int
	// ignoreAffinity and honorTaints are the spread's policies on which nodes count, off the defaults.
	ignoreAffinity, honorTaints bool

	// matching are the pods by domain that the selector matches, owners those that carry the term.
	matching, owners map[string]int
	// outside is matching for the pods on nodes that a rule does not count.
	outside map[*rule]map[string]int
}

// onNodes reports whether the term's domains are single nodes.
func (t *term) onNodes() bool { return t.topologyKey == corev1.LabelHostname }

// matches reports whether the pod counts for the term.
func (t *term) matches(pod *corev1.Pod) bool {
	if t.kind == termPort {
		return slices.ContainsFunc(hostPorts(pod), t.port.conflicts)
	}
	return t.namespaces[pod.Namespace] && t.selector.Matches(labels.Set(pod.Labels))
}

// hostPort is a port of the node that a pod takes.
type hostPort struct {
	ip       string
	port     int32
	protocol corev1.Protocol
}

// conflicts reports whether two pods with these ports cannot share a node (kube-scheduler, plugin
// NodePorts): the same port and protocol on the same address, or on any.
func (p hostPort) conflicts(o hostPort) bool {
	return p.port == o.port && p.protocol == o.protocol && (p.ip == o.ip || p.any() || o.any())
}

func (p hostPort) any() bool { return p.ip == "" || p.ip == "0.0.0.0" || p.ip == "::" }

// hostPorts are the ports of the node that the pod's containers take.
func hostPorts(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			protocol := port.Protocol
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			ports = append(ports, hostPort{ip: port.HostIP, port: port.HostPort, protocol: protocol})
		}
	}
	return ports
}

// podTerms are a pod's terms: those that must hold, and those it would rather have, in the order in which
// they are given up (upstream pkg/controllers/provisioning/scheduling/preferences.go): preferred affinity
// before preferred anti-affinity, the heavier first, and ScheduleAnyway spreads last.
type podTerms struct {
	required   []*term
	soft       []*term
	softSpread []*term
}

// termSet makes terms, the same one for the same words.
type termSet struct {
	byKey      map[string]*term
	order      []*term
	namespaces []*corev1.Namespace
}

func newTermSet(s *cluster.Snapshot) *termSet {
	return &termSet{byKey: map[string]*term{}, namespaces: s.Namespaces}
}

// hasTerms reports whether the pod has any topology constraint.
func hasTerms(pod *corev1.Pod) bool {
	return len(pod.Spec.TopologySpreadConstraints) > 0 || len(hostPorts(pod)) > 0 ||
		pod.Spec.Affinity != nil && (pod.Spec.Affinity.PodAffinity != nil || pod.Spec.Affinity.PodAntiAffinity != nil)
}

func (s *termSet) of(pod *corev1.Pod) podTerms {
	var terms podTerms
	for i := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[i]
		t := s.spread(pod, constraint)
		if constraint.WhenUnsatisfiable == corev1.ScheduleAnyway {
			terms.softSpread = append(terms.softSpread, t)
		} else {
			terms.required = append(terms.required, t)
		}
	}
	for _, port := range hostPorts(pod) {
		terms.required = append(terms.required, s.add(&term{kind: termPort, topologyKey: corev1.LabelHostname, port: port}, port))
	}
	if pod.Spec.Affinity == nil {
		return terms
	}
	if affinity := pod.Spec.Affinity.PodAffinity; affinity != nil {
		for i := range affinity.RequiredDuringSchedulingIgnoredDuringExecution {
			terms.required = append(terms.required, s.affinity(termAffinity, pod, &affinity.RequiredDuringSchedulingIgnoredDuringExecution[i]))
		}
		terms.soft = append(terms.soft, s.preferred(termAffinity, pod, affinity.PreferredDuringSchedulingIgnoredDuringExecution)...)
	}
	if affinity := pod.Spec.Affinity.PodAntiAffinity; affinity != nil {
		for i := range affinity.RequiredDuringSchedulingIgnoredDuringExecution {
			terms.required = append(terms.required, s.affinity(termAntiAffinity, pod, &affinity.RequiredDuringSchedulingIgnoredDuringExecution[i]))
		}
		terms.soft = append(terms.soft, s.preferred(termAntiAffinity, pod, affinity.PreferredDuringSchedulingIgnoredDuringExecution)...)
	}
	return terms
}

func (s *termSet) preferred(kind termKind, pod *corev1.Pod, weighted []corev1.WeightedPodAffinityTerm) []*term {
	weighted = slices.Clone(weighted)
	slices.SortStableFunc(weighted, func(a, b corev1.WeightedPodAffinityTerm) int { return int(b.Weight - a.Weight) })
	var terms []*term
	for i := range weighted {
		terms = append(terms, s.affinity(kind, pod, &weighted[i].PodAffinityTerm))
	}
	return terms
}

func (s *termSet) spread(pod *corev1.Pod, c *corev1.TopologySpreadConstraint) *term {
	t := &term{
		kind: termSpread, topologyKey: requirement.Normalize(c.TopologyKey), maxSkew: int(c.MaxSkew),
		namespaces:     map[string]bool{pod.Namespace: true},
		selector:       selectorOf(c.LabelSelector, pod.Labels, c.MatchLabelKeys, nil),
		ignoreAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
		honorTaints:    c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
	}
	if c.MinDomains != nil {
		t.minDomains = int(*c.MinDomains)
	}
	var eligibility any
	if !t.ignoreAffinity || t.honorTaints {
		// Which nodes count depends on what the pod itself may run on.
		eligibility = []any{pod.Spec.NodeSelector, nodeAffinity(pod), pod.Spec.Tolerations}
	}
	return s.add(t, t.maxSkew, t.minDomains, t.ignoreAffinity, t.honorTaints, eligibility)
}

func nodeAffinity(pod *corev1.Pod) *corev1.NodeAffinity {
	if pod.Spec.Affinity == nil {
		return nil
	}
	return pod.Spec.Affinity.NodeAffinity
}

func (s *termSet) affinity(kind termKind, pod *corev1.Pod, a *corev1.PodAffinityTerm) *term {
	return s.add(&term{
		kind: kind, topologyKey: requirement.Normalize(a.TopologyKey),
		namespaces: s.namespacesOf(pod, a),
		selector:   selectorOf(a.LabelSelector, pod.Labels, a.MatchLabelKeys, a.MismatchLabelKeys),
	})
}

// namespacesOf are those in which an affinity term looks: the listed ones and those its selector matches;
// the pod's own when it has neither.
func (s *termSet) namespacesOf(pod *corev1.Pod, a *corev1.PodAffinityTerm) map[string]bool {
	found := map[string]bool{}
	for _, name := range a.Namespaces {
		found[name] = true
	}
	if a.NamespaceSelector != nil {
		selector := selectorOf(a.NamespaceSelector, nil, nil, nil)
		for _, namespace := range s.namespaces {
			if selector.Matches(labels.Set(namespace.Labels)) {
				found[namespace.Name] = true
			}
		}
	} else if len(a.Namespaces) == 0 {
		found[pod.Namespace] = true
	}
	return found
}

// selectorOf reads a label selector, with the pod's own values of the keys that are to match or not. One
// that is absent or cannot be read matches nothing, as in kube-scheduler.
func selectorOf(selector *metav1.LabelSelector, own map[string]string, match, mismatch []string) labels.Selector {
	if selector == nil {
		return labels.Nothing()
	}
	selector = selector.DeepCopy()
	add := func(keys []string, operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if value, has := own[key]; has {
				selector.MatchExpressions = append(selector.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
			}
		}
	}
	add(match, metav1.LabelSelectorOpIn)
	add(mismatch, metav1.LabelSelectorOpNotIn)
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

// add returns the term that says the same, or adds this one.
func (s *termSet) add(t *term, more ...any) *term {
	var key strings.Builder
	selector := ""
	if t.selector != nil {
		selector = t.selector.String()
	}
	// Plain values and API structs, which always encode.
	text, _ := json.Marshal([]any{t.kind, t.topologyKey, slices.Sorted(maps.Keys(t.namespaces)), selector, t.port.ip, t.port.port, t.port.protocol, more})
	key.Write(text)
	if found := s.byKey[key.String()]; found != nil {
		return found
	}
	t.key = key.String()
	t.matching, t.owners = map[string]int{}, map[string]int{}
	s.byKey[t.key] = t
	s.order = append(s.order, t)
	return t
}
