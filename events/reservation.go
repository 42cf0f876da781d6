package events

// Both come from SourceEC2 before EC2 takes an instance in an interruptible capacity reservation
// back; the second is an older name of the first. Payload: reservation-interruption.json.
const (
	DetailTypeReservationInterruption              = "EC2 Capacity Reservation Instance Interruption Warning"
	DetailTypeInterruptibleReservationInterruption = "EC2 Interruptible Capacity Reservation Instance Interruption Warning"
)

// Both come from SourceEC2 40 minutes before a Capacity Block ends, 10 before EC2 begins to terminate
// its instances; EC2's pages differ in the name (EC2 User Guide, "Monitor Capacity Blocks using
// EventBridge"). Payload: capacity-block-expiration.json.
const (
	DetailTypeCapacityBlockExpiration            = "Capacity Block Expiration Warning"
	DetailTypeCapacityBlockReservationExpiration = "Capacity Block Reservation Expiration Warning"
)

type reservationInterruptionDetail struct {
	InstanceID    string `json:"instance-id"`
	Action        text   `json:"instance-action"`
	Termination   text   `json:"instance-termination-time"`
	ReservationID text   `json:"capacity-reservation-id"`
}

func parseReservationInterruption(body []byte, message *Message) error {
	var detail reservationInterruptionDetail
	if err := unmarshalObject(message.DetailType, body, &detail); err != nil {
		return err
	}
	ids, err := instanceID(message.DetailType, detail.InstanceID)
	if err != nil {
		return err
	}
	message.Kind = ReservationInterruption
	message.InstanceIDs = ids
	message.Action = string(detail.Action)
	message.Start = readTime(string(detail.Termination))
	message.ReservationID = string(detail.ReservationID)
	return nil
}

type capacityBlockDetail struct {
	ReservationID string `json:"capacity-reservation-id"`
	EndDate       text   `json:"end-date"`
}

func parseCapacityBlock(body []byte, message *Message) error {
	var detail capacityBlockDetail
	if err := unmarshalObject(message.DetailType, body, &detail); err != nil {
		return err
	}
	if detail.ReservationID == "" {
		return malformed(message.DetailType, "detail.capacity-reservation-id is missing")
	}
	message.Kind = CapacityBlockEnding
	message.ReservationID = detail.ReservationID
	message.Start = readTime(string(detail.EndDate))
	return nil
}
