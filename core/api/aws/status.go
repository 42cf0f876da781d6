package aws

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
)

// EC2NodeClassStatus is what the selectors found.
type EC2NodeClassStatus struct {
	// Subnets, those with the most free addresses first.
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`
	// SecurityGroups found.
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// AMIs, newest first.
	// +optional
	AMIs []AMI `json:"amis,omitempty"`
	// CapacityReservations found.
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`
	// InstanceProfile that nodes are launched with.
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`
	// Conditions of the class: Ready and what it is made of.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Subnet found by a selector.
type Subnet struct {
	ID   string `json:"id"`
	Zone string `json:"zone"`
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup found by a selector.
type SecurityGroup struct {
	ID string `json:"id"`
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI found by a selector, with the instance types it is for.
type AMI struct {
	ID string `json:"id"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Deprecated   bool                    `json:"deprecated,omitempty"`
	Requirements []karpenter.Requirement `json:"requirements"`
}

// CapacityReservation found by a selector.
type CapacityReservation struct {
	AvailabilityZone string `json:"availabilityZone"`
	// +optional
	EndTime               *metav1.Time `json:"endTime,omitempty"`
	ID                    string       `json:"id"`
	InstanceMatchCriteria string       `json:"instanceMatchCriteria"`
	InstanceType          string       `json:"instanceType"`
	// +optional
	Interruptible bool   `json:"interruptible,omitempty"`
	OwnerID       string `json:"ownerID"`
	// ReservationType is default or capacity-block.
	// +optional
	ReservationType string `json:"reservationType,omitempty"`
	// State is active or expiring.
	// +optional
	State string `json:"state,omitempty"`
}

// Condition types of an EC2NodeClass.
const (
	ConditionReady                     = karpenter.ConditionReady
	ConditionAMIsReady                 = "AMIsReady"
	ConditionSubnetsReady              = "SubnetsReady"
	ConditionSecurityGroupsReady       = "SecurityGroupsReady"
	ConditionInstanceProfileReady      = "InstanceProfileReady"
	ConditionPlacementGroupReady       = "PlacementGroupReady"
	ConditionCapacityReservationsReady = "CapacityReservationsReady"
	ConditionValidationSucceeded       = karpenter.ConditionValidationSucceeded
)
