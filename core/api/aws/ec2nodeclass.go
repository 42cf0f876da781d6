package aws

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EC2NodeClass holds the EC2 settings of the nodes of the NodePools that refer to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=ec2nodeclasses,scope=Cluster,categories=karpenter,shortName={ec2nc,ec2ncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="Role",type="string",JSONPath=".spec.role",priority=1,description=""
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the class's author asks for.
	// +required
	Spec EC2NodeClassSpec `json:"spec"`
	// Status is what the selectors found.
	Status EC2NodeClassStatus `json:"status,omitempty"`
}

// EC2NodeClassList is a list of EC2NodeClasses.
//
// +kubebuilder:object:root=true
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EC2NodeClass `json:"items"`
}

// AMIFamily is an operating system with its way of joining a cluster.
//
// +kubebuilder:validation:Enum:={AL2,AL2023,Bottlerocket,Custom,Windows2019,Windows2022,Windows2025}
type AMIFamily string

// The AMI families.
const (
	FamilyAL2          AMIFamily = "AL2"
	FamilyAL2023       AMIFamily = "AL2023"
	FamilyBottlerocket AMIFamily = "Bottlerocket"
	FamilyCustom       AMIFamily = "Custom"
	FamilyWindows2019  AMIFamily = "Windows2019"
	FamilyWindows2022  AMIFamily = "Windows2022"
	FamilyWindows2025  AMIFamily = "Windows2025"
)

// EC2NodeClassSpec is what the class's author asks for.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) != has(self.instanceProfile)",message="exactly one of role and instanceProfile must be set"
// +kubebuilder:validation:XValidation:rule="has(self.amiFamily) || (has(self.amiSelectorTerms) && self.amiSelectorTerms.exists(x, has(x.alias)))",message="amiFamily must be set unless a term of amiSelectorTerms has an alias"
// +kubebuilder:validation:XValidation:rule="(has(self.amiSelectorTerms) && size(self.amiSelectorTerms) > 0) || (has(self.amiFamily) && self.amiFamily != 'Custom')",message="amiSelectorTerms must be set unless amiFamily names a family that has aliases"
// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || self.amiFamily == 'Custom' || !has(self.amiSelectorTerms) || self.amiSelectorTerms.all(x, !has(x.alias) || x.alias.startsWith(self.amiFamily.lowerAscii() + '@'))",message="amiFamily must be that of the alias, or Custom"
type EC2NodeClassSpec struct {
	// SubnetSelectorTerms are ORed; the fields of one term are ANDed.
	// +kubebuilder:validation:MinItems:=1
	// +kubebuilder:validation:MaxItems:=30
	// +required
	SubnetSelectorTerms []SubnetSelectorTerm `json:"subnetSelectorTerms"`
	// SecurityGroupSelectorTerms are ORed; the fields of one term are ANDed.
	// +kubebuilder:validation:MinItems:=1
	// +kubebuilder:validation:MaxItems:=30
	// +required
	SecurityGroupSelectorTerms []SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms"`
	// CapacityReservationSelectorTerms choose the capacity reservations that nodes may run in.
	// +kubebuilder:validation:MaxItems:=30
	// +optional
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty"`
	// PlacementGroupSelector names the placement group that nodes run in.
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`
	// AssociatePublicIPAddress says whether nodes get a public address; none leaves it to the subnet.
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`
	// IPPrefixCount is how many address prefixes the primary network interface gets.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty"`
	// AMISelectorTerms choose the images; none with an amiFamily means that family's latest.
	// +kubebuilder:validation:MaxItems:=30
	// +kubebuilder:validation:XValidation:rule="!self.exists(x, has(x.alias)) || size(self) == 1",message="an alias must be the only term"
	// +optional
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms,omitempty"`
	// AMIFamily is how the images join the cluster; none means the family of the alias.
	// +optional
	AMIFamily *AMIFamily `json:"amiFamily,omitempty"`
	// UserData is merged with what the family needs for joining the cluster.
	// +optional
	UserData *string `json:"userData,omitempty"`
	// Role is the name of the IAM role of the nodes, for which an instance profile is made.
	// +optional
	Role string `json:"role,omitempty"`
	// InstanceProfile of the nodes, instead of a role.
	// +kubebuilder:validation:MinLength=1
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`
	// Tags of everything that is made for a node.
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="a tag needs a key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['eks:eks-cluster-name', 'karpenter.sh/nodepool', 'karpenter.sh/nodeclaim', 'karpenter.k8s.aws/ec2nodeclass', 'whittle.sh/launch']) && !k.startsWith('kubernetes.io/cluster'))",message="the tags eks:eks-cluster-name, kubernetes.io/cluster/*, karpenter.sh/nodepool, karpenter.sh/nodeclaim, karpenter.k8s.aws/ec2nodeclass and whittle.sh/launch are written by the autoscaler"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// Kubelet holds settings of the kubelet, by the names of its configuration file.
	// +optional
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty"`
	// BlockDeviceMappings are the volumes of a node; none means those that the family needs.
	// +kubebuilder:validation:MaxItems:=50
	// +kubebuilder:validation:XValidation:rule="self.filter(x, has(x.rootVolume) && x.rootVolume).size() <= 1",message="only one mapping may be the root volume"
	// +optional
	BlockDeviceMappings []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// InstanceStorePolicy says what becomes of an instance's own disks.
	// +kubebuilder:validation:Enum:={RAID0}
	// +optional
	InstanceStorePolicy *InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`
	// DetailedMonitoring turns on metrics by the minute.
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`
	// MetadataOptions of the instance metadata service.
	// +kubebuilder:default={"httpEndpoint":"enabled","httpProtocolIPv6":"disabled","httpPutResponseHopLimit":1,"httpTokens":"required"}
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// NetworkInterfaces of the instance; none means those that the instance type and EFA need.
	// +kubebuilder:validation:MaxItems:=150
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.exists(x, x.networkCardIndex == 0 && x.deviceIndex == 0 && x.interfaceType == 'interface')",message="one must have networkCardIndex 0, deviceIndex 0 and interfaceType interface"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.networkCardIndex == y.networkCardIndex && x.deviceIndex == y.deviceIndex))",message="networkCardIndex and deviceIndex must be unique together"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.interfaceType != 'efa-only' || self.exists_one(y, y.interfaceType == 'efa-only' && y.networkCardIndex == x.networkCardIndex))",message="a network card takes one efa-only interface"
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	// ConnectionTracking time-outs; setting any restricts nodes to Nitro instances.
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`
	// CPUOptions of the instance.
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`
	// Context is EC2's reserved fleet context.
	// +optional
	Context *string `json:"context,omitempty"`
}
