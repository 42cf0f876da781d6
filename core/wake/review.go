package wake

import (
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const reviewKind = "AdmissionReview"

// verdict is what is answered to a callback, and passed on because of it.
type verdict struct {
	// problems deny the write, each with the path of its field.
	problems []string
	// warnings are shown to whoever writes.
	warnings []string
	news     news
}

func (v verdict) allowed() bool { return len(v.problems) == 0 }

// judge decides on an admission request about a cluster. Its error is a refusal.
type judge func(cluster string, request *admissionv1.AdmissionRequest) (verdict, error)

// judgeOf returns who answers the callbacks of that name, nil if nobody does.
func judgeOf(what string) judge {
	switch what {
	case "events":
		return judgeEvent
	case "nodes":
		return judgeNode
	case "validate":
		return judgeWritten
	}
	return nil
}

// readReview decodes an AdmissionReview down to its request. The error says what is wrong with it.
func readReview(body []byte) (*admissionv1.AdmissionRequest, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, refused(statusBadRequest, "body is not an %s: %v", reviewKind, err)
	}
	request := review.Request
	switch {
	case review.Kind != reviewKind:
		return nil, refused(statusBadRequest, "kind is %q, want %s", review.Kind, reviewKind)
	case review.APIVersion != admissionv1.SchemeGroupVersion.String():
		return nil, refused(statusBadRequest, "apiVersion is %q, want %s", review.APIVersion, admissionv1.SchemeGroupVersion)
	case request == nil:
		return nil, refused(statusBadRequest, "request is missing")
	case request.UID == "":
		return nil, refused(statusBadRequest, "request.uid is missing")
	case request.Resource.Resource == "":
		return nil, refused(statusBadRequest, "request.resource is missing")
	}
	return request, nil
}

// answer is the AdmissionReview that goes back.
func answer(request *admissionv1.AdmissionRequest, v verdict) Response {
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: v.allowed(), Warnings: v.warnings}
	if !v.allowed() {
		response.Result = &metav1.Status{
			Status:  metav1.StatusFailure,
			Reason:  metav1.StatusReasonInvalid,
			Code:    statusUnprocessable,
			Message: describe(request) + " is invalid: " + strings.Join(v.problems, "; "),
		}
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: reviewKind},
		Response: response,
	})
	if err != nil {
		return refuse(fmt.Errorf("encode %s: %w", reviewKind, err))
	}
	return Response{Status: statusOK, Header: map[string]string{"content-type": typeJSON}, Body: body}
}

// describe names the object of a request: NodePool "default". One whose name is generated has none.
func describe(request *admissionv1.AdmissionRequest) string {
	if request.Name == "" {
		return request.Kind.Kind
	}
	return fmt.Sprintf("%s %q", request.Kind.Kind, request.Name)
}

// resourceOf spells the resource of a request, as in events.v1.events.k8s.io or nodes/status.v1.
func resourceOf(request *admissionv1.AdmissionRequest) string {
	name := request.Resource.Resource
	if request.SubResource != "" {
		name += "/" + request.SubResource
	}
	name += "." + request.Resource.Version
	if request.Resource.Group != "" {
		name += "." + request.Resource.Group
	}
	return name
}

// decodeInto reads an object of a request. It is lenient: a newer Kubernetes may know more fields.
func decodeInto(field string, object runtime.RawExtension, into any) error {
	if len(object.Raw) == 0 {
		return refused(statusBadRequest, "%s is missing", field)
	}
	if err := json.Unmarshal(object.Raw, into); err != nil {
		return refused(statusBadRequest, "%s: %v", field, err)
	}
	return nil
}

const (
	fieldObject    = "request.object"
	fieldOldObject = "request.oldObject"
)
