package events

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// SourceEC2 and SourceHealth are the sources of the events Whittle acts on.
const (
	SourceEC2    = "aws.ec2"
	SourceHealth = "aws.health"
)

// Kind is what an event of AWS tells.
type Kind int

// The kinds of events. The zero value is an event that means nothing to Whittle.
const (
	Unknown Kind = iota
	SpotInterruption
	RebalanceRecommendation
	StateChange
	ScheduledChange
	ReservationInterruption
	CapacityBlockEnding
)

// String is the kind's name, as in logs and explanations.
func (k Kind) String() string {
	switch k {
	case Unknown:
		return "Unknown"
	case SpotInterruption:
		return "SpotInterruption"
	case RebalanceRecommendation:
		return "RebalanceRecommendation"
	case StateChange:
		return "StateChange"
	case ScheduledChange:
		return "ScheduledChange"
	case ReservationInterruption:
		return "ReservationInterruption"
	case CapacityBlockEnding:
		return "CapacityBlockEnding"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Message is what Whittle takes from an event of AWS. Of the event's resources nothing is derived:
// the ARNs in them differ from type to type.
type Message struct {
	Kind Kind
	// ID, Account, Region and Time are the envelope's; each may be missing. Time is when EventBridge
	// says it happened.
	ID      string
	Account string
	Region  string
	Time    time.Time
	// Source and DetailType tell what an Unknown message was.
	Source     string
	DetailType string
	// InstanceIDs are the instances concerned. CapacityBlockEnding has none: it concerns all that
	// run in the reservation.
	InstanceIDs []string
	// ReservationID is the capacity reservation, where the event names one.
	ReservationID string
	// State is the instance's of a StateChange (pending, running, stopping, stopped, shutting-down or
	// terminated), and the event's of a ScheduledChange (upcoming, open or closed; may be missing).
	State string
	// Action is what EC2 will do (terminate, stop or hibernate), or the event type code of a
	// ScheduledChange, such as AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED.
	Action string
	// Start is when the announced change begins, if the event says so in a form that can be read.
	// Spot warnings do not say it: EC2 gives two minutes from Time, and none before it hibernates.
	Start time.Time
}

// eventType is one row of the parse table.
type eventType struct {
	source     string
	detailType string
}

// parseDetail reads the detail of one event type into the message. Details that are well-formed but
// mean nothing to Whittle leave the message's kind Unknown.
type parseDetail func(detail []byte, message *Message) error

// lookUp is the parse table. It is a switch and not a map, since a package variable could be changed.
func lookUp(t eventType) (parseDetail, bool) {
	switch t {
	case eventType{SourceEC2, DetailTypeSpotInterruption}:
		return parseSpotInterruption, true
	case eventType{SourceEC2, DetailTypeRebalanceRecommendation},
		eventType{SourceEC2, DetailTypeRebalanceRecommended}:
		return parseRebalanceRecommendation, true
	case eventType{SourceEC2, DetailTypeStateChange}:
		return parseStateChange, true
	case eventType{SourceHealth, DetailTypeHealth}:
		return parseHealth, true
	case eventType{SourceEC2, DetailTypeReservationInterruption},
		eventType{SourceEC2, DetailTypeInterruptibleReservationInterruption}:
		return parseReservationInterruption, true
	case eventType{SourceEC2, DetailTypeCapacityBlockExpiration},
		eventType{SourceEC2, DetailTypeCapacityBlockReservationExpiration}:
		return parseCapacityBlock, true
	}
	return nil, false
}

// envelope is EventBridge's, as far as it is needed. Some events, or some of their documents, spell
// detail-type and id differently, or leave version, id and region out.
type envelope struct {
	ID              text            `json:"id"`
	CustomerEventID text            `json:"customer_event_id"`
	Source          text            `json:"source"`
	DetailType      text            `json:"detail-type"`
	DetailTypeSnake text            `json:"detail_type"`
	Account         text            `json:"account"`
	Region          text            `json:"region"`
	Time            text            `json:"time"`
	Resources       stringOrList    `json:"resources"`
	Detail          json.RawMessage `json:"detail"`
}

const bridgeEvent = "EventBridge event"

// Parse reads an event that EventBridge put on a queue, directly or through SNS. An event of a type
// that Whittle does not act on is a Message of kind Unknown. The error is a MalformedError: the body
// is no JSON object, or an event of a known type lacks a field that is needed.
func Parse(body []byte) (Message, error) {
	event, err := openEnvelope(body)
	if err != nil {
		return Message{}, err
	}
	message := Message{
		ID:         firstNonEmpty(event.ID, event.CustomerEventID),
		Account:    string(event.Account),
		Region:     string(event.Region),
		Time:       readTime(string(event.Time)),
		Source:     string(event.Source),
		DetailType: firstNonEmpty(event.DetailType, event.DetailTypeSnake),
	}
	parse, known := lookUp(eventType{message.Source, message.DetailType})
	if !known {
		return message, nil
	}
	if len(event.Detail) == 0 || string(event.Detail) == "null" {
		return Message{}, malformed(message.DetailType, "detail is missing")
	}
	if err := parse(event.Detail, &message); err != nil {
		return Message{}, err
	}
	return message, nil
}

// openEnvelope decodes the event, out of an SNS notification where it comes in one.
func openEnvelope(body []byte) (envelope, error) {
	var notification struct {
		Type     text `json:"Type"`
		TopicArn text `json:"TopicArn"`
		Message  text `json:"Message"`
	}
	if err := unmarshalObject(bridgeEvent, body, &notification); err != nil {
		return envelope{}, err
	}
	if notification.Type == "Notification" && notification.TopicArn != "" {
		body = []byte(notification.Message)
	}
	var event envelope
	if err := unmarshalObject(bridgeEvent, body, &event); err != nil {
		return envelope{}, err
	}
	return event, nil
}

// unmarshalObject decodes a JSON object; encoding/json would take null for an empty one.
func unmarshalObject(message string, body []byte, into any) error {
	if len(strings.TrimSpace(string(body))) == 0 {
		return malformed(message, "body is empty")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return &MalformedError{Message: message, Problem: "not the JSON expected", Err: err}
	}
	if strings.TrimSpace(string(body)) == "null" {
		return malformed(message, "is null, want an object")
	}
	return nil
}
