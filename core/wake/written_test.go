package wake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
)

// written is a write of an object of one of the three kinds; old is empty for a CREATE, object for a
// DELETE.
type written struct {
	kind, resource, operation string
	object, old               string
}

// review is the body of the callback that such a write makes.
func (w written) review(t *testing.T) []byte {
	t.Helper()
	group := "karpenter.sh"
	if w.resource == "ec2nodeclasses" {
		group = "karpenter.k8s.aws"
	}
	raw := func(object string) json.RawMessage {
		if object == "" {
			return json.RawMessage("null")
		}
		return json.RawMessage(object)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{
			"uid":       "1",
			"name":      "default",
			"kind":      map[string]string{"group": group, "version": "v1", "kind": w.kind},
			"resource":  map[string]string{"group": group, "version": "v1", "resource": w.resource},
			"operation": w.operation,
			"object":    raw(w.object),
			"oldObject": raw(w.old),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

const (
	poolSpec  = `{"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},"requirements":[]}}}`
	claimSpec = `{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},"requirements":[]}`
	classSpec = `{"role":"demo-node","amiSelectorTerms":[{"alias":"al2023@latest"}],
		"subnetSelectorTerms":[{"tags":{"karpenter.sh/discovery":"demo"}}],
		"securityGroupSelectorTerms":[{"tags":{"karpenter.sh/discovery":"demo"}}]}`
)

func object(spec string) string {
	return `{"metadata":{"name":"default","finalizers":["karpenter.sh/termination"]},"spec":` + spec + `}`
}

func pool(operation, spec, oldSpec string) written {
	return write("NodePool", "nodepools", operation, spec, oldSpec)
}

func claim(operation, spec, oldSpec string) written {
	return write("NodeClaim", "nodeclaims", operation, spec, oldSpec)
}

func class(operation, spec, oldSpec string) written {
	return write("EC2NodeClass", "ec2nodeclasses", operation, spec, oldSpec)
}

func write(kind, resource, operation, spec, oldSpec string) written {
	w := written{kind: kind, resource: resource, operation: operation}
	if spec != "" {
		w.object = object(spec)
	}
	if oldSpec != "" {
		w.old = object(oldSpec)
	}
	return w
}

func TestGoodWritesWakeWhoActsOnThem(t *testing.T) {
	const (
		poolWake  = `{"cluster":"demo","reason":"NodePoolChanged","object":"NodePool default"}`
		classWake = `{"cluster":"demo","reason":"NodeClassChanged","object":"EC2NodeClass default"}`
		claimStep = `{"cluster":"demo","nodeClaim":"default"}`
	)
	limited := strings.Replace(poolSpec, `{"template"`, `{"limits":{"cpu":"10"},"template"`, 1)
	tagged := strings.Replace(classSpec, `{"role"`, `{"tags":{"team":"a"},"role"`, 1)
	tests := []struct {
		name string
		written
		want []string
	}{
		{"a NodePool is created", pool("CREATE", poolSpec, ""), []string{"provision " + poolWake}},
		{"a NodePool is changed", pool("UPDATE", limited, poolSpec), []string{"provision " + poolWake}},
		{"a NodePool keeps its spec", pool("UPDATE", poolSpec, poolSpec), nil},
		{"a NodePool is deleted", pool("DELETE", "", poolSpec), []string{"provision " + poolWake}},
		{"an EC2NodeClass is created", class("CREATE", classSpec, ""), []string{"provision " + classWake}},
		{"an EC2NodeClass is changed", class("UPDATE", tagged, classSpec), []string{"provision " + classWake}},
		{"an EC2NodeClass keeps its spec", class("UPDATE", classSpec, classSpec), nil},
		{"an EC2NodeClass is deleted", class("DELETE", "", classSpec), []string{"provision " + classWake}},
		{"a NodeClaim is created", claim("CREATE", claimSpec, ""), []string{"lifecycle " + claimStep}},
		{"a NodeClaim keeps its spec", claim("UPDATE", claimSpec, claimSpec), nil},
		{"a NodeClaim is deleted", claim("DELETE", "", claimSpec), []string{"lifecycle " + claimStep}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage()
			got := answered(t, s.post("validate", test.review(t)))
			if diff := cmp.Diff(&admissionv1.AdmissionResponse{UID: "1", Allowed: true}, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			var sent []string
			for _, message := range s.queues.sent {
				sent = append(sent, message.Queue+" "+message.Body)
			}
			if diff := cmp.Diff(test.want, sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadWritesAreDeniedWithEveryProblem(t *testing.T) {
	badPool := `{"weight":101,"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass"},"requirements":[]}},
		"limits":{"cpu":"-1"}}`
	tests := []struct {
		name string
		written
		says []string
	}{
		{
			"a NodePool with three mistakes", pool("CREATE", badPool, ""),
			[]string{`NodePool "default" is invalid: `, "spec.weight: Invalid value: 101", "spec.limits", "spec.template.spec.nodeClassRef.name: Required value"},
		},
		{
			"a NodePool changed into one with a mistake", pool("UPDATE", badPool, poolSpec),
			[]string{"spec.weight: Invalid value: 101"},
		},
		{
			"a NodePool that changes the kind of its class",
			pool("UPDATE", strings.Replace(poolSpec, `"kind":"EC2NodeClass"`, `"kind":"NodeClass"`, 1), poolSpec),
			[]string{"spec.template.spec.nodeClassRef.kind: Forbidden"},
		},
		{
			"a NodePool of another form", pool("CREATE", `{"weight":"heavy"}`, ""),
			[]string{`NodePool "default" is invalid: `, "weight"},
		},
		{
			"a NodeClaim that changes",
			claim("UPDATE", strings.Replace(claimSpec, `"name":"default"`, `"name":"other"`, 1), claimSpec),
			[]string{`NodeClaim "default" is invalid: spec: Forbidden`},
		},
		{
			"an EC2NodeClass that selects nothing", class("CREATE", `{"role":"demo-node"}`, ""),
			[]string{`EC2NodeClass "default" is invalid: `, "spec.subnetSelectorTerms", "spec.securityGroupSelectorTerms", "spec.amiSelectorTerms"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage()
			got := answered(t, s.post("validate", test.review(t)))
			if got.Allowed || got.Result == nil {
				t.Fatalf("allowed: %+v", got)
			}
			if got.Result.Code != 422 || got.Result.Reason != "Invalid" || got.Result.Status != "Failure" {
				t.Errorf("result is %+v", got.Result)
			}
			for _, says := range test.says {
				if !strings.Contains(got.Result.Message, says) {
					t.Errorf("message %q does not say %q", got.Result.Message, says)
				}
			}
			if len(s.queues.sent) > 0 {
				t.Errorf("sent %+v, want nothing", s.queues.sent)
			}
		})
	}
}

func TestOlderSpellingsAreAllowedWithWarnings(t *testing.T) {
	s := newStage()
	old := `{"template":{"spec":{"nodeClassRef":{"kind":"EC2NodeClass","name":"default"},"requirements":[]}},
		"disruption":{"consolidationPolicy":"WhenUnderutilized","expireAfter":"720h"}}`
	got := answered(t, s.post("validate", pool("CREATE", old, "").review(t)))
	if !got.Allowed {
		t.Fatalf("denied: %+v", got.Result)
	}
	var fields []string
	for _, warning := range got.Warnings {
		field, _, _ := strings.Cut(warning, ": ")
		fields = append(fields, field)
	}
	want := []string{"spec.disruption.consolidationPolicy", "spec.disruption.expireAfter", "spec.template.spec.nodeClassRef.group"}
	if diff := cmp.Diff(want, fields, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("fields warned of (-want +got):\n%s", diff)
	}
	if len(s.queues.sent) != 1 {
		t.Errorf("sent %+v, want one wake", s.queues.sent)
	}
}

// An object that was fine before a rule came must still lose its finalizer, or it can never go.
func TestAnObjectThatBreaksTheRulesCanStillBeTakenDown(t *testing.T) {
	bad := `{"weight":101}`
	for _, w := range []written{pool("UPDATE", bad, bad), pool("DELETE", "", bad)} {
		w.object = strings.Replace(w.object, `"finalizers":["karpenter.sh/termination"]`, `"finalizers":[]`, 1)
		if got := answered(t, newStage().post("validate", w.review(t))); !got.Allowed {
			t.Errorf("%s denied: %s", w.operation, got.Result.Message)
		}
	}
}

func TestWritesThatCannotBeJudgedAreRefused(t *testing.T) {
	for _, test := range []struct {
		written
		says string
	}{
		{pool("CREATE", "", ""), "request.object is missing"},
		{pool("UPDATE", poolSpec, ""), "request.oldObject is missing"},
		{claim("DELETE", claimSpec, ""), "request.oldObject is missing"},
		{class("CONNECT", classSpec, ""), `operation is "CONNECT", want CREATE, UPDATE or DELETE`},
	} {
		t.Run(fmt.Sprint(test.kind, " ", test.operation), func(t *testing.T) {
			response := newStage().post("validate", test.review(t))
			if response.Status/100 != 4 || !strings.Contains(string(response.Body), test.says) {
				t.Errorf("response is %d %q, want 4xx saying %q", response.Status, response.Body, test.says)
			}
		})
	}
}

// A message without a name would be refused by its receiver, and end among the dead letters.
func TestANodeClaimWithoutNameIsAllowedAndNotPassedOn(t *testing.T) {
	w := claim("CREATE", claimSpec, "")
	w.object = strings.Replace(w.object, `"name":"default",`, "", 1)
	s := newStage()
	if got := answered(t, s.post("validate", w.review(t))); !got.Allowed || len(s.queues.sent) > 0 {
		t.Errorf("response %+v, sent %+v", got, s.queues.sent)
	}
}
