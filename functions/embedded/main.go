package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"whittle/core/api/manifest"
	"whittle/core/sim"
	"whittle/events"
)

// The environment of functions that run on the embedded world.
const (
	envCluster = "WHITTLE_CLUSTER"
	// envManifests names files, separated by colons, whose objects are in the world from the start.
	envManifests = "WHITTLE_MANIFESTS"
)

// Main runs one of the functions as Lambda runs it, on an embedded world of its own. It returns only
// when the function cannot start.
func Main(choose func(*Stack) SQSFunction) {
	log := slog.New(lambdacontext.NewLogHandler())
	stack, err := fromEnvironment(context.Background(), os.Getenv, os.ReadFile, log)
	if err != nil {
		log.Error("function does not start", slog.Any(events.KeyError, err))
		os.Exit(1)
	}
	lambda.Start(choose(stack))
}

func fromEnvironment(ctx context.Context, getenv func(string) string, read func(string) ([]byte, error), log *slog.Logger) (*Stack, error) {
	stack := New(Options{World: sim.Options{Cluster: getenv(envCluster)}, Log: log})
	for _, name := range strings.FieldsFunc(getenv(envManifests), func(r rune) bool { return r == ':' }) {
		data, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", envManifests, err)
		}
		objects, _, err := manifest.Decode(name, data)
		if err != nil {
			return nil, err
		}
		for _, object := range objects.All() {
			if err := stack.World.Kube().Apply(ctx, object); err != nil {
				return nil, fmt.Errorf("apply an object of %s: %w", name, err)
			}
		}
	}
	return stack, nil
}
