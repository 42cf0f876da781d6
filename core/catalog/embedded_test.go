package catalog_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whittle/core/api/aws"
	"whittle/core/catalog"
)

// The snapshot has to be the table it was generated from: run go generate when this fails.
func TestEmbeddedIsTheTable(t *testing.T) {
	path := os.Getenv("WHITTLE_TYPES")
	if path == "" {
		path = "../../../shared/data/ec2-instance-types.csv"
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no table of instance types at %s; WHITTLE_TYPES may name another place", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want, err := catalog.ReadTable(file, catalog.EmbeddedRegion)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, embedded(t).Shapes); diff != "" {
		t.Errorf("(-table +snapshot):\n%s", diff)
	}
}

func TestEmbedded(t *testing.T) {
	c := embedded(t)
	if len(c.Shapes) != 1263 {
		t.Errorf("%d shapes, want 1263", len(c.Shapes))
	}
	if diff := cmp.Diff([]string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1e", "us-east-1f"}, c.Zones()); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	types := c.InstanceTypes(&aws.EC2NodeClass{}, catalog.Settings{})
	if len(types) != 1255 {
		t.Errorf("%d types, want all but the 8 of macOS", len(types))
	}
	if !slices.IsSortedFunc(types, func(a, b catalog.InstanceType) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("types are not sorted by name")
	}
}

func TestShapeOfTheTable(t *testing.T) {
	saving := 66
	want := &catalog.Shape{
		Name: "m5.large", Arch: "x86_64", VCPUs: 2, MemoryMiB: 8192, Hypervisor: "nitro", CPUManufacturer: "Intel", ClockGHz: 3.1,
		DefaultCardENIs: 3, IPv4PerENI: 10, TotalENIs: 3, NetworkCards: 1, IPv6: true, NetworkBaselineMbps: 750, NetworkPeakMbps: 10000,
		BranchENIs: 9, Trunking: true, EBSBaselineMbps: 650, EBSMaxAttachments: 27, EBSAttachmentLimit: "shared",
		UsageClasses: []string{"on-demand", "spot"},
		Zones:        []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f"},
		OnDemandUSD:  0.096, SpotSavingPercent: &saving, InterruptionBucket: 3,
	}
	got, found := embedded(t).Shape("m5.large")
	if diff := cmp.Diff(want, got); !found || diff != "" {
		t.Errorf("found %v (-want +got):\n%s", found, diff)
	}
}

func TestTableRoundTrip(t *testing.T) {
	want := embedded(t).Shapes
	var table bytes.Buffer
	if err := catalog.WriteTable(&table, "us-east-1", want); err != nil {
		t.Fatal(err)
	}
	got, err := catalog.ReadTable(&table, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadTableNamesThePlace(t *testing.T) {
	var table bytes.Buffer
	if err := catalog.WriteTable(&table, "us-east-1", embedded(t).Shapes[:2]); err != nil {
		t.Fatal(err)
	}
	good := table.String()
	tests := []struct {
		name string
		give string
		want string
	}{
		{"empty", "", "read header: EOF"},
		{"other region", strings.ReplaceAll(good, "us_east_1", "eu_west_1"), `unknown column "zones_eu_west_1"`},
		{"missing column", strings.Replace(good, ",trunking\n", ",type\n", 1), `column "trunking" is missing`},
		{"not a number", strings.Replace(good, "arm64,8,", "arm64,eight,", 1), `line 2, column vcpus: strconv.ParseInt: parsing "eight": invalid syntax`},
		{"short row", good + "m5.large\n", "read row: record on line 4: wrong number of fields"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := catalog.ReadTable(strings.NewReader(tt.give), "us-east-1")
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFamilyOfAlias(t *testing.T) {
	class := &aws.EC2NodeClass{}
	class.Spec.AMISelectorTerms = []aws.AMISelectorTerm{{Alias: "windows2022@latest"}}
	if got := instanceType(t, "m5.large", class, catalog.Settings{}).Labels["kubernetes.io/os"]; got != "windows" {
		t.Errorf("os %q, want windows", got)
	}
	custom := aws.FamilyCustom
	class.Spec.AMIFamily = &custom
	if got := instanceType(t, "m5.large", class, catalog.Settings{}).Labels["kubernetes.io/os"]; got != "linux" {
		t.Errorf("os %q, want linux: the family wins over the alias", got)
	}
}

func TestAliasDecidesTheFamily(t *testing.T) {
	class := &aws.EC2NodeClass{}
	class.Spec.AMISelectorTerms = []aws.AMISelectorTerm{{Alias: "bottlerocket@v1.20.0"}}
	it := instanceType(t, "m7i-flex.large", class, catalog.Settings{})
	if it.EBSAttachLimit != 30 {
		t.Errorf("%d volumes can be attached, want 30, as Bottlerocket starts with two", it.EBSAttachLimit)
	}
}
