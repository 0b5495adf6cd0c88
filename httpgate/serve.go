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
	d := s.rules.decide(&p, s.pools)
	c := m.newCall(s, &p, &d)
	if d.ignored != "" {
		m.sayIgnored(w, d.ignored)
	}
	if isStream(r) {
		m.serveStream(w, r, next, s, c, &d)
		return
	}
	t, a, err := m.acquire(s, r, m.request(r, c, &d))
	if err != nil {
		m.notAdmitted(w, r, s, c, a, err)
		return
	}
	c.admitted(t)
	m.run(w, r, next, s, c, a, nil)
}

// newCall notes what is known before anybody was asked.
func (m *Middleware) newCall(s *settings, p *peer, d *decision) *Call {
	c := &Call{Class: d.class, FromHeader: d.header != "", Ignored: d.ignored, rules: s.rules, classHeader: d.header}
	if c.Class == "" {
		c.Class = s.fallback
	}
	c.Pool = s.pools[c.Class]
	if _, ok := p.r.Header[HeaderAttempt]; ok && p.trusted() {
		c.Attempt = attemptOf(p.r.Header)
	}
	// Whether or not a rule before that one has decided.
	c.trusted = s.rules.speaks(p.r.Header) && p.trusted()
	return c
}

// request is what the gate is asked.
func (m *Middleware) request(r *http.Request, c *Call, d *decision) plimsoll.Request {
	timeout, bad := timeoutOf(r.Header)
	if bad > 0 {
		m.counters.badTimeout.Add(uint64(bad))
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
		m.run(w, r, next, s, c, nil, nil)
		return
	}
	shake, a, err := m.acquire(s, r, m.request(r, c, d))
	if err != nil {
		t.Release(plimsoll.Cancelled)
		c.Pool = pool
		m.notAdmitted(w, r, s, c, a, err)
		return
	}
	c.Waited = shake.Waited
	c.until(&shake)
	m.run(w, r, next, s, c, a, &shake)
}

// exchange is everything that a request needs while its handler runs, in one
// allocation.
type exchange struct {
	writer writer
	ctx    callContext
}

// run calls the handler and ends the call with it, unless it is held. shake is
// the ticket of a handshake, nil for none.
func (m *Middleware) run(w http.ResponseWriter, r *http.Request, next http.Handler, s *settings, c *Call, a *ahead, shake *plimsoll.Ticket) {
	x := &exchange{writer{ResponseWriter: w, ahead: a, connect: r.Method == http.MethodConnect}, callContext{r.Context(), c}}
	if shake != nil {
		x.writer.upgraded = func() { shake.Release(plimsoll.OK) }
	}
	inner := r.WithContext(&x.ctx)
	if a != nil {
		inner.Body = a
	}
	returned := false
	defer func() { m.finish(w, r, s, c, x, shake, returned) }()
	next.ServeHTTP(x.writer.wrapped(r), inner)
	returned = true
}

// finish runs when the handler has returned, and when it panics: it does not
// recover, so that whoever does sees the panic where it happened.
func (m *Middleware) finish(w http.ResponseWriter, r *http.Request, s *settings, c *Call, x *exchange, shake *plimsoll.Ticket, returned bool) {
	c.Status = x.writer.status
	if c.Status == 0 && returned && !x.writer.hijacked {
		c.Status = http.StatusOK // what the server sends for a handler that says nothing
	}
	o := outcome(r.Context(), c.Status, returned)
	if x.writer.upgraded != nil {
		shake.Release(o)
	}
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

// outcome says how a call ended whose handler has. A handler's way of failing
// says little when its client has left: it may have failed because of that.
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
	if f, ok := errors.AsType[plimsoll.Refusal](err); ok {
		c.refused(&f)
		c.Status = m.writeRefusal(w, r, s, &f, a)
	} else {
		m.counters.left.Add(1)
		c.outcome.Store(uint32(plimsoll.Cancelled))
		c.Status = StatusClientLeft
		leaveBody(w, r, a)
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close")
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
func (m *Middleware) writeRefusal(w http.ResponseWriter, r *http.Request, s *settings, f *plimsoll.Refusal, a *ahead) int {
	leaveBody(w, r, a)
	p := s.page(f)
	p.write(w, r, *f, "")
	if grpcType(r) != "" {
		return http.StatusOK
	}
	return p.status
}

// Refuse answers r with f as the middleware's own refusals are answered, with
// its overrides, and sees to an unread body. It is for handlers behind the
// middleware that refuse for reasons of their own; the ticket is not touched.
func (m *Middleware) Refuse(w http.ResponseWriter, r *http.Request, f plimsoll.Refusal) {
	m.writeRefusal(w, r, m.settings.Load(), &f, nil)
}
