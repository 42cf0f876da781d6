package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// whittle runs the command line and returns what it printed and its exit code.
func whittle(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	open := func(name string) *os.File {
		file, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	out, errs := open("stdout"), open("stderr")
	code = run(args, os.Stdin, out, errs)
	read := func(file *os.File) string {
		data, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return read(out), read(errs), code
}

func testdataFile(name string) string { return filepath.Join("..", "..", "testdata", name) }

func TestSimulateTellsTheCheapestNodes(t *testing.T) {
	stdout, stderr, code := whittle(t, "simulate", "-f", testdataFile("quickstart.yaml"), "--output", "json")
	if code != exitDone || stderr != "" {
		t.Fatalf("exit code %d, stderr %q, want 0 and nothing", code, stderr)
	}
	var got result
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	pods := 0
	for _, node := range got.Nodes {
		pods += len(node.Pods)
		if node.Candidates[0] != node.InstanceType || len(node.Candidates) != 60 {
			t.Errorf("node of type %s has %d candidates, %s first; want 60 and the type itself", node.InstanceType, len(node.Candidates), node.Candidates[0])
		}
		if node.NodePool != "default" || node.CapacityType != "spot" || !strings.HasPrefix(node.Zone, "us-east-1") {
			t.Errorf("node is %+v, want a spot node of NodePool default in us-east-1", node)
		}
	}
	if pods != 10 || len(got.Unplaced) != 0 || len(got.Warnings) != 2 || got.USDPerHour != 0.1943 {
		t.Errorf("%d pods on nodes for $%v/h, %d unplaced, warnings %q; want 10 for 0.1943, none, and 2", pods, got.USDPerHour, len(got.Unplaced), got.Warnings)
	}
}

func TestSimulateSaysWhyAPodCannotBePlaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "huge.yaml")
	huge := strings.Replace(readTestdata(t, "quickstart.yaml"), "cpu: 1\n", "cpu: 500\n", 1)
	huge = strings.Replace(huge, "replicas: 10", "replicas: 1", 1)
	if err := os.WriteFile(file, []byte(huge), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{"json", "yaml"} {
		stdout, _, code := whittle(t, "simulate", "-f", file, "--output", output)
		if code != exitUnplaced {
			t.Errorf("exit code %d, want %d", code, exitUnplaced)
		}
		var got result
		if err := yaml.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		want := []unplacedPod{{Pod: "default/inflate-0", Reasons: []reason{{
			NodePool: "default", Rule: "resources", Message: "needs 500 CPU, largest allowed type has 382.97 (c8i.96xlarge)",
		}}}}
		if diff := cmp.Diff(want, got.Unplaced); diff != "" {
			t.Errorf("unplaced (-want +got):\n%s", diff)
		}
	}
}

func readTestdata(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(testdataFile(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSimulateRefusesBrokenFilesAndNamesThePlace(t *testing.T) {
	tests := []struct {
		file string
		want string
	}{
		{"broken/unknown-field.yaml", `document 1 (NodePool "default"): spec.disruption.consolidatePolicy: unknown field, did you mean "consolidationPolicy"?`},
		{"broken/bad-quantity.yaml", `document 2 (NodePool "gpu"): spec.limits.cpu: "1000x" is not a quantity, want e.g. "1000" or "500m"`},
		{"broken/gt-two-values.yaml", `document 1 (NodePool "default"): spec.template.spec.requirements[1].values: Invalid value: ["4","5"]: Gt takes exactly one integer >= 0, got 2 values`},
		{"broken/selector-matching-nothing.yaml", `document 1 (NodePool "default"): spec.template.spec.requirements[1]: no instance type has karpenter.k8s.aws/instance-family In [m99]`},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			path := testdataFile(test.file)
			stdout, stderr, code := whittle(t, "simulate", "-f", path)
			if code != exitBadInput || stdout != "" {
				t.Errorf("exit code %d, stdout %q, want %d and nothing", code, stdout, exitBadInput)
			}
			if diff := cmp.Diff("whittle: "+path+": "+test.want+"\n", stderr); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadCallsExitWith2(t *testing.T) {
	calls := [][]string{
		{"simulate"},
		{"simulate", "-f", "does-not-exist.yaml"},
		{"simulate", "-f", testdataFile("quickstart.yaml"), "--output", "xml"},
		{"demo", "--output", "xml"},
		{"nonsense"},
		{"demo", "--nonsense"},
	}
	for _, args := range calls {
		if _, stderr, code := whittle(t, args...); code != exitBadInput || !strings.HasPrefix(stderr, "whittle: ") {
			t.Errorf("whittle %v exits with %d and says %q, want %d and why", args, code, stderr, exitBadInput)
		}
	}
}

func TestDemoRunsEveryPodWithinLimitsAndLeavesNothing(t *testing.T) {
	stdout, stderr, code := whittle(t, "demo", "--output", "json")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	lines := bytes.Split(bytes.TrimSpace([]byte(stdout)), []byte("\n"))
	kinds := map[string]int{}
	for _, line := range lines {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kinds[e.Kind]++
	}
	for _, kind := range []string{"apply", "pending", "launch", "ready", "running", "interruption", "terminated"} {
		if kinds[kind] == 0 {
			t.Errorf("nothing of kind %q happens", kind)
		}
	}
	if kinds["failed"]+kinds["dead letter"] > 0 {
		t.Errorf("%d invocations fail and %d messages die, want none", kinds["failed"], kinds["dead letter"])
	}
	var got summary
	if err := json.Unmarshal(lines[len(lines)-1], &got); err != nil {
		t.Fatal(err)
	}
	if got.Pods != 132 || got.Pending != 0 || got.Leftover != 0 {
		t.Errorf("summary is %+v, want 132 pods running, none pending, nothing left", got)
	}
	if got.BoundUSDPerHour <= 0 || got.USDPerHour < got.BoundUSDPerHour {
		t.Errorf("the fleet costs $%v/h, less than the bound of $%v/h", got.USDPerHour, got.BoundUSDPerHour)
	}
}

func TestDemoIsTheSameEveryTime(t *testing.T) {
	first, _, _ := whittle(t, "demo")
	second, _, _ := whittle(t, "demo")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second run differs (-first +second):\n%s", diff)
	}
}
