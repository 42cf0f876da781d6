package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whittle/core/cluster"
	"whittle/core/sim"
)

func TestLaunchesAreRecordedOnce(t *testing.T) {
	w := newWorld(sim.Options{})
	request := launchOf("l", onDemand, 1, "m5.large")
	request.NodeClass = nodeClass()
	recorded, existed, err := w.Ledger().RecordLaunch(t.Context(), request)
	if err != nil || existed {
		t.Fatalf("first record: existed %v, error %v", existed, err)
	}
	recorded.Tags["changed"] = "by its receiver"
	request.Count = 5
	again, existed, err := w.Ledger().RecordLaunch(t.Context(), request)
	if err != nil || !existed {
		t.Fatalf("second record: existed %v, error %v", existed, err)
	}
	if again.Count != 1 || len(again.Tags) != 1 {
		t.Errorf("count %d, tags %v; want the request that was recorded first", again.Count, again.Tags)
	}
}

func TestOutagesEnd(t *testing.T) {
	w := newWorld(sim.Options{})
	outage := func(instanceType string, ttl time.Duration) cluster.Outage {
		return cluster.Outage{Offering: cluster.Offering{InstanceType: instanceType, Zone: zoneA, CapacityType: spot}, Until: w.Now().Add(ttl), Reason: "ICE"}
	}
	for _, o := range []cluster.Outage{outage("m5.large", time.Minute), outage("c5.large", time.Hour), outage("m5.large", 3*time.Minute)} {
		if err := w.Ledger().RecordOutage(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	names := func() []string {
		outages, err := w.Ledger().Outages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range outages {
			names = append(names, o.InstanceType)
		}
		return names
	}
	w.Advance(2 * time.Minute)
	if diff := cmp.Diff([]string{"c5.large", "m5.large"}, names()); diff != "" {
		t.Errorf("after 2 min (-want +got):\n%s", diff)
	}
	w.Advance(time.Minute)
	if diff := cmp.Diff([]string{"c5.large"}, names()); diff != "" {
		t.Errorf("after 3 min (-want +got):\n%s", diff)
	}
}

func TestLeases(t *testing.T) {
	w := newWorld(sim.Options{})
	acquire := func(owner string) bool {
		got, err := w.Ledger().AcquireLease(t.Context(), "lease", owner, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	release := func(owner string) {
		if err := w.Ledger().ReleaseLease(t.Context(), "lease", owner); err != nil {
			t.Fatal(err)
		}
	}
	if !acquire("a") || acquire("b") || !acquire("a") {
		t.Error("a free lease goes to the first, and to the first again")
	}
	release("b")
	if acquire("b") {
		t.Error("b released a's lease")
	}
	release("a")
	if !acquire("b") {
		t.Error("a released lease is not to be had")
	}
	w.Advance(time.Minute)
	if !acquire("a") {
		t.Error("a lease that has run out is not to be had")
	}
	release("b")
	if acquire("b") {
		t.Error("b, whose lease ran out, released that of its successor")
	}
}

func TestAnErrorAfterAcquiringIsNoLease(t *testing.T) {
	w := newWorld(sim.Options{})
	lost := errors.New("connection reset")
	w.OnEffect(func(e sim.Effect) error {
		if e.Name == "ledger.AcquireLease" && e.After {
			return lost
		}
		return nil
	})
	if got, err := w.Ledger().AcquireLease(t.Context(), "lease", "a", time.Minute); got || !errors.Is(err, lost) {
		t.Errorf("acquire = %v, %v; want false and the error", got, err)
	}
}
