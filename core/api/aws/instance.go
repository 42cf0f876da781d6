package aws

// InstanceStorePolicy says what becomes of an instance's own disks.
type InstanceStorePolicy string

// InstanceStoreRAID0 joins the instance's disks into the node's ephemeral storage.
const InstanceStoreRAID0 InstanceStorePolicy = "RAID0"

// MetadataOptions of the instance metadata service.
type MetadataOptions struct {
	// HTTPEndpoint turns the service on or off.
	// +kubebuilder:default=enabled
	// +kubebuilder:validation:Enum:={enabled,disabled}
	// +optional
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// HTTPProtocolIPv6 turns its IPv6 address on or off.
	// +kubebuilder:default=disabled
	// +kubebuilder:validation:Enum:={enabled,disabled}
	// +optional
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// HTTPPutResponseHopLimit is how many hops a token may travel; 1 keeps it from pods without host network.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=64
	// +optional
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// HTTPTokens says whether requests must carry a token.
	// +kubebuilder:default=required
	// +kubebuilder:validation:Enum:={required,optional}
	// +optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// NetworkInterface is one interface of the instance.
type NetworkInterface struct {
	// NetworkCardIndex is the card that carries the interface.
	// +kubebuilder:validation:Minimum:=0
	// +required
	NetworkCardIndex int32 `json:"networkCardIndex"`
	// DeviceIndex is the position of the interface on its card.
	// +kubebuilder:validation:Minimum:=0
	// +required
	DeviceIndex int32 `json:"deviceIndex"`
	// InterfaceType is interface, or efa-only for one without IP addresses.
	// +kubebuilder:validation:Enum:={interface,efa-only}
	// +required
	InterfaceType string `json:"interfaceType"`
}

// The interface types of a NetworkInterface.
const (
	InterfaceTypeInterface = "interface"
	InterfaceTypeEFAOnly   = "efa-only"
)

// ConnectionTracking time-outs of the security groups, in seconds.
//
// +kubebuilder:validation:MinProperties=1
type ConnectionTracking struct {
	// TCPEstablishedTimeout of idle TCP connections.
	// +kubebuilder:validation:Minimum:=60
	// +kubebuilder:validation:Maximum:=432000
	// +optional
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	// UDPStreamTimeout of UDP flows with more than one request and response.
	// +kubebuilder:validation:Minimum:=60
	// +kubebuilder:validation:Maximum:=180
	// +optional
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`
	// UDPTimeout of UDP flows with traffic in one direction or one request and response.
	// +kubebuilder:validation:Minimum:=30
	// +kubebuilder:validation:Maximum:=60
	// +optional
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// CPUOptions of the instance.
type CPUOptions struct {
	// NestedVirtualization lets the instance run virtual machines; enabled restricts nodes to types that can.
	// +kubebuilder:validation:Enum:={enabled,disabled}
	// +optional
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}
