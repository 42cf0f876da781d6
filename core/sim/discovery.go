package sim

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
)

// discovery resolves the selectors of EC2NodeClasses to what the world's VPC has, and says of NodePools
// whether their class is ready. The VPC has one subnet for each zone and one security group, all tagged
// karpenter.sh/discovery=<cluster>.
type discovery struct {
	kube  *Kube
	store *store
}

func newDiscovery(k *Kube) {
	d := &discovery{kube: k, store: k.store}
	k.store.watch(d.observe)
}

func (d *discovery) observe(c change) {
	clock := d.kube.world.clock
	switch {
	case c.kind == "EC2NodeClass":
		clock.soon("EC2NodeClass "+c.key.name, func() { d.resolve(c.key.name) })
		for _, pool := range list[*karpenter.NodePool](d.store) {
			if pool.Spec.Template.Spec.NodeClassRef.Name == c.key.name {
				d.planReadiness(pool.Name)
			}
		}
	case c.kind == "NodePool" && c.now != nil:
		d.planReadiness(c.key.name)
	}
}

func (d *discovery) planReadiness(pool string) {
	d.kube.world.clock.soon("NodePool "+pool, func() { d.readiness(pool) })
}

func (d *discovery) resolve(name string) {
	class, ok := lookup[*aws.EC2NodeClass](d.store, "", name)
	if !ok {
		return
	}
	subnets, groups, images := d.subnets(class), d.securityGroups(class), d.images(class)
	edit(d.store, class, func(c *aws.EC2NodeClass) {
		c.Status.Subnets, c.Status.SecurityGroups, c.Status.AMIs = subnets, groups, images
		ready := true
		check := func(condition string, found bool, reason string) {
			d.setCondition(&c.Status.Conditions, c.Generation, condition, found, reason)
			ready = ready && found
		}
		check(aws.ConditionSubnetsReady, len(subnets) > 0, "SubnetsNotFound")
		check(aws.ConditionSecurityGroupsReady, len(groups) > 0, "SecurityGroupsNotFound")
		check(aws.ConditionAMIsReady, len(images) > 0, "AMINotFound")
		check(aws.ConditionInstanceProfileReady, true, "")
		check(aws.ConditionValidationSucceeded, ready, "DependenciesNotReady")
		check(aws.ConditionReady, ready, "UnhealthyDependents")
	})
}

// setCondition sets a condition with the time of the world's clock.
func (d *discovery) setCondition(conditions *[]metav1.Condition, generation int64, condition string, holds bool, reason string) {
	wanted := metav1.Condition{
		Type: condition, Status: metav1.ConditionTrue, Reason: condition, ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(d.kube.world.clock.now.Truncate(1e9)),
	}
	if !holds {
		wanted.Status, wanted.Reason = metav1.ConditionFalse, reason
	}
	meta.SetStatusCondition(conditions, wanted)
}

// readiness makes a NodePool ready when its class is.
func (d *discovery) readiness(name string) {
	pool, ok := lookup[*karpenter.NodePool](d.store, "", name)
	if !ok {
		return
	}
	class, found := lookup[*aws.EC2NodeClass](d.store, "", pool.Spec.Template.Spec.NodeClassRef.Name)
	ready := found && class.DeletionTimestamp == nil && meta.IsStatusConditionTrue(class.Status.Conditions, aws.ConditionReady)
	reason := "NodeClassNotReady"
	if !found {
		reason = "NodeClassNotFound"
	}
	edit(d.store, pool, func(p *karpenter.NodePool) {
		d.setCondition(&p.Status.Conditions, p.Generation, karpenter.ConditionValidationSucceeded, true, "")
		d.setCondition(&p.Status.Conditions, p.Generation, karpenter.ConditionNodeClassReady, ready, reason)
		d.setCondition(&p.Status.Conditions, p.Generation, karpenter.ConditionReady, ready, reason)
	})
}

// resourceTags are those of everything in the world's VPC.
func (d *discovery) resourceTags() map[string]string {
	cluster := d.kube.world.options.Cluster
	return map[string]string{wellknown.TagDiscovery: cluster, wellknown.TagClusterPrefix + cluster: wellknown.TagClusterOwned}
}

// selected reports whether tags are all there; the value * stands for any.
func selected(have, want map[string]string) bool {
	for key, value := range want {
		found, ok := have[key]
		if !ok || value != "*" && value != found {
			return false
		}
	}
	return true
}

func (d *discovery) subnets(class *aws.EC2NodeClass) []aws.Subnet {
	var found []aws.Subnet
	for _, zone := range d.kube.world.options.Catalog.Zones() {
		subnet := aws.Subnet{ID: "subnet-" + nameHash(d.kube.world.options.Cluster, zone), Zone: zone, ZoneID: d.kube.world.options.Catalog.ZoneIDs[zone]}
		for _, term := range class.Spec.SubnetSelectorTerms {
			if term.ID != "" && term.ID == subnet.ID || term.ID == "" && len(term.Tags) > 0 && selected(d.resourceTags(), term.Tags) {
				found = append(found, subnet)
				break
			}
		}
	}
	return found
}

func (d *discovery) securityGroups(class *aws.EC2NodeClass) []aws.SecurityGroup {
	group := aws.SecurityGroup{
		ID:   "sg-" + nameHash(d.kube.world.options.Cluster, "nodes"),
		Name: d.kube.world.options.Cluster + "-nodes",
	}
	for _, term := range class.Spec.SecurityGroupSelectorTerms {
		switch {
		case term.ID != "" && term.ID == group.ID,
			term.Name != "" && term.Name == group.Name,
			term.ID == "" && term.Name == "" && len(term.Tags) > 0 && selected(d.resourceTags(), term.Tags):
			return []aws.SecurityGroup{group}
		}
	}
	return nil
}

// images are one for each architecture, of the family that the class names; a term that names an image
// stands for one of amd64.
func (d *discovery) images(class *aws.EC2NodeClass) []aws.AMI {
	var found []aws.AMI
	for _, term := range class.Spec.AMISelectorTerms {
		switch {
		case term.Alias != "":
			family, version, _ := strings.Cut(term.Alias, "@")
			found = append(found, d.familyImages(family, version)...)
		case term.ID != "":
			found = append(found, aws.AMI{ID: term.ID, Requirements: forArch("amd64")})
		default:
			name := cmp.Or(term.Name, term.SSMParameter, "custom")
			found = append(found, aws.AMI{ID: "ami-" + nameHash("image", name), Name: name, Requirements: forArch("amd64")})
		}
	}
	if len(class.Spec.AMISelectorTerms) == 0 && class.Spec.AMIFamily != nil {
		found = d.familyImages(strings.ToLower(string(*class.Spec.AMIFamily)), "latest")
	}
	return found
}

func (d *discovery) familyImages(family, version string) []aws.AMI {
	families := []string{"al2", "al2023", "bottlerocket", "windows2019", "windows2022", "windows2025"}
	if !slices.Contains(families, family) {
		return nil
	}
	var found []aws.AMI
	for _, arch := range []string{"amd64", "arm64"} {
		name := "amazon-eks-node-" + family + "-" + arch + "-" + version
		found = append(found, aws.AMI{ID: "ami-" + nameHash("image", name), Name: name, Requirements: forArch(arch)})
	}
	return found
}

func forArch(arch string) []karpenter.Requirement {
	return []karpenter.Requirement{{Key: corev1.LabelArchStable, Operator: karpenter.OpIn, Values: []string{arch}}}
}

// nameHash is the tail of the id of a resource that is always there.
func nameHash(parts ...string) string {
	sum := digest(parts...)
	return "0" + hex.EncodeToString(sum[:])[:16]
}
