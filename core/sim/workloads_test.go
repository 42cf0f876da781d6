package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/cluster"
	"whittle/core/sim"
)

// big is a node on which everything fits.
func big() *corev1.Node {
	return node("n1", func(n *corev1.Node) {
		for resource, quantity := range n.Status.Capacity {
			quantity.Mul(100)
			n.Status.Capacity[resource] = quantity
		}
	})
}

func TestDeployment(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, big(), deployment("web", 3, "1"))
	w.Advance(10 * time.Second)
	running := func() int { return len(podsOf(w, corev1.PodRunning)) }
	if got := running(); got != 3 {
		t.Fatalf("%d pods run, want 3", got)
	}
	set := w.Kube().ReplicaSets()[0]
	for _, p := range w.Kube().Pods() {
		if owner := metav1.GetControllerOf(p); owner == nil || owner.UID != set.UID || p.Labels["app"] != "web" || p.Labels["pod-template-hash"] == "" {
			t.Errorf("pod %s has owner %v and labels %v", p.Name, owner, p.Labels)
		}
	}
	if status := w.Kube().Deployments()[0].Status; status.Replicas != 3 || status.ReadyReplicas != 3 {
		t.Errorf("status %+v, want 3 ready of 3", status)
	}
	for _, replicas := range []int{5, 1, 0} {
		if err := w.Kube().Scale(t.Context(), "default", "web", replicas); err != nil {
			t.Fatal(err)
		}
		w.Advance(10 * time.Second)
		if got := running(); got != replicas || len(w.Kube().Pods()) != replicas {
			t.Errorf("scaled to %d: %d pods run", replicas, got)
		}
	}
}

func TestRolloutKeepsPodsRunning(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, big(), deployment("web", 8, "1"))
	w.Advance(10 * time.Second)
	least, most := 8, 8
	w.Observe(func(sim.Occurrence) {
		ready := 0
		for _, p := range w.Kube().Pods() {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				ready++
			}
		}
		least, most = min(least, ready), max(most, ready)
	})
	apply(t, w, deployment("web", 8, "2"))
	w.Advance(2 * time.Minute)
	pods := w.Kube().Pods()
	for _, p := range pods {
		if got := p.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "2" {
			t.Errorf("pod %s asks for %s CPU, want 2", p.Name, got)
		}
	}
	if len(pods) != 8 {
		t.Errorf("%d pods after the rollout, want 8", len(pods))
	}
	if least < 6 || most > 10 {
		t.Errorf("between %d and %d pods ran, want 6 to 10: a quarter more or fewer", least, most)
	}
}

func TestAPodThatGoesIsReplaced(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, big(), deployment("web", 2, "1"))
	w.Advance(10 * time.Second)
	victim := w.Kube().Pods()[0]
	if err := w.Kube().DeletePod(t.Context(), victim, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Second)
	if got := len(w.Kube().Pods()); got != 3 {
		t.Errorf("%d pods while one is ending, want 3: its successor does not wait", got)
	}
	w.Advance(10 * time.Second)
	for _, p := range w.Kube().Pods() {
		if p.UID == victim.UID {
			t.Error("the deleted pod is still there after PodStop")
		}
	}
	if got := len(podsOf(w, corev1.PodRunning)); got != 2 {
		t.Errorf("%d pods run, want 2", got)
	}
}

// C12: a pod whose volume is missing keeps no other pod from running, and makes one event.
func TestC12OneBadPodHarmsNoOther(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, big(), pod("bad", "1", mount("ghost")), deployment("good", 10, "1"))
	w.Advance(4 * time.Minute)
	if got := len(podsOf(w, corev1.PodRunning)); got != 10 {
		t.Errorf("%d pods run, want 10", got)
	}
	if got := w.Kube().Events(); len(got) != 1 || got[0].Regarding.Name != "bad" {
		t.Errorf("%d events, want one about the bad pod", len(got))
	}
}

func statefulSet(name string, replicas int32) *appsv1.StatefulSet {
	d := deployment(name, replicas, "1")
	class := "gp3"
	return &appsv1.StatefulSet{
		ObjectMeta: d.ObjectMeta,
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: d.Spec.Selector, Template: d.Spec.Template,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class},
			}},
		},
	}
}

func TestStatefulSetGoesOneByOne(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, storageClass("gp3", storagev1.VolumeBindingWaitForFirstConsumer), statefulSet("db", 3))
	w.Advance(time.Minute)
	if got := len(w.Kube().Pods()); got != 1 {
		t.Fatalf("%d pods while the first does not run, want 1", got)
	}
	apply(t, w, big())
	w.Advance(time.Minute)
	if diff := cmp.Diff([]string{"db-0", "db-1", "db-2"}, podsOf(w, corev1.PodRunning)); diff != "" {
		t.Fatal(diff)
	}
	for i, claim := range w.Kube().VolumeClaims() {
		if want := fmt.Sprintf("data-db-%d", i); claim.Name != want || claim.Status.Phase != corev1.ClaimBound {
			t.Errorf("claim %s is %s, want %s Bound", claim.Name, claim.Status.Phase, want)
		}
	}
	apply(t, w, statefulSet("db", 1))
	w.Advance(time.Minute)
	if diff := cmp.Diff([]string{"db-0"}, podsOf(w, corev1.PodRunning)); diff != "" {
		t.Error(diff)
	}
}

func TestJobRunsToItsEnd(t *testing.T) {
	w := newWorld(sim.Options{JobTime: 30 * time.Second})
	parallelism, completions := int32(2), int32(5)
	apply(t, w, big(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "work"},
		Spec:       batchv1.JobSpec{Parallelism: &parallelism, Completions: &completions, Template: corev1.PodTemplateSpec{Spec: podSpec("1")}},
	})
	most := 0
	w.Observe(func(sim.Occurrence) { most = max(most, len(podsOf(w, corev1.PodRunning))) })
	w.Advance(5 * time.Minute)
	if got := len(podsOf(w, corev1.PodSucceeded)); got != 5 || most != 2 || len(w.Kube().Pods()) != 5 {
		t.Errorf("%d of %d pods succeeded, at most %d at once; want 5 of 5, 2 at once", got, len(w.Kube().Pods()), most)
	}
}

func daemonSet(change ...func(*corev1.PodSpec)) *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("100m")},
		},
	}
	for _, f := range change {
		f(&set.Spec.Template.Spec)
	}
	return set
}

func TestDaemonSet(t *testing.T) {
	tests := []struct {
		name string
		set  *appsv1.DaemonSet
		want []string
	}{
		{"every node it tolerates", daemonSet(), []string{"n1", "n4"}},
		{"node selector", daemonSet(func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{corev1.LabelHostname: "n1"} }), []string{"n1"}},
		{"C01: a toleration without a key tolerates every taint", daemonSet(func(s *corev1.PodSpec) {
			s.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}), []string{"n1", "n2", "n3", "n4"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			apply(t, w, test.set,
				node("n1"), node("n2", taint("dedicated", corev1.TaintEffectNoSchedule)), node("n3", taint("gone", corev1.TaintEffectNoExecute)),
				node("n4", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
			w.Advance(10 * time.Second)
			var got []string
			for _, name := range []string{"n1", "n2", "n3", "n4"} {
				for _, p := range w.Kube().Pods() {
					if p.Spec.NodeName == name && p.Status.Phase == corev1.PodRunning {
						got = append(got, name)
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("nodes with a pod (-want +got):\n%s", diff)
			}
			if pods := w.Kube().Pods(); len(pods) != len(test.want) || !cluster.OwnedByDaemonSet(pods[0]) {
				t.Errorf("%d pods, want %d", len(pods), len(test.want))
			}
		})
	}
}

func TestDaemonSetFollowsItsNodes(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, daemonSet(), node("n1"))
	w.Advance(10 * time.Second)
	apply(t, w, node("n2"))
	w.Advance(10 * time.Second)
	if got := len(podsOf(w, corev1.PodRunning)); got != 2 {
		t.Fatalf("%d pods run on two nodes", got)
	}
	if err := w.Kube().DeleteNode(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute)
	if got := len(w.Kube().Pods()); got != 1 {
		t.Errorf("%d pods a minute after a node went, want 1", got)
	}
}
