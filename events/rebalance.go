package events

// Both come from SourceEC2 when a Spot instance is more likely than before to be interrupted; the
// first name is what is sent, the second stands in EC2's list of events.
// Payload: rebalance-recommendation.json.
const (
	DetailTypeRebalanceRecommendation = "EC2 Instance Rebalance Recommendation"
	DetailTypeRebalanceRecommended    = "EC2 Spot Instance Rebalance Recommended"
)

type rebalanceDetail struct {
	InstanceID string `json:"instance-id"`
}

func parseRebalanceRecommendation(body []byte, message *Message) error {
	var detail rebalanceDetail
	if err := unmarshalObject(message.DetailType, body, &detail); err != nil {
		return err
	}
	ids, err := instanceID(message.DetailType, detail.InstanceID)
	if err != nil {
		return err
	}
	message.Kind = RebalanceRecommendation
	message.InstanceIDs = ids
	return nil
}
