package events

// DetailTypeSpotInterruption comes from SourceEC2 about two minutes before EC2 takes a Spot instance
// back, best effort: it can be missing, come twice, or come after the fact
// (EC2 User Guide, "Spot Instance interruption notices"). Payload: spot-interruption.json.
const DetailTypeSpotInterruption = "EC2 Spot Instance Interruption Warning"

type spotInterruptionDetail struct {
	InstanceID string `json:"instance-id"`
	Action     text   `json:"instance-action"`
}

func parseSpotInterruption(body []byte, message *Message) error {
	var detail spotInterruptionDetail
	if err := unmarshalObject(message.DetailType, body, &detail); err != nil {
		return err
	}
	ids, err := instanceID(message.DetailType, detail.InstanceID)
	if err != nil {
		return err
	}
	message.Kind = SpotInterruption
	message.InstanceIDs = ids
	message.Action = string(detail.Action)
	return nil
}
