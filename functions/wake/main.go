// Command wake is the Lambda function behind the HTTP API that a cluster's admission callbacks reach.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"whittle/core/queue"
	"whittle/core/wake"
	"whittle/events"
	"whittle/functions/httpapi"
)

func main() {
	log := slog.New(lambdacontext.NewLogHandler())
	if err := run(context.Background(), log); err != nil {
		log.Error("wake does not start", slog.Any(events.KeyError, err))
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger) error {
	settings, err := readSettings(os.Getenv)
	if err != nil {
		return err
	}
	client, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("load AWS configuration: %w", err)
	}
	handler := newHandler(settings, queue.New(sqs.NewFromConfig(client), settings.queues), log)
	lambda.Start(httpapi.Handler(handler.Handle))
	return nil
}

func newHandler(s settings, sender wake.Sender, log *slog.Logger) *wake.Handler {
	return &wake.Handler{Token: s.token, Cluster: s.cluster, Queue: sender, Clock: time.Now, Log: log}
}

// settings are what a deployment decides.
type settings struct {
	cluster string
	token   string
	queues  map[string]string
}

// The environment of the function.
const (
	envCluster      = "WHITTLE_CLUSTER"
	envToken        = "WHITTLE_TOKEN"
	envProvisionURL = "WHITTLE_PROVISION_QUEUE_URL"
	envLifecycleURL = "WHITTLE_LIFECYCLE_QUEUE_URL"
)

// readSettings names everything that is missing at once.
func readSettings(getenv func(string) string) (settings, error) {
	var missing []string
	require := func(name string) string {
		value := getenv(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	}
	s := settings{
		cluster: require(envCluster),
		token:   require(envToken),
		queues: map[string]string{
			events.QueueProvision: require(envProvisionURL),
			events.QueueLifecycle: require(envLifecycleURL),
		},
	}
	if len(missing) > 0 {
		return settings{}, fmt.Errorf("read environment: %s missing", strings.Join(missing, ", "))
	}
	if err := events.CheckCluster(s.cluster); err != nil {
		return settings{}, fmt.Errorf("read environment: %s: %w", envCluster, err)
	}
	return s, nil
}
