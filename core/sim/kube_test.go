package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/sim"
)

func TestObjectsAreCopiedInAndOut(t *testing.T) {
	w := newWorld(sim.Options{})
	mine := nodeClaim("a")
	created, err := w.Kube().CreateNodeClaim(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	mine.Finalizers[0] = "changed.by/its-maker"
	created.Finalizers[0] = "changed.by/its-receiver"
	got, err := w.Kube().GetNodeClaim(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{wellknown.FinalizerTermination}, got.Finalizers); diff != "" {
		t.Error(diff)
	}
}

func TestCreateFillsInMetadata(t *testing.T) {
	w := newWorld(sim.Options{})
	w.Advance(1500 * time.Millisecond)
	claim := nodeClaim("a")
	claim.Status.ProviderID = "aws:///us-east-1a/i-1"
	got, err := w.Kube().CreateNodeClaim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if got.UID == "" || got.ResourceVersion == "" || got.Generation != 1 {
		t.Errorf("uid %q, resourceVersion %q, generation %d", got.UID, got.ResourceVersion, got.Generation)
	}
	if want := w.Now().Truncate(time.Second); !got.CreationTimestamp.Time.Equal(want) {
		t.Errorf("created at %v, want %v: the API has whole seconds", got.CreationTimestamp, want)
	}
	if got.Status.ProviderID != "" {
		t.Error("a status came in with create")
	}
	if _, err := w.Kube().CreateNodeClaim(t.Context(), claim); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create again = %v, want AlreadyExists", err)
	}
}

func TestOptimisticConcurrency(t *testing.T) {
	w := newWorld(sim.Options{})
	first, err := w.Kube().CreateNodeClaim(t.Context(), nodeClaim("a"))
	if err != nil {
		t.Fatal(err)
	}
	second := first.DeepCopy()
	first.Labels = map[string]string{"by": "first"}
	updated, err := w.Kube().UpdateNodeClaim(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if updated.ResourceVersion == second.ResourceVersion {
		t.Error("an update left the resourceVersion as it was")
	}
	second.Status.ProviderID = "aws:///us-east-1a/i-1"
	if _, err := w.Kube().UpdateNodeClaimStatus(t.Context(), second); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version = %v, want Conflict", err)
	}
	second.ResourceVersion = ""
	if _, err := w.Kube().UpdateNodeClaimStatus(t.Context(), second); !apierrors.IsInvalid(err) {
		t.Errorf("update without version = %v, want Invalid", err)
	}
	unchanged, err := w.Kube().UpdateNodeClaim(t.Context(), updated)
	if err != nil || unchanged.ResourceVersion != updated.ResourceVersion {
		t.Errorf("an update that changes nothing: version %s, then %s, error %v", updated.ResourceVersion, unchanged.ResourceVersion, err)
	}
}

func TestStatusAndObjectAreWrittenApart(t *testing.T) {
	w := newWorld(sim.Options{})
	claim, err := w.Kube().CreateNodeClaim(t.Context(), nodeClaim("a"))
	if err != nil {
		t.Fatal(err)
	}
	both := claim.DeepCopy()
	both.Labels = map[string]string{"by": "status"}
	both.Status.ProviderID = "aws:///us-east-1a/i-1"
	got, err := w.Kube().UpdateNodeClaimStatus(t.Context(), both)
	if err != nil {
		t.Fatal(err)
	}
	if got.Labels != nil || got.Status.ProviderID == "" || got.Generation != 1 {
		t.Errorf("after a status update: labels %v, providerID %q, generation %d", got.Labels, got.Status.ProviderID, got.Generation)
	}
	got.Labels = map[string]string{"by": "object"}
	got.Status.ProviderID = ""
	got, err = w.Kube().UpdateNodeClaim(t.Context(), got)
	if err != nil {
		t.Fatal(err)
	}
	if got.Labels["by"] != "object" || got.Status.ProviderID == "" {
		t.Errorf("after an update: labels %v, providerID %q", got.Labels, got.Status.ProviderID)
	}
	got.Spec.NodeClassRef.Name = "other"
	if _, err := w.Kube().UpdateNodeClaim(t.Context(), got); !apierrors.IsInvalid(err) {
		t.Errorf("change of the spec = %v, want Invalid", err)
	}
}

func TestFinalizersHoldADeletedObject(t *testing.T) {
	w := newWorld(sim.Options{})
	if _, err := w.Kube().CreateNodeClaim(t.Context(), nodeClaim("a")); err != nil {
		t.Fatal(err)
	}
	if err := w.Kube().DeleteNodeClaim(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	claim, err := w.Kube().GetNodeClaim(t.Context(), "a")
	if err != nil || claim.DeletionTimestamp == nil {
		t.Fatalf("a deleted NodeClaim with a finalizer: error %v, deletionTimestamp %v", err, claim.GetDeletionTimestamp())
	}
	deleted := claim.DeletionTimestamp
	w.Advance(time.Minute)
	if err := w.Kube().DeleteNodeClaim(t.Context(), "a"); err != nil {
		t.Errorf("delete again: %v", err)
	}
	more := claim.DeepCopy()
	more.Finalizers = append(more.Finalizers, "late.example/finalizer")
	if _, err := w.Kube().UpdateNodeClaim(t.Context(), more); !apierrors.IsInvalid(err) {
		t.Errorf("one more finalizer on a deleted object = %v, want Invalid", err)
	}
	claim.Finalizers, claim.DeletionTimestamp = nil, nil
	if _, err := w.Kube().UpdateNodeClaim(t.Context(), claim); err != nil {
		t.Fatalf("update without the finalizer, deleted %v: %v", deleted, err)
	}
	if _, err := w.Kube().GetNodeClaim(t.Context(), "a"); !apierrors.IsNotFound(err) {
		t.Errorf("get without finalizers = %v, want NotFound", err)
	}
	if err := w.Kube().DeleteNodeClaim(t.Context(), "a"); !apierrors.IsNotFound(err) {
		t.Errorf("delete what is gone = %v, want NotFound", err)
	}
}

func TestNodeIsOwnedByItsNodeClaim(t *testing.T) {
	w := newWorld(sim.Options{})
	claim, err := w.Kube().CreateNodeClaim(t.Context(), nodeClaim("a"))
	if err != nil {
		t.Fatal(err)
	}
	apply(t, w, node("n1", func(n *corev1.Node) {
		n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: claim.Name, UID: claim.UID}}
	}))
	claim.Finalizers = nil
	if _, err := w.Kube().UpdateNodeClaim(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if err := w.Kube().DeleteNodeClaim(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Second)
	if _, err := w.Kube().GetNode(t.Context(), "n1"); !apierrors.IsNotFound(err) {
		t.Errorf("get the node of a NodeClaim that is gone = %v, want NotFound", err)
	}
}

func TestApplyLeavesWhatOthersWrote(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, nodeClass(), nodePool("p"))
	w.Advance(time.Second)
	pool := w.Kube().NodePools()[0]
	if !meta.IsStatusConditionTrue(pool.Status.Conditions, karpenter.ConditionReady) {
		t.Fatalf("the pool of a class that is ready is not: %v", pool.Status.Conditions)
	}
	changed := nodePool("p")
	weight := int32(7)
	changed.Spec.Weight = &weight
	apply(t, w, changed)
	got := w.Kube().NodePools()[0]
	if got.UID != pool.UID || got.Generation != 2 || *got.Spec.Weight != 7 || len(got.Status.Conditions) == 0 {
		t.Errorf("uid %s → %s, generation %d, conditions %v", pool.UID, got.UID, got.Generation, got.Status.Conditions)
	}
}

func TestApplyRefusesWhatItDoesNotKnow(t *testing.T) {
	w := newWorld(sim.Options{})
	if err := w.Kube().Apply(t.Context(), &corev1.Secret{}); err == nil {
		t.Error("a Secret is no kind of the world's")
	}
	lost := pod("a", "1")
	lost.Namespace = "nowhere"
	if err := w.Kube().Apply(t.Context(), lost); !apierrors.IsNotFound(err) {
		t.Errorf("a pod in a namespace that does not exist = %v, want NotFound", err)
	}
}

func TestNodeClassDiscovery(t *testing.T) {
	tests := []struct {
		name         string
		change       func(*aws.EC2NodeClass)
		wantSubnets  int
		wantImages   int
		wantNotReady string
	}{
		{"tags that match", func(*aws.EC2NodeClass) {}, 6, 2, ""},
		{"wildcard tag", func(c *aws.EC2NodeClass) {
			c.Spec.SubnetSelectorTerms = []aws.SubnetSelectorTerm{{Tags: map[string]string{wellknown.TagDiscovery: "*"}}}
		}, 6, 2, ""},
		{"tags of another cluster", func(c *aws.EC2NodeClass) {
			c.Spec.SubnetSelectorTerms = []aws.SubnetSelectorTerm{{Tags: map[string]string{wellknown.TagDiscovery: "other"}}}
		}, 0, 2, "SubnetsNotFound"},
		{"an id that does not exist", func(c *aws.EC2NodeClass) {
			c.Spec.SubnetSelectorTerms = []aws.SubnetSelectorTerm{{ID: "subnet-1"}}
		}, 0, 2, "SubnetsNotFound"},
		{"an alias", func(c *aws.EC2NodeClass) {
			c.Spec.AMIFamily = nil
			c.Spec.AMISelectorTerms = []aws.AMISelectorTerm{{Alias: "al2@latest"}}
		}, 6, 2, ""},
		{"no image at all", func(c *aws.EC2NodeClass) { c.Spec.AMIFamily = nil }, 6, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			class := nodeClass()
			test.change(class)
			apply(t, w, class, nodePool("p"))
			w.Advance(time.Second)
			got := w.Kube().NodeClasses()[0]
			if len(got.Status.Subnets) != test.wantSubnets || len(got.Status.AMIs) != test.wantImages {
				t.Errorf("%d subnets and %d images, want %d and %d", len(got.Status.Subnets), len(got.Status.AMIs), test.wantSubnets, test.wantImages)
			}
			ready := test.wantSubnets > 0 && test.wantImages > 0
			if is := meta.IsStatusConditionTrue(got.Status.Conditions, aws.ConditionReady); is != ready {
				t.Errorf("class ready: %v, want %v", is, ready)
			}
			if is := meta.IsStatusConditionTrue(w.Kube().NodePools()[0].Status.Conditions, karpenter.ConditionReady); is != ready {
				t.Errorf("pool ready: %v, want %v", is, ready)
			}
			if test.wantNotReady != "" {
				if c := meta.FindStatusCondition(got.Status.Conditions, aws.ConditionSubnetsReady); c.Reason != test.wantNotReady {
					t.Errorf("SubnetsReady has reason %q, want %q", c.Reason, test.wantNotReady)
				}
			}
		})
	}
}

func TestSnapshotIsWholeSortedAndIndependent(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, node("n2"), node("n1"), deployment("web", 3, "1"), pod("b", "1"), pod("a", "1"))
	w.Advance(10 * time.Second)
	s, err := w.Kube().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != clusterName || !s.Now.Equal(w.Now()) || s.Catalog != embedded() || s.Instances != nil || s.Outages != nil {
		t.Errorf("name %q, now %v, instances %v, outages %v", s.Name, s.Now, s.Instances, s.Outages)
	}
	if len(s.Pods) != 5 || len(s.Nodes) != 2 || s.Nodes[0].Name != "n1" || s.Pods[0].Name != "a" || s.Pods[1].Name != "b" {
		t.Errorf("%d pods, nodes %v", len(s.Pods), s.Nodes)
	}
	if len(s.Owners) != 1 || s.Owners[0].Kind != "ReplicaSet" || s.Owners[0].Desired != 3 {
		t.Errorf("owners %+v, want the ReplicaSet with 3 pods", s.Owners)
	}
	s.Pods[0].Labels["app"] = "changed"
	if got := w.Kube().Pods()[0].Labels["app"]; got != "a" {
		t.Errorf("a change of the snapshot changed the cluster: label %q", got)
	}
}

func TestRecordCountsRepeats(t *testing.T) {
	w := newWorld(sim.Options{})
	event := cluster.Event{
		Object: corev1.ObjectReference{Kind: "Node", Name: "n1"}, Type: corev1.EventTypeNormal, Reason: "Evicted", Message: "one",
	}
	repeat := func(message string) {
		event.Message = message
		if err := w.Kube().Record(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	repeat("one")
	w.Advance(time.Minute)
	repeat("one")
	repeat("two")
	w.Advance(7 * time.Minute)
	repeat("one")
	got := map[string][]int32{}
	for _, e := range w.Kube().Events() {
		n := int32(1)
		if e.Series != nil {
			n = e.Series.Count
		}
		got[e.Note] = append(got[e.Note], n)
	}
	if len(got["one"]) != 2 || got["one"][0]+got["one"][1] != 3 || !cmp.Equal(got["two"], []int32{1}) {
		t.Errorf("counts by message %v, want one: a series of 2 and a new event, two: 1", got)
	}
	w.Advance(2 * time.Hour)
	if left := len(w.Kube().Events()); left != 0 {
		t.Errorf("%d events after two hours, want none", left)
	}
}

func TestEffectHooks(t *testing.T) {
	refused := errors.New("the network is down")
	tests := []struct {
		name       string
		after      bool
		wantStored bool
	}{
		{"an error before leaves nothing", false, false},
		{"an error after leaves the effect", true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			w.OnEffect(func(e sim.Effect) error {
				if e.Name == "kube.CreateNodeClaim" && e.Object == "a" && e.After == test.after {
					return refused
				}
				return nil
			})
			if _, err := w.Kube().CreateNodeClaim(t.Context(), nodeClaim("a")); !errors.Is(err, refused) {
				t.Errorf("create = %v, want %v", err, refused)
			}
			if stored := len(w.Kube().NodeClaims()) == 1; stored != test.wantStored {
				t.Errorf("stored: %v, want %v", stored, test.wantStored)
			}
		})
	}
}

func TestDeleteTakesWhatIsOwnedWithIt(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, node("n1"), deployment("web", 2, "1"))
	w.Advance(10 * time.Second)
	if got := len(podsOf(w, corev1.PodRunning)); got != 2 {
		t.Fatalf("%d pods run, want 2", got)
	}
	if err := w.Kube().Delete(t.Context(), "Deployment", "default", "web"); err != nil {
		t.Fatal(err)
	}
	w.Advance(10 * time.Second)
	if pods, sets := len(w.Kube().Pods()), len(w.Kube().ReplicaSets()); pods != 0 || sets != 0 {
		t.Errorf("%d pods and %d ReplicaSets are left of a deleted Deployment", pods, sets)
	}
	if err := w.Kube().Delete(t.Context(), "Deployment", "default", "web"); !apierrors.IsNotFound(err) {
		t.Errorf("delete again = %v, want NotFound", err)
	}
}
