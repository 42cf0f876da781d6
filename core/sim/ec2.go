package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/wellknown"
	"whittle/core/cluster"
)

// EC2 launches instances, which run, are interrupted, shut down and are terminated. What it sells, at what
// price and how much of it is left, is in market.go.
type EC2 struct {
	world     *World
	market    *market
	instances map[cluster.InstanceID]*instance
	// order is that of the launches.
	order    []*instance
	launches map[string]*launch
	limit    throttle
	joinless func(cluster.Instance) bool
}

// instance is an instance with what only EC2 and its kubelet know.
type instance struct {
	cluster.Instance
	request      cluster.LaunchRequest
	usdPerHour   float64
	visible      time.Time
	terminatedAt time.Time
}

// launch is a request that was seen, by its id.
type launch struct {
	request cluster.LaunchRequest
	result  cluster.LaunchResult
}

// APIError is an error as EC2 gives it, with its code.
type APIError struct {
	Code    string
	Message string
}

// Error is the code and the message.
func (e *APIError) Error() string { return "api error " + e.Code + ": " + e.Message }

// ErrorCode is EC2's code, as the SDK's errors give it.
func (e *APIError) ErrorCode() string { return e.Code }

// ErrorMessage is EC2's message.
func (e *APIError) ErrorMessage() string { return e.Message }

func newEC2(w *World) *EC2 {
	return &EC2{
		world: w, market: &market{catalog: w.options.Catalog},
		instances: map[cluster.InstanceID]*instance{}, launches: map[string]*launch{},
	}
}

// Launch launches up to Count instances, each the cheapest of the overrides that EC2 has capacity for; the
// failures name those that it had none for. A request whose id EC2 has seen launches nothing and has the
// same result as then; with other parameters it is the error IdempotentParameterMismatch.
func (e *EC2) Launch(_ context.Context, request cluster.LaunchRequest) (cluster.LaunchResult, error) {
	var result cluster.LaunchResult
	err := e.world.effect("ec2.Launch", request.ID, func() error {
		if err := e.limit.take(e.world.clock.now); err != nil {
			return err
		}
		var err error
		result, err = e.launch(request)
		return err
	})
	if err != nil {
		return cluster.LaunchResult{}, err
	}
	return cloneResult(result), nil
}

func (e *EC2) launch(request cluster.LaunchRequest) (cluster.LaunchResult, error) {
	if seen, ok := e.launches[request.ID]; ok && request.ID != "" {
		if !e.world.kube.store.equal.DeepEqual(seen.request, request) {
			return cluster.LaunchResult{}, &APIError{"IdempotentParameterMismatch", fmt.Sprintf("the client token %q was used with other parameters", request.ID)}
		}
		return seen.result, nil
	}
	if request.Count < 1 || len(request.Overrides) == 0 {
		return cluster.LaunchResult{}, &APIError{"InvalidParameterValue", fmt.Sprintf("a launch of %d instances with %d overrides", request.Count, len(request.Overrides))}
	}
	request = cloneRequest(request)
	var result cluster.LaunchResult
	offers, refused := e.market.offers(request)
	result.Failures = refused
	for len(result.Instances) < request.Count && len(offers) > 0 {
		if !e.market.take(offers[0].Offering) {
			result.Failures = append(result.Failures, noCapacity(offers[0].Offering))
			e.world.occur(LaunchRefused, request.ID, "%s %s %s", offers[0].CapacityType, offers[0].InstanceType, offers[0].Zone)
			offers = offers[1:]
			continue
		}
		result.Instances = append(result.Instances, e.start(request, offers[0]).copy())
	}
	if request.ID != "" {
		e.launches[request.ID] = &launch{request: request, result: result}
	}
	return result, nil
}

func cloneRequest(request cluster.LaunchRequest) cluster.LaunchRequest {
	request.NodeClass = request.NodeClass.DeepCopy()
	request.Overrides = slices.Clone(request.Overrides)
	request.Tags, request.Labels = maps.Clone(request.Tags), maps.Clone(request.Labels)
	taints := make([]corev1.Taint, len(request.Taints))
	for i := range request.Taints {
		request.Taints[i].DeepCopyInto(&taints[i])
	}
	request.Taints = taints
	return request
}

func cloneResult(result cluster.LaunchResult) cluster.LaunchResult {
	instances := slices.Clone(result.Instances)
	for i := range instances {
		instances[i].Tags = maps.Clone(instances[i].Tags)
	}
	return cluster.LaunchResult{Instances: instances, Failures: slices.Clone(result.Failures)}
}

func noCapacity(offering cluster.Offering) cluster.LaunchFailure {
	return cluster.LaunchFailure{
		Offering: offering,
		Code:     "InsufficientInstanceCapacity",
		Message:  fmt.Sprintf("There is no %s capacity for %s in %s.", offering.CapacityType, offering.InstanceType, offering.Zone),
	}
}

// start makes one instance: pending, then running.
func (e *EC2) start(request cluster.LaunchRequest, offer offer) *instance {
	w := e.world
	i := &instance{
		Instance: cluster.Instance{
			ID:           cluster.InstanceID("i-0" + w.ids.hex("instance", 16)),
			InstanceType: offer.InstanceType, Zone: offer.Zone, CapacityType: request.CapacityType,
			ImageID: e.market.image(request.NodeClass, offer.InstanceType),
			State:   cluster.InstancePending, LaunchedAt: w.clock.now, Tags: maps.Clone(request.Tags),
		},
		request: request, usdPerHour: offer.usdPerHour, visible: w.clock.now.Add(w.options.ConsistencyLag),
	}
	e.instances[i.ID] = i
	e.order = append(e.order, i)
	w.occur(InstanceLaunched, string(i.ID), "%s %s %s at $%.4f/h", i.CapacityType, i.InstanceType, i.Zone, i.usdPerHour)
	e.announce(i)
	w.clock.after(w.options.LaunchTime, func() {
		if i.State != cluster.InstancePending {
			return
		}
		i.State = cluster.InstanceRunning
		w.occur(InstanceRunning, string(i.ID), "")
		e.announce(i)
		w.kube.kubelets.boot(i)
	})
	return i
}

// Instances are those tagged with the cluster's name, as EC2 shows them: one just launched may be missing,
// a terminated one stays for a while.
func (e *EC2) Instances(context.Context) ([]cluster.Instance, error) {
	if err := e.limit.take(e.world.clock.now); err != nil {
		return nil, err
	}
	now := e.world.clock.now
	var shown []cluster.Instance
	for _, i := range e.order {
		gone := i.State == cluster.InstanceTerminated && !now.Before(i.terminatedAt.Add(e.world.options.TerminatedLinger))
		if i.Tags[wellknown.TagClusterName] == e.world.options.Cluster && !now.Before(i.visible) && !gone {
			shown = append(shown, i.copy())
		}
	}
	return shown, nil
}

// Terminate ends instances. If one of the ids is unknown, none ends, and the error is
// InvalidInstanceID.NotFound.
func (e *EC2) Terminate(_ context.Context, ids ...cluster.InstanceID) error {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return e.world.effect("ec2.Terminate", strings.Join(names, ","), func() error {
		if err := e.limit.take(e.world.clock.now); err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := e.find(id); err != nil {
				return err
			}
		}
		for _, id := range ids {
			e.shutDown(e.instances[id])
		}
		return nil
	})
}

// Tag puts tags on an instance, over those of the same key.
func (e *EC2) Tag(_ context.Context, id cluster.InstanceID, tags map[string]string) error {
	return e.world.effect("ec2.Tag", string(id), func() error {
		if err := e.limit.take(e.world.clock.now); err != nil {
			return err
		}
		i, err := e.find(id)
		if err != nil {
			return err
		}
		i.Tags = merge(i.Tags, tags)
		return nil
	})
}

func (e *EC2) find(id cluster.InstanceID) (*instance, error) {
	i, ok := e.instances[id]
	if !ok {
		return nil, &APIError{"InvalidInstanceID.NotFound", fmt.Sprintf("The instance ID '%s' does not exist", id)}
	}
	return i, nil
}

// shutDown ends an instance in its own time. Its kubelet falls silent at once.
func (e *EC2) shutDown(i *instance) {
	if !i.State.Live() {
		return
	}
	w := e.world
	i.State = cluster.InstanceShuttingDown
	w.occur(InstanceShutdown, string(i.ID), "")
	e.announce(i)
	w.kube.lifecycle.kubeletDied(i)
	w.clock.after(w.options.ShutdownTime, func() { e.terminated(i) })
}

func (e *EC2) terminated(i *instance) {
	if i.State == cluster.InstanceTerminated {
		return
	}
	i.State, i.terminatedAt = cluster.InstanceTerminated, e.world.clock.now
	e.world.occur(InstanceTerminated, string(i.ID), "")
	e.announce(i)
}

// Interrupt has EC2 take a Spot instance back: the warning comes at once, the end after
// Options.SpotNotice.
func (e *EC2) Interrupt(_ context.Context, id cluster.InstanceID) error {
	i, err := e.find(id)
	switch {
	case err != nil:
		return err
	case i.CapacityType != wellknown.CapacityTypeSpot:
		return fmt.Errorf("interrupt %s: it is an %s instance, only spot instances are interrupted", id, i.CapacityType)
	case !i.State.Live():
		return fmt.Errorf("interrupt %s: it is %s", id, i.State)
	}
	e.world.occur(InstanceInterrupted, string(id), "%s %s", i.InstanceType, i.Zone)
	e.warn(i)
	e.world.clock.after(e.world.options.SpotNotice, func() { e.shutDown(i) })
	return nil
}

// Kill ends an instance at once, as a broken host does.
func (e *EC2) Kill(id cluster.InstanceID) error {
	i, err := e.find(id)
	if err != nil {
		return err
	}
	if i.State.Live() {
		e.world.kube.lifecycle.kubeletDied(i)
	}
	e.terminated(i)
	return nil
}

// NeverJoin keeps the kubelets of the chosen instances from ever registering.
func (e *EC2) NeverJoin(choose func(cluster.Instance) bool) { e.joinless = choose }

func (e *EC2) neverJoin(i cluster.Instance) bool {
	return e.joinless != nil && e.joinless(i)
}

// Throttle lets EC2 take this many calls per second, and twice as many at once; more are refused with
// RequestLimitExceeded. Zero is no limit.
func (e *EC2) Throttle(callsPerSecond float64) {
	e.limit = throttle{rate: callsPerSecond, tokens: 2 * callsPerSecond, refilled: e.world.clock.now}
}

// throttle is a token bucket.
type throttle struct {
	rate, tokens float64
	refilled     time.Time
}

func (t *throttle) take(now time.Time) error {
	if t.rate == 0 {
		return nil
	}
	t.tokens = min(2*t.rate, t.tokens+t.rate*now.Sub(t.refilled).Seconds())
	t.refilled = now
	if t.tokens < 1 {
		return &APIError{"RequestLimitExceeded", "Request limit exceeded."}
	}
	t.tokens--
	return nil
}

// Live are the instances that run or will, in the order of their launch, whoever they are tagged for.
func (e *EC2) Live() []cluster.Instance {
	var live []cluster.Instance
	for _, i := range e.order {
		if i.State.Live() {
			live = append(live, i.copy())
		}
	}
	return live
}

// CostPerHour is what the live instances cost together, in dollars, at the prices of their launch.
func (e *EC2) CostPerHour() float64 {
	var sum float64
	for _, i := range e.order {
		if i.State.Live() {
			sum += i.usdPerHour
		}
	}
	return sum
}

func (e *EC2) running(id cluster.InstanceID) bool {
	i, ok := e.instances[id]
	return ok && i.State == cluster.InstanceRunning
}

// copy is the instance for someone outside.
func (i *instance) copy() cluster.Instance {
	shown := i.Instance
	shown.Tags = maps.Clone(i.Tags)
	return shown
}
