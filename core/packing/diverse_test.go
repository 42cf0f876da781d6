package packing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/resource"
)

// BenchmarkDiverse packs upstream's benchmark mix on 400 instance types: a fifth each of pods without
// constraints, spread over zones, spread over nodes, with affinity over zones, and with anti-affinity
// over nodes.
func BenchmarkDiverse(b *testing.B) {
	for _, n := range []int{500, 2000, 20000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			benchmarkSolve(b, diverseSnapshot(b, n))
		})
	}
}

func diverseSnapshot(tb testing.TB, n int) *cluster.Snapshot {
	tb.Helper()
	full, err := catalog.Embedded()
	if err != nil {
		tb.Fatal(err)
	}
	c := &catalog.Catalog{Region: full.Region, ZoneIDs: full.ZoneIDs}
	for _, shape := range full.Shapes {
		if len(c.Shapes) < 400 && shape.GPUCount == 0 && !shape.BareMetal && shape.VCPUs >= 2 {
			c.Shapes = append(c.Shapes, shape)
		}
	}
	return &cluster.Snapshot{
		Name: "diverse", Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), Catalog: c,
		NodePools:   []*karpenter.NodePool{anyPool("default")},
		NodeClasses: []*aws.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: aws.EC2NodeClassSpec{AMIFamily: new(aws.FamilyAL2023)}}},
		Pods:        diversePods(n, rand.New(rand.NewPCG(42, 0))),
	}
}

// anyPool is a NodePool without requirements.
func anyPool(name string) *karpenter.NodePool {
	pool := &karpenter.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Spec.NodeClassRef = karpenter.NodeClassReference{Group: wellknown.GroupAWS, Kind: "EC2NodeClass", Name: "default"}
	return pool
}

func diversePods(n int, random *rand.Rand) []*corev1.Pod {
	letter := func() string { return string(rune('a' + random.IntN(7))) }
	kinds := []func(pod *corev1.Pod){
		func(*corev1.Pod) {},
		func(pod *corev1.Pod) { spreadOver(pod, corev1.LabelTopologyZone, letter()) },
		func(pod *corev1.Pod) { spreadOver(pod, corev1.LabelHostname, letter()) },
		func(pod *corev1.Pod) {
			label := letter()
			pod.Labels["company"] = label
			pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{termOver(corev1.LabelTopologyZone, "company", label)},
			}}
		},
		func(pod *corev1.Pod) {
			pod.Labels["app"] = "nginx"
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{termOver(corev1.LabelHostname, "app", "nginx")},
			}}
		},
	}
	cpu := []int64{100, 250, 500, 1000, 1500}
	memory := []int64{100, 256, 512, 1024, 2048, 4096}
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pod := pendingPod(fmt.Sprintf("pod-%05d", i), resource.Amounts{
			corev1.ResourceCPU:    cpu[random.IntN(len(cpu))],
			corev1.ResourceMemory: memory[random.IntN(len(memory))] << 20,
		})
		pod.Labels = map[string]string{"my-label": letter()}
		kinds[i%len(kinds)](pod)
		pods[i] = pod
	}
	return pods
}

func spreadOver(pod *corev1.Pod, key, label string) {
	pod.Labels["spread"] = label
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"spread": label}},
	}}
}

func termOver(key, label, value string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}}
}

// BenchmarkExisting places 500 pods of 20 classes, half of which fit on what runs: that many nodes with 30
// pods each.
func BenchmarkExisting(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := diverseSnapshot(b, 0)
			addNodes(s, n)
			var pending []*corev1.Pod
			for i := range 500 {
				cpu := int64(100)
				if i%2 == 1 {
					cpu = 3000
				}
				pending = append(pending, pendingPod(fmt.Sprintf("new-%03d", i), resource.Amounts{
					corev1.ResourceCPU: cpu + int64(i%20), corev1.ResourceMemory: 256 << 20,
				}))
			}
			s.Pods = append(s.Pods, pending...)
			benchmarkSolve(b, s)
		})
	}
}

// addNodes gives the snapshot nodes of 4 CPU that are nearly full.
func addNodes(s *cluster.Snapshot, n int) {
	zones := slices.Sorted(slices.Values([]string{"us-east-1a", "us-east-1b", "us-east-1c"}))
	for i := range n {
		name := fmt.Sprintf("node-%04d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zones[i%len(zones)], corev1.LabelArchStable: "amd64",
			wellknown.LabelNodePool: "default",
		}}}
		node.Status.Allocatable = resource.Amounts{corev1.ResourceCPU: 3920, corev1.ResourceMemory: 14 << 30, corev1.ResourcePods: 110}.List()
		s.Nodes = append(s.Nodes, node)
		for j := range 30 {
			pod := pendingPod(fmt.Sprintf("%s-%02d", name, j), resource.Amounts{corev1.ResourceCPU: 125, corev1.ResourceMemory: 128 << 20})
			pod.Spec.NodeName, pod.UID = name, types.UID(fmt.Sprintf("%s-%02d", name, j))
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
			s.Pods = append(s.Pods, pod)
		}
	}
}
