package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	amounts "whittle/core/resource"
)

func requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}
}

func TestPodRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	tests := []struct {
		name string
		spec corev1.PodSpec
		want amounts.Amounts
	}{
		{
			name: "containers add up",
			spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: requests("100m", "1Gi")}, {Resources: requests("1", "1Mi")}}},
			want: amounts.Amounts{corev1.ResourceCPU: 1100, corev1.ResourceMemory: 1<<30 + 1<<20, corev1.ResourcePods: 1},
		},
		{
			name: "a sidecar runs beside what starts after it",
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{
					{RestartPolicy: &always, Resources: requests("100m", "0")}, {Resources: requests("200m", "0")},
				},
				Containers: []corev1.Container{{Resources: requests("100m", "0")}},
			},
			want: amounts.Amounts{corev1.ResourceCPU: 300, corev1.ResourceMemory: 0, corev1.ResourcePods: 1},
		},
		{
			name: "and not beside what was over before it",
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{
					{Resources: requests("200m", "0")}, {RestartPolicy: &always, Resources: requests("100m", "0")},
				},
				Containers: []corev1.Container{{Resources: requests("100m", "0")}},
			},
			want: amounts.Amounts{corev1.ResourceCPU: 200, corev1.ResourceMemory: 0, corev1.ResourcePods: 1},
		},
		{
			name: "overhead comes on top",
			spec: corev1.PodSpec{
				Overhead:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")},
				Containers: []corev1.Container{{Resources: requests("100m", "0")}},
			},
			want: amounts.Amounts{corev1.ResourceCPU: 150, corev1.ResourceMemory: 0, corev1.ResourcePods: 1},
		},
		{
			name: "requests of the pod win over its containers'",
			spec: corev1.PodSpec{
				Resources:  &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
				Containers: []corev1.Container{{Resources: requests("100m", "1Gi")}},
			},
			want: amounts.Amounts{corev1.ResourceCPU: 2000, corev1.ResourceMemory: 1 << 30, corev1.ResourcePods: 1},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, amounts.PodRequests(&corev1.Pod{Spec: test.spec})); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultRequestsAreTheLimits(t *testing.T) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}}
	amounts.DefaultRequests(spec)
	want := amounts.Amounts{corev1.ResourceCPU: 1000, corev1.ResourceMemory: 1 << 30}
	if diff := cmp.Diff(want, amounts.FromList(spec.Containers[0].Resources.Requests)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
