package manifest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"whittle/core/api/karpenter"
	"whittle/core/api/manifest"
	"whittle/core/api/warning"
)

// everyKind is one object of each kind, as short as it may be.
func everyKind() string {
	var text strings.Builder
	for _, id := range []string{
		"karpenter.sh/v1 NodeClaim", "apps/v1 Deployment", "apps/v1 StatefulSet", "apps/v1 ReplicaSet", "apps/v1 DaemonSet",
		"batch/v1 Job", "v1 Pod", "v1 Node", "v1 PersistentVolumeClaim", "v1 PersistentVolume", "storage.k8s.io/v1 StorageClass",
		"policy/v1 PodDisruptionBudget", "v1 Namespace", "scheduling.k8s.io/v1 PriorityClass", "v1 ConfigMap", "v1 Service", "v1 ServiceAccount",
	} {
		version, kind, _ := strings.Cut(id, " ")
		fmt.Fprintf(&text, "---\napiVersion: %s\nkind: %s\nmetadata: {name: a}\n", version, kind)
		if kind == "NodeClaim" {
			text.WriteString("spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}\n")
		}
	}
	return text.String()
}

// counts is how many objects there are of each kind that has any.
func counts(o manifest.Objects) map[string]int {
	all := map[string]int{
		"NodePool": len(o.NodePools), "NodeClaim": len(o.NodeClaims), "EC2NodeClass": len(o.NodeClasses),
		"Deployment": len(o.Deployments), "StatefulSet": len(o.StatefulSets), "ReplicaSet": len(o.ReplicaSets),
		"DaemonSet": len(o.DaemonSets), "Job": len(o.Jobs), "Pod": len(o.Pods), "Node": len(o.Nodes),
		"PersistentVolumeClaim": len(o.PersistentVolumeClaims), "PersistentVolume": len(o.PersistentVolumes),
		"StorageClass": len(o.StorageClasses), "PodDisruptionBudget": len(o.PodDisruptionBudgets),
		"Namespace": len(o.Namespaces), "PriorityClass": len(o.PriorityClasses),
	}
	for kind, count := range all {
		if count == 0 {
			delete(all, kind)
		}
	}
	return all
}

func TestDecodeShapes(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}`
	tests := []struct {
		name, text string
		want       map[string]int
	}{
		{"nothing", "", map[string]int{}},
		{"comments only", "# one\n---\n# two\n...\n", map[string]int{}},
		{"every kind", everyKind(), map[string]int{
			"NodeClaim": 1, "Deployment": 1, "StatefulSet": 1, "ReplicaSet": 1, "DaemonSet": 1, "Job": 1, "Pod": 1, "Node": 1,
			"PersistentVolumeClaim": 1, "PersistentVolume": 1, "StorageClass": 1, "PodDisruptionBudget": 1, "Namespace": 1, "PriorityClass": 1,
		}},
		{"JSON", pod, map[string]int{"Pod": 1}},
		{"several JSON objects", pod + "\n" + pod + pod, map[string]int{"Pod": 3}},
		{"JSON between markers", "---\n" + pod + "\n--- # and\n" + pod, map[string]int{"Pod": 2}},
		{"document on the marker's line", "--- " + pod + "\n--- " + pod, map[string]int{"Pod": 2}},
		{"document after an end marker", pod + "\n...\n" + pod, map[string]int{"Pod": 2}},
		{"Windows line ends", "---\r\napiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\n---\r\n" + pod, map[string]int{"Pod": 2}},
		{"byte order mark", "\ufeffapiVersion: v1\nkind: Pod\nmetadata: {name: a}", map[string]int{"Pod": 1}},
		{"list of anything", `{"apiVersion": "v1", "kind": "List", "items": [` + pod + `, ` + pod + `]}`, map[string]int{"Pod": 2}},
		{"empty list", `{"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}}`, map[string]int{}},
		{"list of one kind", `{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}]}`, map[string]int{"Pod": 1}},
		{"name to be generated", "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}", map[string]int{"Job": 1}},
		{"marker inside of a text", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    a: |\n      ---\n      b\n", map[string]int{"Pod": 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			objects, warnings, err := manifest.Decode("file.yaml", []byte(test.text))
			if err != nil || warnings != nil {
				t.Fatalf("error %v, warnings %v", err, warnings)
			}
			if diff := cmp.Diff(test.want, counts(objects)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	pod := func(rest string) string { return "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n" + rest }
	const place = `f: document 1 (Pod "a"): `
	tests := []struct {
		name, text string
		want       []string
	}{
		{"no object", "- a", []string{"f: document 1: want an object with apiVersion and kind"}},
		{"no kind", "apiVersion: v1", []string{"f: document 1: want an apiVersion and a kind, such as karpenter.sh/v1 and NodePool"}},
		{"kind that is no text", "apiVersion: v1\nkind: [Pod]", []string{"f: document 1: want an apiVersion and a kind, such as karpenter.sh/v1 and NodePool"}},
		{"no name", "apiVersion: v1\nkind: Pod", []string{"f: document 1 (Pod): metadata.name: want a name"}},
		{"kind in other letters", "apiVersion: karpenter.sh/v1\nkind: Nodepool", []string{"f: document 1 (Nodepool): karpenter.sh/v1 Nodepool is not read, want apiVersion: karpenter.sh/v1 and kind: NodePool"}},
		{"kind of another group", "apiVersion: extensions/v1beta1\nkind: Deployment", []string{"f: document 1 (Deployment): extensions/v1beta1 Deployment is not read, want apiVersion: apps/v1 and kind: Deployment"}},
		{"unknown kind", "apiVersion: v1\nkind: Event", []string{
			"f: document 1 (Event): v1 Event is not read, want one of NodePool, NodeClaim, EC2NodeClass, Deployment, StatefulSet, ReplicaSet, DaemonSet, Job, Pod, Node, PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, PodDisruptionBudget, Namespace, PriorityClass, ConfigMap, Service, ServiceAccount",
		}},
		{"a machine", "apiVersion: karpenter.sh/v1alpha5\nkind: Machine", []string{"f: document 1 (Machine): karpenter.sh/v1alpha5 Machine became NodeClaim: leave it out, since NodeClaims are made from NodePools"}},
		{"an old class", "apiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass", []string{"f: document 1 (EC2NodeClass): karpenter.k8s.aws/v1beta1 EC2NodeClass is no longer read: write apiVersion: karpenter.k8s.aws/v1, with amiSelectorTerms such as [{alias: al2023@latest}]"}},
		{"unknown field among many", pod("spec: {hostname: a, foo: 1}"), []string{place + "spec.foo: unknown field"}},
		{"unknown field among few", pod("spec: {tolerations: [{label: a}]}"), []string{place + "spec.tolerations[0].label: unknown field, want one of effect, key, operator, tolerationSeconds, value"}},
		{"field in other letters", pod("spec: {nodeselector: {a: b}}"), []string{place + `spec.nodeselector: unknown field, did you mean "nodeSelector"?`}},
		{"wrong shapes", pod("spec: {containers: {a: b}, nodeSelector: [a], affinity: a, priority: 1.5, hostNetwork: 1, terminationGracePeriodSeconds: a, schedulerName: {}}"), []string{
			place + `spec.affinity: want an object, got "a"`,
			place + "spec.containers: want a list, got an object",
			place + "spec.hostNetwork: want true or false, got 1",
			place + "spec.nodeSelector: want keys with values, got a list",
			place + "spec.priority: want a whole number, got 1.5",
			place + "spec.schedulerName: want a string, got an object",
			place + `spec.terminationGracePeriodSeconds: want a whole number, got "a"`,
		}},
		{"too large a number", pod("spec: {priority: 3000000000}"), []string{place + "spec.priority: want a whole number, got 3000000000"}},
		{"time", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, creationTimestamp: yesterday}", []string{
			place + `metadata.creationTimestamp: "yesterday" is not a time, want e.g. "2026-01-31T09:00:00Z"`,
		}},
		{"key with dots and slashes", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {capacity: {nvidia.com/gpu: x, cpu: z}}", []string{
			`f: document 1 (Node "a"): status.capacity.cpu: "z" is not a quantity, want e.g. "1000" or "500m"`,
			`f: document 1 (Node "a"): status.capacity[nvidia.com/gpu]: "x" is not a quantity, want e.g. "1000" or "500m"`,
		}},
		{"quantity beyond all measure", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {capacity: {cpu: \"1e-999999999\", memory: \"1E999999999\", pods: 1e2}}", []string{
			`f: document 1 (Node "a"): status.capacity.cpu: "1e-999999999" is not a quantity, want e.g. "1000" or "500m"`,
			`f: document 1 (Node "a"): status.capacity.memory: "1E999999999" is not a quantity, want e.g. "1000" or "500m"`,
		}},
		{"repeated key in JSON", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "name": "a"}}`, []string{place + `line 1: field "name" is set twice`}},
		{"lines count from the start of the file", "# one\n---\n# three\n" + pod("spec: {}\nspec: {}\n") + "---\na: b: c\n", []string{
			place + `line 8: field "spec" is set twice`,
			"f: document 2: is not YAML: line 10: mapping values are not allowed in this context",
		}},
		{"item of a list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {foo: 1}}\n- a", []string{
			`f: document 1, item 2 (Pod "b"): spec.foo: unknown field`,
			"f: document 1, item 3: want an object with apiVersion and kind",
		}},
		{"list without items", "apiVersion: v1\nkind: List\nitems: a", []string{`f: document 1 (List): items: want a list, got "a"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := manifest.Decode("f", []byte(test.text))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsCanBeTakenApart(t *testing.T) {
	_, _, err := manifest.Decode("f", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {foo: 1}"))
	var one manifest.Error
	if !errors.As(err, &one) {
		t.Fatalf("%v holds no manifest.Error", err)
	}
	want := manifest.Error{Place: manifest.Place{File: "f", Document: 1, Kind: "Pod", Name: "a"}, Field: "spec.foo", Message: "unknown field"}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Error(diff)
	}
}

// TestBrokenObjectsAreLeftOut: what is returned beside an error is in order.
func TestBrokenObjectsAreLeftOut(t *testing.T) {
	const text = `
{apiVersion: v1, kind: Pod, metadata: {name: good}}
---
{apiVersion: v1, kind: Pod, metadata: {name: unknown}, foo: 1}
---
{apiVersion: v1, kind: Pod, metadata: {name: repeated, name: repeated}}
---
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: invalid}}
`
	objects, _, err := manifest.Decode("f", []byte(text))
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(map[string]int{"Pod": 1}, counts(objects)); diff != "" || objects.Pods[0].Name != "good" {
		t.Errorf("got %s, %s", objects.Pods[0].Name, diff)
	}
}

func TestAdd(t *testing.T) {
	one, _, err := manifest.Decode("f", []byte(everyKind()))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for kind, count := range counts(one) {
		want[kind] = 2 * count
	}
	one.Add(one)
	if diff := cmp.Diff(want, counts(one)); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeLenient(t *testing.T) {
	const text = `{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}, "spec": {
		"fromTheFuture": true, "weight": 7, "template": {"spec": {"nodeClassRef": {"kind": "EC2NodeClass", "name": "a"}}}}}`
	var pool karpenter.NodePool
	warnings, err := manifest.DecodeLenient([]byte(text), &pool)
	if err != nil {
		t.Fatal(err)
	}
	want := []warning.Warning{{Field: "spec.template.spec.nodeClassRef.group", Message: "not set; read as karpenter.k8s.aws"}}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	if pool.WeightOrZero() != 7 || pool.Spec.Template.Spec.ExpireAfter == nil {
		t.Errorf("not read, or without defaults: %+v", pool.Spec)
	}
	if _, err := manifest.DecodeLenient([]byte(`{"spec": {"weight": "x"}}`), &pool); err == nil {
		t.Error("read a weight that is no number")
	}
}

// encode writes all objects as one file.
func encode(t *testing.T, objects manifest.Objects) []byte {
	t.Helper()
	data, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects.All()})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAllAreInTheOrderOfTheirReferences(t *testing.T) {
	objects, _, err := manifest.Decode("quickstart.yaml", read(t, "quickstart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects.All() {
		got = append(got, object.GetObjectKind().GroupVersionKind().Kind)
	}
	if diff := cmp.Diff([]string{"EC2NodeClass", "NodePool", "Deployment"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlaceOf(t *testing.T) {
	var objects manifest.Objects
	for _, name := range []string{"gpu.yaml", "consolidation.yaml"} {
		one, _, err := manifest.Decode(name, read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		objects.Add(one)
	}
	got := []string{objects.PlaceOf("NodePool", "gpu").String(), objects.PlaceOf("NodePool", "conservative").String()}
	want := []string{`gpu.yaml: document 1 (NodePool "gpu")`, `consolidation.yaml: document 2 (NodePool "conservative")`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRoundTrip(t *testing.T) {
	texts := map[string][]byte{
		"every kind": []byte(everyKind()),
		"no budgets at all": []byte(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  disruption: {budgets: [], consolidateAfter: Never}
  template: {spec: {requirements: [], expireAfter: 1440m, terminationGracePeriod: 48h, nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}}
`),
		"claim": []byte(`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: a}
spec:
  expireAfter: Never
  requirements: [{key: a, operator: In, values: [b], minValues: 1}]
  resources: {requests: {cpu: 1500m}}
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
`),
	}
	for _, name := range files(t, "*.yaml") {
		texts[name] = read(t, name)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			first, _, err := manifest.Decode("first", text)
			if err != nil {
				t.Fatal(err)
			}
			second, warnings, err := manifest.Decode("second", encode(t, first))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, second, cmpopts.IgnoreUnexported(manifest.Objects{})); diff != "" {
				t.Error(diff)
			}
			for _, warning := range warnings {
				if !strings.Contains(warning.Field, "budgets") {
					t.Errorf("an older spelling was written: %s", warning)
				}
			}
		})
	}
}
