// Package sim is a whole world in memory: a Kubernetes API with its scheduler, controllers and
// kubelets, EC2 with capacity that runs out and Spot that is taken back, SQS with its event source
// mappings, and the ledger, all on one virtual clock. The real handlers run in it, on a laptop, and
// tests can stop time, repeat a run exactly and crash a function after any single effect.
//
// A world is single-threaded and deterministic: the same calls give the same occurrences. It decides
// nothing about nodes; that is what the handlers are there for.
package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"whittle/core/catalog"
	"whittle/events"
)

// Options shape a world. Every zero value has a default, given with its field; a negative duration is none
// at all.
type Options struct {
	// Cluster is the cluster's name; default "demo".
	Cluster string
	// Region of the cluster; default "us-east-1".
	Region string
	// Account is the AWS account's number; default "123456789012".
	Account string
	// Start is what the clock shows at first; default 5 January 2026, a Monday, 12:00 UTC.
	Start time.Time
	// Seed of everything random: the order in which unordered queues deliver, which messages are
	// disturbed.
	Seed uint64
	// Catalog of the region; default the embedded one.
	Catalog *catalog.Catalog

	// LaunchTime is how long an instance is pending before it runs; default 5 s.
	LaunchTime time.Duration
	// BootTime is from the instance running until its kubelet registers; default 30 s.
	BootTime time.Duration
	// ReadyAfter is from registration until the node is Ready; default 10 s.
	ReadyAfter time.Duration
	// ShutdownTime is how long an instance is shutting down before it is terminated; default 20 s.
	ShutdownTime time.Duration
	// PodStart is from a pod's binding until it is Running and Ready; default 2 s.
	PodStart time.Duration
	// PodStop is how long a pod takes to end when it is asked to; default 2 s. Its grace period caps it.
	PodStop time.Duration
	// JobTime is how long the pods of a Job run, unless they carry AnnotationRunFor; default 1 min.
	JobTime time.Duration
	// SpotNotice is from the interruption warning until the instance is taken; default 2 min.
	SpotNotice time.Duration
	// ConsistencyLag is from a launch until DescribeInstances shows the instance; default 2 s.
	ConsistencyLag time.Duration
	// TerminatedLinger is how long DescribeInstances goes on showing a terminated instance; default 1 h.
	TerminatedLinger time.Duration
	// KubeletSilence is how long a kubelet may be silent before its node counts as unreachable;
	// default 40 s (kube-controller-manager, --node-monitor-grace-period of old).
	KubeletSilence time.Duration
	// CloudControllerLag is from a node becoming unreachable until the cloud controller deletes the Node
	// of an instance that is gone; default 10 s.
	CloudControllerLag time.Duration
	// PodCollection is from a Node's removal until its pods are removed; default 40 s
	// (kube-controller-manager, pkg/controller/podgc, quarantine time).
	PodCollection time.Duration
	// EventBridgeLag is from something happening in EC2 until its event is in the queue; default 1 s.
	EventBridgeLag time.Duration
	// QueueLag is from a message becoming visible until an event source mapping picks it up; default 50 ms.
	QueueLag time.Duration
	// MaxReceives is after how many receives a queue gives a message up; default 5.
	MaxReceives int
	// InterruptQueue is where EventBridge sends EC2's events; default events.QueueInterrupt.
	InterruptQueue string
}

func (o Options) withDefaults() Options {
	text := func(value *string, fallback string) {
		if *value == "" {
			*value = fallback
		}
	}
	span := func(value *time.Duration, fallback time.Duration) {
		if *value == 0 {
			*value = fallback
		}
	}
	text(&o.Cluster, "demo")
	text(&o.Region, "us-east-1")
	text(&o.Account, "123456789012")
	text(&o.InterruptQueue, events.QueueInterrupt)
	if o.Start.IsZero() {
		o.Start = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)
	}
	if o.Catalog == nil {
		embedded, err := catalog.Embedded()
		if err != nil {
			panic(fmt.Sprintf("sim: %v", err))
		}
		o.Catalog = embedded
	}
	if o.MaxReceives == 0 {
		o.MaxReceives = 5
	}
	span(&o.LaunchTime, 5*time.Second)
	span(&o.BootTime, 30*time.Second)
	span(&o.ReadyAfter, 10*time.Second)
	span(&o.ShutdownTime, 20*time.Second)
	span(&o.PodStart, 2*time.Second)
	span(&o.PodStop, 2*time.Second)
	span(&o.JobTime, time.Minute)
	span(&o.SpotNotice, 2*time.Minute)
	span(&o.ConsistencyLag, 2*time.Second)
	span(&o.TerminatedLinger, time.Hour)
	span(&o.KubeletSilence, 40*time.Second)
	span(&o.CloudControllerLag, 10*time.Second)
	span(&o.PodCollection, 40*time.Second)
	span(&o.EventBridgeLag, time.Second)
	span(&o.QueueLag, 50*time.Millisecond)
	return o
}

// World is one cluster with its cloud and its queues. It is not safe for concurrent use: nothing in it
// is concurrent.
type World struct {
	options   Options
	clock     *clock
	random    *rand.Rand
	ids       *identifiers
	kube      *Kube
	ec2       *EC2
	ledger    *Ledger
	queues    map[string]*Queue
	faults    faults
	observers []func(Occurrence)
}

// New makes a world with an empty cluster: no nodes, no pods, the namespaces default and kube-system.
func New(options Options) *World {
	options = options.withDefaults()
	w := &World{
		options: options,
		clock:   newClock(options.Start),
		random:  rand.New(rand.NewPCG(options.Seed, 0)),
		ids:     &identifiers{world: options.Cluster},
		queues:  map[string]*Queue{},
	}
	w.ledger = newLedger(w)
	w.ec2 = newEC2(w)
	w.kube = newKube(w)
	return w
}

// Kube is the cluster's Kubernetes API.
func (w *World) Kube() *Kube { return w.kube }

// EC2 is the account's EC2.
func (w *World) EC2() *EC2 { return w.ec2 }

// Ledger is the account's memory beside the cluster.
func (w *World) Ledger() *Ledger { return w.ledger }
