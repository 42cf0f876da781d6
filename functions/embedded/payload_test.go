package embedded_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	awsevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"whittle/core/sim"
	"whittle/events"
	"whittle/functions/embedded"
)

// sqsEvent is what Lambda hands to a function for one message.
func sqsEvent(wake events.Wake) awsevents.SQSEvent {
	return awsevents.SQSEvent{Records: []awsevents.SQSMessage{{
		MessageId: "second-pass", Body: string(wake.Outgoing(time.Unix(0, 0)).Body), EventSource: "aws:sqs",
	}}}
}

// TestFunctionsAnswerThePayloadsOfEvents invokes each function as Lambda does, with the JSON that events
// keeps for it.
func TestFunctionsAnswerThePayloadsOfEvents(t *testing.T) {
	stack := embedded.New(embedded.Options{World: sim.Options{Cluster: "production"}})
	tests := []struct {
		payload  string
		function embedded.SQSFunction
		// failed are the ids of the messages that are to come again.
		failed []string
	}{
		{payload: "sqs-provision.json", function: stack.Provision},
		{payload: "sqs-lifecycle.json", function: stack.Lifecycle},
		{payload: "sqs-interrupt.json", function: stack.Interrupt},
		{payload: "sqs-sweep.json", function: stack.Sweep},
	}
	for _, test := range tests {
		t.Run(test.payload, func(t *testing.T) {
			payload, err := os.ReadFile(filepath.Join("..", "..", "events", test.payload))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := lambda.NewHandler(test.function).Invoke(t.Context(), payload)
			if err != nil {
				t.Fatal(err)
			}
			var response awsevents.SQSEventResponse
			if err := json.Unmarshal(answer, &response); err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, failure := range response.BatchItemFailures {
				failed = append(failed, failure.ItemIdentifier)
			}
			if diff := cmp.Diff(test.failed, failed); diff != "" {
				t.Errorf("failed messages (-want +got):\n%s", diff)
			}
		})
	}
}
