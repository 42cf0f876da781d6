package cluster

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/aws"
)

// InstanceID names an EC2 instance, such as i-0123456789abcdef0.
type InstanceID string

// InstanceState is EC2's state of an instance.
type InstanceState string

// The states of an instance.
const (
	InstancePending      InstanceState = "pending"
	InstanceRunning      InstanceState = "running"
	InstanceStopping     InstanceState = "stopping"
	InstanceStopped      InstanceState = "stopped"
	InstanceShuttingDown InstanceState = "shutting-down"
	InstanceTerminated   InstanceState = "terminated"
)

// Live reports whether an instance in this state can still run pods or will.
func (s InstanceState) Live() bool {
	return s == InstancePending || s == InstanceRunning
}

// Instance is an EC2 instance as DescribeInstances tells it.
type Instance struct {
	ID           InstanceID
	InstanceType string
	Zone         string
	CapacityType string
	ImageID      string
	State        InstanceState
	LaunchedAt   time.Time
	Tags         map[string]string
}

// ProviderID is how Kubernetes names the instance: aws:///<zone>/<id>.
func (i Instance) ProviderID() string {
	return fmt.Sprintf("aws:///%s/%s", i.Zone, i.ID)
}

// InstanceIDOf takes the instance id out of a provider id; it is empty when there is none.
func InstanceIDOf(providerID string) InstanceID {
	_, id, found := strings.Cut(strings.TrimPrefix(providerID, "aws:///"), "/")
	if !found || !strings.HasPrefix(id, "i-") {
		return ""
	}
	return InstanceID(id)
}

// Offering names capacity that EC2 sells: an instance type in a zone as a capacity type.
type Offering struct {
	InstanceType string
	Zone         string
	CapacityType string
}

// String names the offering as people read it: type in zone, capacity type.
func (o Offering) String() string {
	return fmt.Sprintf("%s in %s (%s)", o.InstanceType, o.Zone, o.CapacityType)
}

// OutageTTL is how long an offering without capacity is left alone (upstream pkg/cache/cache.go).
const OutageTTL = 3 * time.Minute

// Outage is an offering that EC2 had no capacity for, until the given time. An empty InstanceType or
// Zone stands for all of them.
type Outage struct {
	Offering
	Until  time.Time
	Reason string
}

// LaunchRequest asks EC2 for Count instances, each of any of the overrides. It is recorded whole
// before it is sent and replayed verbatim when a crash leaves its outcome unknown.
type LaunchRequest struct {
	// ID is the client token; a request with an ID that EC2 has seen launches nothing new.
	ID           string
	Cluster      string
	NodeClass    *aws.EC2NodeClass
	CapacityType string
	Overrides    []LaunchOverride
	Count        int
	Tags         map[string]string
	// Labels and Taints are those that the kubelets are to register with.
	Labels map[string]string
	Taints []corev1.Taint
}

// LaunchOverride is one instance type in one zone that a launch may use.
type LaunchOverride struct {
	InstanceType string
	Zone         string
	USDPerHour   float64
}

// LaunchResult is what EC2 made of a request: the instances it launched, which may be fewer than were
// asked for, and why others failed.
type LaunchResult struct {
	Instances []Instance
	Failures  []LaunchFailure
}

// LaunchFailure is one error of a launch, with EC2's code.
type LaunchFailure struct {
	Offering
	Code    string
	Message string
}
