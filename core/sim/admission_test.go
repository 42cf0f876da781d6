package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/cluster"
	"whittle/core/sim"
)

// answer is an AdmissionReview in response to body, as change makes it.
func answer(t *testing.T, body []byte, change func(*admissionv1.AdmissionReview)) []byte {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		t.Fatalf("decode request: %v", err)
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	change(&review)
	review.Request = nil
	text, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCallbacksAreCalledForWhatTheyAreRegisteredFor(t *testing.T) {
	w := newWorld(sim.Options{})
	var got []string
	w.Webhooks(allowing(func(path string, r *admissionv1.AdmissionRequest) {
		got = append(got, path+" "+string(r.Operation)+" "+r.Resource.Resource+" "+r.SubResource)
	}))
	apply(t, w, nodeClass(), nodePool("p"))
	apply(t, w, nodePool("p"))
	if _, err := w.Kube().CreateNodeClaim(t.Context(), nodeClaim("c")); err != nil {
		t.Fatal(err)
	}
	apply(t, w, pod("big", "100"))
	w.Advance(3 * time.Minute)
	want := []string{
		"/validate CREATE ec2nodeclasses ", "/validate CREATE nodepools ", "/validate UPDATE nodepools ", "/validate CREATE nodeclaims ",
		"/events CREATE events ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	got = nil
	if _, err := w.EC2().Launch(t.Context(), launchOf("l", "on-demand", 1, "m5.large")); err != nil {
		t.Fatal(err)
	}
	w.Advance(3 * time.Minute)
	want = []string{"/nodes CREATE nodes ", "/nodes UPDATE nodes status"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls for a node (-want +got):\n%s", diff)
	}
}

func TestAdmissionReviewIsWhatTheAPIServerSends(t *testing.T) {
	w := newWorld(sim.Options{})
	reviews := map[string]admissionv1.AdmissionReview{}
	w.Webhooks(func(_ context.Context, path string, body []byte) (int, []byte) {
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil {
			t.Errorf("decode: %v", err)
		}
		reviews[path+" "+review.Request.SubResource] = review
		return http.StatusOK, answer(t, body, func(*admissionv1.AdmissionReview) {})
	})
	apply(t, w, pod("big", "100"))
	if _, err := w.EC2().Launch(t.Context(), launchOf("l", "on-demand", 1, "m5.large")); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute)

	event := reviews["/events "]
	if event.APIVersion != "admission.k8s.io/v1" || event.Kind != "AdmissionReview" || event.Request.UID == "" || event.Request.Namespace != "default" {
		t.Errorf("review of an event: %s %s uid %q namespace %q", event.APIVersion, event.Kind, event.Request.UID, event.Request.Namespace)
	}
	if diff := cmp.Diff(metav1.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, event.Request.Kind); diff != "" {
		t.Error(diff)
	}
	var written eventsv1.Event
	if err := json.Unmarshal(event.Request.Object.Raw, &written); err != nil {
		t.Fatal(err)
	}
	if written.APIVersion != "events.k8s.io/v1" || written.Reason != "FailedScheduling" || written.Regarding.Name != "big" || written.ReportingController != "default-scheduler" {
		t.Errorf("event %+v", written)
	}

	ready := reviews["/nodes status"]
	var before, after corev1.Node
	if err := json.Unmarshal(ready.Request.OldObject.Raw, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(ready.Request.Object.Raw, &after); err != nil {
		t.Fatal(err)
	}
	if cluster.NodeReady(&before) || !cluster.NodeReady(&after) || after.Spec.ProviderID == "" {
		t.Errorf("ready before: %v, after: %v, providerID %q", cluster.NodeReady(&before), cluster.NodeReady(&after), after.Spec.ProviderID)
	}
}

func TestAdmissionAnswers(t *testing.T) {
	deny := func(status *metav1.Status) func(*admissionv1.AdmissionReview) {
		return func(r *admissionv1.AdmissionReview) { r.Response.Allowed, r.Response.Result = false, status }
	}
	tests := []struct {
		name     string
		status   int
		change   func(*admissionv1.AdmissionReview)
		wantCode int32
		wantText string
	}{
		{"allowed", 200, func(*admissionv1.AdmissionReview) {}, 0, ""},
		{"denied with a message", 200, deny(&metav1.Status{Message: "spec.weight: 0 is too small"}), 403, "spec.weight: 0 is too small"},
		{"denied with a code", 200, deny(&metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: "bad"}), 422, "bad"},
		{"denied without a word", 200, deny(nil), 403, "without explanation"},
		{"a failing server is ignored", 500, deny(nil), 0, ""},
		{"an answer to another request is ignored", 200, func(r *admissionv1.AdmissionReview) { r.Response.UID, r.Response.Allowed = "other", false }, 0, ""},
		{"an answer without response is ignored", 200, func(r *admissionv1.AdmissionReview) { r.Response = nil }, 0, ""},
		{"an answer of another version is ignored", 200, func(r *admissionv1.AdmissionReview) {
			r.APIVersion, r.Response.Allowed = "admission.k8s.io/v1beta1", false
		}, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			w.Webhooks(func(_ context.Context, _ string, body []byte) (int, []byte) {
				return test.status, answer(t, body, test.change)
			})
			err := w.Kube().Apply(t.Context(), nodePool("p"))
			var code int32
			if status := apierrors.APIStatus(nil); errors.As(err, &status) {
				code = status.Status().Code
			}
			if code != test.wantCode || err != nil && !strings.Contains(err.Error(), test.wantText) {
				t.Errorf("apply = %v (code %d), want code %d and %q", err, code, test.wantCode, test.wantText)
			}
			if stored := len(w.Kube().NodePools()) == 1; stored != (test.wantCode == 0) {
				t.Errorf("stored: %v", stored)
			}
		})
	}
}

func TestWarningsAreCollected(t *testing.T) {
	w := newWorld(sim.Options{})
	w.Webhooks(func(_ context.Context, _ string, body []byte) (int, []byte) {
		return http.StatusOK, answer(t, body, func(r *admissionv1.AdmissionReview) { r.Response.Warnings = []string{"an older spelling"} })
	})
	apply(t, w, nodePool("p"))
	if diff := cmp.Diff([]string{"an older spelling"}, w.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestCrashInACallbackIsIgnored(t *testing.T) {
	w := newWorld(sim.Options{})
	occurrences := record(w)
	(&provisioner{world: w}).connect()
	w.OnEffect(func(e sim.Effect) error {
		if e.Name == "queue.Send" {
			return sim.ErrCrash
		}
		return nil
	})
	apply(t, w, pod("big", "100"))
	w.Advance(time.Second)
	if got := count(*occurrences, sim.AdmissionIgnored); got != 1 {
		t.Errorf("%d callbacks ignored, want 1", got)
	}
	if got := len(w.Kube().Events()); got != 1 {
		t.Errorf("%d events stored, want 1", got)
	}
}
