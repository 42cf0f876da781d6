package embedded_test

import (
	"time"

	awsevents "github.com/aws/aws-lambda-go/events"

	"whittle/events"
)

// sqsEvent is what Lambda hands to a function for one message.
func sqsEvent(wake events.Wake) awsevents.SQSEvent {
	return awsevents.SQSEvent{Records: []awsevents.SQSMessage{{
		MessageId: "second-pass", Body: string(wake.Outgoing(time.Unix(0, 0)).Body), EventSource: "aws:sqs",
	}}}
}
