package packing_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"whittle/core/api/manifest"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/testdata"
)

//nolint:gochecknoglobals // a test's flag is one
var update = flag.Bool("update", false, "rewrite the golden plans and the want sections of the scenarios")

// planFor solves what the manifests describe, with the embedded catalog.
func planFor(t *testing.T, name string, manifests []byte) string {
	t.Helper()
	objects, _, err := manifest.Decode(name, manifests)
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.FromManifests(objects)
	s.Name, s.Now = "test", time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	if s.Catalog, err = catalog.Embedded(); err != nil {
		t.Fatal(err)
	}
	return render(packing.Solve(s, packing.Options{}))
}

// TestGoldenPlans pins types, zones, capacity types and prices of the plan for each manifest of testdata.
func TestGoldenPlans(t *testing.T) {
	files, err := fs.Glob(testdata.Files, "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			data, err := testdata.Files.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("..", "..", "testdata", "golden", strings.TrimSuffix(file, ".yaml")+".txt")
			got := planFor(t, file, data)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestScenarios solves each scenario: cluster.yaml is what is there, pending.yaml what waits, want the
// plan.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "scenarios", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			section := map[string]int{}
			for i, f := range archive.Files {
				section[f.Name] = i
			}
			manifests := bytes.Join([][]byte{
				archive.Files[section["cluster.yaml"]].Data, archive.Files[section["pending.yaml"]].Data,
			}, []byte("\n---\n"))
			got := planFor(t, filepath.Base(file), manifests)
			want := &archive.Files[section["want"]]
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}
