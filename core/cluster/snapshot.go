// Package cluster holds the picture that every decision is made from: one cluster and its cloud at
// one instant. It reads nothing itself; a snapshot is gathered by a verb and never changed after.
package cluster

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/catalog"
)

// Snapshot is one immutable picture of a cluster and its cloud at an instant.
type Snapshot struct {
	// Name of the cluster, as in its EC2 tags.
	Name string
	// Now is the instant of the picture and the only clock of every decision made from it.
	Now time.Time

	NodePools   []*karpenter.NodePool
	NodeClasses []*aws.EC2NodeClass
	NodeClaims  []*karpenter.NodeClaim
	Nodes       []*corev1.Node
	// Pods of every namespace and phase, bound or not.
	Pods       []*corev1.Pod
	DaemonSets []*appsv1.DaemonSet
	// Owners are the workloads whose replica counts tell whether more pods are to come.
	Owners               []Owner
	PodDisruptionBudgets []*policyv1.PodDisruptionBudget
	PersistentVolumes    []*corev1.PersistentVolume
	VolumeClaims         []*corev1.PersistentVolumeClaim
	StorageClasses       []*storagev1.StorageClass
	CSINodes             []*storagev1.CSINode
	VolumeAttachments    []*storagev1.VolumeAttachment
	Namespaces           []*corev1.Namespace

	// Catalog of the cluster's region.
	Catalog *catalog.Catalog
	// Settings of the deployment and what its nodes taught, which the catalog reckons with. What is
	// unavailable follows from Outages.
	Settings catalog.Settings
	// Outages are the offerings that EC2 had no capacity for lately.
	Outages []Outage
	// Instances are the cluster's instances by their tags, whatever the cluster knows of them.
	Instances []Instance
}

// Owner is a workload that keeps a number of pods: a ReplicaSet, StatefulSet or Job.
type Owner struct {
	UID       types.UID
	Kind      string
	Namespace string
	Name      string
	// Desired is how many pods it wants now.
	Desired int
}

// NodeClass is the EC2NodeClass of that name; nil when there is none.
func (s *Snapshot) NodeClass(name string) *aws.EC2NodeClass {
	for _, class := range s.NodeClasses {
		if class.Name == name {
			return class
		}
	}
	return nil
}

// NodePool is the NodePool of that name; nil when there is none.
func (s *Snapshot) NodePool(name string) *karpenter.NodePool {
	for _, pool := range s.NodePools {
		if pool.Name == name {
			return pool
		}
	}
	return nil
}

// InstanceTypes are the catalog's types as nodes of the class, less what is out of capacity now.
func (s *Snapshot) InstanceTypes(class *aws.EC2NodeClass) []catalog.InstanceType {
	out := make(map[Offering]bool, len(s.Outages))
	for _, outage := range s.Outages {
		if s.Now.Before(outage.Until) {
			out[outage.Offering] = true
		}
	}
	settings := s.Settings
	if len(out) > 0 {
		settings.Unavailable = func(instanceType, zone, capacityType string) bool {
			return out[Offering{InstanceType: instanceType, Zone: zone, CapacityType: capacityType}] ||
				out[Offering{InstanceType: instanceType, CapacityType: capacityType}] ||
				out[Offering{Zone: zone, CapacityType: capacityType}] ||
				out[Offering{CapacityType: capacityType}]
		}
	}
	return s.Catalog.InstanceTypes(class, settings)
}
