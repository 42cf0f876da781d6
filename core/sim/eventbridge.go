package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"whittle/core/cluster"
	"whittle/events"
)

// envelope is an event of EC2 as EventBridge puts it into a queue.
type envelope struct {
	Version    string         `json:"version"`
	ID         string         `json:"id"`
	DetailType string         `json:"detail-type"`
	Source     string         `json:"source"`
	Account    string         `json:"account"`
	Time       time.Time      `json:"time"`
	Region     string         `json:"region"`
	Resources  []string       `json:"resources"`
	Detail     map[string]any `json:"detail"`
}

// announce sends the notification of an instance's state.
func (e *EC2) announce(i *instance) {
	arn := fmt.Sprintf("arn:aws:ec2:%s:%s:instance/%s", e.world.options.Region, e.world.options.Account, i.ID)
	e.emit(events.DetailTypeStateChange, arn, map[string]any{"instance-id": i.ID, "state": i.State})
}

// warn sends the Spot interruption warning. Its ARN has the zone where others have the region, and no
// account (EC2 User Guide, Spot Instance interruption notices).
func (e *EC2) warn(i *instance) {
	arn := fmt.Sprintf("arn:aws:ec2:%s:instance/%s", i.Zone, i.ID)
	e.emit(events.DetailTypeSpotInterruption, arn, map[string]any{"instance-id": i.ID, "instance-action": "terminate"})
}

// Rebalance sends the recommendation to rebalance a Spot instance, which EC2 may follow with an
// interruption or not.
func (e *EC2) Rebalance(id cluster.InstanceID) error {
	i, err := e.find(id)
	if err != nil {
		return err
	}
	arn := fmt.Sprintf("arn:aws:ec2:%s:instance/%s", i.Zone, i.ID)
	e.emit(events.DetailTypeRebalanceRecommendation, arn, map[string]any{"instance-id": i.ID})
	return nil
}

func (e *EC2) emit(detailType, arn string, detail map[string]any) {
	w := e.world
	body, err := json.Marshal(envelope{
		Version: "0", ID: string(w.ids.uid()), DetailType: detailType, Source: events.SourceEC2,
		Account: w.options.Account, Time: w.clock.now.UTC().Truncate(time.Second), Region: w.options.Region,
		Resources: []string{arn}, Detail: detail,
	})
	if err != nil {
		panic(fmt.Sprintf("sim: encode event: %v", err))
	}
	w.clock.after(w.options.EventBridgeLag, func() {
		if err := w.Queue(w.options.InterruptQueue).put(events.Outgoing{Body: body}); err != nil {
			panic(fmt.Sprintf("sim: deliver event: %v", err))
		}
	})
}
