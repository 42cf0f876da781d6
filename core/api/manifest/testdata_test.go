package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whittle/core/api/manifest"
)

// testdata is where the files lie that people might have written.
const testdata = "../../../testdata"

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func files(tb testing.TB, pattern string) []string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(testdata, pattern))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("list %s: %v, %v", pattern, paths, err)
	}
	for i, path := range paths {
		name, err := filepath.Rel(testdata, path)
		if err != nil {
			tb.Fatal(err)
		}
		paths[i] = name
	}
	return paths
}

func lines(warnings []manifest.Warning) []string {
	var all []string
	for _, warning := range warnings {
		all = append(all, warning.String())
	}
	return all
}

// goodWarnings are what is said about each file that is in order.
func goodWarnings() map[string][]string {
	return map[string][]string{
		"quickstart.yaml": {
			`quickstart.yaml: document 1 (NodePool "default"): spec.disruption.consolidationPolicy: WhenUnderutilized is called WhenEmptyOrUnderutilized in v1; read as that`,
			`quickstart.yaml: document 2 (EC2NodeClass "default"): spec.amiSelectorTerms: not set; read as [{alias: al2023@latest}] from amiFamily AL2023`,
		},
		"critical-flexible.yaml": nil,
		"consolidation.yaml": {
			`consolidation.yaml: document 2 (NodePool "conservative"): spec.disruption.budgets[1].duration: not set: the budget is active for one hour from each firing of "0 9-17 * * MON-FRI" (UTC)`,
			`consolidation.yaml: document 2 (NodePool "conservative"): spec.disruption.budgets[2].duration: not set: the budget is active for one hour from each firing of "0 0-8,18-23 * * *" (UTC)`,
		},
		"gpu.yaml": nil,
		"minimal.yaml": {
			`minimal.yaml: document 1 (NodePool "default"): spec.template.spec.nodeClassRef.group: not set; read as karpenter.k8s.aws`,
		},
		"expiry.yaml": {
			`expiry.yaml: document 1 (NodePool "default"): spec.disruption.expireAfter: moved to spec.template.spec.expireAfter in v1; read as if it stood there`,
		},
		"flexibility.yaml": nil,
	}
}

func TestDecodeGoodFiles(t *testing.T) {
	got := map[string][]string{}
	for _, name := range files(t, "*.yaml") {
		objects, warnings, err := manifest.Decode(name, read(t, name))
		if err != nil {
			t.Errorf("%v", err)
		}
		if len(objects.NodePools) == 0 || len(objects.NodeClasses) == 0 || len(objects.Deployments) == 0 {
			t.Errorf("%s lacks pools, classes or workloads", name)
		}
		got[name] = lines(warnings)
	}
	if diff := cmp.Diff(goodWarnings(), got); diff != "" {
		t.Error(diff)
	}
}

// brokenErrors is the whole text of the error of each broken file.
func brokenErrors() map[string][]string {
	pool := func(file string) string { return "broken/" + file + `: document 1 (NodePool "default"): ` }
	return map[string][]string{
		"broken/unknown-field.yaml": {
			pool("unknown-field.yaml") + `spec.disruption.consolidatePolicy: unknown field, did you mean "consolidationPolicy"?`,
		},
		"broken/bad-quantity.yaml": {
			`broken/bad-quantity.yaml: document 2 (NodePool "gpu"): spec.limits.cpu: "1000x" is not a quantity, want e.g. "1000" or "500m"`,
		},
		"broken/gt-two-values.yaml": {
			pool("gt-two-values.yaml") + `spec.template.spec.requirements[1].values: Invalid value: ["4","5"]: Gt takes exactly one integer >= 0, got 2 values`,
		},
		"broken/selector-matching-nothing.yaml": nil, // What exists is known to the catalog only.
		"broken/bad-duration.yaml": {
			pool("bad-duration.yaml") + `spec.template.spec.expireAfter: "30d" is not a duration, want e.g. "30s", "720h" or "Never"`,
			pool("bad-duration.yaml") + `spec.template.spec.terminationGracePeriod: "Never" is not a duration, want e.g. "30s" or "1h30m"`,
		},
		"broken/bad-budgets.yaml": {
			pool("bad-budgets.yaml") + `spec.disruption.budgets[0].nodes: Invalid value: "110%": want a number such as "5" or a percentage such as "10%"`,
			pool("bad-budgets.yaml") + `spec.disruption.budgets[1].schedule: Invalid value: "0 9 * * 1-7": end of range (7) above maximum (6): 1-7 (months are 1-12 or jan-dec, days of the week 0-6 or sun-sat)`,
			pool("bad-budgets.yaml") + `spec.disruption.budgets[2].schedule: Required value: a budget with a duration needs the schedule that starts it`,
			pool("bad-budgets.yaml") + `spec.disruption.budgets[3].schedule: Invalid value: "TZ=Europe/Berlin 0 9 * * *": has a time zone; schedules are in UTC`,
		},
		"broken/repeated-field.yaml": {
			pool("repeated-field.yaml") + `line 19: field "weight" is set twice`,
		},
		"broken/restricted-label.yaml": {
			pool("restricted-label.yaml") + `spec.template.spec.requirements[1].key: Invalid value: "kubernetes.io/hostname": this label is restricted: it differs on every node`,
			pool("restricted-label.yaml") + `spec.template.spec.requirements[2].key: Invalid value: "karpenter.k8s.aws/instance-colour": this label is restricted: it lies in the domain karpenter.k8s.aws, of which only the documented labels may be used`,
			pool("restricted-label.yaml") + `spec.template.spec.requirements[3].key: Invalid value: "karpenter.sh/nodepool": this label is restricted: it always holds the name of the NodePool`,
		},
		"broken/unquoted.yaml": {
			pool("unquoted.yaml") + `spec.template.spec.requirements[1].values[0]: want a string, got 4; put it in quotes`,
			pool("unquoted.yaml") + `spec.template.spec.taints[0].value: want a string, got true; put it in quotes`,
		},
		"broken/not-yaml.yaml": {
			`broken/not-yaml.yaml: document 1: is not YAML: line 7: did not find expected key`,
		},
		"broken/old-version.yaml": {
			`broken/old-version.yaml: document 1 (Provisioner "default"): karpenter.sh/v1alpha5 Provisioner became NodePool: write it as karpenter.sh/v1 NodePool, with the AWS settings in an EC2NodeClass`,
			`broken/old-version.yaml: document 2 (AWSNodeTemplate "default"): karpenter.k8s.aws/v1alpha1 AWSNodeTemplate became EC2NodeClass: write it as karpenter.k8s.aws/v1 EC2NodeClass, with selector terms in place of selectors`,
			`broken/old-version.yaml: document 3 (NodePool "default"): karpenter.sh/v1beta1 NodePool is no longer read: write apiVersion: karpenter.sh/v1, with nodeClassRef.group in place of nodeClassRef.apiVersion, expireAfter in template.spec, and kubelet in the EC2NodeClass`,
		},
		"broken/many-mistakes.yaml": {
			pool("many-mistakes.yaml") + `spec.template.spec.kubelet: unknown field: it moved to spec.kubelet of the EC2NodeClass`,
			pool("many-mistakes.yaml") + `spec.template.spec.nodeClassRef.apiVersion: unknown field: it was replaced by group, which holds no version: karpenter.k8s.aws`,
			`broken/many-mistakes.yaml: document 2 (EC2NodeClass "default"): spec.subnetSelector: unknown field: it was replaced by subnetSelectorTerms, such as [{tags: {karpenter.sh/discovery: my-cluster}}]`,
			`broken/many-mistakes.yaml: document 2 (EC2NodeClass "default"): spec.subnetSelectorTerms: Required value: want 1 to 30 terms`,
			`broken/many-mistakes.yaml: document 2 (EC2NodeClass "default"): spec.securityGroupSelectorTerms[0].tags: Forbidden: may not be set with id`,
			`broken/many-mistakes.yaml: document 2 (EC2NodeClass "default"): spec.instanceProfile: Forbidden: may not be set with role`,
			`broken/many-mistakes.yaml: document 2 (EC2NodeClass "default"): spec.tags[karpenter.sh/nodepool]: Forbidden: this tag is written by the autoscaler`,
		},
	}
}

func TestDecodeBrokenFiles(t *testing.T) {
	got := map[string][]string{}
	for _, name := range files(t, "broken/*.yaml") {
		got[name] = nil
		if _, _, err := manifest.Decode(name, read(t, name)); err != nil {
			got[name] = strings.Split(err.Error(), "\n")
		}
	}
	if diff := cmp.Diff(brokenErrors(), got); diff != "" {
		t.Error(diff)
	}
}

func TestTranslatedSpellings(t *testing.T) {
	decode := func(name string) manifest.Objects {
		objects, _, err := manifest.Decode(name, read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	quickstart := decode("quickstart.yaml")
	got := map[string]string{
		"policy": string(quickstart.NodePools[0].Spec.Disruption.ConsolidationPolicy),
		"alias":  quickstart.NodeClasses[0].Spec.AMISelectorTerms[0].Alias,
		"group":  decode("minimal.yaml").NodePools[0].Spec.Template.Spec.NodeClassRef.Group,
		"expiry": decode("expiry.yaml").NodePools[0].Spec.Template.Spec.ExpireAfter.String(),
	}
	want := map[string]string{
		"policy": "WhenEmptyOrUnderutilized", "alias": "al2023@latest", "group": "karpenter.k8s.aws", "expiry": "720h",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
