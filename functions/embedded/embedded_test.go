package embedded_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/sim"
	"whittle/functions/embedded"
)

func TestSmoke(t *testing.T) {
	stack := embedded.New(embedded.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	w := stack.World
	w.Observe(func(o sim.Occurrence) { t.Log(o.String()) })
	ctx := context.Background()
	class := &aws.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: aws.EC2NodeClassSpec{
		AMIFamily: new(aws.FamilyAL2023), Role: "r",
		SubnetSelectorTerms:        []aws.SubnetSelectorTerm{{Tags: map[string]string{wellknown.TagDiscovery: "my-cluster"}}},
		SecurityGroupSelectorTerms: []aws.SecurityGroupSelectorTerm{{Tags: map[string]string{wellknown.TagDiscovery: "my-cluster"}}},
	}}
	class.APIVersion, class.Kind = "karpenter.k8s.aws/v1", "EC2NodeClass"
	pool := &karpenter.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.APIVersion, pool.Kind = "karpenter.sh/v1", "NodePool"
	pool.Spec.Template.Spec.NodeClassRef = karpenter.NodeClassReference{Group: wellknown.GroupAWS, Kind: "EC2NodeClass", Name: "default"}
	pool.Spec.Template.Spec.Requirements = []karpenter.Requirement{{Key: wellknown.LabelCategory, Operator: karpenter.OpIn, Values: []string{"c", "m", "r"}}, {Key: "kubernetes.io/arch", Operator: karpenter.OpIn, Values: []string{"amd64"}}}
	pool.Spec.Disruption.ConsolidateAfter = new(karpenter.After(30 * time.Second))
	dep := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "inflate", Namespace: "default"}}
	dep.Spec.Replicas = new(int32(10))
	dep.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "inflate"}}
	dep.Spec.Template.Labels = map[string]string{"app": "inflate"}
	dep.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: "pause", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}
	if err := w.Kube().Apply(ctx, class); err != nil {
		t.Fatal(err)
	}
	if err := w.Kube().Apply(ctx, pool); err != nil {
		t.Fatal(err)
	}
	if err := w.Kube().Apply(ctx, dep); err != nil {
		t.Fatal(err)
	}
	w.Advance(3 * time.Minute)
	if err := w.Kube().Scale(ctx, "default", "inflate", 0); err != nil {
		t.Fatal(err)
	}
	w.Advance(6 * time.Minute)
	for _, c := range w.Kube().NodeClaims() {
		t.Log("claim left", c.Name, c.DeletionTimestamp)
	}
	t.Log(w.EC2().Live())
}
