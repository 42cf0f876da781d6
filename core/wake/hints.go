package wake

import (
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"whittle/events"
)

const failedScheduling = "FailedScheduling"

// judgeEvent turns the scheduler's FailedScheduling into a Wake. The callback is registered for
// these alone; others that come all the same are allowed and passed over.
func judgeEvent(cluster string, request *admissionv1.AdmissionRequest) (verdict, error) {
	if resourceOf(request) != "events.v1.events.k8s.io" {
		return verdict{}, refused(statusUnprocessable, "resource is %s, want events.v1.events.k8s.io", resourceOf(request))
	}
	// An event that repeats is an UPDATE of the first one's series.
	if request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return verdict{}, refused(statusUnprocessable, "operation is %q, want CREATE or UPDATE", request.Operation)
	}
	var event eventsv1.Event
	if err := decodeInto(fieldObject, request.Object, &event); err != nil {
		return verdict{}, err
	}
	if event.Reason != failedScheduling || isAutoscaler(event.ReportingController) {
		return verdict{}, nil
	}
	pod := event.Regarding
	return verdict{news: news{wake: &events.Wake{
		Cluster: cluster,
		Reason:  events.ReasonFailedScheduling,
		Object:  pod.Kind + " " + pod.Namespace + "/" + pod.Name,
	}}}, nil
}

// isAutoscaler tells the events with which autoscalers explain why a pod fits nowhere from those of
// schedulers. Karpenter gives them the reason FailedScheduling as well; to follow them would wake
// provision by its own explanations, for ever.
func isAutoscaler(reportingController string) bool {
	return reportingController == events.ReportingController || reportingController == "karpenter"
}

// judgeNode turns a node that registers or becomes Ready into a Step.
func judgeNode(cluster string, request *admissionv1.AdmissionRequest) (verdict, error) {
	if resource := resourceOf(request); resource != "nodes.v1" && resource != "nodes/status.v1" {
		return verdict{}, refused(statusUnprocessable, "resource is %s, want nodes.v1 or nodes/status.v1", resource)
	}
	var node, old corev1.Node
	if err := decodeInto(fieldObject, request.Object, &node); err != nil {
		return verdict{}, err
	}
	switch request.Operation {
	case admissionv1.Create:
	case admissionv1.Update:
		if err := decodeInto(fieldOldObject, request.OldObject, &old); err != nil {
			return verdict{}, err
		}
		if !isReady(node) || isReady(old) {
			return verdict{}, nil
		}
	default:
		return verdict{}, refused(statusUnprocessable, "operation is %q, want CREATE or UPDATE", request.Operation)
	}
	if node.Name == "" {
		return verdict{}, refused(statusBadRequest, "%s.metadata.name is missing", fieldObject)
	}
	step := events.Step{Cluster: cluster, Node: node.Name, ProviderID: node.Spec.ProviderID}
	return verdict{news: news{step: &step}}, nil
}

func isReady(node corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
