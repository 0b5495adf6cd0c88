package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// forwardUpgrade forwards a request for an upgrade. Its place among the streams
// is the gate's to give back when the handler returns, which is when the tunnel
// ends. A handshake is not held: when its client leaves, the upstream's side
// is closed.
func (x *exchange) forwardUpgrade(r *http.Request) {
	x.upgrade = true
	ctx, cancel := context.WithCancelCause(&x.client)
	defer cancel(nil)
	x.ctx, x.cancel = ctx, cancel
	x.set.proxy.ServeHTTP(&x.out, r.WithContext(ctx))
}

// roundTripUpgrade bounds the handshake by its deadline, and an ordinary answer
// to it by the silence that one is allowed. A tunnel has its own bound.
func (x *exchange) roundTripUpgrade(r *http.Request) (*http.Response, error) {
	limit := x.set.config.AnswerIdle
	patience, why := limit, errIdle
	if left, ok := x.call.Remaining(); ok {
		patience, why = max(left, time.Microsecond), errLate
	}
	var over *time.Timer
	if patience > 0 {
		over = time.AfterFunc(patience, func() { x.cancel(why) })
	}
	res, err := x.shakeHands(r)
	if over != nil && !over.Stop() && err == nil {
		res.Body.Close() // its context ends in the same moment
		res, err = nil, why
	}
	switch {
	case err != nil && context.Cause(x.ctx) == errLate && !isDialError(err):
		return nil, errLate
	case err == nil && res.StatusCode != http.StatusSwitchingProtocols && limit > 0:
		res.Body = &boundedSilence{res.Body, time.AfterFunc(limit, func() { x.cancel(errIdle) }), limit}
	}
	return res, err
}

// shakeHands sends a request for an upgrade.
func (x *exchange) shakeHands(r *http.Request) (*http.Response, error) {
	res, err := x.set.upstream.pick(x).RoundTrip(x.traced(r))
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		if err = x.wrongSwitch(r, res); err != nil {
			res.Body.Close()
			res = nil
		}
	}
	err = x.verdict(err)
	if context.Cause(x.ctx) != errLate || x.waitedForConn() {
		x.noteUpstream(err)
	}
	return res, err
}

// wrongSwitch says what is wrong with an upstream's switch of protocols, or nil.
func (x *exchange) wrongSwitch(r *http.Request, res *http.Response) error {
	switch {
	case !strings.EqualFold(res.Header.Get("Upgrade"), r.Header.Get("Upgrade")):
		return errUnasked
	case x.body.state.Load() == bodyReading:
		// What comes from the client next is the rest of its body, and there is
		// somebody already who reads it.
		return errTooSoon
	}
	return nil
}

// boundedSilence is the body of an ordinary answer to a request for an upgrade.
type boundedSilence struct {
	io.ReadCloser
	timer *time.Timer
	limit time.Duration
}

func (b *boundedSilence) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		b.timer.Reset(b.limit)
	} else {
		b.timer.Stop()
	}
	return n, err
}

func (b *boundedSilence) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}

// Hijack takes the client's connection over for a tunnel.
func (w *answerWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.x.gated).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t := &tunnel{Conn: c, early: rw.Reader, server: w.x.server, idle: w.x.set.config.Stream, since: time.Now()}
	t.webSocket = strings.EqualFold(w.x.body.upgradeTo, "websocket")
	w.x.tunnel = t
	t.server.tunnels.add(t)
	if t.idle > 0 {
		t.mu.Lock()
		t.timer = time.AfterFunc(t.idle, t.tick)
		t.mu.Unlock()
	}
	return t, rw, nil
}

// tunnel is the client's side of an upgraded connection.
type tunnel struct {
	net.Conn
	server    *Server
	webSocket bool
	idle      time.Duration // 0 or less: no bound
	since     time.Time
	in, out   atomic.Int64 // bytes from and to the client
	touched   atomic.Int64 // when something last moved, since since

	early *bufio.Reader // what the client had sent before the switch; read by one goroutine

	leaving atomic.Bool // a close frame is wanted

	mu     sync.Mutex // what is written to the client, and the timer
	frames frames
	open   bool // the client has been told of the switch: frames may follow
	gone   bool // the close frame has been sent: nothing follows it
	timer  *time.Timer
	closed bool
}

// Read reads from the client.
func (t *tunnel) Read(p []byte) (int, error) {
	t.opened()
	var n int
	var err error
	if t.early != nil && t.early.Buffered() > 0 {
		n, err = t.early.Read(p[:min(len(p), t.early.Buffered())])
	} else {
		t.early = nil
		n, err = t.Conn.Read(p)
	}
	t.in.Add(int64(n))
	t.server.stats.TunnelIn.Add(uint64(n))
	t.touch()
	return n, err
}

// opened is called when the reverse proxy begins to copy, which is after it has
// passed the upstream's 101 on.
func (t *tunnel) opened() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open {
		return
	}
	t.open = true
	if t.leaving.Load() && t.webSocket {
		t.sayGoodbyeLocked()
	}
}

// Write writes to the client what comes from the upstream.
func (t *tunnel) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = true
	t.touch()
	if t.gone {
		return len(p), nil // the client has been told that nothing follows
	}
	send := p
	if t.webSocket {
		send = p[:t.follow(p)]
	}
	n, err := t.Conn.Write(send)
	t.out.Add(int64(n))
	t.server.stats.TunnelOut.Add(uint64(n))
	if err != nil {
		return n, err
	}
	t.touch()
	if t.leaving.Load() {
		t.sayGoodbyeLocked()
	}
	return len(p), nil
}

// follow moves the frame boundary along p: over all of it, or, when the tunnel
// is to end, to the next boundary.
func (t *tunnel) follow(p []byte) int {
	n := 0
	for n < len(p) {
		if t.leaving.Load() && t.frames.boundary() {
			break
		}
		n += t.frames.advance(p[n:])
	}
	return n
}

// sayGoodbyeLocked sends the close frame if this is the place for one.
func (t *tunnel) sayGoodbyeLocked() {
	if !t.open || t.gone || t.closed || !t.frames.boundary() {
		return
	}
	t.gone = true
	if _, err := t.Conn.Write(goingAway[:]); err != nil {
		t.Conn.Close()
		return
	}
	// The client answers with a close frame of its own, which goes through to
	// the upstream, and closes. One that does not is not waited for.
	if t.timer != nil {
		t.timer.Stop()
	}
	t.timer = time.AfterFunc(goodbyeWait, func() { t.Conn.Close() })
}

// goodbyeWait is how long a client gets to answer a close frame.
const goodbyeWait = time.Second

// leave ends the tunnel in the way of its protocol. It does not wait.
func (t *tunnel) leave() {
	if !t.webSocket {
		t.Conn.Close()
		return
	}
	t.leaving.Store(true)
	// A write that is under way sees the flag; waiting for it here could take
	// as long as the client likes.
	go func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.sayGoodbyeLocked()
	}()
}

// Close ends the client's side.
func (t *tunnel) Close() error {
	t.server.tunnels.remove(t)
	err := t.Conn.Close() // before mu: it frees a write that holds it
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	return err
}

// CloseWrite passes the upstream's half-close on.
func (t *tunnel) CloseWrite() error {
	if cw, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return io.EOF // as if copying had failed: the tunnel ends
}

func (t *tunnel) touch() { t.touched.Store(int64(time.Since(t.since))) }

func (t *tunnel) tick() {
	left := t.idle - (time.Since(t.since) - time.Duration(t.touched.Load()))
	if left <= 0 {
		t.Conn.Close()
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed && !t.gone {
		t.timer.Reset(left)
	}
}

// tunnels are the open ones.
type tunnels struct {
	mu      sync.Mutex
	open    map[*tunnel]struct{}
	leaving bool
}

func (s *tunnels) add(t *tunnel) {
	s.mu.Lock()
	if s.open == nil {
		s.open = make(map[*tunnel]struct{})
	}
	s.open[t] = struct{}{}
	leaving := s.leaving
	s.mu.Unlock()
	if leaving {
		t.leaving.Store(true) // the next frame is the last
	}
}

func (s *tunnels) remove(t *tunnel) {
	s.mu.Lock()
	delete(s.open, t)
	s.mu.Unlock()
}

// leave tells all of them to end.
func (s *tunnels) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = true
	for t := range s.open {
		t.leave()
	}
}

// close ends all of them at once.
func (s *tunnels) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.open {
		t.Conn.Close()
	}
}

func (s *tunnels) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
