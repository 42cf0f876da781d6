package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/cluster"
)

// Webhook answers an admission callback: an AdmissionReview as JSON, posted to path.
type Webhook = func(ctx context.Context, path string, body []byte) (status int, response []byte)

// The paths of the admission callbacks.
const (
	pathEvents   = "/events"
	pathNodes    = "/nodes"
	pathValidate = "/validate"
)

const (
	operationCreate = admissionv1.Create
	operationUpdate = admissionv1.Update
)

// webhookName is what the API server calls the callback when it denies something.
const webhookName = "whittle.sh"

// reasonFailedScheduling is the Event by which kube-scheduler tells that a pod fits nowhere.
const reasonFailedScheduling = "FailedScheduling"

// admission calls the webhook for what its configuration selects.
type admission struct {
	webhook  func(path string, body []byte) (status int, response []byte)
	warnings []string
}

type admissionRequest struct {
	operation   admissionv1.Operation
	object, old object
	subresource string
}

// Webhooks has the API server call back: Events with the reason FailedScheduling at "/events", Nodes that
// are created or turn Ready at "/nodes", NodePools, EC2NodeClasses and NodeClaims at "/validate". What
// the callback denies is refused; a callback that fails is ignored (failurePolicy Ignore).
func (w *World) Webhooks(webhook Webhook) {
	w.kube.admission.webhook = func(path string, body []byte) (int, []byte) {
		return webhook(invocation{}, path, body)
	}
}

// Warnings are those that the admission callback has given so far, in the order given.
func (w *World) Warnings() []string {
	return slices.Clone(w.kube.admission.warnings)
}

// review asks the webhook, if the request is one that it is registered for.
func (a *admission) review(w *World, request admissionRequest) error {
	path := request.path()
	if path == "" || a.webhook == nil {
		return nil
	}
	response, err := a.call(w, path, request)
	if err != nil {
		w.occur(AdmissionIgnored, path, "%v", err)
		return nil
	}
	a.warnings = append(a.warnings, response.Warnings...)
	if response.Allowed {
		return nil
	}
	denial := denied(response.Result)
	w.occur(AdmissionDenied, request.object.GetName(), "%v", denial)
	return denial
}

// path is where the webhook configuration, with its CEL filters, sends the request; empty for nowhere.
func (r admissionRequest) path() string {
	switch obj := r.object.(type) {
	case *eventsv1.Event:
		if r.operation == operationCreate && obj.Reason == reasonFailedScheduling {
			return pathEvents
		}
	case *corev1.Node:
		turned := r.subresource == "status" && cluster.NodeReady(obj) && !cluster.NodeReady(r.old.(*corev1.Node))
		if r.operation == operationCreate || turned {
			return pathNodes
		}
	default:
		if kindOf(obj).custom && r.subresource == "" {
			return pathValidate
		}
	}
	return ""
}

func (a *admission) call(w *World, path string, request admissionRequest) (*admissionv1.AdmissionResponse, error) {
	uid := w.ids.uid()
	body, err := request.encode(uid)
	if err != nil {
		return nil, err
	}
	var (
		status int
		answer []byte
	)
	err = survive(func() error {
		status, answer = a.webhook(path, body)
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("call webhook: %w", err)
	case status != http.StatusOK:
		return nil, fmt.Errorf("call webhook: the server answered %d %s", status, http.StatusText(status))
	}
	return decodeReview(answer, uid)
}

func decodeReview(answer []byte, uid types.UID) (*admissionv1.AdmissionResponse, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return nil, fmt.Errorf("decode webhook response: %w", err)
	}
	want := reviewType()
	switch {
	case review.TypeMeta != want:
		return nil, fmt.Errorf("webhook response is %s %s, want %s %s", review.APIVersion, review.Kind, want.APIVersion, want.Kind)
	case review.Response == nil:
		return nil, errors.New("webhook response has no response")
	case review.Response.UID != uid:
		return nil, fmt.Errorf("webhook response has uid %q, want %q", review.Response.UID, uid)
	}
	return review.Response, nil
}

func reviewType() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}
}

// encode is the request as the API server sends it.
func (r admissionRequest) encode(uid types.UID) ([]byte, error) {
	described := kindOf(r.object)
	gvk := metav1.GroupVersionKind{Group: described.Group, Version: described.Version, Kind: described.Kind}
	gvr := metav1.GroupVersionResource{Group: described.Group, Version: described.Version, Resource: described.plural}
	dryRun := false
	request := &admissionv1.AdmissionRequest{
		UID: uid, Kind: gvk, Resource: gvr, SubResource: r.subresource,
		RequestKind: &gvk, RequestResource: &gvr, RequestSubResource: r.subresource,
		Name: r.object.GetName(), Namespace: r.object.GetNamespace(), Operation: r.operation,
		UserInfo: r.user(), DryRun: &dryRun,
		Options: runtime.RawExtension{Raw: []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`)},
	}
	var err error
	if request.Object.Raw, err = json.Marshal(r.object); err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", described.Kind, r.object.GetName(), err)
	}
	if r.operation == operationUpdate {
		request.Options.Raw = []byte(`{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1"}`)
		if request.OldObject.Raw, err = json.Marshal(r.old); err != nil {
			return nil, fmt.Errorf("encode old %s %s: %w", described.Kind, r.object.GetName(), err)
		}
	}
	return json.Marshal(admissionv1.AdmissionReview{TypeMeta: reviewType(), Request: request})
}

// user is who writes such an object.
func (r admissionRequest) user() authenticationv1.UserInfo {
	switch r.object.(type) {
	case *eventsv1.Event:
		return authenticationv1.UserInfo{Username: "system:kube-scheduler", Groups: []string{"system:authenticated"}}
	case *corev1.Node:
		return authenticationv1.UserInfo{Username: "system:node:" + r.object.GetName(), Groups: []string{"system:nodes", "system:authenticated"}}
	default:
		return authenticationv1.UserInfo{Username: "kubernetes-admin", Groups: []string{"system:authenticated"}}
	}
}

// denied is the error a client gets, with the status that the webhook chose, 403 if it chose none.
func denied(result *metav1.Status) error {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
	explanation := "without explanation"
	if result != nil {
		if result.Code >= http.StatusBadRequest {
			status.Code, status.Reason = result.Code, result.Reason
		}
		if result.Message != "" {
			explanation = result.Message
		} else if result.Reason != "" {
			explanation = string(result.Reason)
		}
		status.Details = result.Details
	}
	status.Message = fmt.Sprintf("admission webhook %q denied the request: %s", webhookName, explanation)
	return &apierrors.StatusError{ErrStatus: status}
}
