package manifest

import (
	"regexp"
	"strings"

	"whittle/core/api/wellknown"
)

// oldKind says what became of a kind or version that Karpenter once had, and nothing about any other.
func oldKind(apiVersion, name string) string {
	group, version, _ := strings.Cut(apiVersion, "/")
	if group != wellknown.GroupKarpenter && group != wellknown.GroupAWS {
		return ""
	}
	switch {
	case name == "Provisioner":
		return "became NodePool: write it as " + versionKarpenter + " NodePool, with the AWS settings in an EC2NodeClass"
	case name == "AWSNodeTemplate":
		return "became EC2NodeClass: write it as " + versionAWS + " EC2NodeClass, with selector terms in place of selectors"
	case name == "Machine":
		return "became NodeClaim: leave it out, since NodeClaims are made from NodePools"
	case version == "v1beta1" && name == "EC2NodeClass":
		return "is no longer read: write apiVersion: " + versionAWS + ", with amiSelectorTerms such as [{alias: al2023@latest}]"
	case version == "v1beta1" && (name == "NodePool" || name == "NodeClaim"):
		return "is no longer read: write apiVersion: " + versionKarpenter +
			", with nodeClassRef.group in place of nodeClassRef.apiVersion, expireAfter in template.spec, and kubelet in the EC2NodeClass"
	default:
		return ""
	}
}

// listIndex is the place of an element in the path of a field.
var listIndex = regexp.MustCompile(`\[[0-9]+\]`)

// oldField says what became of a field that an older Karpenter had, and nothing about any other.
func oldField(kind, path string) string {
	path = listIndex.ReplaceAllString(path, "[]")
	switch kind + " " + path {
	case "NodePool spec.template.spec.kubelet", "NodeClaim spec.kubelet":
		return "moved to spec.kubelet of the EC2NodeClass"
	case "NodePool spec.template.spec.nodeClassRef.apiVersion", "NodeClaim spec.nodeClassRef.apiVersion":
		return "was replaced by group, which holds no version: " + wellknown.GroupAWS
	case "NodePool spec.template.spec.resources":
		return "is set by the pods, not by the NodePool; remove it"
	case "NodePool spec.ttlSecondsAfterEmpty":
		return "was replaced by spec.disruption with consolidationPolicy: WhenEmpty and consolidateAfter"
	case "NodePool spec.ttlSecondsUntilExpired":
		return "was replaced by spec.template.spec.expireAfter"
	case "NodePool spec.consolidation":
		return "was replaced by spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized"
	case "EC2NodeClass spec.subnetSelector":
		return "was replaced by subnetSelectorTerms, such as [{tags: {karpenter.sh/discovery: my-cluster}}]"
	case "EC2NodeClass spec.securityGroupSelector":
		return "was replaced by securityGroupSelectorTerms, such as [{tags: {karpenter.sh/discovery: my-cluster}}]"
	case "EC2NodeClass spec.amiSelector":
		return "was replaced by amiSelectorTerms, such as [{alias: al2023@latest}]"
	case "EC2NodeClass spec.launchTemplateName", "EC2NodeClass spec.launchTemplate", "NodePool spec.provider":
		return "was removed; its settings are fields of the EC2NodeClass"
	default:
		return ""
	}
}
