package core_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "whittle/"

// layer is a row of the table in the README's architecture map: who may import what.
type layer struct {
	name string
	// dirs hold the layer's packages. A package in a subdirectory belongs to that directory, and those
	// of one directory may import each other.
	dirs []string
	// ordered lets each directory import those before it, as in the heart.
	ordered bool
	// ours are directories of this module that may be imported too.
	ours []string
	// outside are the modules, or parts of them, that may be imported.
	outside []string
	// unwanted are the parts of outside that may not, as Go's package patterns, and why.
	unwanted map[string]string
}

// Standard packages are told from others by having no dot in their first element.
const standardLibrary = "standard library"

func layers() []layer {
	heart := []string{
		"core/resource", "core/api", "core/requirement", "core/catalog", "core/cluster", "core/packing", "core/disruption",
	}
	heartAnd := func(more ...string) []string { return slices.Concat(heart, more) }
	kubernetes := []string{
		standardLibrary, "k8s.io/api", "k8s.io/apimachinery",
		// The rest of component-helpers brings client-go.
		"k8s.io/component-helpers/resource", "k8s.io/component-helpers/scheduling",
	}
	calculation := append(slices.Clone(kubernetes), "github.com/robfig/cron/v3", "github.com/bits-and-blooms/bitset")
	amazon := []string{
		standardLibrary, "k8s.io/api", "k8s.io/apimachinery", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go",
	}
	const (
		noIO      = "the heart does no I/O"
		noRandom  = "the same snapshot must give the same plan"
		noWait    = "waiting is a delayed message, never a process that sits"
		handedIn  = "main reads the environment, adapters do I/O"
		sameAgain = "a redelivered message must have the same effect"
	)
	impure := map[string]string{
		"os/...": noIO, "net/...": noIO, "syscall": noIO, "log/...": "the heart returns values, verbs log them",
		"math/rand/...": noRandom, "crypto/rand": noRandom,
		"k8s.io/apimachinery/pkg/util/rand": noRandom, "k8s.io/apimachinery/pkg/util/uuid": noRandom,
		"k8s.io/apimachinery/pkg/util/wait": noWait,
	}
	return []layer{
		{name: "events", dirs: []string{"events"}, outside: []string{standardLibrary}},
		{name: "heart", dirs: heart, ordered: true, outside: calculation, unwanted: impure},
		{
			// Manifests are YAML, and its parser is as pure as the rest.
			name: "heart", dirs: []string{"core/api/manifest"}, ours: []string{"core/resource", "core/api"},
			outside: append(slices.Clone(calculation), "sigs.k8s.io/yaml"), unwanted: impure,
		},
		{
			name: "generator", dirs: []string{"core/catalog/internal/generate"},
			ours: heart, outside: []string{standardLibrary},
		},
		{
			// What several verbs do in the same way comes first.
			name: "verb",
			dirs: []string{
				"core/notice", "core/launch", "core/wake", "core/provision", "core/interrupt", "core/lifecycle", "core/sweep", "core/refresh",
				"core/report", "core/install",
			},
			ours: heartAnd("events", "core/notice", "core/launch"), outside: calculation,
			unwanted: map[string]string{
				"os/...": handedIn, "net/...": handedIn, "syscall": handedIn,
				"log": "main hands a log/slog logger over", "math/rand/...": sameAgain, "crypto/rand": sameAgain,
				"k8s.io/apimachinery/pkg/util/wait": noWait,
			},
		},
		{
			name: "Kubernetes adapter", dirs: []string{"core/kube"},
			ours: heartAnd("events"), outside: append(slices.Clone(kubernetes), "k8s.io/client-go", "sigs.k8s.io/yaml"),
		},
		{
			name: "AWS adapter", dirs: []string{"core/fleet", "core/eks", "core/queue", "core/ledger"},
			ours: heartAnd("events"), outside: amazon,
		},
		{name: "sim", dirs: []string{"core/sim"}, ours: heartAnd("events"), outside: kubernetes},
		{
			name: "function", dirs: []string{"functions", "scripts"}, ours: []string{"core", "events", "functions", "testdata"},
			outside: append(slices.Clone(amazon), "github.com/aws/aws-lambda-go", "sigs.k8s.io/yaml", "golang.org/x/tools/txtar",
				"github.com/spf13/cobra", "github.com/jedib0t/go-pretty/v6", "github.com/charmbracelet/lipgloss"),
		},
		// Its one package embeds the files beside it.
		{name: "testdata", dirs: []string{"testdata"}, outside: []string{standardLibrary}},
		{
			name: "infra", dirs: []string{"infra"}, ours: []string{"events"},
			outside: []string{standardLibrary, "github.com/aws/aws-cdk-go", "github.com/aws/constructs-go", "github.com/aws/jsii-runtime-go"},
		},
	}
}

// source is one file and what it imports.
type source struct {
	file    string
	imports []string
}

// violations are the imports that the layers forbid, and the packages that have no layer.
func violations(sources []source, layers []layer) []string {
	var found []string
	for _, s := range sources {
		home, dir := layerOf(path.Dir(s.file), layers)
		test := strings.HasSuffix(s.file, "_test.go")
		if home == nil && !test {
			found = append(found, s.file+": its package has no layer: give it one in core/imports_test.go")
			continue
		}
		for _, imported := range s.imports {
			problem := ""
			switch {
			case !test:
				problem = home.problem(dir, imported)
			case home != nil && home.name == "heart":
				problem = testProblem(imported, layers)
			}
			if problem != "" {
				found = append(found, s.file+": "+problem)
			}
		}
	}
	return found
}

// layerOf finds the layer of a directory, and which of the layer's directories it is in. The longest
// wins.
func layerOf(dir string, layers []layer) (home *layer, in string) {
	for i := range layers {
		for _, candidate := range layers[i].dirs {
			if within(dir, candidate) && len(candidate) > len(in) {
				home, in = &layers[i], candidate
			}
		}
	}
	return home, in
}

// problem says what is wrong with an import of the layer's directory, or nothing.
func (l *layer) problem(dir, path string) string {
	if local, ours := strings.CutPrefix(path, module); ours {
		allowed := append([]string{dir}, l.ours...)
		if l.ordered {
			allowed = append(allowed, l.dirs[:slices.Index(l.dirs, dir)]...)
		}
		if !withinAny(local, allowed) {
			return l.name + " must not import " + path
		}
		return ""
	}
	for pattern, why := range l.unwanted {
		if dir, below := strings.CutSuffix(pattern, "/..."); path == dir || below && within(path, dir) {
			return l.name + " must not import " + path + ": " + why
		}
	}
	standard := !strings.Contains(strings.Split(path, "/")[0], ".")
	if standard && slices.Contains(l.outside, standardLibrary) || withinAny(path, l.outside) {
		return ""
	}
	return l.name + " must not import " + path
}

// testProblem is what is wrong with an import of a heart's test, which may use anything but adapters.
func testProblem(path string, layers []layer) string {
	local, ours := strings.CutPrefix(path, module)
	if !ours {
		return ""
	}
	if home, _ := layerOf(local, layers); home != nil && strings.HasSuffix(home.name, "adapter") {
		return "a test of the heart must not import " + path
	}
	return ""
}

// within tells whether a path is a directory or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// readImports parses the module's files itself: what `go list` says would be served from the test
// cache after the files changed.
func readImports(t *testing.T, root string) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipDir(root, name, entry)
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		found := source{file: filepath.ToSlash(relative)}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found.imports = append(found.imports, path)
		}
		sources = append(sources, found)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// skipDir leaves out what is no part of the module.
func skipDir(root, name string, entry fs.DirEntry) error {
	if name == root {
		return nil
	}
	hidden := strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_") ||
		entry.Name() == "testdata" && filepath.Dir(name) != root
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	if hidden || err == nil {
		return filepath.SkipDir
	}
	return nil
}

func TestImportsFollowTheLayers(t *testing.T) {
	sources := readImports(t, "..")
	if len(sources) < 50 {
		t.Fatalf("only %d files found: they are not where they were", len(sources))
	}
	for _, violation := range violations(sources, layers()) {
		t.Error(violation)
	}
}

func TestAPackageThatImportsNothingNeedsALayerToo(t *testing.T) {
	got := violations([]source{{file: "core/limits/limits.go"}, {file: "core/limits/limits_test.go"}}, layers())
	want := []string{"core/limits/limits.go: its package has no layer: give it one in core/imports_test.go"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func TestViolationsAreFound(t *testing.T) {
	tests := []struct {
		file, path string
		want       string
	}{
		{"core/packing/plan.go", "whittle/core/catalog", ""},
		{"core/packing/plan.go", "whittle/core/disruption", "heart must not import whittle/core/disruption"},
		{"core/packing/plan.go", "whittle/core/wake", "heart must not import whittle/core/wake"},
		{"core/packing/plan.go", "whittle/core/queue", "heart must not import whittle/core/queue"},
		{"core/packing/plan.go", "whittle/events", "heart must not import whittle/events"},
		{"core/packing/plan.go", "slices", ""},
		{"core/packing/plan.go", "os", "heart must not import os: the heart does no I/O"},
		{"core/packing/plan.go", "os/exec", "heart must not import os/exec: the heart does no I/O"},
		{"core/packing/plan.go", "net/http", "heart must not import net/http: the heart does no I/O"},
		{"core/packing/plan.go", "log/slog", "heart must not import log/slog: the heart returns values, verbs log them"},
		{"core/packing/plan.go", "math/rand/v2", "heart must not import math/rand/v2: the same snapshot must give the same plan"},
		{"core/packing/plan.go", "k8s.io/apimachinery/pkg/util/rand", "heart must not import k8s.io/apimachinery/pkg/util/rand: the same snapshot must give the same plan"},
		{"core/packing/plan.go", "k8s.io/api/core/v1", ""},
		{"core/packing/plan.go", "k8s.io/apiextensions-apiserver/pkg/apis", "heart must not import k8s.io/apiextensions-apiserver/pkg/apis"},
		{"core/packing/plan.go", "k8s.io/component-helpers/resource", ""},
		{"core/packing/plan.go", "k8s.io/component-helpers/storage/volume", "heart must not import k8s.io/component-helpers/storage/volume"},
		{"core/packing/plan.go", "k8s.io/client-go/kubernetes", "heart must not import k8s.io/client-go/kubernetes"},
		{"core/packing/plan_test.go", "os", ""},
		{"core/packing/plan_test.go", "whittle/core/sim", ""},
		{"core/packing/plan_test.go", "whittle/core/fleet", "a test of the heart must not import whittle/core/fleet"},
		{"core/packing/plan_test.go", "whittle/core/kube", "a test of the heart must not import whittle/core/kube"},
		{"core/resource/list.go", "whittle/core/api/karpenter", "heart must not import whittle/core/api/karpenter"},
		{"core/api/aws/class.go", "whittle/core/api/karpenter", ""},
		{"core/api/aws/class.go", "whittle/core/resource", ""},
		{"core/api/aws/class.go", "whittle/core/requirement", "heart must not import whittle/core/requirement"},
		{"core/api/manifest/decode.go", "sigs.k8s.io/yaml", ""},
		{"core/api/manifest/decode.go", "whittle/core/api/aws", ""},
		{"core/api/manifest/decode.go", "os", "heart must not import os: the heart does no I/O"},
		{"core/api/manifest/decode.go", "whittle/core/catalog", "heart must not import whittle/core/catalog"},
		{"core/api/aws/class.go", "sigs.k8s.io/yaml", "heart must not import sigs.k8s.io/yaml"},
		{"core/packing/plan.go", "whittle/core/api/manifest", ""},
		{"core/catalog/internal/generate/main.go", "os", ""},
		{"core/catalog/internal/generate/main.go", "whittle/core/catalog", ""},
		{"core/wake/handler.go", "whittle/core/api/karpenter", ""},
		{"core/wake/handler.go", "whittle/events", ""},
		{"core/wake/handler.go", "log/slog", ""},
		{"core/wake/handler.go", "log", "verb must not import log: main hands a log/slog logger over"},
		{"core/wake/handler.go", "whittle/core/sweep", "verb must not import whittle/core/sweep"},
		{"core/wake/handler.go", "whittle/core/sim", "verb must not import whittle/core/sim"},
		{"core/wake/handler.go", "whittle/core/queue", "verb must not import whittle/core/queue"},
		{"core/wake/handler.go", "github.com/aws/aws-sdk-go-v2/service/sqs", "verb must not import github.com/aws/aws-sdk-go-v2/service/sqs"},
		{"core/wake/handler.go", "net/http", "verb must not import net/http: main reads the environment, adapters do I/O"},
		{"core/provision/provision.go", "whittle/core/launch", ""},
		{"core/launch/launch.go", "whittle/core/provision", "verb must not import whittle/core/provision"},
		{"core/queue/queue.go", "github.com/aws/aws-sdk-go-v2/service/sqs", ""},
		{"core/queue/queue.go", "github.com/aws/aws-lambda-go/events", "AWS adapter must not import github.com/aws/aws-lambda-go/events"},
		{"core/queue/queue.go", "k8s.io/client-go/rest", "AWS adapter must not import k8s.io/client-go/rest"},
		{"core/queue/queue.go", "whittle/core/wake", "AWS adapter must not import whittle/core/wake"},
		{"core/queue/queue.go", "whittle/core/fleet", "AWS adapter must not import whittle/core/fleet"},
		{"core/kube/client.go", "k8s.io/client-go/rest", ""},
		{"core/kube/client.go", "github.com/aws/aws-sdk-go-v2/aws", "Kubernetes adapter must not import github.com/aws/aws-sdk-go-v2/aws"},
		{"core/sim/world.go", "whittle/core/wake", "sim must not import whittle/core/wake"},
		{"core/sim/world.go", "whittle/core/packing", ""},
		{"core/sim/world.go", "k8s.io/client-go/rest", "sim must not import k8s.io/client-go/rest"},
		{"events/parse.go", "k8s.io/api/core/v1", "events must not import k8s.io/api/core/v1"},
		{"events/parse.go", "whittle/core/api/karpenter", "events must not import whittle/core/api/karpenter"},
		{"functions/wake/main.go", "whittle/core/wake", ""},
		{"functions/wake/main.go", "whittle/functions/httpapi", ""},
		{"functions/wake/main.go", "github.com/aws/aws-lambda-go/lambda", ""},
		{"functions/wake/main.go", "github.com/aws/aws-cdk-go/awscdk/v2", "function must not import github.com/aws/aws-cdk-go/awscdk/v2"},
		{"functions/wake/main.go", "whittle/infra/stack", "function must not import whittle/infra/stack"},
		{"scripts/whittle/main.go", "github.com/spf13/cobra", ""},
		{"scripts/whittle/demo.go", "whittle/testdata", ""},
		{"core/sim/world.go", "whittle/testdata", "sim must not import whittle/testdata"},
		{"testdata/testdata.go", "whittle/core/sim", "testdata must not import whittle/core/sim"},
		{"infra/stack.go", "github.com/aws/aws-cdk-go/awscdk/v2", ""},
		{"infra/stack.go", "whittle/core/wake", "infra must not import whittle/core/wake"},
		{"core/helper/strings.go", "strings", "its package has no layer: give it one in core/imports_test.go"},
		{"core/wakeup/wakeup.go", "strings", "its package has no layer: give it one in core/imports_test.go"},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.path, func(t *testing.T) {
			var want []string
			if test.want != "" {
				want = []string{test.file + ": " + test.want}
			}
			got := violations([]source{{test.file, []string{test.path}}}, layers())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}
