package packing_test

import (
	"encoding/csv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	"whittle/core/packing"
	"whittle/core/resource"
)

// BenchmarkTrace packs a public trace of pods on EC2's instance types, as DESIGN section 5 has it: on
// demand, amd64, no bare metal, families c, m and r of generation 5 and up, and for GPU pods the GPU
// families. It reports what the fleet costs.
func BenchmarkTrace(b *testing.B) {
	pods := tracePods(b, sharedFile(b, "WHITTLE_TRACE", "alibaba-gpu-2023-pods.csv"))
	types := sharedFile(b, "WHITTLE_TYPES", "ec2-instance-types.csv")
	b.Run("cpu", func(b *testing.B) {
		withoutGPU := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool {
			return resource.PodRequests(p)[wellknown.ResourceNVIDIAGPU] > 0
		})
		benchmarkSolve(b, traceSnapshot(b, types, withoutGPU))
	})
	b.Run("all", func(b *testing.B) {
		benchmarkSolve(b, traceSnapshot(b, types, pods, "g4dn", "g5", "g6", "g6e", "p3", "p4d", "p5"))
	})
}

func benchmarkSolve(b *testing.B, s *cluster.Snapshot) {
	b.Helper()
	var plan *packing.Plan
	for b.Loop() {
		plan = packing.Solve(s, packing.Options{})
	}
	b.ReportMetric(plan.USDPerHour(), "$/h")
	b.ReportMetric(float64(len(plan.Launches)), "nodes")
	b.ReportMetric(float64(len(plan.Unplaced)), "unplaced")
	b.ReportMetric(float64(len(s.Pods))*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}

// sharedFile is the file that the environment names, or the one beside the project; without either the
// benchmark is skipped.
func sharedFile(b *testing.B, variable, name string) string {
	b.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	path := filepath.Join("..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		b.Skipf("%s is not set and %s is not there", variable, path)
	}
	return path
}

func tracePods(b *testing.B, path string) []*corev1.Pod {
	b.Helper()
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		b.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	var pods []*corev1.Pod
	for _, row := range rows[1:] {
		number := func(name string) int64 {
			n, err := strconv.ParseInt(row[column[name]], 10, 64)
			if err != nil {
				b.Fatalf("%s of pod %s: %v", name, row[column["name"]], err)
			}
			return n
		}
		requests := resource.Amounts{
			corev1.ResourceCPU:    number("cpu_milli"),
			corev1.ResourceMemory: number("memory_mib") << 20,
		}
		if gpus := number("num_gpu"); gpus > 0 {
			requests[wellknown.ResourceNVIDIAGPU] = gpus
		}
		pods = append(pods, pendingPod(row[column["name"]], requests))
	}
	return pods
}

// pendingPod is a pod that kube-scheduler could not place.
func pendingPod(name string, requests resource.Amounts) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Resources: corev1.ResourceRequirements{Requests: requests.List()},
		}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

// traceSnapshot is a cluster whose catalog has allocatable of exactly capacity less 100m CPU and 10Mi,
// and 110 pods: the kubelet is told to reserve that much and nothing else.
func traceSnapshot(b *testing.B, path string, pods []*corev1.Pod, families ...string) *cluster.Snapshot {
	b.Helper()
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	shapes, err := catalog.ReadTable(file, "us-east-1")
	if err != nil {
		b.Fatal(err)
	}
	embedded, err := catalog.Embedded()
	if err != nil {
		b.Fatal(err)
	}
	class := &aws.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: aws.EC2NodeClassSpec{
			AMIFamily: new(aws.FamilyAL2023),
			Kubelet: &aws.KubeletConfiguration{
				MaxPods:      new(int32(110)),
				KubeReserved: map[string]string{"cpu": "100m", "memory": "10Mi"},
				EvictionHard: map[string]string{"memory.available": "100%"},
			},
		},
	}
	return &cluster.Snapshot{
		Name: "trace", Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC),
		NodePools:   []*karpenter.NodePool{tracePool(shapes, families)},
		NodeClasses: []*aws.EC2NodeClass{class},
		Pods:        pods,
		Catalog:     &catalog.Catalog{Region: "us-east-1", Shapes: shapes, ZoneIDs: embedded.ZoneIDs},
		// As good as none: zero would mean the default.
		Settings: catalog.Settings{VMMemoryOverhead: 1e-12},
	}
}

func tracePool(shapes []catalog.Shape, wanted []string) *karpenter.NodePool {
	families := map[string]bool{}
	for _, shape := range shapes {
		family, _, _ := strings.Cut(shape.Name, ".")
		if slices.Contains(wanted, family) || generationOfCMR(family) >= 5 {
			families[family] = true
		}
	}
	pool := &karpenter.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = karpenter.NodeClassReference{Group: wellknown.GroupAWS, Kind: "EC2NodeClass", Name: "default"}
	pool.Spec.Template.Spec.Requirements = []karpenter.Requirement{
		{Key: corev1.LabelArchStable, Operator: karpenter.OpIn, Values: []string{"amd64"}},
		{Key: wellknown.LabelCapacityType, Operator: karpenter.OpIn, Values: []string{wellknown.CapacityTypeOnDemand}},
		{Key: wellknown.LabelFamily, Operator: karpenter.OpIn, Values: slices.Sorted(maps.Keys(families))},
		{Key: wellknown.LabelSize, Operator: karpenter.OpNotIn, Values: metalSizes(shapes)},
	}
	return pool
}

// generationOfCMR is the generation of a family of category c, m or r; 0 for any other.
func generationOfCMR(family string) int {
	if family == "" || !strings.ContainsAny(family[:1], "cmr") {
		return 0
	}
	digits := strings.TrimLeft(family[1:], "0123456789")
	generation, _ := strconv.Atoi(strings.TrimSuffix(family[1:], digits))
	return generation
}

func metalSizes(shapes []catalog.Shape) []string {
	sizes := map[string]bool{}
	for _, shape := range shapes {
		if _, size, _ := strings.Cut(shape.Name, "."); shape.BareMetal {
			sizes[size] = true
		}
	}
	return slices.Sorted(maps.Keys(sizes))
}
