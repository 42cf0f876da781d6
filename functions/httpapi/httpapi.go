// Package httpapi makes a Lambda function for an API Gateway HTTP API (payload version 2.0) out of a
// handler of callbacks. It translates; it decides nothing.
package httpapi

import (
	"context"
	"encoding/base64"
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
		body, err := bodyOf(event)
		if err != nil {
			return awsevents.APIGatewayV2HTTPResponse{StatusCode: 400, Body: "body is not base64: " + err.Error() + "\n"}, nil
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

func bodyOf(event awsevents.APIGatewayV2HTTPRequest) ([]byte, error) {
	if !event.IsBase64Encoded {
		return []byte(event.Body), nil
	}
	return base64.StdEncoding.DecodeString(event.Body)
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
