package aws_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/aws"
)

// validClass is a class with a little of everything, and nothing wrong with it.
func validClass() *aws.EC2NodeClass {
	class := &aws.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: aws.EC2NodeClassSpec{
			SubnetSelectorTerms:              []aws.SubnetSelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "my-cluster"}}, {ID: "subnet-0a1b"}},
			SecurityGroupSelectorTerms:       []aws.SecurityGroupSelectorTerm{{Name: "nodes"}, {ID: "sg-0a1b"}},
			CapacityReservationSelectorTerms: []aws.CapacityReservationSelectorTerm{{ID: "cr-0a1b"}, {InstanceMatchCriteria: "open", OwnerID: "012345678901"}},
			PlacementGroupSelector:           &aws.PlacementGroupSelector{Name: "group"},
			AMISelectorTerms:                 []aws.AMISelectorTerm{{Alias: "al2023@v20260101"}},
			Role:                             "nodes",
			Tags:                             map[string]string{"Name": "node", "team": ""},
			IPPrefixCount:                    new(int32(0)),
			BlockDeviceMappings: []aws.BlockDeviceMapping{
				{DeviceName: new("/dev/xvda"), RootVolume: true, EBS: &aws.BlockDevice{VolumeSize: new(resource.MustParse("100Gi")), VolumeType: new("gp3")}},
				{DeviceName: new("/dev/xvdb"), EBS: &aws.BlockDevice{SnapshotID: new("snap-1"), VolumeInitializationRate: new(int32(300))}},
			},
			InstanceStorePolicy: new(aws.InstanceStoreRAID0),
			NetworkInterfaces: []aws.NetworkInterface{
				{NetworkCardIndex: 0, DeviceIndex: 0, InterfaceType: aws.InterfaceTypeInterface},
				{NetworkCardIndex: 0, DeviceIndex: 1, InterfaceType: aws.InterfaceTypeEFAOnly},
				{NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: aws.InterfaceTypeEFAOnly},
			},
			ConnectionTracking: &aws.ConnectionTracking{UDPTimeout: new(int32(30)), UDPStreamTimeout: new(int32(180)), TCPEstablishedTimeout: new(int32(432000))},
			CPUOptions:         &aws.CPUOptions{NestedVirtualization: new("enabled")},
			Kubelet: &aws.KubeletConfiguration{
				MaxPods:                     new(int32(0)),
				KubeReserved:                map[string]string{"cpu": "100m", "memory": "256Mi", "ephemeral-storage": "1Gi", "pid": "1000"},
				EvictionHard:                map[string]string{"memory.available": "5%", "nodefs.inodesFree": "100"},
				EvictionSoft:                map[string]string{"memory.available": "500Mi"},
				EvictionSoftGracePeriod:     map[string]metav1.Duration{"memory.available": {Duration: time.Minute}},
				ImageGCHighThresholdPercent: new(int32(100)),
				ImageGCLowThresholdPercent:  new(int32(0)),
			},
		},
	}
	class.SetDefaults()
	return class
}

func texts(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return lines
}

type change = func(*aws.EC2NodeClassSpec)

// refusals are what is wrong with a valid class after a change.
type refusal struct {
	name   string
	change change
	want   []string
}

func checkRefusals(t *testing.T, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			class := validClass()
			test.change(&class.Spec)
			if diff := cmp.Diff(test.want, texts(class.Validate())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func setSubnets(terms ...aws.SubnetSelectorTerm) change {
	return func(s *aws.EC2NodeClassSpec) { s.SubnetSelectorTerms = terms }
}

func setGroups(terms ...aws.SecurityGroupSelectorTerm) change {
	return func(s *aws.EC2NodeClassSpec) { s.SecurityGroupSelectorTerms = terms }
}

func setImages(family string, terms ...aws.AMISelectorTerm) change {
	return func(s *aws.EC2NodeClassSpec) {
		s.AMISelectorTerms, s.AMIFamily = terms, nil
		if family != "" {
			s.AMIFamily = new(aws.AMIFamily(family))
		}
	}
}

func setReservations(terms ...aws.CapacityReservationSelectorTerm) change {
	return func(s *aws.EC2NodeClassSpec) { s.CapacityReservationSelectorTerms = terms }
}

func tags(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("key-%d", i)] = "value"
	}
	return all
}

func TestValidClass(t *testing.T) {
	checkRefusals(t, []refusal{{"nothing wrong", func(*aws.EC2NodeClassSpec) {}, nil}})
}

func TestValidateSelectors(t *testing.T) {
	tag := map[string]string{"a": "b"}
	checkRefusals(t, []refusal{
		{"no subnets", setSubnets(), []string{"spec.subnetSelectorTerms: Required value: want 1 to 30 terms"}},
		{"too many subnets", setSubnets(slicesOf(31, aws.SubnetSelectorTerm{ID: "subnet-1"})...), []string{"spec.subnetSelectorTerms: Too many: 31: must have at most 30 items"}},
		{"empty subnet term", setSubnets(aws.SubnetSelectorTerm{}), []string{"spec.subnetSelectorTerms[0]: Required value: want at least one of tags, id"}},
		{
			"subnet by id and tags among others that are in order", setSubnets(aws.SubnetSelectorTerm{ID: "subnet-1"}, aws.SubnetSelectorTerm{ID: "subnet-2", Tags: tag}),
			[]string{"spec.subnetSelectorTerms[1].tags: Forbidden: may not be set with id"},
		},
		{
			"subnet id", setSubnets(aws.SubnetSelectorTerm{ID: "my subnet-1"}),
			[]string{`spec.subnetSelectorTerms[0].id: Invalid value: "my subnet-1": want an id such as "subnet-0123456789abcdef0"`},
		},
		{
			"empty tags", setSubnets(aws.SubnetSelectorTerm{Tags: map[string]string{"": "a", "b": ""}}),
			[]string{
				`spec.subnetSelectorTerms[0].tags: Invalid value: "": a tag needs a key`,
				`spec.subnetSelectorTerms[0].tags[b]: Invalid value: "": a tag needs a value; "*" stands for any`,
			},
		},
		{"too many tags", setSubnets(aws.SubnetSelectorTerm{Tags: tags(21)}), []string{"spec.subnetSelectorTerms[0].tags: Too many: 21: must have at most 20 items"}},

		{"no groups", setGroups(), []string{"spec.securityGroupSelectorTerms: Required value: want 1 to 30 terms"}},
		{
			"group by everything", setGroups(aws.SecurityGroupSelectorTerm{ID: "sg-1", Name: "a", Tags: tag}),
			[]string{
				"spec.securityGroupSelectorTerms[0].tags: Forbidden: may not be set with id",
				"spec.securityGroupSelectorTerms[0].name: Forbidden: may not be set with id",
				"spec.securityGroupSelectorTerms[0].tags: Forbidden: may not be set with name",
			},
		},
		{
			"group id", setGroups(aws.SecurityGroupSelectorTerm{ID: "nodes"}),
			[]string{`spec.securityGroupSelectorTerms[0].id: Invalid value: "nodes": want an id such as "sg-0123456789abcdef0"`},
		},

		{
			"reservation by owner only", setReservations(aws.CapacityReservationSelectorTerm{OwnerID: "1"}),
			[]string{
				"spec.capacityReservationSelectorTerms[0]: Required value: want at least one of tags, id, instanceMatchCriteria",
				`spec.capacityReservationSelectorTerms[0].ownerID: Invalid value: "1": want the 12 digits of an account`,
			},
		},
		{
			"reservation by id and criteria", setReservations(aws.CapacityReservationSelectorTerm{ID: "cr-", InstanceMatchCriteria: "any"}),
			[]string{
				"spec.capacityReservationSelectorTerms[0].instanceMatchCriteria: Forbidden: may not be set with id",
				`spec.capacityReservationSelectorTerms[0].id: Invalid value: "cr-": want an id such as "cr-0123456789abcdef0"`,
				`spec.capacityReservationSelectorTerms[0].instanceMatchCriteria: Unsupported value: "any": supported values: "open", "targeted"`,
			},
		},
		{
			"placement group twice", func(s *aws.EC2NodeClassSpec) { s.PlacementGroupSelector.ID = "pg-1" },
			[]string{`spec.placementGroupSelector: Invalid value: "name \"group\", id \"pg-1\"": want exactly one of name and id`},
		},
		{
			"placement group by nothing", func(s *aws.EC2NodeClassSpec) { s.PlacementGroupSelector.Name = "" },
			[]string{`spec.placementGroupSelector: Invalid value: "name \"\", id \"\"": want exactly one of name and id`},
		},
		{
			"placement group id", func(s *aws.EC2NodeClassSpec) { s.PlacementGroupSelector = &aws.PlacementGroupSelector{ID: "group"} },
			[]string{`spec.placementGroupSelector.id: Invalid value: "group": want an id such as "pg-0123456789abcdef0"`},
		},
	})
}

func TestValidateImages(t *testing.T) {
	const families = "al2, al2023, bottlerocket, windows2019, windows2022, windows2025"
	const noFamily = "spec.amiFamily: Required value: want a family, or an alias in amiSelectorTerms, such as al2023@latest"
	checkRefusals(t, []refusal{
		{"neither", setImages(""), []string{"spec.amiSelectorTerms: Required value: want 1 to 30 terms", noFamily}},
		{"images of no family", setImages("", aws.AMISelectorTerm{ID: "ami-1"}), []string{noFamily}},
		{"images of a family", setImages("Custom", aws.AMISelectorTerm{ID: "ami-1"}, aws.AMISelectorTerm{Name: "a*", Owner: "self"}, aws.AMISelectorTerm{SSMParameter: "/a"}), nil},
		{
			"a family that is gone", setImages("Ubuntu", aws.AMISelectorTerm{ID: "ami-1"}),
			[]string{`spec.amiFamily: Unsupported value: "Ubuntu": supported values: "AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025"`},
		},
		{
			"alias of another family", setImages("AL2", aws.AMISelectorTerm{Alias: "al2023@latest"}),
			[]string{`spec.amiFamily: Invalid value: "AL2": must be AL2023 or Custom with the alias al2023@latest`},
		},
		{"alias with Custom", setImages("Custom", aws.AMISelectorTerm{Alias: "al2023@latest"}), nil},
		{
			"alias beside others", setImages("", aws.AMISelectorTerm{Alias: "al2023@latest"}, aws.AMISelectorTerm{ID: "ami-1"}),
			[]string{"spec.amiSelectorTerms[0].alias: Forbidden: an alias must be the only term"},
		},
		{
			"alias with everything", setImages("", aws.AMISelectorTerm{Alias: "al2@latest", ID: "ami-1", Name: "a", Owner: "self", SSMParameter: "/a", Tags: map[string]string{"a": "b"}}),
			[]string{
				"spec.amiSelectorTerms[0].id: Forbidden: may not be set with alias",
				"spec.amiSelectorTerms[0].tags: Forbidden: may not be set with alias",
				"spec.amiSelectorTerms[0].name: Forbidden: may not be set with alias",
				"spec.amiSelectorTerms[0].owner: Forbidden: may not be set with alias",
				"spec.amiSelectorTerms[0].ssmParameter: Forbidden: may not be set with alias",
			},
		},
		{
			"id with a name", setImages("AL2", aws.AMISelectorTerm{ID: "ami-1", Name: "a"}),
			[]string{"spec.amiSelectorTerms[0].name: Forbidden: may not be set with id"},
		},
		{
			"owner alone", setImages("AL2", aws.AMISelectorTerm{Owner: "self"}),
			[]string{"spec.amiSelectorTerms[0]: Required value: want at least one of tags, id, name, alias, ssmParameter"},
		},
		{
			"image id", setImages("AL2", aws.AMISelectorTerm{ID: "image"}),
			[]string{`spec.amiSelectorTerms[0].id: Invalid value: "image": want an id such as "ami-0123456789abcdef0"`},
		},
		{
			"alias without version", setImages("AL2", aws.AMISelectorTerm{Alias: "al2"}),
			[]string{`spec.amiSelectorTerms[0].alias: Invalid value: "al2": alias "al2": want family@version, such as "al2023@latest"`},
		},
		{
			"alias of no family", setImages("AL2", aws.AMISelectorTerm{Alias: "ubuntu@latest"}),
			[]string{`spec.amiSelectorTerms[0].alias: Invalid value: "ubuntu@latest": alias "ubuntu@latest": no such family "ubuntu", want one of ` + families},
		},
		{
			"alias that pins Windows", setImages("", aws.AMISelectorTerm{Alias: "windows2022@v1"}),
			[]string{`spec.amiSelectorTerms[0].alias: Invalid value: "windows2022@v1": of Windows only the latest images can be found, want windows2022@latest`},
		},
		{
			"alias that is too long", setImages("", aws.AMISelectorTerm{Alias: "al2023@" + strings.Repeat("1", 24)}),
			[]string{"spec.amiSelectorTerms[0].alias: Too long: may not be more than 30 bytes"},
		},
	})
}

func TestValidateRoleAndTags(t *testing.T) {
	setTags := func(key string) change {
		return func(s *aws.EC2NodeClassSpec) { s.Tags = map[string]string{key: "a"} }
	}
	forbidden := func(key string) []string {
		return []string{"spec.tags[" + key + "]: Forbidden: this tag is written by the autoscaler"}
	}
	checkRefusals(t, []refusal{
		{"neither", func(s *aws.EC2NodeClassSpec) { s.Role = "" }, []string{"spec.role: Required value: want the name of the nodes' IAM role, or an instanceProfile"}},
		{"both", func(s *aws.EC2NodeClassSpec) { s.InstanceProfile = new("a") }, []string{"spec.instanceProfile: Forbidden: may not be set with role"}},
		{"empty profile", func(s *aws.EC2NodeClassSpec) { s.InstanceProfile = new("") }, []string{`spec.instanceProfile: Invalid value: "": must not be empty`}},
		{"profile", func(s *aws.EC2NodeClassSpec) { s.Role, s.InstanceProfile = "", new("a") }, nil},
		{"tag without key", setTags(""), []string{`spec.tags: Invalid value: "": a tag needs a key`}},
		{"cluster name", setTags("eks:eks-cluster-name"), forbidden("eks:eks-cluster-name")},
		{"cluster", setTags("kubernetes.io/cluster/mine"), forbidden("kubernetes.io/cluster/mine")},
		{"pool", setTags("karpenter.sh/nodepool"), forbidden("karpenter.sh/nodepool")},
		{"claim", setTags("karpenter.sh/nodeclaim"), forbidden("karpenter.sh/nodeclaim")},
		{"class", setTags("karpenter.k8s.aws/ec2nodeclass"), forbidden("karpenter.k8s.aws/ec2nodeclass")},
		{"launch", setTags("whittle.sh/launch"), forbidden("whittle.sh/launch")},
	})
}

func slicesOf[T any](n int, value T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = value
	}
	return all
}
