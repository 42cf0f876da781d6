package sim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whittle/core/sim"
)

func budget(name string, minAvailable, maxUnavailable string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
	if minAvailable != "" {
		value := intstr.Parse(minAvailable)
		b.Spec.MinAvailable = &value
	}
	if maxUnavailable != "" {
		value := intstr.Parse(maxUnavailable)
		b.Spec.MaxUnavailable = &value
	}
	return b
}

func TestDisruptionsAllowed(t *testing.T) {
	tests := []struct {
		name   string
		budget *policyv1.PodDisruptionBudget
		want   int32
	}{
		{"max unavailable 1", budget("b", "", "1"), 1},
		{"max unavailable 0", budget("b", "", "0"), 0},
		{"max unavailable 50%, rounded up", budget("b", "", "50%"), 3},
		{"min available 4", budget("b", "4", ""), 1},
		{"min available 50%, rounded up", budget("b", "50%", ""), 2},
		{"min available 100%", budget("b", "100%", ""), 0},
		{"min available of more than there are", budget("b", "9", ""), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{})
			apply(t, w, big(), deployment("web", 5, "1"), test.budget)
			w.Advance(20 * time.Second)
			status := w.Kube().PodDisruptionBudgets()[0].Status
			if status.DisruptionsAllowed != test.want || status.CurrentHealthy != 5 {
				t.Errorf("status %+v, want %d disruptions of 5 healthy pods", status, test.want)
			}
		})
	}
}

func TestEvictionKeepsTheBudget(t *testing.T) {
	w := newWorld(sim.Options{PodStart: 10 * time.Second})
	apply(t, w, big(), deployment("web", 3, "1"), budget("b", "", "1"))
	w.Advance(time.Minute)
	pods := w.Kube().Pods()
	if err := w.Kube().Evict(t.Context(), pods[0]); err != nil {
		t.Fatalf("evict the first: %v", err)
	}
	if err := w.Kube().Evict(t.Context(), pods[1]); !apierrors.IsTooManyRequests(err) {
		t.Errorf("evict the second at once = %v, want TooManyRequests", err)
	}
	w.Advance(5 * time.Second)
	if err := w.Kube().Evict(t.Context(), pods[1]); !apierrors.IsTooManyRequests(err) {
		t.Errorf("evict the second while the first's successor is starting = %v, want TooManyRequests", err)
	}
	w.Advance(time.Minute)
	if err := w.Kube().Evict(t.Context(), pods[1]); err != nil {
		t.Errorf("evict the second when all are healthy: %v", err)
	}
	if err := w.Kube().Evict(t.Context(), pods[0]); !apierrors.IsNotFound(err) {
		t.Errorf("evict a pod that is gone = %v, want NotFound", err)
	}
}

func TestEvictionErrors(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, big(), deployment("web", 3, "1"), budget("b1", "", "1"), budget("b2", "", "1"))
	w.Advance(time.Minute)
	victim := w.Kube().Pods()[0]
	if err := w.Kube().Evict(t.Context(), victim); !apierrors.IsInternalError(err) {
		t.Errorf("evict under two budgets = %v, want InternalError", err)
	}
	victim.UID = "another"
	if err := w.Kube().Evict(t.Context(), victim); !apierrors.IsConflict(err) {
		t.Errorf("evict another pod of that name = %v, want Conflict", err)
	}
}

func TestPendingPodsMayAlwaysBeEvicted(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, deployment("web", 1, "1"), budget("b", "1", ""))
	w.Advance(time.Second)
	if err := w.Kube().Evict(t.Context(), w.Kube().Pods()[0]); err != nil {
		t.Errorf("evict a pending pod: %v", err)
	}
}

func TestGracePeriods(t *testing.T) {
	tests := []struct {
		name    string
		podStop time.Duration
		grace   time.Duration
		want    time.Duration
	}{
		{"a pod that ends when asked", 2 * time.Second, 30 * time.Second, 2 * time.Second},
		{"a pod that does not is killed", time.Hour, 30 * time.Second, 30 * time.Second},
		{"no grace at all", 2 * time.Second, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(sim.Options{PodStop: test.podStop})
			apply(t, w, node("n1"), pod("p", "1"))
			w.Advance(time.Minute)
			start := w.Now()
			if err := w.Kube().DeletePod(t.Context(), w.Kube().Pods()[0], test.grace); err != nil {
				t.Fatal(err)
			}
			if !w.RunUntil(func() bool { return len(w.Kube().Pods()) == 0 }, 2*time.Hour) {
				t.Fatal("the pod is still there")
			}
			if got := w.Now().Sub(start); got != test.want {
				t.Errorf("gone after %v, want %v", got, test.want)
			}
		})
	}
}

func TestDeletionCanOnlyBeBroughtForward(t *testing.T) {
	w := newWorld(sim.Options{PodStop: 24 * time.Hour})
	apply(t, w, node("n1"), pod("p", "1"))
	w.Advance(time.Minute)
	start := w.Now()
	p := w.Kube().Pods()[0]
	for _, grace := range []time.Duration{time.Hour, 2 * time.Hour, 10 * time.Minute} {
		if err := w.Kube().DeletePod(t.Context(), p, grace); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Kube().Pods()[0].DeletionTimestamp.Sub(start); got != 10*time.Minute {
		t.Errorf("deletionTimestamp is %v away, want 10m", got)
	}
	w.RunUntil(func() bool { return len(w.Kube().Pods()) == 0 }, 2*time.Hour)
	if got := w.Now().Sub(start); got != 10*time.Minute {
		t.Errorf("gone after %v, want 10m", got)
	}
}

func TestFinalizersHoldAPod(t *testing.T) {
	w := newWorld(sim.Options{})
	apply(t, w, node("n1"), pod("p", "1", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} }))
	w.Advance(time.Minute)
	if err := w.Kube().Delete(t.Context(), "Pod", "default", "p"); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute)
	if got := len(w.Kube().Pods()); got != 1 {
		t.Errorf("%d pods, want the one that its finalizer holds", got)
	}
}
