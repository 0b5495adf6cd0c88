package httpgate

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// Wrap admits requests to next. Handlers wrapped by the same middleware share
// its gate, limits and counters.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
}

func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	s := m.settings.Load()
	p := peer{r: r, s: s}
	d := s.rules.decide(&p)
	c := m.newCall(s, &p, &d)
	if d.ignored != "" {
		m.sayIgnored(w, d.ignored)
	}
	if isStream(r) {
		m.serveStream(w, r, next, s, c, &d)
		return
	}
	t, a, err := m.acquire(s, w, r, m.request(r, c, &d))
	if err != nil {
		m.notAdmitted(w, r, s, c, a, err)
		return
	}
	c.admitted(t)
	m.run(w, r, next, s, c, a)
}

// newCall notes what is known before anybody was asked.
func (m *Middleware) newCall(s *settings, p *peer, d *decision) *Call {
	c := &Call{Class: d.class, FromHeader: d.header != "", Ignored: d.ignored, rules: s.rules, classHeader: d.header}
	if c.Class == "" {
		c.Class = s.fallback
	}
	c.Pool = s.classes[c.Class].pool
	if _, ok := p.r.Header[HeaderAttempt]; ok && p.trusted() {
		c.Attempt = attemptOf(p.r.Header)
	}
	// Whether or not a rule before that one has decided.
	c.trusted = s.rules.speaks(p.r.Header) && p.trusted()
	return c
}

// request is what the gate is asked. The deadline of the request's context,
// which a middleware outside of this one may have set, bounds the call like one
// of the client's.
func (m *Middleware) request(r *http.Request, c *Call, d *decision) plimsoll.Request {
	timeout, bad := timeoutOf(r.Header)
	if bad > 0 {
		m.counters.badTimeout.Add(uint64(bad))
	}
	if t, ok := r.Context().Deadline(); ok {
		left := max(1, time.Until(t)) // 0 would be none
		if timeout == 0 || left < timeout {
			timeout = left
		}
	}
	return plimsoll.Request{Class: d.class, Attempt: c.Attempt, Timeout: timeout}
}

// admitted notes what the ticket says.
func (c *Call) admitted(t plimsoll.Ticket) {
	c.ticket, c.Waited = t, t.Waited
	c.until(&t)
	if !c.Stream { // the gate may know classes of a reload that the rules do not
		c.Class = t.Class
	}
}

// until takes over the deadline of a ticket, if it has one.
func (c *Call) until(t *plimsoll.Ticket) {
	if t.Timeout >= 0 {
		c.deadline = time.Now().Add(t.Timeout)
	}
}

func (m *Middleware) sayIgnored(w http.ResponseWriter, why string) {
	if why == IgnoredUntrusted {
		m.counters.untrusted.Add(1)
		w.Header()[HeaderIgnored] = []string{"class; why=untrusted"}
		return
	}
	m.counters.badClass.Add(1)
	w.Header()[HeaderIgnored] = []string{"class; why=bad-value"}
}

// serveStream admits a request for an upgrade or a tunnel.
func (m *Middleware) serveStream(w http.ResponseWriter, r *http.Request, next http.Handler, s *settings, c *Call, d *decision) {
	c.Stream = true
	pool := c.Pool
	c.Pool = streamsPool
	t, err := m.streams.Acquire(r.Context(), plimsoll.Request{})
	if err != nil {
		if f, ok := errors.AsType[plimsoll.Refusal](err); ok {
			if f.Class, f.Pool = c.Class, streamsPool; f.Reason == core.Full {
				f.Reason = core.Streams
			}
			err = f
		}
		m.notAdmitted(w, r, s, c, nil, err)
		return
	}
	c.admitted(t)
	if !s.gateHandshakes {
		m.run(w, r, next, s, c, nil)
		return
	}
	shake, a, err := m.acquire(s, w, r, m.request(r, c, d))
	if err != nil {
		t.Release(plimsoll.Cancelled)
		c.Pool = pool
		m.notAdmitted(w, r, s, c, a, err)
		return
	}
	c.Waited = shake.Waited
	c.until(&shake)
	c.shake.Store(&shake)
	m.run(w, r, next, s, c, a)
}

// exchange is everything that a request needs while its handler runs, in one
// allocation.
type exchange struct {
	writer writer
	ctx    callContext
	body   body
}

// run calls the handler and ends the call with it, unless it is held.
func (m *Middleware) run(w http.ResponseWriter, r *http.Request, next http.Handler, s *settings, c *Call, a *ahead) {
	x := &exchange{}
	x.writer = writer{ResponseWriter: w, call: c, ahead: a, connect: r.Method == http.MethodConnect}
	x.ctx = callContext{r.Context(), c}
	inner := m.inner(r, x, c, a)
	returned := false
	defer func() { m.finish(w, r, s, c, x, returned) }()
	next.ServeHTTP(x.writer.wrapped(r), inner)
	returned = true
}

// inner is the request that the handler gets.
func (m *Middleware) inner(r *http.Request, x *exchange, c *Call, a *ahead) *http.Request {
	if !unread(r) {
		return r.WithContext(&x.ctx)
	}
	c.body = &x.body
	var inner *http.Request
	if a == nil {
		inner = r.WithContext(&x.ctx)
		x.body.ReadCloser = r.Body
	} else { // the server's may be changing
		inner = a.copied.WithContext(&x.ctx)
		a.copied = inner
		x.body.ReadCloser = a
	}
	inner.Body = &x.body
	return inner
}

// finish runs when the handler has returned, and when it panics: it does not
// recover, so that whoever does sees the panic where it happened.
func (m *Middleware) finish(w http.ResponseWriter, r *http.Request, s *settings, c *Call, x *exchange, returned bool) {
	c.Status = x.writer.status
	if c.Status == 0 && returned && !x.writer.hijacked {
		c.Status = http.StatusOK // what the server sends for a handler that says nothing
	}
	o := outcome(r.Context(), c.Status, returned)
	if !c.held.Load() {
		c.release(o)
	}
	if x.writer.ahead != nil {
		if x.writer.hijacked {
			w = nil
		}
		x.writer.ahead.end(w)
	}
	if s.onDone != nil {
		s.onDone(r, c)
	}
}

// outcome says how a call ended whose handler has. A handler's way of ending
// says little when its client has left: it may have failed because of that, and
// what it wrote may have been read or not. So a client that has its answer and
// goes before the handler returns counts as cancelled, too.
func outcome(ctx context.Context, status int, returned bool) plimsoll.Outcome {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return plimsoll.Cancelled
	case !returned || status >= 500:
		return plimsoll.Failed
	}
	return plimsoll.OK
}

// notAdmitted answers a call that was not started.
func (m *Middleware) notAdmitted(w http.ResponseWriter, r *http.Request, s *settings, c *Call, a *ahead, err error) {
	f, refused := errors.AsType[plimsoll.Refusal](err)
	if !refused && errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		// The gate, which was told of that deadline, was overtaken by it.
		f, refused = plimsoll.Refusal{Reason: core.Expired, Class: c.Class, Pool: c.Pool, RetryAfter: time.Second}, true
	}
	if refused {
		c.refused(&f)
		c.Status = m.writeRefusal(w, r, s, &f, bodyOf(r, a))
	} else {
		m.counters.left.Add(1)
		c.outcome.Store(uint32(plimsoll.Cancelled))
		c.Status = StatusClientLeft
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close")
			interruptRead(w)
		}
		// Nobody is there to read it, as a rule. A client that has only closed
		// its sending half must not take an empty 200 for an answer.
		w.WriteHeader(StatusClientLeft)
	}
	if a != nil {
		a.end(w)
	}
	if s.onDone != nil {
		s.onDone(r, c)
	}
}

func (c *Call) refused(f *plimsoll.Refusal) {
	c.Class, c.Pool, c.Reason, c.Waited = f.Class, f.Pool, f.Reason, f.Waited
	c.outcome.Store(uint32(plimsoll.Refused))
}

// writeRefusal answers with f and returns the status.
func (m *Middleware) writeRefusal(w http.ResponseWriter, r *http.Request, s *settings, f *plimsoll.Refusal, b *body) int {
	leaveBody(w, r, b)
	p := s.page(f)
	p.write(w, r, *f, "")
	if grpcType(r) != "" {
		return http.StatusOK
	}
	return p.status
}

// Refuse answers r with f as the middleware's own refusals are answered, with
// its overrides, and sees to an unread body, for which it may wait 20 ms. It is
// for handlers behind the middleware that refuse for reasons of their own; the
// ticket is not touched.
func (m *Middleware) Refuse(w http.ResponseWriter, r *http.Request, f plimsoll.Refusal) {
	b := bodyOf(r, nil)
	if c := FromContext(r.Context()); c != nil && c.body != nil {
		b = c.body // which knows what has been read of it, whoever has wrapped it since
	}
	m.writeRefusal(w, r, m.settings.Load(), &f, b)
}
