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
	// dirs hold the layer's packages, subdirectories included. In the heart their order counts: each
	// may import those before it.
	dirs    []string
	ordered bool
	// ours are the directories of the module that may be imported beside earlier dirs of the layer.
	ours []string
	// outside are the modules, or parts of them, that may be imported.
	outside []string
	// unwanted are standard packages, or parts of what outside allows, that may not, and why.
	unwanted map[string]string
}

// Standard packages are told from others by having no dot in their first element.
const standardLibrary = "standard library"

func layers() []layer {
	heart := []string{
		"core/resource", "core/api", "core/requirement", "core/catalog", "core/cluster", "core/packing", "core/disruption",
	}
	kubernetes := []string{
		standardLibrary, "k8s.io/api", "k8s.io/apimachinery",
		// The rest of component-helpers brings client-go.
		"k8s.io/component-helpers/resource", "k8s.io/component-helpers/scheduling",
	}
	heartOutside := append(slices.Clone(kubernetes), "github.com/robfig/cron/v3", "github.com/bits-and-blooms/bitset")
	pure := map[string]string{
		"os":          "the heart does no I/O",
		"net":         "the heart does no I/O",
		"syscall":     "the heart does no I/O",
		"log":         "the heart returns values; verbs log",
		"math/rand":   "the same snapshot must give the same plan",
		"crypto/rand": "the same snapshot must give the same plan",
		"k8s.io/apimachinery/pkg/util/rand": "the same snapshot must give the same plan",
		"k8s.io/apimachinery/pkg/util/uuid": "the same snapshot must give the same plan",
		"k8s.io/apimachinery/pkg/util/wait": "the heart does not wait",
	}
	verb := map[string]string{
		"os":          "main reads the environment and hands it over",
		"net":         "adapters do I/O",
		"syscall":     "adapters do I/O",
		"log":         "log through the log/slog logger that main hands over",
		"math/rand":   "a redelivered message must have the same effect",
		"crypto/rand": "a redelivered message must have the same effect",
	}
	awsSDK := []string{standardLibrary, "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "k8s.io/api", "k8s.io/apimachinery"}
	return []layer{
		{name: "events", dirs: []string{"events"}, outside: []string{standardLibrary}},
		{name: "heart", dirs: heart, ordered: true, outside: heartOutside, unwanted: pure},
		{
			name: "verb",
			dirs: []string{
				"core/wake", "core/provision", "core/interrupt", "core/lifecycle", "core/sweep", "core/refresh", "core/report", "core/install",
			},
			ours: append(slices.Clone(heart), "events"), outside: append(slices.Clone(heartOutside), "log/slog"), unwanted: verb,
		},
		{
			name: "Kubernetes adapter", dirs: []string{"core/kube"}, ours: append(slices.Clone(heart), "events"),
			outside: append(slices.Clone(kubernetes), "k8s.io/client-go", "sigs.k8s.io/yaml"),
		},
		{
			name: "AWS adapter", dirs: []string{"core/fleet", "core/eks", "core/queue", "core/ledger"},
			ours: append(slices.Clone(heart), "events"), outside: awsSDK,
		},
		{name: "sim", dirs: []string{"core/sim"}, ours: append(slices.Clone(heart), "events"), outside: kubernetes},
		{
			name: "function", dirs: []string{"functions", "scripts"}, ours: []string{"core", "events", "functions"},
			outside: append(slices.Clone(awsSDK), "github.com/aws/aws-lambda-go", "sigs.k8s.io/yaml", "golang.org/x/tools/txtar",
				"github.com/spf13/cobra", "github.com/jedib0t/go-pretty/v6", "github.com/charmbracelet/lipgloss"),
		},
		{
			name: "infra", dirs: []string{"infra"}, ours: []string{"events"},
			outside: []string{standardLibrary, "github.com/aws/aws-cdk-go", "github.com/aws/constructs-go", "github.com/aws/jsii-runtime-go"},
		},
	}
}
