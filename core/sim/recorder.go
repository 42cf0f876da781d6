package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/cluster"
)

const (
	// seriesGap ends a series of Events that repeat: the next one is a new Event
	// (client-go, tools/events, finishTime).
	seriesGap = 6 * time.Minute
	// eventLifetime is how long the API server keeps an Event (kube-apiserver, --event-ttl).
	eventLifetime = time.Hour
)

// recorder writes Events. Of a series it creates the first and counts the others on it, so that a
// callback on CREATE hears of a series once.
type recorder struct {
	kube   *Kube
	series map[seriesKey]*series
}

type seriesKey struct{ controller, object, eventType, reason, message string }

type series struct {
	event *eventsv1.Event
	last  time.Time
}

func newRecorder(k *Kube) *recorder {
	return &recorder{kube: k, series: map[seriesKey]*series{}}
}

// record writes an event in which the message tells events apart.
func (r *recorder) record(controller string, event cluster.Event) error {
	return r.write(seriesKey{controller, eventObject(event), event.Type, event.Reason, event.Message}, event)
}

// recordSeries writes an event whose message does not matter for what it repeats: that of the first stays,
// as it does with client-go's recorder for events.k8s.io.
func (r *recorder) recordSeries(controller string, event cluster.Event) error {
	return r.write(seriesKey{controller, eventObject(event), event.Type, event.Reason, ""}, event)
}

func eventObject(event cluster.Event) string {
	return event.Object.Kind + " " + event.Object.Namespace + "/" + event.Object.Name + " " + string(event.Object.UID)
}

func (r *recorder) write(key seriesKey, event cluster.Event) error {
	now := r.kube.world.clock.now
	known := r.series[key]
	if known != nil && now.Sub(known.last) < seriesGap {
		known.last = now
		known.event = edit(r.kube.store, known.event, func(e *eventsv1.Event) {
			if e.Series == nil {
				e.Series = &eventsv1.EventSeries{Count: 1}
			}
			e.Series.Count++
			e.Series.LastObservedTime = metav1.NewMicroTime(now)
		})
		return nil
	}
	created := r.newEvent(key.controller, event)
	if err := r.kube.create(created); err != nil {
		return fmt.Errorf("create event: %w", err)
	}
	r.series[key] = &series{event: created, last: now}
	r.expire(eventLifetime, key, created)
	r.kube.world.occur(EventRecorded, event.Object.Kind+" "+event.Object.Name, "%s: %s", event.Reason, event.Message)
	return nil
}

func (r *recorder) newEvent(controller string, event cluster.Event) *eventsv1.Event {
	namespace := event.Object.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      event.Object.Name + "." + r.kube.world.ids.hex("event", 16),
		},
		EventTime:           metav1.NewMicroTime(r.kube.world.clock.now),
		ReportingController: controller,
		ReportingInstance:   controller + "-0",
		Action:              event.Reason,
		Reason:              event.Reason,
		Regarding:           event.Object,
		Note:                event.Message,
		Type:                event.Type,
	}
}

// expire removes an Event when its time is over: an hour after it was last written.
func (r *recorder) expire(after time.Duration, key seriesKey, event *eventsv1.Event) {
	clock := r.kube.world.clock
	clock.after(after, func() {
		current := r.series[key]
		if current != nil && current.event.Name == event.Name {
			if idle := clock.now.Sub(current.last); idle < eventLifetime {
				r.expire(eventLifetime-idle, key, event)
				return
			}
			delete(r.series, key)
		}
		if stored, ok := lookup[*eventsv1.Event](r.kube.store, event.Namespace, event.Name); ok {
			r.kube.store.remove(stored)
		}
	})
}

// referenceTo is an object's reference, as Events have it.
func referenceTo(obj object) corev1.ObjectReference {
	described := kindOf(obj)
	return corev1.ObjectReference{
		APIVersion: described.GroupVersion().String(), Kind: described.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}
}
