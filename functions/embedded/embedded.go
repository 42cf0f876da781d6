// Package embedded hosts all functions on the world in memory: the same handlers that Lambda runs,
// invoked with the same payloads, over queues, callbacks and schedules that behave like the real ones.
// The command line's demo, the tests of whole scenarios and, until they have adapters to real clusters,
// the functions themselves run on it.
package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	awsevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"whittle/core/interrupt"
	"whittle/core/launch"
	"whittle/core/lifecycle"
	"whittle/core/notice"
	"whittle/core/provision"
	"whittle/core/sim"
	"whittle/core/sweep"
	"whittle/core/wake"
	"whittle/events"
	"whittle/functions/httpapi"
	"whittle/functions/sqsbatch"
)

// Options shape a Stack.
type Options struct {
	World sim.Options
	// Log takes the functions' log lines; nil discards them.
	Log *slog.Logger
	// SweepEvery is the schedule of the sweep; default one minute.
	SweepEvery time.Duration
}

// Stack is the world with everything of Whittle connected to it.
type Stack struct {
	World *sim.World

	Wake      func(context.Context, awsevents.APIGatewayV2HTTPRequest) (awsevents.APIGatewayV2HTTPResponse, error)
	Provision SQSFunction
	Lifecycle SQSFunction
	Interrupt SQSFunction
	Sweep     SQSFunction

	invocations int
}

// SQSFunction is a Lambda function that a queue feeds.
type SQSFunction func(context.Context, awsevents.SQSEvent) (awsevents.SQSEventResponse, error)

// token is the secret path segment of the world's callbacks. Nothing but the world itself can call.
const token = "embedded"

// New makes a world and connects the functions to it.
func New(options Options) *Stack {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.SweepEvery == 0 {
		options.SweepEvery = time.Minute
	}
	if options.World.Cluster == "" {
		options.World.Cluster = "my-cluster"
	}
	s := &Stack{World: sim.New(options.World)}
	s.connect(options.World.Cluster, options.Log)
	s.subscribe(options.World.Cluster, options.SweepEvery)
	return s
}

// connect builds the handlers over the world's adapters.
func (s *Stack) connect(cluster string, log *slog.Logger) {
	kube, ec2, ledger, queue := s.World.Kube(), s.World.EC2(), s.World.Ledger(), s.World.Sender()
	board := notice.Board{Recorder: kube, Log: log}
	launcher := &launch.Launcher{Cluster: cluster, Fleet: ec2, Ledger: ledger, Claims: kube, Events: board, Log: log}

	s.Wake = httpapi.Handler((&wake.Handler{
		Token: token, Cluster: cluster, Queue: queue, Clock: s.World.Now, Log: log,
	}).Handle)

	provisioner := &provision.Handler{
		Cluster: cluster, Owner: s.owner, Reader: kube, Claims: kube, Launcher: launcher,
		Ledger: ledger, Queue: queue, Events: board, Clock: s.World, Log: log,
	}
	s.Provision = batch(log, events.DecodeWake, provisioner.Handle)

	walker := &lifecycle.Handler{
		Cluster: cluster, Owner: s.owner, Reader: kube, Claims: kube, Nodes: kube, Pods: kube, Instances: ec2,
		Launcher: launcher, Ledger: ledger, Queue: queue, Events: board, Log: log,
	}
	s.Lifecycle = batch(log, events.DecodeStep, walker.Handle)

	interrupter := &interrupt.Handler{
		Cluster: cluster, Reader: kube, Writer: kube, Ledger: ledger, Queue: queue, Events: board, Log: log,
	}
	s.Interrupt = batch(log, events.Parse, interrupter.Handle)

	sweeper := &sweep.Handler{
		Cluster: cluster, Reader: kube, Writer: kube, Instances: ec2, Queue: queue, Events: board, Log: log,
	}
	s.Sweep = batch(log, events.DecodeSweep, sweeper.Handle)
}

// owner names each invocation anew, as Lambda's request id does.
func (s *Stack) owner(context.Context) string {
	s.invocations++
	return fmt.Sprintf("invocation-%d", s.invocations)
}

// batch makes the Lambda function that decodes each record and gives it to the verb.
func batch[M any](log *slog.Logger, decode func([]byte) (M, error), handle func(context.Context, M) error) SQSFunction {
	return sqsbatch.Handler(func(ctx context.Context, record sqsbatch.Record) error {
		message, err := decode(record.Body)
		if err != nil {
			return fmt.Errorf("decode message %s: %w", record.ID, err)
		}
		return handle(ctx, message)
	}, sqsbatch.WithLogger(log))
}

// subscribe has the world invoke the functions, with JSON in and out as Lambda does it.
func (s *Stack) subscribe(cluster string, sweepEvery time.Duration) {
	s.World.Webhooks(s.callback)
	mappings := []struct {
		queue    string
		batch    int
		function SQSFunction
	}{
		{events.QueueProvision, 10, s.Provision},
		{events.QueueLifecycle, 10, s.Lifecycle},
		{events.QueueInterrupt, 10, s.Interrupt},
		{events.QueueSweep, 1, s.Sweep},
	}
	for _, m := range mappings {
		invoke := lambda.NewHandler(m.function).Invoke
		s.World.Map(m.queue, sim.Mapping{BatchSize: m.batch, Visibility: 30 * time.Second}, invoke)
	}
	s.World.Every(sweepEvery, func() {
		// The world's own queues take every message; there is no one to report to.
		_ = s.World.Queue(events.QueueSweep).Send(context.Background(), events.Sweep{Cluster: cluster}.Outgoing(s.World.Now()))
	})
}

// callback plays API Gateway between the API server and the function.
func (s *Stack) callback(ctx context.Context, path string, body []byte) (status int, response []byte) {
	request := awsevents.APIGatewayV2HTTPRequest{
		Version:  "2.0",
		RouteKey: "$default",
		RawPath:  "/" + token + path,
		Headers:  map[string]string{"content-type": "application/json"},
		Body:     string(body),
	}
	request.RequestContext.HTTP.Method = "POST"
	request.RequestContext.HTTP.Path = request.RawPath
	payload, err := json.Marshal(request)
	if err != nil {
		return 500, []byte(err.Error())
	}
	answer, err := lambda.NewHandler(s.Wake).Invoke(ctx, payload)
	if err != nil {
		return 502, []byte(err.Error())
	}
	var decoded awsevents.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(answer, &decoded); err != nil {
		return 502, []byte(err.Error())
	}
	return decoded.StatusCode, []byte(decoded.Body)
}
