package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// A call that was given up while a connection for it was still being made has
// had no effect, and its client is told so. That is true only if nothing is
// sent afterwards, which this file sees to.

// traced gives r a context in which a connection that was got for it is noted.
// What the reverse proxy wants to hear of, answers before the answer, stays.
// The context is built anew from x.ctx: to put one trace over another costs
// more than the rest of the call.
func (x *exchange) traced(r *http.Request) *http.Request {
	t := &httptrace.ClientTrace{GetConn: x.wantConn, GotConn: x.gotConn}
	if of := httptrace.ContextClientTrace(r.Context()); of != nil && of.Got1xxResponse != nil {
		t.Got1xxResponse = func(code int, h textproto.MIMEHeader) error {
			if code == http.StatusSwitchingProtocols { // HTTP/2 has none, and HTTP/1 an answer of its own for it
				return errUnasked
			}
			return of.Got1xxResponse(code, h)
		}
	}
	return r.WithContext(httptrace.WithClientTrace(x.ctx, t))
}

// wantConn is told that http.Transport has found nothing wrong with the request.
func (x *exchange) wantConn(string) {
	x.mu.Lock()
	x.wanted = true
	x.mu.Unlock()
}

// gotConn is told of a connection before anything is written to it.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.unsent {
		x.onWire = true
		return
	}
	// Its client has been told that nothing was sent. HTTP/2 looks at the
	// context again before it writes, and the connection has other calls.
	if tc, ok := info.Conn.(*tls.Conn); ok && tc.ConnectionState().NegotiatedProtocol == "h2" {
		return
	}
	if t := x.set.upstream.pick(x); t.Protocols.HTTP1() {
		info.Conn.Close()
	}
}

// withdrawLocked ends a call for which there was no connection yet.
func (x *exchange) withdrawLocked(o plimsoll.Outcome) {
	x.unsent = true
	x.endLocked(o)
	x.phase = phaseAbandoned
	x.abortLocked(errGivenUp)
}

// unsendable says that there is something about a request that http.Transport
// does not send and that the server in front had let through.
type unsendable struct{ err error }

func (e *unsendable) Error() string {
	return "proxy: the request cannot be forwarded: " + e.err.Error()
}
func (e *unsendable) Unwrap() error { return e.err }

func isUnsendable(err error) bool { return errors.As(err, new(*unsendable)) }

// verdict makes of an error of http.Transport what it says of the call: that it
// could not be sent, that nothing was sent, or that something may have been, as
// when a connection that had been used before broke and there was no other.
func (x *exchange) verdict(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case x.onWire && isDialError(err):
		return errNoOther
	case x.onWire, isDialError(err):
		return err
	case x.wanted:
		return &dialError{err}
	}
	return &unsendable{err}
}

// waitedForConn says whether a call that was given up for want of a connection
// waited long enough for that to say something of the upstream: for as long as
// connecting may take, or half of its class's deadline. Anybody may ask for less.
func (x *exchange) waitedForConn() bool {
	enough := x.set.config.DialTimeout
	cfg := x.server.gate.Config()
	for i := range cfg.Classes {
		if k := &cfg.Classes[i]; k.Name == x.call.Class && k.Deadline > 0 {
			enough = min(enough, k.Deadline/2)
		}
	}
	return time.Since(x.sent) >= enough
}

// noteUpstream learns from a call whether there is somebody to send to. What
// failed because its client left says nothing.
func (x *exchange) noteUpstream(err error) {
	if err == nil || x.client.Err() == nil && context.Cause(x.ctx) != errGivenUp {
		x.server.noteUpstream(x.set.upstream, err)
	}
}

// upstreamNews is what has been said of the upstream's coming and going.
type upstreamNews struct {
	down time.Time // since when; zero: it answers
	said bool      // that it is down
	last time.Time // when that was said

	broken time.Time // when a call without a usable answer was last spoken of
	unsaid int       // how many there were since
}

// newsEvery bounds how often an upstream that comes and goes is spoken of.
const newsEvery = time.Second

// noteUpstream notes, on behalf of calls to u, whether it can be reached, and
// tells operators of every change that lasts, or once a second.
func (s *Server) noteUpstream(u *upstream, err error) {
	if err == nil && !s.upstreamDown.Load() { // nearly always
		return
	}
	if err != nil && !isDialError(err) || s.current.Load().upstream != u {
		return
	}
	s.newsMu.Lock()
	defer s.newsMu.Unlock()
	set, n, now := s.current.Load(), &s.news, time.Now()
	s.upstreamDown.Store(err != nil)
	switch {
	case err == nil && n.said:
		set.config.Notes("the upstream " + set.config.Upstream.Redacted() + " is back after " + now.Sub(n.down).Round(time.Millisecond).String())
		fallthrough
	case err == nil:
		n.said, n.down = false, time.Time{}
	case n.down.IsZero():
		n.down = now
		fallthrough
	case !n.said:
		if now.Sub(n.last) >= newsEvery {
			n.said, n.last = true, now
			set.config.Notes("the upstream " + set.config.Upstream.Redacted() + " cannot be reached; calls are refused as upstream: " + err.Error())
		}
	}
}

// newUpstream forgets what was known of another one.
func (s *Server) newUpstream() {
	s.newsMu.Lock()
	defer s.newsMu.Unlock()
	s.upstreamDown.Store(false)
	s.news.down, s.news.said = time.Time{}, false
}

// noteBroken tells operators why a call got 502, once a second at most: the
// client is not told, and the status alone names no cause.
func (s *Server) noteBroken(set *settings, err error) {
	s.newsMu.Lock()
	defer s.newsMu.Unlock()
	n, now := &s.news, time.Now()
	if now.Sub(n.broken) < newsEvery {
		n.unsaid++
		return
	}
	more := ""
	if n.unsaid > 0 {
		more = " (and " + strconv.Itoa(n.unsaid) + " calls more since the last)"
	}
	n.broken, n.unsaid = now, 0
	set.config.Notes("the upstream " + set.config.Upstream.Redacted() + " gave no answer that could be used: " + err.Error() + more)
}
