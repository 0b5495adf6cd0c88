package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/httpgate"
)

// upstreamRetry is when trying again may make sense after a failure to connect.
const upstreamRetry = time.Second

// fail answers a call of which no answer came. What is said about its effect is
// exactly what is known: nothing was sent, or it cannot be told.
func (set *settings) fail(_ http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	w := &x.out
	switch {
	case x.body.stalled():
		x.body.last(w.Header())
		set.problem(w, r, http.StatusRequestTimeout, "The body stood still for too long.", x.effect())
	case err == errLeft || x.client.Err() != nil:
		x.clientGone(w)
	case err == errLate:
		x.body.stop(w.Header())
		httpgate.WriteNoAnswer(w, r)
	case x.body.malformed():
		x.body.last(w.Header())
		set.problem(w, r, http.StatusBadRequest, "The body is not chunked as its header says.", x.effect())
	case x.body.failed():
		x.clientGone(w)
	case isDialError(err):
		x.body.stop(w.Header())
		x.reason = core.Upstream.String()
		x.server.middleware.Refuse(w, r, plimsoll.Refusal{
			Reason: core.Upstream, Class: x.call.Class, Pool: x.call.Pool, Waited: x.call.Waited, RetryAfter: upstreamRetry,
		})
	case isTimeout(err):
		x.body.stop(w.Header())
		httpgate.WriteNoAnswer(w, r)
	case x.sent.IsZero() || isUnsendable(err): // the request itself cannot be forwarded
		x.body.stop(w.Header())
		set.problem(w, r, http.StatusBadRequest, "The request cannot be forwarded.", "")
	case x.lastMoment():
		x.body.stop(w.Header())
		httpgate.WriteNoAnswer(w, r)
	default:
		x.body.stop(w.Header())
		x.server.noteBroken(set, err)
		set.problem(w, r, http.StatusBadGateway, "The service gave no answer that could be used.", x.effect())
	}
}

// lastMoment says whether a call that broke off did so about when its deadline
// passed. The upstream has been told of it, in whole milliseconds, and some break
// off then: gRPC servers do. That is no other end than the proxy's own.
func (x *exchange) lastMoment() bool {
	return !x.deadline.IsZero() && time.Until(x.deadline) < 2*time.Millisecond
}

// effect is what is to be said of the effect of a call that broke off: nothing
// if it cannot have had one.
func (x *exchange) effect() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.safe || !x.onWire {
		return ""
	}
	return "unknown"
}

// clientGone answers nobody: the connection ends, and the line says 499.
func (x *exchange) clientGone(w http.ResponseWriter) {
	x.status = httpgate.StatusClientLeft
	x.body.stop(w.Header())
	x.body.last(w.Header())
	w.WriteHeader(httpgate.StatusClientLeft)
}

// problem answers with a status, as problem+json or as what a gRPC client
// understands.
func (set *settings) problem(w http.ResponseWriter, r *http.Request, status int, detail, effect string) {
	h := w.Header()
	if effect != "" {
		h.Set(httpgate.HeaderEffect, effect)
	}
	if isGRPC(r.Header) {
		h.Set("Content-Type", "application/grpc")
		h.Set("Grpc-Status", "14") // unavailable
		h.Set("Grpc-Message", detail)
		w.WriteHeader(http.StatusOK)
		return
	}
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	if effect != "" {
		fmt.Fprintf(w, `{"status":%d,"title":%q,"detail":%q,"effect":%q}`+"\n", status, http.StatusText(status), detail, effect)
		return
	}
	fmt.Fprintf(w, `{"status":%d,"title":%q,"detail":%q}`+"\n", status, http.StatusText(status), detail)
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
