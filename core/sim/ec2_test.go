package sim_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/resource"
	"whittle/core/sim"
	"whittle/events"
)

const (
	onDemand = wellknown.CapacityTypeOnDemand
	spot     = wellknown.CapacityTypeSpot
)

// code is EC2's error code, as a caller finds it.
func code(err error) string {
	var api interface{ ErrorCode() string }
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func launch(t *testing.T, w *sim.World, request cluster.LaunchRequest) cluster.LaunchResult {
	t.Helper()
	result, err := w.EC2().Launch(t.Context(), request)
	if err != nil {
		t.Fatalf("launch %s: %v", request.ID, err)
	}
	return result
}

func typesOf(instances []cluster.Instance) []string {
	var types []string
	for _, i := range instances {
		types = append(types, i.InstanceType)
	}
	return types
}

func TestLaunchTakesTheCheapestThatIsThere(t *testing.T) {
	outage := func(instanceType string) cluster.LaunchFailure {
		return cluster.LaunchFailure{
			Offering: cluster.Offering{InstanceType: instanceType, Zone: zoneA, CapacityType: onDemand},
			Code:     "InsufficientInstanceCapacity",
		}
	}
	tests := []struct {
		name         string
		capacity     map[string]int
		count        int
		want         []string
		wantFailures []cluster.LaunchFailure
	}{
		{"cheapest first", nil, 2, []string{"c5.large", "c5.large"}, nil},
		{"the next when it is out", map[string]int{"c5.large": 0}, 1, []string{"m5.large"}, []cluster.LaunchFailure{outage("c5.large")}},
		{"what is left, then the next", map[string]int{"c5.large": 1}, 3, []string{"c5.large", "m5.large", "m5.large"}, []cluster.LaunchFailure{outage("c5.large")}},
		{"fewer than asked for", map[string]int{"c5.large": 1, "m5.large": 1}, 3, []string{"c5.large", "m5.large"}, []cluster.LaunchFailure{outage("c5.large"), outage("m5.large")}},
		{"none", map[string]int{"": 0}, 3, nil, []cluster.LaunchFailure{outage("c5.large"), outage("m5.large")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			for instanceType, n := range test.capacity {
				w.EC2().SetCapacity(cluster.Offering{InstanceType: instanceType}, n)
			}
			result := launch(t, w, launchOf("l", onDemand, test.count, "m5.large", "c5.large"))
			if diff := cmp.Diff(test.want, typesOf(result.Instances)); diff != "" {
				t.Errorf("instances (-want +got):\n%s", diff)
			}
			for i := range result.Failures {
				if result.Failures[i].Message == "" {
					t.Error("a failure has no message")
				}
				result.Failures[i].Message = ""
			}
			if diff := cmp.Diff(test.wantFailures, result.Failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheLatestCapacityRuleHolds(t *testing.T) {
	w := newWorld(sim.Options{})
	w.EC2().SetCapacity(cluster.Offering{}, 0)
	w.EC2().SetCapacity(cluster.Offering{InstanceType: "m5.large", CapacityType: onDemand}, -1)
	if got := typesOf(launch(t, w, launchOf("a", onDemand, 1, "c5.large", "m5.large")).Instances); !slices.Equal(got, []string{"m5.large"}) {
		t.Errorf("on-demand: %v, want m5.large", got)
	}
	if got := launch(t, w, launchOf("b", spot, 1, "m5.large")); len(got.Instances) != 0 {
		t.Errorf("spot: %v, want none", got.Instances)
	}
}

func TestLaunchRefusesWhatEC2DoesNotSell(t *testing.T) {
	w := newWorld(sim.Options{})
	request := launchOf("l", onDemand, 1, "m5.large", "x9.imaginary")
	result := launch(t, w, request)
	if len(result.Instances) != 1 || len(result.Failures) != 1 || result.Failures[0].Code != "InvalidFleetConfiguration" {
		t.Errorf("result %+v, want one m5.large and a failure for the type that does not exist", result)
	}
	if _, err := w.EC2().Launch(t.Context(), launchOf("none", onDemand, 1)); code(err) != "InvalidParameterValue" {
		t.Errorf("launch without overrides = %v, want InvalidParameterValue", err)
	}
}

func TestLaunchIsIdempotentByItsID(t *testing.T) {
	w := newWorld(sim.Options{})
	request := launchOf("l", onDemand, 2, "m5.large")
	request.NodeClass = nodeClass()
	first := launch(t, w, request)
	w.Advance(time.Minute)
	second := launch(t, w, request)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the replay has another result:\n%s", diff)
	}
	if got := len(w.EC2().Live()); got != 2 {
		t.Errorf("%d instances live after a replay, want 2", got)
	}
	request.Count = 3
	if _, err := w.EC2().Launch(t.Context(), request); code(err) != "IdempotentParameterMismatch" {
		t.Errorf("the same id with another count = %v, want IdempotentParameterMismatch", err)
	}
}

// C36: a function that crashes after EC2 has launched, and starts over with the same id, leaks nothing.
func TestC36CrashAfterLaunchLeaksNothing(t *testing.T) {
	w := newWorld(sim.Options{})
	crashes := 1
	w.OnEffect(func(e sim.Effect) error {
		if e.Name == "ec2.Launch" && e.After && crashes > 0 {
			crashes--
			return sim.ErrCrash
		}
		return nil
	})
	occurrences := record(w)
	(&provisioner{world: w}).connect()
	apply(t, w, nodeClass())
	w.Map(events.QueueProvision, sim.Mapping{}, (&replayer{world: w}).handle)
	apply(t, w, pod("p", "1"))
	w.Advance(3 * time.Minute)
	if got := count(*occurrences, sim.FunctionCrashed); got != 1 {
		t.Errorf("%d crashes, want 1", got)
	}
	if got := len(w.EC2().Live()); got != 1 {
		t.Errorf("%d instances live, want 1", got)
	}
	if got := podsOf(w, corev1.PodRunning); len(got) != 1 {
		t.Errorf("running: %v, want p", got)
	}
}

func TestInstancesAreShownLate(t *testing.T) {
	w := newWorld(sim.Options{ConsistencyLag: 3 * time.Second, TerminatedLinger: 10 * time.Minute})
	result := launch(t, w, launchOf("l", onDemand, 1, "m5.large"))
	other := launchOf("o", onDemand, 1, "m5.large")
	other.Tags = map[string]string{wellknown.TagClusterName: "another"}
	launch(t, w, other)
	states := func() []cluster.InstanceState {
		shown, err := w.EC2().Instances(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var states []cluster.InstanceState
		for _, i := range shown {
			states = append(states, i.State)
		}
		return states
	}
	check := func(when string, want ...cluster.InstanceState) {
		t.Helper()
		if diff := cmp.Diff(want, states()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("at once")
	w.Advance(3 * time.Second)
	check("after the lag", cluster.InstancePending)
	w.Advance(5 * time.Second)
	check("when it runs", cluster.InstanceRunning)
	if err := w.EC2().Terminate(t.Context(), result.Instances[0].ID); err != nil {
		t.Fatal(err)
	}
	check("when it is ended", cluster.InstanceShuttingDown)
	w.Advance(time.Minute)
	check("a minute later", cluster.InstanceTerminated)
	if err := w.EC2().Terminate(t.Context(), result.Instances[0].ID); err != nil {
		t.Errorf("terminate again: %v", err)
	}
	w.Advance(10 * time.Minute)
	check("when it has lingered")
}

func TestTerminateIsAllOrNothing(t *testing.T) {
	w := newWorld(sim.Options{})
	result := launch(t, w, launchOf("l", onDemand, 1, "m5.large"))
	err := w.EC2().Terminate(t.Context(), result.Instances[0].ID, "i-0unknown")
	if code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("terminate = %v, want InvalidInstanceID.NotFound", err)
	}
	if got := len(w.EC2().Live()); got != 1 {
		t.Errorf("%d instances live, want 1", got)
	}
}

func TestTagIsSeenByTheNextReader(t *testing.T) {
	w := newWorld(sim.Options{})
	id := launch(t, w, launchOf("l", onDemand, 1, "m5.large")).Instances[0].ID
	if err := w.EC2().Tag(t.Context(), id, map[string]string{wellknown.TagNodeClaim: "a"}); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute)
	shown, err := w.EC2().Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{wellknown.TagClusterName: clusterName, wellknown.TagNodeClaim: "a"}
	if diff := cmp.Diff(want, shown[0].Tags); diff != "" {
		t.Error(diff)
	}
	if err := w.EC2().Tag(t.Context(), "i-0unknown", nil); code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("tag an unknown instance = %v", err)
	}
}

func TestThrottle(t *testing.T) {
	w := newWorld(sim.Options{})
	w.EC2().Throttle(1)
	refused := 0
	for range 5 {
		if _, err := w.EC2().Instances(t.Context()); code(err) == "RequestLimitExceeded" {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d of 5 calls at once refused, want 3", refused)
	}
	w.Advance(time.Second)
	if _, err := w.EC2().Instances(t.Context()); err != nil {
		t.Errorf("a call a second later: %v", err)
	}
}

func TestCost(t *testing.T) {
	w := newWorld(sim.Options{})
	launch(t, w, launchOf("a", onDemand, 2, "m5.large"))
	id := launch(t, w, launchOf("b", spot, 1, "m5.large")).Instances[0].ID
	spotPrice, ok := embedded().Price("m5.large", zoneA, spot)
	if !ok || spotPrice >= 0.096 {
		t.Fatalf("the Spot price of m5.large is %v, known: %v", spotPrice, ok)
	}
	if got, want := w.EC2().CostPerHour(), 2*0.096+spotPrice; math.Abs(got-want) > 1e-9 {
		t.Errorf("cost %v, want %v", got, want)
	}
	if err := w.EC2().Kill(id); err != nil {
		t.Fatal(err)
	}
	if got, want := w.EC2().CostPerHour(), 2*0.096; math.Abs(got-want) > 1e-9 {
		t.Errorf("cost %v without the Spot instance, want %v", got, want)
	}
}

// bodies are the messages in a queue, parsed as the functions do.
func bodies(t *testing.T, w *sim.World, queue string) []events.Message {
	t.Helper()
	var parsed []events.Message
	for _, m := range w.Queue(queue).Messages() {
		message, err := events.Parse([]byte(m.Body))
		if err != nil {
			t.Fatalf("parse %s: %v", m.Body, err)
		}
		parsed = append(parsed, message)
	}
	return parsed
}

func TestInterruption(t *testing.T) {
	w := newWorld(sim.Options{})
	id := launch(t, w, launchOf("l", spot, 1, "m5.large")).Instances[0].ID
	w.Advance(time.Minute)
	if err := w.EC2().Interrupt(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	w.Advance(119 * time.Second)
	if got := len(w.EC2().Live()); got != 1 {
		t.Fatalf("%d instances live within the notice, want 1", got)
	}
	w.Advance(time.Minute)
	var got []string
	for _, m := range bodies(t, w, events.QueueInterrupt) {
		if !slices.Equal(m.InstanceIDs, []string{string(id)}) {
			t.Errorf("message about %v, want %s", m.InstanceIDs, id)
		}
		got = append(got, m.Kind.String()+" "+m.State+m.Action)
	}
	want := []string{
		"StateChange pending", "StateChange running", "SpotInterruption terminate", "StateChange shutting-down", "StateChange terminated",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	var warning struct {
		Resources []string `json:"resources"`
		Region    string   `json:"region"`
	}
	if err := json.Unmarshal([]byte(w.Queue(events.QueueInterrupt).Messages()[2].Body), &warning); err != nil {
		t.Fatal(err)
	}
	if want := "arn:aws:ec2:us-east-1a:instance/" + string(id); warning.Resources[0] != want || warning.Region != "us-east-1" {
		t.Errorf("resources %v in %s, want %s: the zone stands where the region should", warning.Resources, warning.Region, want)
	}
}

func TestOnlyLiveSpotIsInterrupted(t *testing.T) {
	w := newWorld(sim.Options{})
	id := launch(t, w, launchOf("l", onDemand, 1, "m5.large")).Instances[0].ID
	if err := w.EC2().Interrupt(t.Context(), id); err == nil {
		t.Error("an on-demand instance was interrupted")
	}
	id = launch(t, w, launchOf("s", spot, 1, "m5.large")).Instances[0].ID
	if err := w.EC2().Kill(id); err != nil {
		t.Fatal(err)
	}
	if err := w.EC2().Interrupt(t.Context(), id); err == nil {
		t.Error("a dead instance was interrupted")
	}
}

func TestKubeletRegistersTheNode(t *testing.T) {
	w := newWorld(sim.Options{})
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	class := nodeClass()
	pods := int32(17)
	request := launchOf("l", spot, 1, "m6g.large")
	apply(t, w, class)
	w.Advance(time.Second)
	request.NodeClass = w.Kube().NodeClasses()[0]
	request.NodeClass.Spec.Kubelet = kubeletWith(pods)
	request.Labels = map[string]string{wellknown.LabelNodePool: "p"}
	request.Taints = []corev1.Taint{wellknown.UnregisteredTaint()}
	instance := launch(t, w, request).Instances[0]
	w.Advance(34 * time.Second)
	if got := len(w.Kube().Nodes()); got != 0 {
		t.Fatalf("%d nodes after 34 s, want none before 5 s launch and 30 s boot", got)
	}
	w.Advance(time.Second)
	n := w.Kube().Nodes()[0]
	if n.Spec.ProviderID != instance.ProviderID() || cluster.NodeReady(n) {
		t.Errorf("providerID %q, ready %v", n.Spec.ProviderID, cluster.NodeReady(n))
	}
	labels := map[string]string{}
	for _, key := range []string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelInstanceTypeStable, corev1.LabelArchStable, corev1.LabelOSStable,
		wellknown.LabelNodePool, wellknown.LabelCapacityType, wellknown.LabelFamily,
	} {
		labels[key] = n.Labels[key]
	}
	want := map[string]string{
		corev1.LabelHostname: n.Name, corev1.LabelTopologyZone: zoneA, corev1.LabelTopologyRegion: "us-east-1",
		corev1.LabelInstanceTypeStable: "m6g.large", corev1.LabelArchStable: "arm64", corev1.LabelOSStable: "linux",
		wellknown.LabelNodePool: "p", wellknown.LabelCapacityType: spot, wellknown.LabelFamily: "m6g",
	}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got := n.Status.Allocatable.Pods().Value(); got != int64(pods) {
		t.Errorf("room for %d pods, want %d by the class's kubelet settings", got, pods)
	}
	if !cluster.HasTaint(n.Spec.Taints, wellknown.UnregisteredTaint()) || !cluster.HasTaint(n.Spec.Taints, notReady) {
		t.Errorf("taints %v", n.Spec.Taints)
	}
	if image := instance.ImageID; image == "" || image != request.NodeClass.Status.AMIs[1].ID {
		t.Errorf("image %q, want that for arm64", image)
	}
	w.Advance(11 * time.Second)
	n = w.Kube().Nodes()[0]
	if !cluster.NodeReady(n) || cluster.HasTaint(n.Spec.Taints, notReady) {
		t.Errorf("ready %v, taints %v after ReadyAfter", cluster.NodeReady(n), n.Spec.Taints)
	}
}

func TestRealMemory(t *testing.T) {
	memory := func(factor float64) int64 {
		w := newWorld(sim.Options{})
		w.EC2().RealMemory(func(string) float64 { return factor })
		launch(t, w, launchOf("l", onDemand, 1, "m5.large"))
		w.Advance(time.Minute)
		return resource.FromList(w.Kube().Nodes()[0].Status.Allocatable)[corev1.ResourceMemory]
	}
	capacity := int64(8) << 30 * 925 / 1000
	if lost := memory(1) - memory(0.97); math.Abs(float64(lost)-0.03*float64(capacity)) > 1<<20 {
		t.Errorf("a node with 3 %% less memory offers %d bytes less, want about %d", lost, capacity*3/100)
	}
}

func TestNeverJoin(t *testing.T) {
	w := newWorld(sim.Options{})
	w.EC2().NeverJoin(func(i cluster.Instance) bool { return i.InstanceType == "m5.large" })
	launch(t, w, launchOf("a", onDemand, 1, "m5.large"))
	launch(t, w, launchOf("b", onDemand, 1, "c5.large"))
	w.Advance(time.Hour)
	nodes := w.Kube().Nodes()
	if len(nodes) != 1 || nodes[0].Labels[corev1.LabelInstanceTypeStable] != "c5.large" {
		t.Errorf("%d nodes, want that of c5.large alone", len(nodes))
	}
}

func TestADeadInstanceLosesItsNodeAndPods(t *testing.T) {
	w := newWorld(sim.Options{})
	id := launch(t, w, launchOf("l", onDemand, 1, "m5.large")).Instances[0].ID
	apply(t, w, deployment("web", 1, "1"))
	w.Advance(2 * time.Minute)
	if got := podsOf(w, corev1.PodRunning); len(got) != 1 {
		t.Fatalf("running: %v", got)
	}
	start := w.Now()
	if err := w.EC2().Kill(id); err != nil {
		t.Fatal(err)
	}
	after := func(condition func() bool) time.Duration {
		if !w.RunUntil(condition, 10*time.Minute) {
			t.Fatal("it never comes")
		}
		return w.Now().Sub(start)
	}
	unreachable := func() bool {
		return cluster.HasTaint(w.Kube().Nodes()[0].Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
	}
	if got := after(unreachable); got < 40*time.Second || got > 41*time.Second {
		t.Errorf("unreachable after %v, want 40 s", got)
	}
	if got := after(func() bool { return len(w.Kube().Nodes()) == 0 }); got < 50*time.Second || got > 51*time.Second {
		t.Errorf("node removed after %v, want 50 s", got)
	}
	if got := after(func() bool { return len(podsOf(w, corev1.PodPending)) == 1 }); got < 90*time.Second || got > 91*time.Second {
		t.Errorf("pod replaced after %v, want 90 s", got)
	}
}

func TestAFinalizerHoldsTheNodeOfADeadInstance(t *testing.T) {
	w := newWorld(sim.Options{})
	id := launch(t, w, launchOf("l", onDemand, 1, "m5.large")).Instances[0].ID
	w.Advance(time.Minute)
	n := w.Kube().Nodes()[0]
	n.Finalizers = []string{wellknown.FinalizerTermination}
	if _, err := w.Kube().UpdateNode(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := w.EC2().Kill(id); err != nil {
		t.Fatal(err)
	}
	w.Advance(10 * time.Minute)
	n, err := w.Kube().GetNode(t.Context(), n.Name)
	if err != nil || n.DeletionTimestamp == nil {
		t.Fatalf("node %v, error %v; want one that is being deleted", n.GetDeletionTimestamp(), err)
	}
	n.Finalizers = nil
	if _, err := w.Kube().UpdateNode(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Kube().GetNode(t.Context(), n.Name); !apierrors.IsNotFound(err) {
		t.Errorf("get node = %v, want NotFound", err)
	}
}

func TestNoExecuteTaintsEvict(t *testing.T) {
	w := newWorld(sim.Options{})
	forAMinute := int64(60)
	apply(t, w, node("n1"), pod("plain", "1"),
		pod("always", "1", tolerate(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists})),
		pod("minute", "1", tolerate(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &forAMinute})))
	w.Advance(10 * time.Second)
	n, err := w.Kube().GetNode(t.Context(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	if _, err := w.Kube().UpdateNode(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	w.Advance(10 * time.Second)
	if diff := cmp.Diff([]string{"always", "minute"}, podsOf(w, corev1.PodRunning)); diff != "" {
		t.Errorf("after 10 s (-want +got):\n%s", diff)
	}
	w.Advance(time.Minute)
	if diff := cmp.Diff([]string{"always"}, podsOf(w, corev1.PodRunning)); diff != "" {
		t.Errorf("after 70 s (-want +got):\n%s", diff)
	}
}
