package proxy

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// An event stream lives as long as somebody listens. It is admitted by its
// class's pool like any other call, for as long as the upstream takes to begin
// its answer, and from then on it counts as a stream and not against the slots.

// admitStream takes a place among the streams for a request that asks for
// events; without one it is refused before it asks for anything else.
func (x *exchange) admitStream(w http.ResponseWriter, r *http.Request) bool {
	t, err := x.server.streams.Acquire(r.Context(), plimsoll.Request{})
	if err == nil {
		x.stream = &t
		return true
	}
	f, ok := errors.AsType[plimsoll.Refusal](err)
	if !ok { // the client has left
		x.left = true
		x.done(499)
		return false
	}
	x.server.stats.StreamsRefused.Add(1)
	f.Class = ""
	if f.Reason == core.Full {
		f.Reason = core.Streams
	}
	x.reason = f.Reason.String()
	answer := statusOf{w, http.StatusOK}
	x.server.middleware.Refuse(&answer, r, f)
	x.done(answer.status)
	return false
}

// statusOf remembers the status of an answer.
type statusOf struct {
	http.ResponseWriter
	status int
}

func (w *statusOf) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusOf) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// beginStream looks at an answer's header: an event stream gives its slot back
// now, and what only looked like one gives the stream's place back.
func (x *exchange) beginStream(res *http.Response) {
	if res.StatusCode != http.StatusOK || !isEvents(res.Header) {
		x.endStream()
		return
	}
	if x.stream == nil {
		// Not announced. If there is no place among the streams it keeps its slot.
		t, err := x.server.streams.Acquire(&x.client, plimsoll.Request{})
		if err != nil {
			x.server.stats.StreamsRefused.Add(1)
			return
		}
		x.stream = &t
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.phase != phaseStreaming {
		return
	}
	x.events = true
	x.endLocked(plimsoll.OK)
	if idle := x.idle(); x.timer == nil && idle > 0 {
		x.timer = time.AfterFunc(idle, x.tick)
	}
}

// endStream gives the place among the streams back.
func (x *exchange) endStream() {
	if x.stream != nil {
		x.stream.Release(plimsoll.OK)
		x.stream = nil
	}
}

func isEvents(h http.Header) bool {
	v := h["Content-Type"]
	return len(v) > 0 && strings.HasPrefix(v[0], "text/event-stream")
}
