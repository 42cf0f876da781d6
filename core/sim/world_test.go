package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/sim"
	"whittle/events"
)

const (
	clusterName = "demo"
	zoneA       = "us-east-1a"
)

// embedded is the catalog of all tests.
//
//nolint:gochecknoglobals // decoding it takes longer than most tests
var embedded = sync.OnceValue(func() *catalog.Catalog {
	c, err := catalog.Embedded()
	if err != nil {
		panic(err)
	}
	return c
})

func newWorld(options sim.Options) *sim.World {
	options.Catalog = embedded()
	return sim.New(options)
}

// record collects what happens in a world from now on.
func record(w *sim.World) *[]sim.Occurrence {
	var occurrences []sim.Occurrence
	w.Observe(func(o sim.Occurrence) { occurrences = append(occurrences, o) })
	return &occurrences
}

func count(occurrences []sim.Occurrence, kind string) int {
	n := 0
	for _, o := range occurrences {
		if o.Kind == kind {
			n++
		}
	}
	return n
}

func apply(t *testing.T, w *sim.World, objects ...runtime.Object) {
	t.Helper()
	for _, object := range objects {
		if err := w.Kube().Apply(t.Context(), object); err != nil {
			t.Fatalf("apply %T: %v", object, err)
		}
	}
}

// node is one that works, with 4 CPU, 16 GiB and room for 10 pods.
func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zoneA, corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("10"),
		}},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func podSpec(cpu string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: "pause",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
	}}}
}

func pod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}},
		Spec:       podSpec(cpu),
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func deployment(name string, replicas int32, cpu string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(cpu)},
		},
	}
}

func nodeClass() *aws.EC2NodeClass {
	family := aws.FamilyAL2023
	tags := map[string]string{wellknown.TagDiscovery: clusterName}
	return &aws.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: aws.EC2NodeClassSpec{
			AMIFamily:                  &family,
			SubnetSelectorTerms:        []aws.SubnetSelectorTerm{{Tags: tags}},
			SecurityGroupSelectorTerms: []aws.SecurityGroupSelectorTerm{{Tags: tags}},
		},
	}
}

func nodePool(name string) *karpenter.NodePool {
	return &karpenter.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: karpenter.NodePoolSpec{Template: karpenter.NodeClaimTemplate{Spec: karpenter.NodeClaimTemplateSpec{
			NodeClassRef: karpenter.NodeClassReference{Kind: "EC2NodeClass", Name: "default"},
		}}},
	}
}

func nodeClaim(name string) *karpenter.NodeClaim {
	return &karpenter.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{wellknown.FinalizerTermination}},
		Spec: karpenter.NodeClaimSpec{
			NodeClassRef: karpenter.NodeClassReference{Group: wellknown.GroupAWS, Kind: "EC2NodeClass", Name: "default"},
		},
	}
}

// launchOf asks for instances of these types in zone a.
func launchOf(id, capacityType string, count int, types ...string) cluster.LaunchRequest {
	request := cluster.LaunchRequest{
		ID: id, Cluster: clusterName, CapacityType: capacityType, Count: count,
		Tags: map[string]string{wellknown.TagClusterName: clusterName},
	}
	for _, name := range types {
		request.Overrides = append(request.Overrides, cluster.LaunchOverride{InstanceType: name, Zone: zoneA})
	}
	return request
}

func podsOf(w *sim.World, phase corev1.PodPhase) []string {
	var names []string
	for _, p := range w.Kube().Pods() {
		if p.Status.Phase == phase {
			names = append(names, p.Name)
		}
	}
	return names
}

// allowing answers every AdmissionReview with yes, after f has seen the request.
func allowing(f func(path string, request *admissionv1.AdmissionRequest)) sim.Webhook {
	return func(_ context.Context, path string, body []byte) (int, []byte) {
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil {
			return http.StatusBadRequest, nil
		}
		f(path, review.Request)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		review.Request = nil
		answer, err := json.Marshal(review)
		if err != nil {
			return http.StatusInternalServerError, nil
		}
		return http.StatusOK, answer
	}
}

// provisioner is the simplest that can work: one m5.xlarge for each three pods that fit nowhere.
type provisioner struct {
	world    *sim.World
	launches int
	known    map[string]bool
}

func (p *provisioner) connect() {
	w := p.world
	p.known = map[string]bool{}
	w.Webhooks(allowing(func(path string, request *admissionv1.AdmissionRequest) {
		if path == "/events" {
			message := events.Wake{Cluster: clusterName, Reason: events.ReasonFailedScheduling, Object: request.Name}.Outgoing(w.Now())
			if err := w.Sender().Send(context.Background(), events.QueueProvision, message); err != nil {
				panic(err)
			}
		}
	}))
	w.Map(events.QueueProvision, sim.Mapping{}, p.handle)
}

func (p *provisioner) handle(ctx context.Context, _ []byte) ([]byte, error) {
	if err := p.world.Sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	snapshot, err := p.world.Kube().Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	fresh := 0
	for _, pending := range snapshot.Pods {
		if cluster.Provisionable(pending) && !p.known[cluster.PodKey(pending)] {
			p.known[cluster.PodKey(pending)] = true
			fresh++
		}
	}
	if fresh == 0 {
		return nil, nil
	}
	p.launches++
	name := fmt.Sprintf("claim-%d", p.launches)
	if _, err := p.world.Kube().CreateNodeClaim(ctx, nodeClaim(name)); err != nil {
		return nil, err
	}
	request := launchOf(name, wellknown.CapacityTypeOnDemand, (fresh+2)/3, "m5.xlarge", "m5.2xlarge")
	request.NodeClass = snapshot.NodeClasses[0]
	_, err = p.world.EC2().Launch(ctx, request)
	return nil, err
}

// replayer launches for the first pending pod, always with the same id, as a function that derives the id
// from what it launches for.
type replayer struct{ world *sim.World }

func (r *replayer) handle(ctx context.Context, _ []byte) ([]byte, error) {
	request := launchOf("for-p", wellknown.CapacityTypeOnDemand, 1, "m5.large")
	_, err := r.world.EC2().Launch(ctx, request)
	return nil, err
}

func kubeletWith(maxPods int32) *aws.KubeletConfiguration {
	return &aws.KubeletConfiguration{MaxPods: &maxPods}
}

// script runs a deployment up and down, with a kill in between.
func script(t *testing.T, seed uint64) []sim.Occurrence {
	t.Helper()
	w := newWorld(sim.Options{Seed: seed})
	occurrences := record(w)
	(&provisioner{world: w}).connect()
	apply(t, w, nodeClass(), nodePool("default"), deployment("web", 7, "1"))
	running := func() bool { return len(podsOf(w, corev1.PodRunning)) == 7 }
	if !w.RunUntil(running, 5*time.Minute) {
		t.Fatalf("7 pods do not run after 5 minutes, only %d; pending %v", len(podsOf(w, corev1.PodRunning)), podsOf(w, corev1.PodPending))
	}
	if err := w.EC2().Kill(w.EC2().Live()[0].ID); err != nil {
		t.Fatal(err)
	}
	w.Advance(10 * time.Minute)
	if err := w.Kube().Scale(t.Context(), "default", "web", 0); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute)
	return *occurrences
}

func TestPodsThatFitNowhereGetANodeAndRun(t *testing.T) {
	w := newWorld(sim.Options{})
	occurrences := record(w)
	(&provisioner{world: w}).connect()
	apply(t, w, nodeClass(), nodePool("default"), deployment("web", 7, "1"))
	start := w.Now()
	running := func() bool { return len(podsOf(w, corev1.PodRunning)) == 7 }
	if !w.RunUntil(running, 5*time.Minute) {
		for _, o := range *occurrences {
			t.Log(o)
		}
		t.Fatalf("pods running: %v", podsOf(w, corev1.PodRunning))
	}
	if took := w.Now().Sub(start); took < 45*time.Second || took > 70*time.Second {
		t.Errorf("pods run after %v, want launch 5 s + boot 30 s + ready 10 s + start 2 s and a little", took)
	}
	if got := len(w.EC2().Live()); got != 3 {
		t.Errorf("%d instances are live, want 3", got)
	}
	if got, want := w.EC2().CostPerHour(), 3*0.192; math.Abs(got-want) > 1e-9 {
		t.Errorf("cost is %v $/h, want %v", got, want)
	}
	for _, kind := range []string{
		sim.PodCreated, sim.PodUnschedulable, sim.EventRecorded, sim.MessageSent, sim.FunctionInvoked, sim.NodeClaimCreated,
		sim.InstanceLaunched, sim.InstanceRunning, sim.NodeRegistered, sim.NodeReady, sim.PodBound, sim.PodRunning,
	} {
		if count(*occurrences, kind) == 0 {
			t.Errorf("nobody was told of %q", kind)
		}
	}
}

func TestSameScriptSameOccurrences(t *testing.T) {
	first, second := script(t, 1), script(t, 1)
	if len(first) != len(second) {
		t.Fatalf("%d occurrences, then %d", len(first), len(second))
	}
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("occurrence %d:\n  first  %v\n  second %v", i, first[i], second[i])
		}
	}
}
