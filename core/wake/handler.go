// Package wake answers the admission callbacks by which a cluster tells that something happened, and
// passes the news on to the queue of whoever acts on it.
//
// It sits in the path of writes to the API server, so it reads nothing but the request, never calls
// the cluster, and answers within a bound. Callbacks about events and nodes are always allowed; the
// objects people write (NodePool, NodeClaim, EC2NodeClass) are validated. A callback authenticates
// itself by a secret segment of its path alone: the API servers of EKS can present nothing else.
// What gets through that can only make a function look at the cluster a little earlier.
package wake

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"whittle/events"
)

// Sender puts messages on the queues of package events. It is safe for concurrent use.
type Sender interface {
	// Send returns when the queue of that logical name has stored the message.
	Send(ctx context.Context, queue string, message events.Outgoing) error
}

// Request is a callback as it came over HTTP.
type Request struct {
	Method string
	// Path is /<token>/<what>, without a query.
	Path string
	// Header has keys in lower case.
	Header map[string]string
	Body   []byte
}

// Response is what goes back over HTTP.
type Response struct {
	Status int
	Header map[string]string
	Body   []byte
}

// Handler answers the callbacks of one cluster. Its exported fields are set before the first call
// and not changed after it; all are required.
type Handler struct {
	// Token is the secret first segment of every path.
	Token string
	// Cluster is the name messages carry.
	Cluster string
	Queue   Sender
	Clock   func() time.Time
	Log     *slog.Logger

	// lastWake is the Unix second of the last Wake that was sent. Hundreds of pods that cannot be
	// scheduled make hundreds of callbacks in a second, and a warm function answers all but the first
	// without a call to SQS. Nothing depends on it: a cold function, or another instance of a busy
	// one, sends a message that the queue drops by its DedupID.
	lastWake atomic.Int64
}

const (
	// maxBody is more than the API server sends: etcd takes objects of 1.5 MB at most, and those
	// called back about are far smaller.
	maxBody = 1 << 20
	// sendTimeout leaves the callback time to answer within the two seconds that the API server
	// waits. A message that takes longer is given up; the sweep finds its cause.
	sendTimeout = time.Second
)

// Handle answers one callback. Every outcome is a Response: what is refused says why in its body.
func (h *Handler) Handle(ctx context.Context, request Request) Response {
	token, what := splitPath(request.Path)
	if !h.authentic(token) {
		return refuse(refused(statusForbidden, "wrong token"))
	}
	judge := judgeOf(what)
	if judge == nil {
		return refuse(refused(statusNotFound, "no callback named %q, want events, nodes or validate", what))
	}
	if err := checkTransport(request); err != nil {
		return refuse(err)
	}
	admission, err := readReview(request.Body)
	if err != nil {
		return refuse(err)
	}
	verdict, err := judge(h.Cluster, admission)
	if err != nil {
		return refuse(err)
	}
	dryRun := admission.DryRun != nil && *admission.DryRun
	if verdict.allowed() && !dryRun {
		h.pass(ctx, verdict.news)
	}
	return answer(admission, verdict)
}

// splitPath takes /token/what apart; a path of another form has no token.
func splitPath(path string) (token, what string) {
	rest, rooted := strings.CutPrefix(path, "/")
	token, what, found := strings.Cut(rest, "/")
	if !rooted || !found {
		return "", ""
	}
	return token, what
}

// authentic compares in constant time. The hashes make both sides equally long, so that not even
// the token's length can be measured.
func (h *Handler) authentic(token string) bool {
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(h.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && h.Token != ""
}

// checkTransport checks what can be told without reading the body.
func checkTransport(request Request) error {
	if request.Method != methodPost {
		return refused(statusMethodNotAllowed, "method is %s, want %s", request.Method, methodPost)
	}
	if len(request.Body) > maxBody {
		return refused(statusTooLarge, "body has %d bytes, at most %d are read", len(request.Body), maxBody)
	}
	contentType, given := request.Header["content-type"]
	if given && !strings.HasPrefix(contentType, typeJSON) {
		return refused(statusUnsupportedType, "content-type is %q, want %s", contentType, typeJSON)
	}
	return nil
}

// news is a message for one of our queues; nil where nobody need hear anything.
type news struct {
	wake *events.Wake
	step *events.Step
}

// settleStep is how long a Step waits: the API server calls before it stores the object, and lifecycle
// must find it there. Wakes go over a FIFO queue, which knows no delay; provision settles anyway.
const settleStep = time.Second

// pass sends the news. A failure is logged and forgotten: the object's write must not wait for our
// queue, and the sweep finds within a minute whatever was not passed on.
func (h *Handler) pass(ctx context.Context, n news) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if n.wake != nil {
		now := h.Clock()
		if h.lastWake.Load() == now.Unix() {
			return
		}
		if h.send(ctx, events.QueueProvision, n.wake.Outgoing(now)) {
			h.lastWake.Store(now.Unix())
		}
	}
	if n.step != nil {
		h.send(ctx, events.QueueLifecycle, n.step.Outgoing(settleStep))
	}
}

func (h *Handler) send(ctx context.Context, queue string, message events.Outgoing) bool {
	if err := h.Queue.Send(ctx, queue, message); err != nil {
		h.Log.ErrorContext(ctx, "callback not passed on",
			slog.String(events.KeyCluster, h.Cluster), slog.String(events.KeyQueue, queue), slog.Any(events.KeyError, err))
		return false
	}
	return true
}
