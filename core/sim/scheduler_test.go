package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/cluster"
	"whittle/core/sim"
)

func hostPort(protocol corev1.Protocol, ip string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: protocol, HostIP: ip}}
	}
}

func mount(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
}

func affinity(key string, op corev1.NodeSelectorOperator, values ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}},
		}}}
	}
}

func tolerate(toleration corev1.Toleration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, toleration) }
}

func taint(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

func TestScheduler(t *testing.T) {
	tests := []struct {
		name     string
		nodes    []*corev1.Node
		before   []*corev1.Pod
		pod      *corev1.Pod
		wantNode string
		// wantNote is of the FailedScheduling event, for a pod that fits nowhere.
		wantNote string
	}{
		{"no nodes", nil, nil, pod("p", "1"), "", "no nodes available to schedule pods"},
		{"fits", []*corev1.Node{node("n1")}, nil, pod("p", "1"), "n1", ""},
		{"ties go by name", []*corev1.Node{node("n2"), node("n1")}, nil, pod("p", "1"), "n1", ""},
		{"least allocated", []*corev1.Node{node("n1"), node("n2")}, []*corev1.Pod{pod("a", "2")}, pod("p", "1"), "n2", ""},
		{"too large", []*corev1.Node{node("n1"), node("n2")}, nil, pod("p", "5"), "", "0/2 nodes are available: 2 Insufficient cpu."},
		{"what is bound counts", []*corev1.Node{node("n1")}, []*corev1.Pod{pod("a", "3")}, pod("p", "2"), "", "0/1 nodes are available: 1 Insufficient cpu."},
		{"limits stand in for requests", []*corev1.Node{node("n1")}, nil, pod("p", "1", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("20Gi")}
		}), "", "0/1 nodes are available: 1 Insufficient memory."},
		{"node selector", []*corev1.Node{node("n1")}, nil, pod("p", "1", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: "arm64"}
		}), "", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."},
		{"node affinity", []*corev1.Node{node("n1"), node("n2")}, nil, pod("p", "1", affinity(corev1.LabelHostname, corev1.NodeSelectorOpNotIn, "n1")), "n2", ""},
		{"taint", []*corev1.Node{node("n1", taint("dedicated", corev1.TaintEffectNoSchedule))}, nil, pod("p", "1"), "", "0/1 nodes are available: 1 node(s) had untolerated taint {dedicated: }."},
		{
			"tolerated taint",
			[]*corev1.Node{node("n1", taint("dedicated", corev1.TaintEffectNoSchedule))},
			nil,
			pod("p", "1", tolerate(corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists})),
			"n1",
			"",
		},
		{"a preference keeps nobody off", []*corev1.Node{node("n1", taint("dedicated", corev1.TaintEffectPreferNoSchedule))}, nil, pod("p", "1"), "n1", ""},
		{"unschedulable", []*corev1.Node{node("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true })}, nil, pod("p", "1"), "", "0/1 nodes are available: 1 node(s) were unschedulable."},
		{
			"reasons are counted",
			[]*corev1.Node{node("n1"), node("n2"), node("n3", taint("a", corev1.TaintEffectNoExecute))},
			nil,
			pod("p", "5"),
			"",
			"0/3 nodes are available: 1 node(s) had untolerated taint {a: }, 2 Insufficient cpu.",
		},
		{
			"host port taken",
			[]*corev1.Node{node("n1")},
			[]*corev1.Pod{pod("a", "1", hostPort("TCP", ""))},
			pod("p", "1", hostPort("TCP", "10.0.0.1")),
			"",
			"0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
		},
		{"host port of another protocol", []*corev1.Node{node("n1")}, []*corev1.Pod{pod("a", "1", hostPort("TCP", ""))}, pod("p", "1", hostPort("UDP", "")), "n1", ""},
		{"host port of another address", []*corev1.Node{node("n1")}, []*corev1.Pod{pod("a", "1", hostPort("TCP", "10.0.0.1"))}, pod("p", "1", hostPort("TCP", "10.0.0.2")), "n1", ""},
		{"missing volume claim", []*corev1.Node{node("n1")}, nil, pod("p", "1", mount("ghost")), "", `0/1 nodes are available: persistentvolumeclaim "ghost" not found.`},
		{
			"too many pods",
			[]*corev1.Node{node("n1", func(n *corev1.Node) { n.Status.Capacity[corev1.ResourcePods] = resource.MustParse("1") })},
			[]*corev1.Pod{pod("a", "1")},
			pod("p", "1"),
			"",
			"0/1 nodes are available: 1 Too many pods.",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			for _, n := range test.nodes {
				apply(t, w, n)
			}
			w.Advance(time.Second)
			for _, p := range test.before {
				apply(t, w, p)
				w.Advance(time.Second)
			}
			apply(t, w, test.pod)
			w.Advance(500 * time.Millisecond)
			got, err := w.Kube().GetPod(t.Context(), "default", "p")
			if err != nil {
				t.Fatal(err)
			}
			if got.Spec.NodeName != test.wantNode {
				t.Errorf("bound to %q, want %q", got.Spec.NodeName, test.wantNode)
			}
			note := ""
			for _, event := range w.Kube().Events() {
				note = event.Note
			}
			if note != test.wantNote {
				t.Errorf("event %q, want %q", note, test.wantNote)
			}
			if cluster.Provisionable(got) != (test.wantNote != "") {
				t.Errorf("conditions %+v, want Unschedulable: %v", got.Status.Conditions, test.wantNote != "")
			}
		})
	}
}

func TestSchedulingGatesHoldAPodBack(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, node("n1"), pod("p", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} }))
	w.Advance(time.Minute)
	got := w.Kube().Pods()[0]
	if got.Spec.NodeName != "" || len(w.Kube().Events()) != 0 {
		t.Errorf("bound to %q, %d events; want nothing to happen", got.Spec.NodeName, len(w.Kube().Events()))
	}
}

func TestImportantPodsGoFirst(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, node("n1"), pod("a", "3"), pod("b", "3", func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }))
	w.Advance(10 * time.Second)
	if diff := cmp.Diff([]string{"b"}, podsOf(w, corev1.PodRunning)); diff != "" {
		t.Error(diff)
	}
}

func TestFailedSchedulingIsOneEventThatCountsUp(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, pod("p", "1"))
	w.Advance(21 * time.Minute)
	all := w.Kube().Events()
	if len(all) != 1 {
		t.Fatalf("%d events, want one series", len(all))
	}
	// One try at once, then one every five minutes.
	if all[0].Series == nil || all[0].Series.Count != 5 {
		t.Errorf("series %+v, want a count of 5", all[0].Series)
	}
}

func TestPendingPodsAreTriedAgainWhenSomethingHelps(t *testing.T) {
	tests := []struct {
		name string
		help func(t *testing.T, w *sim.World)
	}{
		{"a node comes", func(t *testing.T, w *sim.World) { t.Helper(); apply(t, w, node("n2")) }},
		{"a pod goes", func(t *testing.T, w *sim.World) {
			t.Helper()
			if err := w.Kube().Delete(t.Context(), "Pod", "default", "a"); err != nil {
				t.Fatal(err)
			}
		}},
		{"a taint goes", func(t *testing.T, w *sim.World) {
			t.Helper()
			n, err := w.Kube().GetNode(t.Context(), "n3")
			if err != nil {
				t.Fatal(err)
			}
			n.Spec.Taints = nil
			if _, err := w.Kube().UpdateNode(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			apply(t, w, node("n1"), node("n3", taint("x", corev1.TaintEffectNoSchedule)), pod("a", "3"))
			w.Advance(10 * time.Second)
			apply(t, w, pod("p", "3"))
			w.Advance(30 * time.Second)
			if got := podsOf(w, corev1.PodPending); len(got) != 1 {
				t.Fatalf("pending %v, want p", got)
			}
			test.help(t, w)
			w.Advance(20 * time.Second)
			if got := podsOf(w, corev1.PodPending); len(got) != 0 {
				t.Errorf("pending %v after 20 s, want none", got)
			}
		})
	}
}

func storageClass(name string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &mode}
	if len(zones) > 0 {
		class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{
			Key: "topology.ebs.csi.aws.com/zone", Values: zones,
		}}}}
	}
	return class
}

func volumeClaim(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class},
	}
}

func TestVolumes(t *testing.T) {
	elsewhere := func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "us-east-1b" }
	tests := []struct {
		name     string
		class    *storagev1.StorageClass
		wantNode string
		wantZone string
		wantNote string
	}{
		{"bound in the zone of the first pod", storageClass("gp3", storagev1.VolumeBindingWaitForFirstConsumer), "n1", zoneA, ""},
		{"allowed topologies choose the node", storageClass("gp3", storagev1.VolumeBindingWaitForFirstConsumer, "us-east-1b"), "n2", "us-east-1b", ""},
		{"bound at once", storageClass("gp3", storagev1.VolumeBindingImmediate), "n1", zoneA, ""},
		{"no such class", storageClass("other", storagev1.VolumeBindingImmediate), "", "", `storageclass.storage.k8s.io "gp3" not found`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			apply(t, w, test.class, volumeClaim("data", "gp3"), node("n1"), node("n2", elsewhere))
			w.Advance(time.Second)
			apply(t, w, pod("p", "1", mount("data")))
			w.Advance(time.Second)
			got, err := w.Kube().GetPod(t.Context(), "default", "p")
			if err != nil {
				t.Fatal(err)
			}
			if got.Spec.NodeName != test.wantNode {
				t.Errorf("bound to %q, want %q", got.Spec.NodeName, test.wantNode)
			}
			if test.wantNote != "" {
				if note := w.Kube().Events()[0].Note; !strings.Contains(note, test.wantNote) {
					t.Errorf("event %q, want %q in it", note, test.wantNote)
				}
				return
			}
			claim := w.Kube().VolumeClaims()[0]
			if claim.Status.Phase != corev1.ClaimBound {
				t.Fatalf("claim is %s", claim.Status.Phase)
			}
			terms := w.Kube().PersistentVolumes()[0].Spec.NodeAffinity.Required.NodeSelectorTerms
			if zone := terms[0].MatchExpressions[0].Values[0]; zone != test.wantZone {
				t.Errorf("volume in %s, want %s", zone, test.wantZone)
			}
		})
	}
}

func TestAVolumeKeepsItsPodInItsZone(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, storageClass("gp3", storagev1.VolumeBindingWaitForFirstConsumer), volumeClaim("data", "gp3"), node("n1"))
	apply(t, w, pod("p", "1", mount("data")))
	w.Advance(10 * time.Second)
	for _, name := range []string{"Pod default p", "Node  n1"} {
		parts := strings.Split(name, " ")
		if err := w.Kube().Delete(t.Context(), parts[0], parts[1], parts[2]); err != nil {
			t.Fatal(err)
		}
		w.Advance(10 * time.Second)
	}
	apply(t, w, node("n2", func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "us-east-1b" }), pod("p", "1", mount("data")))
	w.Advance(10 * time.Second)
	if got := podsOf(w, corev1.PodPending); len(got) != 1 {
		t.Errorf("pending %v, want the pod whose volume is in another zone", got)
	}
}
