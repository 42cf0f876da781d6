package aws

// SubnetSelectorTerm selects subnets by tags or id.
//
// +kubebuilder:validation:XValidation:rule="has(self.tags) != has(self.id)",message="exactly one of tags and id must be set"
type SubnetSelectorTerm struct {
	// Tags of the resource; "*" as a value stands for any.
	// +kubebuilder:validation:MaxProperties:=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag needs a key and a value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID of the subnet.
	// +kubebuilder:validation:Pattern:="^subnet-[0-9a-z]+$"
	// +optional
	ID string `json:"id,omitempty"`
}

// SecurityGroupSelectorTerm selects security groups by tags, id or name.
//
// +kubebuilder:validation:XValidation:rule="(has(self.tags) ? 1 : 0) + (has(self.id) ? 1 : 0) + (has(self.name) ? 1 : 0) == 1",message="exactly one of tags, id and name must be set"
type SecurityGroupSelectorTerm struct {
	// Tags of the resource; "*" as a value stands for any.
	// +kubebuilder:validation:MaxProperties:=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag needs a key and a value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID of the security group.
	// +kubebuilder:validation:Pattern:="^sg-[0-9a-z]+$"
	// +optional
	ID string `json:"id,omitempty"`
	// Name is the group's name, not its Name tag.
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservationSelectorTerm selects capacity reservations by id, or by what they are like.
//
// +kubebuilder:validation:XValidation:rule="has(self.tags) || has(self.id) || has(self.instanceMatchCriteria)",message="at least one of tags, id and instanceMatchCriteria must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.tags) || has(self.ownerID) || has(self.instanceMatchCriteria))",message="nothing may be set beside id"
type CapacityReservationSelectorTerm struct {
	// Tags of the resource; "*" as a value stands for any.
	// +kubebuilder:validation:MaxProperties:=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag needs a key and a value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID of the reservation.
	// +kubebuilder:validation:Pattern:="^cr-[0-9a-z]+$"
	// +optional
	ID string `json:"id,omitempty"`
	// OwnerID is the account that owns the reservation.
	// +kubebuilder:validation:Pattern:="^[0-9]{12}$"
	// +optional
	OwnerID string `json:"ownerID,omitempty"`
	// InstanceMatchCriteria says whether any matching instance runs in the reservation, or only one that names it.
	// +kubebuilder:validation:Enum:={open,targeted}
	// +optional
	InstanceMatchCriteria string `json:"instanceMatchCriteria,omitempty"`
}

// PlacementGroupSelector names one placement group.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="exactly one of name and id must be set"
type PlacementGroupSelector struct {
	// Name of the placement group.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Name string `json:"name,omitempty"`
	// ID of the placement group.
	// +kubebuilder:validation:Pattern:="^pg-[0-9a-z]+$"
	// +optional
	ID string `json:"id,omitempty"`
}

// AMISelectorTerm selects images.
//
// +kubebuilder:validation:XValidation:rule="has(self.alias) || has(self.tags) || has(self.id) || has(self.name) || has(self.ssmParameter)",message="at least one of alias, tags, id, name and ssmParameter must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.alias) || !(has(self.id) || has(self.tags) || has(self.name) || has(self.owner) || has(self.ssmParameter))",message="nothing may be set beside alias"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.tags) || has(self.name) || has(self.owner) || has(self.ssmParameter))",message="nothing may be set beside id"
type AMISelectorTerm struct {
	// Alias is family@version, such as al2023@latest.
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^(((al2|al2023|bottlerocket)@.+)|(windows(2019|2022|2025)@latest))$`
	// +optional
	Alias string `json:"alias,omitempty"`
	// Tags of the resource; "*" as a value stands for any.
	// +kubebuilder:validation:MaxProperties:=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="a tag needs a key and a value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID of the image.
	// +kubebuilder:validation:Pattern:="^ami-[0-9a-z]+$"
	// +optional
	ID string `json:"id,omitempty"`
	// Name of the image; "*" and "?" are wild cards.
	// +optional
	Name string `json:"name,omitempty"`
	// Owner is the account or alias that owns the image; with a name, none means self and amazon.
	// +optional
	Owner string `json:"owner,omitempty"`
	// SSMParameter is the name or ARN of an SSM parameter that holds an image id.
	// +optional
	SSMParameter string `json:"ssmParameter,omitempty"`
}
