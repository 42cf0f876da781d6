package packing

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/resource"
)

// attachable names the places for a CSI driver's volumes as if they were a resource of the node: pods ask
// for as many as they have volumes, and a node has as many as can be attached to it.
func attachable(driver string) corev1.ResourceName {
	return corev1.ResourceName(attachablePrefix + driver)
}

const attachablePrefix = "attachable-volumes-csi-"

// unlimited is more volumes than any node's pods have.
const unlimited = 1 << 30

// requestsOf is what the pod asks of its node, places for its volumes included.
func (p *problem) requestsOf(pod *corev1.Pod) resource.Amounts {
	amounts := resource.PodRequests(pod)
	if len(pod.Spec.Volumes) > 0 {
		for driver, n := range p.volumes.Attachments(pod) {
			amounts[attachable(driver)] += n
		}
	}
	return amounts
}

// placesOfType are the places for volumes of a new node: EC2's limit for EBS, and no limit that is known
// for any other driver.
func (p *problem) placesOfType(t *catalog.InstanceType, room vector) {
	for d, name := range p.names {
		driver, is := strings.CutPrefix(string(name), attachablePrefix)
		switch {
		case !is:
		case driver == cluster.DriverEBS:
			room[d] += int64(t.EBSAttachLimit)
		default:
			room[d] += unlimited
		}
	}
}

// placesOfHost are the places for volumes of a node that runs: what its CSINode says, and without one, no
// limit that is known.
func (p *problem) placesOfHost(h cluster.Host, room vector) {
	for d, name := range p.names {
		driver, is := strings.CutPrefix(string(name), attachablePrefix)
		if !is {
			continue
		}
		room[d] += p.attachLimit(h, driver)
		for _, pod := range h.Pods {
			room[d] -= p.volumes.Attachments(pod)[driver]
		}
	}
}

func (p *problem) attachLimit(h cluster.Host, driver string) int64 {
	for _, node := range p.snapshot.CSINodes {
		if h.Node == nil || node.Name != h.Node.Name {
			continue
		}
		for _, d := range node.Spec.Drivers {
			if d.Name == driver && d.Allocatable != nil && d.Allocatable.Count != nil {
				return int64(*d.Allocatable.Count)
			}
		}
	}
	return unlimited
}
