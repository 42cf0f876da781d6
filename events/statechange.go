package events

import "strings"

// DetailTypeStateChange comes from SourceEC2 whenever an instance changes its state. It does not say
// why: what Whittle terminates itself comes back too. Payload: instance-state-change.json.
const DetailTypeStateChange = "EC2 Instance State-change Notification"

// States of an instance (EC2, InstanceState), as in Message.State.
const (
	StatePending      = "pending"
	StateRunning      = "running"
	StateStopping     = "stopping"
	StateStopped      = "stopped"
	StateShuttingDown = "shutting-down"
	StateTerminated   = "terminated"
)

type stateChangeDetail struct {
	InstanceID string `json:"instance-id"`
	State      string `json:"state"`
}

func parseStateChange(body []byte, message *Message) error {
	var detail stateChangeDetail
	if err := unmarshalObject(message.DetailType, body, &detail); err != nil {
		return err
	}
	ids, err := instanceID(message.DetailType, detail.InstanceID)
	if err != nil {
		return err
	}
	if detail.State == "" {
		return malformed(message.DetailType, "detail.state is missing")
	}
	message.Kind = StateChange
	message.InstanceIDs = ids
	message.State = strings.ToLower(detail.State)
	return nil
}
