package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	awsevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"whittle/events"
	"whittle/functions/httpapi"
)

func environment(without ...string) func(string) string {
	values := map[string]string{
		"WHITTLE_CLUSTER":             "demo",
		"WHITTLE_TOKEN":               "3b6cf0a1d2e94758b6a7c8d9e0f1a2b3",
		"WHITTLE_PROVISION_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/whittle-provision.fifo",
		"WHITTLE_LIFECYCLE_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/whittle-lifecycle",
	}
	for _, name := range without {
		delete(values, name)
	}
	return func(name string) string { return values[name] }
}

func TestSettingsNameAllThatIsMissing(t *testing.T) {
	_, err := readSettings(environment("WHITTLE_TOKEN", "WHITTLE_LIFECYCLE_QUEUE_URL"))
	want := "read environment: WHITTLE_TOKEN, WHITTLE_LIFECYCLE_QUEUE_URL missing"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %q", err, want)
	}
}

func TestSettingsRefuseAnImpossibleCluster(t *testing.T) {
	_, err := readSettings(func(name string) string { return environment()(name) + "!" })
	if err == nil || !strings.Contains(err.Error(), `read environment: WHITTLE_CLUSTER: cluster "demo!"`) {
		t.Errorf("error is %v", err)
	}
}

type counter map[string]int

func (c counter) Send(_ context.Context, queue string, _ events.Outgoing) error {
	c[queue]++
	return nil
}

func TestPayloadsThroughTheRuntime(t *testing.T) {
	settings, err := readSettings(environment())
	if err != nil {
		t.Fatal(err)
	}
	for name, queue := range map[string]string{
		"failed-scheduling": events.QueueProvision,
		"node-create":       events.QueueLifecycle,
		"node-ready":        events.QueueLifecycle,
		"nodepool-create":   events.QueueProvision,
	} {
		t.Run(name, func(t *testing.T) {
			sent := counter{}
			handler := newHandler(settings, sent, slog.New(slog.DiscardHandler))
			payload, err := os.ReadFile("../../events/httpapi-" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			raw, err := lambda.NewHandler(httpapi.Handler(handler.Handle)).Invoke(t.Context(), payload)
			if err != nil {
				t.Fatal(err)
			}
			var response awsevents.APIGatewayV2HTTPResponse
			if err := json.Unmarshal(raw, &response); err != nil {
				t.Fatal(err)
			}
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal([]byte(response.Body), &review); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != http.StatusOK || review.Response == nil || !review.Response.Allowed {
				t.Errorf("response is %d %s, want an allowance", response.StatusCode, response.Body)
			}
			if diff := cmp.Diff(counter{queue: 1}, sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}
