package httpgate

import (
	"context"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// waiting is the context of a request with an unread body while it asks the
// gate. Done is called only by who is about to wait, so that is when the
// client begins to be watched: a call that is admitted or refused at once
// costs nothing.
type waiting struct {
	context.Context // the request's; replaced by one that left cancels

	m *Middleware
	s *settings
	w http.ResponseWriter
	r *http.Request

	mu     sync.Mutex
	begun  bool
	ctx    context.Context // nil before begun
	cancel context.CancelCauseFunc
	raw    syscall.RawConn
	id     watchID
	watch  watcher
	ahead  *ahead
}

// current is the context that counts at the moment.
func (w *waiting) current() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx != nil {
		return w.ctx
	}
	return w.Context
}

// Deadline, Err and Value answer for the context that counts at the moment.
func (w *waiting) Deadline() (time.Time, bool) { return w.current().Deadline() }
func (w *waiting) Err() error                  { return w.current().Err() }
func (w *waiting) Value(key any) any           { return w.current().Value(key) }

// Done begins to watch the client.
func (w *waiting) Done() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		w.begun = true
		w.begin()
	}
	return w.ctx.Done()
}

func (w *waiting) begin() {
	w.ctx, w.cancel = context.WithCancelCause(w.Context)
	if raw, ok := w.Context.Value(connKey{}).(syscall.RawConn); ok {
		if watch := w.m.watching(); watch != nil {
			cancel := w.cancel
			if id, ok := watch.add(raw, func() { cancel(errLeft) }); ok {
				w.watch, w.raw, w.id = watch, raw, id
				w.m.counters.watched.Add(1)
				return
			}
			w.m.counters.watchFailed.Add(1)
		}
	}
	if !expects(w.r) && interruptible(w.w) {
		if w.ahead = newAhead(w.r, &w.m.quota, w.s.aheadBytes); w.ahead != nil {
			return
		}
	}
	w.m.counters.unwatched.Add(1)
}

// end stops the watch. What was read ahead stays, for the next handler.
func (w *waiting) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch != nil {
		w.watch.remove(w.raw, w.id)
		w.watch = nil
		w.m.counters.watched.Add(-1)
	}
	if w.ahead != nil {
		w.ahead.stop()
	}
	if w.cancel != nil {
		w.cancel(nil)
	}
}

// acquire asks the gate for r. The body that was read ahead, if any, is
// returned whether or not there is a ticket.
func (m *Middleware) acquire(s *settings, w http.ResponseWriter, r *http.Request, q plimsoll.Request) (plimsoll.Ticket, *ahead, error) {
	ctx := r.Context()
	if !unread(r) {
		t, err := m.gate.Acquire(ctx, q)
		return t, nil, err
	}
	c := &waiting{Context: ctx, m: m, s: s, w: w, r: r}
	t, err := m.gate.Acquire(c, q)
	c.end()
	return t, c.ahead, err
}
