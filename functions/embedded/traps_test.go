package embedded_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/sim"
	"whittle/events"
)

// What users of other autoscalers suffered; each test is named for what went wrong.

const oneCPU = "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1}}}]}"

func TestC06MaxPodsFollowsInterfacesAndKubeletSettings(t *testing.T) {
	// A c6a.large has 3 interfaces with 10 addresses each: 3 × 9 + 2 = 29 pods.
	tests := []struct {
		name    string
		kubelet string
		pods    int
		want    int
	}{
		{name: "by interfaces, 29 fit on one node", pods: 29, want: 1},
		{name: "the thirtieth needs another", pods: 30, want: 2},
		{name: "maxPods wins over the formula", kubelet: "kubelet: {maxPods: 10}", pods: 30, want: 3},
		{name: "podsPerCore 4 on 2 vCPU makes 8", kubelet: "kubelet: {podsPerCore: 4}", pods: 16, want: 2},
		{name: "podsPerCore no more than maxPods", kubelet: "kubelet: {podsPerCore: 4, maxPods: 5}", pods: 15, want: 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.apply(strings.Replace(class, "role: node", "role: node\n  "+test.kubelet, 1) +
				strings.Replace(pool("default", "c6a", ""), "requirements:", "requirements:\n        - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large]}", 1) +
				deployment("tiny", test.pods, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 1m}}}]}"))
			s.wantRunning(test.pods, 5*time.Minute)
			s.wantInstances(test.want)
		})
	}
}

func TestC12OneBadPodDoesNotPoisonTheBatch(t *testing.T) {
	bad := map[string]string{
		"its claim does not exist": pvcPod("bad", "ghost"),
		"its claim is unbound and its class does not exist": `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: orphan, namespace: default}
spec: {storageClassName: ghost, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
` + pvcPod("bad", "orphan"),
	}
	for name, manifests := range bad {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			counts := s.count()
			s.apply(class + pool("default", "c6a", "") + deployment("good", 10, oneCPU) + manifests)
			s.wantRunning(10, 5*time.Minute)
			s.World.Advance(20 * time.Minute)
			if got := launchedFor(s); got > 12 {
				t.Errorf("instances for %d CPU were launched for 10 pods of 1 CPU", got)
			}
			if counts[sim.FunctionFailed] > 0 || counts[sim.MessageDead] > 0 {
				t.Errorf("%d invocations failed and %d messages died, want none", counts[sim.FunctionFailed], counts[sim.MessageDead])
			}
			if got := ownEvents(s, "bad", "FailedScheduling"); got != 1 {
				t.Errorf("%d Events tell of the bad pod, want 1", got)
			}
		})
	}

	t.Run("a static volume of a class that does not exist is fine", func(t *testing.T) {
		s := newStage(t)
		s.apply(class + pool("default", "c6a", "") + `
apiVersion: v1
kind: PersistentVolume
metadata: {name: static}
spec:
  storageClassName: ghost
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: default, name: data}
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, operator: In, values: [us-east-1c]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {storageClassName: ghost, volumeName: static, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
` + pvcPod("db", "data"))
		if !s.World.RunUntil(func() bool { return len(s.live()) == 1 }, time.Minute) {
			t.Fatal("no instance is launched")
		}
		if zone := s.live()[0].Zone; zone != "us-east-1c" {
			t.Errorf("launched in %s, the volume is in us-east-1c", zone)
		}
	})
}

func pvcPod(name, claim string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  containers: [{name: app, image: pause, resources: {requests: {cpu: 1}}}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]
---
`, name, claim)
}

// launchedFor is how many CPU the live instances have together.
func launchedFor(s *stage) int64 {
	var cpu int64
	for _, node := range s.World.Kube().Nodes() {
		cpu += node.Status.Capacity.Cpu().Value()
	}
	return cpu
}

// ownEvents counts the Events with the reason that Whittle wrote about a pod.
func ownEvents(s *stage, pod, reason string) int {
	n := 0
	for _, event := range s.World.Kube().Events() {
		if event.Regarding.Name == pod && event.Reason == reason && event.ReportingController == events.ReportingController {
			n++
		}
	}
	return n
}

func TestC14SidecarsAndInitContainersCountAsTheSchedulerCountsThem(t *testing.T) {
	// A c6a.large offers 1.93 CPU. Sidecars that start before a large init container run beside it.
	pod := func(init string) string {
		return "{initContainers: [" + init + "], containers: [{name: app, image: pause, resources: {requests: {cpu: 600m}}}]}"
	}
	sidecar := "{name: sidecar, image: pause, restartPolicy: Always, resources: {requests: {cpu: 600m}}}"
	setup := "{name: setup, image: pause, resources: {requests: {cpu: 1700m}}}"
	tests := []struct {
		name string
		spec string
		want string
	}{
		{name: "sidecar first: 1700m + 600m", spec: pod(sidecar + "," + setup), want: "c6a.xlarge"},
		{name: "sidecar last: the larger of 1700m and 600m + 600m", spec: pod(setup + "," + sidecar), want: "c6a.large"},
		{name: "overhead of the runtime class comes on top", spec: strings.Replace(pod(setup+","+sidecar), "{init", "{overhead: {cpu: 300m}, init", 1), want: "c6a.xlarge"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.apply(class + pool("default", "c6a", "") + deployment("app", 1, test.spec))
			s.wantRunning(1, 5*time.Minute)
			s.wantInstances(1)
			if got := s.live()[0].InstanceType; got != test.want {
				t.Errorf("launched %s, want %s", got, test.want)
			}
		})
	}
}

func TestC16EqualWeightsTakeTheCheaperPoolWhateverItsName(t *testing.T) {
	tests := []struct {
		name     string
		aaa, zzz string
		weight   string
		want     string
		why      string
	}{
		{name: "the cheaper one comes first in the alphabet", aaa: "c6a", zzz: "r6i", want: "aaa", why: "the cheapest plan over NodePools zzz, aaa of equal weight"},
		{name: "the cheaper one comes last", aaa: "r6i", zzz: "c6a", want: "zzz", why: "the cheapest plan"},
		{name: "equal prices fall back to the name, descending", aaa: "c6a", zzz: "c6a", want: "zzz", why: "the cheapest plan"},
		{name: "a higher weight wins over the price", aaa: "r6i", zzz: "c6a", weight: "weight: 10", want: "aaa", why: "the heaviest NodePool that takes it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.apply(class +
				strings.Replace(pool("aaa", test.aaa, ""), "spec:\n", "spec:\n  "+test.weight+"\n", 1) +
				pool("zzz", test.zzz, "") + deployment("web", 1, oneCPU))
			s.wantRunning(1, 5*time.Minute)
			if got := s.World.Kube().NodeClaims()[0].Labels["karpenter.sh/nodepool"]; got != test.want {
				t.Errorf("launched from NodePool %s, want %s", got, test.want)
			}
			if note := nominated(s); !strings.Contains(note, test.why) {
				t.Errorf("the pod was told %q, which does not say %q", note, test.why)
			}
		})
	}
}

// nominated is what the first pod with a node was told.
func nominated(s *stage) string {
	for _, event := range s.World.Kube().Events() {
		if event.Reason == "Nominated" {
			return event.Note
		}
	}
	return ""
}

// wakeUp has provision run a pass now, whatever it was told before.
func wakeUp(t *testing.T, s *stage) {
	t.Helper()
	message := events.Wake{Cluster: "my-cluster", Reason: events.ReasonSweep}.Outgoing(s.World.Now())
	message.DedupID += "-again"
	if err := s.World.Queue(events.QueueProvision).Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	s.World.Advance(3 * time.Second)
}

func TestC17TheSamePodsAreNeverProvisionedTwice(t *testing.T) {
	startup := "      startupTaints: [{key: node.cilium.io/agent-not-ready, value: \"true\", effect: NoExecute}]"
	states := []struct {
		name string
		// reached says that the claim is in the state.
		reached func(s *stage) bool
		before  func(s *stage)
	}{
		{
			name: "claim not launched",
			before: func(s *stage) {
				s.World.OnEffect(func(effect sim.Effect) error {
					if effect.Name == "ec2.Launch" && !effect.After {
						return errors.New("EC2 is down")
					}
					return nil
				})
			},
			reached: func(s *stage) bool { return len(s.World.Kube().NodeClaims()) > 0 },
		},
		{
			name:    "launched",
			before:  func(*stage) {},
			reached: func(s *stage) bool { return len(s.live()) > 0 },
		},
		{
			name:   "registered, with a startup taint",
			before: func(*stage) {},
			reached: func(s *stage) bool {
				nodes := s.World.Kube().Nodes()
				return len(nodes) > 0 && nodes[0].Labels["karpenter.sh/registered"] == "true"
			},
		},
	}
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			s := newStage(t)
			state.before(s)
			s.apply(class + pool("default", "c6a", startup) + deployment("web", 5, oneCPU))
			if !s.World.RunUntil(func() bool { return state.reached(s) }, 5*time.Minute) {
				t.Fatalf("the claim never was %s", state.name)
			}
			s.World.Advance(2 * time.Second)
			claims := len(s.World.Kube().NodeClaims())
			for range 3 {
				wakeUp(t, s)
			}
			if got := len(s.World.Kube().NodeClaims()); got != claims {
				t.Errorf("%d NodeClaims after three more passes, want %d", got, claims)
			}
			// One more pod may need one more node, but the others are provided for.
			if err := s.World.Kube().Scale(t.Context(), "default", "web", 6); err != nil {
				t.Fatal(err)
			}
			s.World.Advance(45 * time.Second)
			if got := claimedCPU(s); got > 6000 {
				t.Errorf("NodeClaims ask for %dm CPU in all, 6 pods for 6000m", got)
			}
		})
	}
}

// claimedCPU is what all NodeClaims were planned for, in thousandths.
func claimedCPU(s *stage) int64 {
	var sum int64
	for _, claim := range s.World.Kube().NodeClaims() {
		sum += claim.Spec.Resources.Requests.Cpu().MilliValue()
	}
	return sum
}

func TestC17TwoPassesAtOnceMakeOneSetOfClaims(t *testing.T) {
	s := newStage(t)
	// Two functions see every wake, so that two passes run whenever one would.
	nested := false
	s.World.OnEffect(func(effect sim.Effect) error {
		if effect.Name == "kube.CreateNodeClaim" && !effect.After && !nested {
			nested = true
			if _, err := s.Provision(t.Context(), sqsEvent(events.Wake{Cluster: "my-cluster", Reason: events.ReasonSweep})); err != nil {
				t.Errorf("the second pass: %v", err)
			}
		}
		return nil
	})
	s.apply(class + pool("default", "c6a", "") + deployment("web", 5, oneCPU))
	s.wantRunning(5, 5*time.Minute)
	if !nested {
		t.Fatal("no second pass ran")
	}
	cpu := launchedFor(s)
	if claims, live := len(s.World.Kube().NodeClaims()), len(s.live()); claims != live || cpu > 8 {
		t.Errorf("%d NodeClaims, %d instances, %d CPU for 5 pods of 1 CPU", claims, live, cpu)
	}
}

func TestPodThatFitsNowhereIsToldWhyInNumbers(t *testing.T) {
	s := newStage(t)
	s.apply(class + pool("default", "c6a", "") + deployment("huge", 1, "{containers: [{name: app, image: pause, resources: {requests: {cpu: 500}}}]}"))
	s.World.Advance(2 * time.Minute)
	s.wantInstances(0)
	var note string
	for _, event := range s.World.Kube().Events() {
		if event.ReportingController == events.ReportingController && event.Type == corev1.EventTypeWarning {
			note = event.Note
		}
	}
	if want := "NodePool default: needs 500 CPU, largest allowed type has 191.45 (c6a.48xlarge)"; note != want {
		t.Errorf("the pod was told %q, want %q", note, want)
	}
}
