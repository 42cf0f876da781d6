package wake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"whittle/core/wake"
	"whittle/events"
)

const token = "3b6cf0a1d2e94758b6a7c8d9e0f1a2b3"

// sent is a message as a queue saw it.
type sent struct {
	Queue, Body, Group, DedupID string
	Delay                       time.Duration
}

// queues remembers what was sent, and fails while err is set.
type queues struct {
	sent []sent
	err  error
	// deadline is that of the last call's context.
	deadline bool
}

func (q *queues) Send(ctx context.Context, queue string, message events.Outgoing) error {
	_, q.deadline = ctx.Deadline()
	if q.err != nil {
		return q.err
	}
	q.sent = append(q.sent, sent{queue, string(message.Body), message.Group, message.DedupID, message.Delay})
	return nil
}

// stage is a handler with what surrounds it.
type stage struct {
	handler *wake.Handler
	queues  *queues
	now     time.Time
	log     bytes.Buffer
}

func newStage() *stage {
	s := &stage{queues: &queues{}, now: time.Date(2026, 3, 2, 9, 30, 12, 250e6, time.UTC)}
	s.handler = &wake.Handler{
		Token:   token,
		Cluster: "demo",
		Queue:   s.queues,
		Clock:   func() time.Time { return s.now },
		Log:     slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	return s
}

func (s *stage) post(what string, body []byte) wake.Response {
	return s.handler.Handle(context.Background(), wake.Request{Method: "POST", Path: "/" + token + "/" + what, Body: body})
}

func payload(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile("../../events/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// edited is a payload in which one text is replaced by another.
func edited(tb testing.TB, name, before, after string) []byte {
	tb.Helper()
	body := string(payload(tb, name))
	if !strings.Contains(body, before) {
		tb.Fatalf("%s does not contain %q", name, before)
	}
	return []byte(strings.Replace(body, before, after, 1))
}

// answered decodes a response that must be a proper AdmissionReview.
func answered(tb testing.TB, response wake.Response) *admissionv1.AdmissionResponse {
	tb.Helper()
	if response.Status != 200 {
		tb.Fatalf("status is %d: %s", response.Status, response.Body)
	}
	if got := response.Header["content-type"]; got != "application/json" {
		tb.Errorf("content-type is %q", got)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(response.Body, &review); err != nil {
		tb.Fatal(err)
	}
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || review.Response == nil || review.Request != nil {
		tb.Fatalf("not a response: %s", response.Body)
	}
	return review.Response
}

func TestCallbacksReachTheirQueue(t *testing.T) {
	tests := []struct {
		name, what, file string
		uid              string
		want             []sent
	}{
		{
			name: "a pod cannot be scheduled", what: "events", file: "admission-failed-scheduling.json",
			uid: "2f9c6a10-84d3-4e0e-a6f7-5b3f1de0c7a4",
			want: []sent{{
				Queue: "provision", Group: "demo", DedupID: "demo-1772443812",
				Body: `{"cluster":"demo","reason":"FailedScheduling","object":"Pod default/inflate-7c5f6b8d9f-x2k4q"}`,
			}},
		},
		{
			name: "a node registers", what: "nodes", file: "admission-node-create.json",
			uid: "a5c1b0f2-0d7a-4d0f-8b9e-0e6f3a4d1c55",
			want: []sent{{
				Queue: "lifecycle", Delay: time.Second,
				Body: `{"cluster":"demo","node":"ip-10-0-31-7.ec2.internal","providerID":"aws:///us-east-1b/i-0a1b2c3d4e5f60718"}`,
			}},
		},
		{
			name: "a node becomes Ready", what: "nodes", file: "admission-node-ready.json",
			uid: "c0b8fd5e-7d52-49be-9d64-7a5c3e7b9f10",
			want: []sent{{
				Queue: "lifecycle", Delay: time.Second,
				Body: `{"cluster":"demo","node":"ip-10-0-31-7.ec2.internal","providerID":"aws:///us-east-1b/i-0a1b2c3d4e5f60718"}`,
			}},
		},
		{
			name: "a NodePool is created", what: "validate", file: "admission-nodepool-create.json",
			uid: "df0b1c6a-4d16-4f5e-9a1f-3e7f2c1a0b99",
			want: []sent{{
				Queue: "provision", Group: "demo", DedupID: "demo-1772443812",
				Body: `{"cluster":"demo","reason":"NodePoolChanged","object":"NodePool default"}`,
			}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage()
			got := answered(t, s.post(test.what, payload(t, test.file)))
			want := &admissionv1.AdmissionResponse{UID: "", Allowed: true}
			want.UID = got.UID
			if string(got.UID) != test.uid {
				t.Errorf("uid is %q, want %q", got.UID, test.uid)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, s.queues.sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if !s.queues.deadline {
				t.Error("sending has no deadline: a slow queue would hold up the API server")
			}
		})
	}
}

func TestWhatMeansNothingIsAllowedAndNotPassedOn(t *testing.T) {
	tests := []struct {
		name, what string
		body       []byte
	}{
		{"another reason", "events", edited(t, "admission-failed-scheduling.json", `"reason": "FailedScheduling"`, `"reason": "Scheduled"`)},
		{"our own explanation", "events", edited(t, "admission-failed-scheduling.json", `"reportingController": "default-scheduler"`, `"reportingController": "`+events.ReportingController+`"`)},
		{"Karpenter's explanation", "events", edited(t, "admission-failed-scheduling.json", `"reportingController": "default-scheduler"`, `"reportingController": "karpenter"`)},
		{"a dry run of an event", "events", edited(t, "admission-failed-scheduling.json", `"dryRun": false`, `"dryRun": true`)},
		{"a dry run of a node", "nodes", edited(t, "admission-node-create.json", `"dryRun": false`, `"dryRun": true`)},
		{"a dry run of a NodePool", "validate", edited(t, "admission-nodepool-create.json", `"dryRun": false`, `"dryRun": true`)},
		{"a node that stays unready", "nodes", edited(t, "admission-node-ready.json", `"type": "Ready",
            "status": "True"`, `"type": "Ready",
            "status": "Unknown"`)},
		{"a node that stays Ready", "nodes", edited(t, "admission-node-ready.json", `"type": "Ready",
            "status": "False"`, `"type": "Ready",
            "status": "True"`)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage()
			if got := answered(t, s.post(test.what, test.body)); !got.Allowed {
				t.Errorf("denied: %+v", got.Result)
			}
			if len(s.queues.sent) > 0 {
				t.Errorf("sent %+v, want nothing", s.queues.sent)
			}
		})
	}
}

func TestImproperRequestsAreRefusedAndNotPassedOn(t *testing.T) {
	post := func(path string, body []byte) wake.Request {
		return wake.Request{Method: "POST", Path: path, Body: body}
	}
	event := payload(t, "admission-failed-scheduling.json")
	node := payload(t, "admission-node-create.json")
	tests := []struct {
		name    string
		request wake.Request
		status  int
		says    string
	}{
		{"wrong token", post("/"+token[:31]+"4/events", event), 403, "wrong token"},
		{"shorter token", post("/"+token[:31]+"/events", event), 403, "wrong token"},
		{"longer token", post("/"+token+"0/events", event), 403, "wrong token"},
		{"empty token", post("//events", event), 403, "wrong token"},
		{"no token", post("/events", event), 403, "wrong token"},
		{"no path", post("", event), 403, "wrong token"},
		{"path without root", post(token+"/events", event), 403, "wrong token"},
		{"wrong token and everything else", wake.Request{Method: "GET", Path: "/x/y", Body: []byte("z")}, 403, "wrong token"},
		{"unknown callback", post("/"+token+"/pods", event), 404, `no callback named "pods", want events, nodes or validate`},
		{"no callback", post("/"+token+"/", event), 404, `no callback named ""`},
		{"deeper path", post("/"+token+"/events/more", event), 404, `no callback named "events/more"`},
		{"wrong method", wake.Request{Method: "GET", Path: "/" + token + "/events"}, 405, "method is GET, want POST"},
		{"too large", post("/"+token+"/events", append(bytes.Repeat([]byte(" "), 1<<20), event...)), 413, "at most 1048576 are read"},
		{
			"another content type",
			wake.Request{Method: "POST", Path: "/" + token + "/events", Body: event, Header: map[string]string{"content-type": "text/plain"}},
			415, `content-type is "text/plain", want application/json`,
		},
		{"empty body", post("/"+token+"/events", nil), 400, "body is not an AdmissionReview"},
		{"truncated body", post("/"+token+"/events", event[:len(event)/2]), 400, "body is not an AdmissionReview"},
		{"null", post("/"+token+"/events", []byte("null")), 400, `kind is "", want AdmissionReview`},
		{"another kind", post("/"+token+"/events", []byte(`{"kind":"Pod"}`)), 400, `kind is "Pod", want AdmissionReview`},
		{
			"an older version",
			post("/"+token+"/events", edited(t, "admission-failed-scheduling.json", "admission.k8s.io/v1", "admission.k8s.io/v1beta1")),
			400, `apiVersion is "admission.k8s.io/v1beta1", want admission.k8s.io/v1`,
		},
		{"no request", post("/"+token+"/events", []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`)), 400, "request is missing"},
		{"no uid", post("/"+token+"/events", edited(t, "admission-failed-scheduling.json", `"uid": "2f9c6a10-84d3-4e0e-a6f7-5b3f1de0c7a4"`, `"uid": ""`)), 400, "request.uid is missing"},
		{
			"no resource",
			post("/"+token+"/events", []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1"}}`)),
			400, "request.resource is missing",
		},
		{
			"no object",
			post("/"+token+"/events", []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE",
				"resource":{"group":"events.k8s.io","version":"v1","resource":"events"}}}`)),
			400, "request.object is missing",
		},
		{
			"an object of another form",
			post("/"+token+"/events", []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE",
				"resource":{"group":"events.k8s.io","version":"v1","resource":"events"},"object":{"reason":3}}}`)),
			400, "request.object: ",
		},
		{"a node sent to events", post("/"+token+"/events", node), 422, "resource is nodes.v1, want events.v1.events.k8s.io"},
		{"an event sent to nodes", post("/"+token+"/nodes", event), 422, "resource is events.v1.events.k8s.io, want nodes.v1 or nodes/status.v1"},
		{"an event sent to validate", post("/"+token+"/validate", event), 422, "resource is events.v1.events.k8s.io, want nodepools.v1.karpenter.sh"},
		{"a deleted node", post("/"+token+"/nodes", edited(t, "admission-node-create.json", `"operation": "CREATE"`, `"operation": "DELETE"`)), 422, `operation is "DELETE"`},
		{"a connected event", post("/"+token+"/events", edited(t, "admission-failed-scheduling.json", `"operation": "CREATE"`, `"operation": "CONNECT"`)), 422, `operation is "CONNECT"`},
		{"an updated node without its old self", post("/"+token+"/nodes", edited(t, "admission-node-create.json", `"operation": "CREATE"`, `"operation": "UPDATE"`)), 400, "request.oldObject is missing"},
		{"a node without name", post("/"+token+"/nodes", edited(t, "admission-node-create.json", `"metadata": {
        "name": "ip-10-0-31-7.ec2.internal"`, `"metadata": {
        "name": ""`)), 400, "request.object.metadata.name is missing"},
		{"a NodePool of another version", post("/"+token+"/validate", edited(t, "admission-nodepool-create.json", `"version": "v1",
      "resource"`, `"version": "v1beta1",
      "resource"`)), 422, "resource is nodepools.v1beta1.karpenter.sh"},
		{"an unknown operation on a NodePool", post("/"+token+"/validate", edited(t, "admission-nodepool-create.json", `"operation": "CREATE"`, `"operation": ""`)), 422, `operation is "", want CREATE, UPDATE or DELETE`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage()
			response := s.handler.Handle(t.Context(), test.request)
			if response.Status != test.status {
				t.Errorf("status is %d, want %d", response.Status, test.status)
			}
			if !strings.Contains(string(response.Body), test.says) {
				t.Errorf("body is %q, want it to say %q", response.Body, test.says)
			}
			if len(s.queues.sent) > 0 {
				t.Errorf("sent %+v, want nothing", s.queues.sent)
			}
		})
	}
}

func TestNoTokenOpensAHandlerWithoutToken(t *testing.T) {
	s := newStage()
	s.handler.Token = ""
	response := s.handler.Handle(t.Context(), wake.Request{Method: "POST", Path: "//events", Body: payload(t, "admission-failed-scheduling.json")})
	if response.Status != 403 {
		t.Errorf("status is %d, want 403", response.Status)
	}
}

func TestWrongMethodNamesTheRightOne(t *testing.T) {
	response := newStage().handler.Handle(t.Context(), wake.Request{Method: "PUT", Path: "/" + token + "/events"})
	if got := response.Header["allow"]; got != "POST" {
		t.Errorf("allow is %q, want POST", got)
	}
}

func TestAtMostOneWakePerSecond(t *testing.T) {
	s := newStage()
	event, pool := payload(t, "admission-failed-scheduling.json"), payload(t, "admission-nodepool-create.json")
	// 500 pods that cannot be scheduled, over the last 750 ms of one second and the first 250 of the next.
	for i := range 500 {
		s.now = time.Date(2026, 3, 2, 9, 30, 12, 250e6, time.UTC).Add(time.Duration(i) * 2 * time.Millisecond)
		answered(t, s.post("events", event))
		answered(t, s.post("validate", pool))
	}
	var ids []string
	for _, message := range s.queues.sent {
		ids = append(ids, message.DedupID)
	}
	if diff := cmp.Diff([]string{"demo-1772443812", "demo-1772443813"}, ids); diff != "" {
		t.Errorf("deduplication ids (-want +got):\n%s", diff)
	}
}

// Two copies of a function know nothing of each other; what they send in one second must be the same
// message to the queue.
func TestTwoColdFunctionsSendOneDedupID(t *testing.T) {
	first, second := newStage(), newStage()
	second.now = first.now.Add(700 * time.Millisecond)
	event := payload(t, "admission-failed-scheduling.json")
	answered(t, first.post("events", event))
	answered(t, second.post("events", event))
	if diff := cmp.Diff(first.queues.sent, second.queues.sent); diff != "" {
		t.Errorf("messages differ (-first +second):\n%s", diff)
	}
}

func TestQueueFailureDoesNotHoldUpTheCluster(t *testing.T) {
	s := newStage()
	s.queues.err = errors.New("send to queue provision: throttled")
	event := payload(t, "admission-failed-scheduling.json")
	if got := answered(t, s.post("events", event)); !got.Allowed {
		t.Error("denied")
	}
	if got := strings.Count(s.log.String(), "throttled"); got != 1 {
		t.Errorf("logged %d times, want once: %s", got, s.log.String())
	}
	s.queues.err = nil
	answered(t, s.post("events", event))
	if got := len(s.queues.sent); got != 1 {
		t.Errorf("%d messages sent after the queue recovered within the second, want 1", got)
	}
}

func TestANewerKubernetesMayKnowMoreFields(t *testing.T) {
	s := newStage()
	body := edited(t, "admission-failed-scheduling.json", `"reason":`, `"whatNext": {"a": [1]}, "reason":`)
	answered(t, s.post("events", body))
	if len(s.queues.sent) != 1 {
		t.Errorf("sent %+v, want one wake", s.queues.sent)
	}
}

func FuzzHandle(f *testing.F) {
	for _, name := range []string{"failed-scheduling", "node-create", "node-ready", "nodepool-create"} {
		f.Add("events", payload(f, fmt.Sprintf("admission-%s.json", name)))
		f.Add("nodes", payload(f, fmt.Sprintf("admission-%s.json", name)))
		f.Add("validate", payload(f, fmt.Sprintf("admission-%s.json", name)))
	}
	f.Fuzz(func(t *testing.T, what string, body []byte) {
		s := newStage()
		response := s.post(what, body)
		switch {
		case response.Status == 200:
			answered(t, response)
		case response.Status < 400 || response.Status >= 500:
			t.Errorf("status is %d: %s", response.Status, response.Body)
		case len(s.queues.sent) > 0:
			t.Errorf("refused with %d and sent %+v", response.Status, s.queues.sent)
		}
	})
}
