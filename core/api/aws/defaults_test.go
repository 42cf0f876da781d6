package aws_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"whittle/core/api/aws"
	"whittle/core/api/warning"
)

func TestDefaultMetadataOptions(t *testing.T) {
	class := &aws.EC2NodeClass{Spec: aws.EC2NodeClassSpec{MetadataOptions: &aws.MetadataOptions{HTTPTokens: new("optional")}}}
	if warnings := class.SetDefaults(); warnings != nil {
		t.Errorf("warnings: %v", warnings)
	}
	want := &aws.MetadataOptions{
		HTTPEndpoint: new("enabled"), HTTPProtocolIPv6: new("disabled"), HTTPPutResponseHopLimit: new(int64(1)), HTTPTokens: new("optional"),
	}
	if diff := cmp.Diff(want, class.Spec.MetadataOptions); diff != "" {
		t.Error(diff)
	}
}

func TestFamilyWithoutSelector(t *testing.T) {
	tests := []struct {
		family, alias string
	}{
		{"AL2", "al2@latest"},
		{"AL2023", "al2023@latest"},
		{"Bottlerocket", "bottlerocket@latest"},
		{"Windows2019", "windows2019@latest"},
		{"Windows2022", "windows2022@latest"},
		{"Windows2025", "windows2025@latest"},
		{"Custom", ""},
		{"Ubuntu", ""},
	}
	for _, test := range tests {
		t.Run(test.family, func(t *testing.T) {
			class := &aws.EC2NodeClass{Spec: aws.EC2NodeClassSpec{AMIFamily: new(aws.AMIFamily(test.family))}}
			warnings := class.SetDefaults()
			if test.alias == "" {
				if warnings != nil || class.Spec.AMISelectorTerms != nil {
					t.Fatalf("made up %v, said %v", class.Spec.AMISelectorTerms, warnings)
				}
				return
			}
			if diff := cmp.Diff([]aws.AMISelectorTerm{{Alias: test.alias}}, class.Spec.AMISelectorTerms); diff != "" {
				t.Error(diff)
			}
			want := []warning.Warning{{
				Field: "spec.amiSelectorTerms", Message: "not set; read as [{alias: " + test.alias + "}] from amiFamily " + test.family,
			}}
			if diff := cmp.Diff(want, warnings); diff != "" {
				t.Error(diff)
			}
			if again := class.SetDefaults(); again != nil {
				t.Errorf("a second call warned: %v", again)
			}
		})
	}
}

func TestFamily(t *testing.T) {
	tests := []struct {
		name   string
		change change
		want   aws.AMIFamily
	}{
		{"of the alias", setImages("", aws.AMISelectorTerm{Alias: "bottlerocket@v1.20.0"}), aws.FamilyBottlerocket},
		{"set beside an alias", setImages("Custom", aws.AMISelectorTerm{Alias: "al2@latest"}), aws.FamilyCustom},
		{"set", setImages("AL2", aws.AMISelectorTerm{ID: "ami-1"}), aws.FamilyAL2},
		{"of images alone", setImages("", aws.AMISelectorTerm{ID: "ami-1"}), aws.FamilyCustom},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			class := validClass()
			test.change(&class.Spec)
			if got := class.Family(); got != test.want {
				t.Errorf("family %s, want %s", got, test.want)
			}
		})
	}
}

func TestHash(t *testing.T) {
	original := validClass().Hash()
	tests := []struct {
		name   string
		change change
		same   bool
	}{
		{"subnets drift by what is found", setSubnets(aws.SubnetSelectorTerm{ID: "subnet-9"}), true},
		{"security groups", setGroups(aws.SecurityGroupSelectorTerm{ID: "sg-9"}), true},
		{"reservations", setReservations(), true},
		{"another version of the same family", setImages("", aws.AMISelectorTerm{Alias: "al2023@latest"}), true},
		{"the family spelled out", setImages("AL2023", aws.AMISelectorTerm{Alias: "al2023@latest"}), true},
		{"the family alone", setImages("AL2023"), true},
		{"address prefixes", func(s *aws.EC2NodeClassSpec) { s.IPPrefixCount = new(int32(2)) }, true},
		{"a default left out", func(s *aws.EC2NodeClassSpec) { s.MetadataOptions = nil }, true},
		{"the order of volumes", func(s *aws.EC2NodeClassSpec) {
			s.BlockDeviceMappings[0], s.BlockDeviceMappings[1] = s.BlockDeviceMappings[1], s.BlockDeviceMappings[0]
		}, true},
		{"another family", setImages("", aws.AMISelectorTerm{Alias: "al2@latest"}), false},
		{"placement group", func(s *aws.EC2NodeClassSpec) { s.PlacementGroupSelector = nil }, false},
		{"role", func(s *aws.EC2NodeClassSpec) { s.Role = "other" }, false},
		{"role that becomes a profile", func(s *aws.EC2NodeClassSpec) { s.Role, s.InstanceProfile = "", new("nodes") }, false},
		{"user data", func(s *aws.EC2NodeClassSpec) { s.UserData = new("#!/bin/bash") }, false},
		{"tags", func(s *aws.EC2NodeClassSpec) { s.Tags["team"] = "shop" }, false},
		{"public address", func(s *aws.EC2NodeClassSpec) { s.AssociatePublicIPAddress = new(false) }, false},
		{"volume size", func(s *aws.EC2NodeClassSpec) {
			s.BlockDeviceMappings[0].EBS.VolumeSize = new(resource.MustParse("101Gi"))
		}, false},
		{"instance store", func(s *aws.EC2NodeClassSpec) { s.InstanceStorePolicy = nil }, false},
		{"interfaces", func(s *aws.EC2NodeClassSpec) { s.NetworkInterfaces = nil }, false},
		{"monitoring", func(s *aws.EC2NodeClassSpec) { s.DetailedMonitoring = new(true) }, false},
		{"metadata", func(s *aws.EC2NodeClassSpec) { s.MetadataOptions.HTTPPutResponseHopLimit = new(int64(2)) }, false},
		{"connection tracking", func(s *aws.EC2NodeClassSpec) { s.ConnectionTracking = nil }, false},
		{"context", func(s *aws.EC2NodeClassSpec) { s.Context = new("a") }, false},
		{"CPU options", func(s *aws.EC2NodeClassSpec) { s.CPUOptions = nil }, false},
		{"kubelet", func(s *aws.EC2NodeClassSpec) { s.Kubelet.MaxPods = new(int32(1)) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			class := validClass()
			test.change(&class.Spec)
			if same := class.Hash() == original; same != test.same {
				t.Errorf("same hash: %v, want %v", same, test.same)
			}
		})
	}
}
