package events

// DetailTypeHealth comes from SourceHealth, at least once, in the Region of what it is about
// (AWS Health User Guide, "Monitoring AWS Health events with EventBridge").
// Payloads: health-scheduled-change.json, health-reservation-underused.json.
const DetailTypeHealth = "AWS Health Event"

// Whittle acts on Health events of this service and category: maintenance and retirement of
// instances. The others, such as notes on reservations that are little used, are of kind Unknown.
const (
	HealthServiceEC2              = "EC2"
	HealthCategoryScheduledChange = "scheduledChange"
)

type healthDetail struct {
	Service   string `json:"service"`
	Category  string `json:"eventTypeCategory"`
	Code      text   `json:"eventTypeCode"`
	Status    text   `json:"statusCode"`
	StartTime text   `json:"startTime"`
	Entities  []struct {
		Value text `json:"entityValue"`
	} `json:"affectedEntities"`
}

func parseHealth(body []byte, message *Message) error {
	var detail healthDetail
	if err := unmarshalObject(message.DetailType, body, &detail); err != nil {
		return err
	}
	switch {
	case detail.Service == "":
		return malformed(message.DetailType, "detail.service is missing")
	case detail.Category == "":
		return malformed(message.DetailType, "detail.eventTypeCategory is missing")
	case detail.Service != HealthServiceEC2 || detail.Category != HealthCategoryScheduledChange:
		return nil
	case len(detail.Entities) == 0:
		return malformed(message.DetailType, "detail.affectedEntities is empty")
	}
	for _, entity := range detail.Entities {
		if id := string(entity.Value); isInstanceID(id) {
			message.InstanceIDs = append(message.InstanceIDs, id)
		}
	}
	if len(message.InstanceIDs) == 0 {
		return nil
	}
	message.Kind = ScheduledChange
	message.Action = string(detail.Code)
	message.State = string(detail.Status)
	message.Start = readTime(string(detail.StartTime))
	return nil
}
