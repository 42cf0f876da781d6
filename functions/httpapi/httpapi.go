// Package httpapi makes a Lambda function for an API Gateway HTTP API (payload version 2.0) out of a
// handler of callbacks. It translates; it decides nothing.
package httpapi

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	awsevents "github.com/aws/aws-lambda-go/events"

	"whittle/core/wake"
)

// Handler returns the Lambda function that answers with handle. A body that claims to be base64 and
// is not is answered with 400 and never reaches it.
func Handler(
	handle func(context.Context, wake.Request) wake.Response,
) func(context.Context, awsevents.APIGatewayV2HTTPRequest) (awsevents.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, event awsevents.APIGatewayV2HTTPRequest) (awsevents.APIGatewayV2HTTPResponse, error) {
		body, ok := bodyOf(event)
		if !ok {
			return awsevents.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest, Body: "body is not base64\n"}, nil
		}
		response := handle(ctx, wake.Request{
			Method: event.RequestContext.HTTP.Method,
			Path:   pathOf(event),
			Header: lowerKeys(event.Headers),
			Body:   body,
		})
		return awsevents.APIGatewayV2HTTPResponse{
			StatusCode: response.Status,
			Headers:    response.Header,
			Body:       string(response.Body),
		}, nil
	}
}

// bodyOf is the body as it was sent; ok is false for one that claims to be base64 and is not.
func bodyOf(event awsevents.APIGatewayV2HTTPRequest) (body []byte, ok bool) {
	if !event.IsBase64Encoded {
		return []byte(event.Body), true
	}
	body, err := base64.StdEncoding.DecodeString(event.Body)
	return body, err == nil
}

// defaultStage serves an API at the root of its address; the names of other stages begin every path
// (API Gateway Developer Guide, "Stages for HTTP APIs").
const defaultStage = "$default"

func pathOf(event awsevents.APIGatewayV2HTTPRequest) string {
	stage := event.RequestContext.Stage
	if stage == "" || stage == defaultStage {
		return event.RawPath
	}
	if rest, found := strings.CutPrefix(event.RawPath, "/"+stage+"/"); found {
		return "/" + rest
	}
	return event.RawPath
}

func lowerKeys(headers map[string]string) map[string]string {
	lowered := make(map[string]string, len(headers))
	for key, value := range headers {
		lowered[strings.ToLower(key)] = value
	}
	return lowered
}
