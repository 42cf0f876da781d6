package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"testing"

	awsevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"whittle/core/wake"
	"whittle/functions/httpapi"
)

const token = "3b6cf0a1d2e94758b6a7c8d9e0f1a2b3"

func TestRequestsArriveAsTheyWereSent(t *testing.T) {
	for _, test := range []struct{ name, path string }{
		{"failed-scheduling", "/" + token + "/events"},
		{"node-create", "/" + token + "/nodes"},
		{"node-ready", "/" + token + "/nodes"},
		{"nodepool-create", "/" + token + "/validate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got wake.Request
			fn := httpapi.Handler(func(_ context.Context, request wake.Request) wake.Response {
				got = request
				return wake.Response{Status: 200, Header: map[string]string{"content-type": "application/json"}, Body: []byte(`{"ä":1}`)}
			})
			payload, err := os.ReadFile("../../events/httpapi-" + test.name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			raw, err := lambda.NewHandler(fn).Invoke(t.Context(), payload)
			if err != nil {
				t.Fatal(err)
			}
			var response awsevents.APIGatewayV2HTTPResponse
			if err := json.Unmarshal(raw, &response); err != nil {
				t.Fatal(err)
			}
			wantResponse := awsevents.APIGatewayV2HTTPResponse{
				StatusCode: 200, Headers: map[string]string{"content-type": "application/json"}, Body: `{"ä":1}`,
			}
			if diff := cmp.Diff(wantResponse, response); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if got.Method != http.MethodPost || got.Path != test.path || got.Header["content-type"] != "application/json" {
				t.Errorf("request is %s %s, %v", got.Method, got.Path, got.Header)
			}
			var review struct{ Kind string }
			if err := json.Unmarshal(got.Body, &review); err != nil || review.Kind != "AdmissionReview" {
				t.Errorf("body is no AdmissionReview (%v): %.80s", err, got.Body)
			}
		})
	}
}

func TestRequestsOfOtherForms(t *testing.T) {
	request := func(change func(*awsevents.APIGatewayV2HTTPRequest)) awsevents.APIGatewayV2HTTPRequest {
		event := awsevents.APIGatewayV2HTTPRequest{RawPath: "/t/events", Body: "x"}
		event.RequestContext.HTTP.Method = "POST"
		event.RequestContext.Stage = "$default"
		change(&event)
		return event
	}
	want := func(change func(*wake.Request)) wake.Request {
		r := wake.Request{Method: "POST", Path: "/t/events", Header: map[string]string{}, Body: []byte("x")}
		change(&r)
		return r
	}
	tests := []struct {
		name  string
		event awsevents.APIGatewayV2HTTPRequest
		want  wake.Request
	}{
		{
			"header in capitals",
			request(func(e *awsevents.APIGatewayV2HTTPRequest) {
				e.Headers = map[string]string{"Content-Type": "application/json"}
			}),
			want(func(r *wake.Request) { r.Header["content-type"] = "application/json" }),
		},
		{
			"a stage before the path",
			request(func(e *awsevents.APIGatewayV2HTTPRequest) {
				e.RequestContext.Stage, e.RawPath = "prod", "/prod/t/events"
			}),
			want(func(*wake.Request) {}),
		},
		{
			"a stage that a domain's mapping took off",
			request(func(e *awsevents.APIGatewayV2HTTPRequest) { e.RequestContext.Stage = "prod" }),
			want(func(*wake.Request) {}),
		},
		{
			"no body",
			request(func(e *awsevents.APIGatewayV2HTTPRequest) { e.Body, e.IsBase64Encoded = "", true }),
			want(func(r *wake.Request) { r.Body = []byte{} }),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got wake.Request
			fn := httpapi.Handler(func(_ context.Context, request wake.Request) wake.Response {
				got = request
				return wake.Response{Status: 200}
			})
			if _, err := fn(t.Context(), test.event); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABodyThatIsNotBase64IsRefused(t *testing.T) {
	fn := httpapi.Handler(func(context.Context, wake.Request) wake.Response {
		t.Error("handled")
		return wake.Response{}
	})
	response, err := fn(t.Context(), awsevents.APIGatewayV2HTTPRequest{Body: "{}", IsBase64Encoded: true})
	if err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, error %v; want 400", response.StatusCode, err)
	}
}
