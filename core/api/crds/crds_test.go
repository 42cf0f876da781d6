package crds_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"whittle/core/api/crds"
	"whittle/core/api/wellknown"
)

// generator is the command of the go:generate line in crds.go.
const generator = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"

func TestAll(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	type names struct{ Plural, Scope, Version, Status, ShortNames string }
	got := map[string]names{}
	for _, crd := range all {
		var object struct {
			Metadata struct{ Name string }
			Spec     struct {
				Scope string
				Names struct {
					Plural                 string
					ShortNames, Categories []string
				}
				Versions []struct {
					Name         string
					Subresources map[string]any
				}
			}
		}
		if err := yaml.Unmarshal(crd.YAML, &object); err != nil {
			t.Fatalf("%s: %v", crd.File, err)
		}
		spec := object.Spec
		if len(spec.Versions) != 1 || !cmp.Equal(spec.Names.Categories, []string{"karpenter"}) {
			t.Fatalf("%s: versions %v, categories %v", crd.File, spec.Versions, spec.Names.Categories)
		}
		var subresources []string
		for _, name := range []string{"status", "scale"} {
			if _, has := spec.Versions[0].Subresources[name]; has {
				subresources = append(subresources, name)
			}
		}
		got[object.Metadata.Name] = names{spec.Names.Plural, spec.Scope, spec.Versions[0].Name, strings.Join(subresources, " "), strings.Join(spec.Names.ShortNames, " ")}
	}
	want := map[string]names{
		"nodepools.karpenter.sh":           {"nodepools", "Cluster", "v1", "status scale", ""},
		"nodeclaims.karpenter.sh":          {"nodeclaims", "Cluster", "v1", "status", ""},
		"ec2nodeclasses.karpenter.k8s.aws": {"ec2nodeclasses", "Cluster", "v1", "status", "ec2nc ec2ncs"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// allowedAWS is the part of a rule that lists the labels of the AWS domain which may be used.
var allowedAWS = regexp.MustCompile(`\|\|\s+x(?:\.key)?\.matches\('([^']+)'\)`)

// TestRulesKnowTheWellKnownLabels compares the list of labels within the rules, where constants cannot
// be used, with the constants.
func TestRulesKnowTheWellKnownLabels(t *testing.T) {
	rules := 0
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		for _, match := range allowedAWS.FindAllSubmatch(crd.YAML, -1) {
			rules++
			pattern := regexp.MustCompile(string(match[1]))
			for _, label := range wellknown.Labels() {
				if strings.HasPrefix(label, wellknown.GroupAWS+"/") && !pattern.MatchString(label) {
					t.Errorf("%s: a rule refuses %s", crd.File, label)
				}
			}
			if undocumented := wellknown.GroupAWS + "/instance-colour"; pattern.MatchString(undocumented) {
				t.Errorf("%s: a rule allows %s", crd.File, undocumented)
			}
		}
	}
	if rules != 3 {
		t.Errorf("found %d rules, want those on a pool's labels and requirements and a claim's requirements", rules)
	}
}

// TestGeneratedFilesAreFresh runs the generator and compares what it writes with what is checked in.
func TestGeneratedFilesAreFresh(t *testing.T) {
	watchSources(t)
	if out, err := generate("--version"); err != nil {
		const message = "controller-gen cannot be run (is the Go module proxy in reach?), so nobody knows whether the generated files are stale: %v\n%s"
		if os.Getenv("CI") == "true" {
			t.Fatalf(message, err, out)
		}
		t.Skipf(message, err, out)
	}
	fresh := t.TempDir()
	arguments := [][]string{
		{"crd", "paths=../karpenter", "paths=../aws", "output:crd:artifacts:config=" + fresh},
		{"object", "paths=../karpenter", "output:object:dir=" + filepath.Join(fresh, "karpenter")},
		{"object", "paths=../aws", "output:object:dir=" + filepath.Join(fresh, "aws")},
	}
	for _, args := range arguments {
		if out, err := generate(args...); err != nil {
			t.Fatalf("controller-gen %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, pkg := range []string{"karpenter", "aws"} {
		compare(t, filepath.Join(fresh, pkg, "zz_generated.deepcopy.go"), filepath.Join("..", pkg, "zz_generated.deepcopy.go"))
	}
	generated := yamlFiles(t, fresh)
	if diff := cmp.Diff(generated, yamlFiles(t, ".")); diff != "" {
		t.Errorf("other files than the generator writes: %s", diff)
	}
	for _, name := range generated {
		compare(t, filepath.Join(fresh, name), name)
	}
}

func generate(args ...string) ([]byte, error) {
	return exec.Command("go", append([]string{"run", generator}, args...)...).CombinedOutput()
}

// watchSources reads what the generator reads, markers in comments among it, so that a cached result of
// this test counts only while that is unchanged.
func watchSources(t *testing.T) {
	t.Helper()
	for _, pkg := range []string{"karpenter", "aws"} {
		files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("list sources of %s: %v, %v", pkg, files, err)
		}
		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func yamlFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	return files
}

func compare(t *testing.T, fresh, checkedIn string) {
	t.Helper()
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(checkedIn)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is stale: run go generate ./core/api/crds (-fresh +checked in)\n%s", checkedIn, diff)
	}
}
