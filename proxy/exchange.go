package proxy

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/httpgate"
)

// exchange is one request from the reading of its header until nothing of it is
// left, which may be after its client has been answered: an abandoned call is
// held until the upstream has done with it.
//
// Two goroutines know it while it runs: the handler's, and the sender's, which
// talks to the upstream. What both touch is below mu.
type exchange struct {
	server *Server
	set    *settings
	client clientContext       // done when the client leaves
	base   http.ResponseWriter // the server's
	gated  http.ResponseWriter // the gate's, which notes the status; nil before admission
	out    answerWriter
	body   requestBody
	call   *httpgate.Call   // nil before admission
	stream *plimsoll.Ticket // of an event stream, nil otherwise

	started  time.Time
	sent     time.Time // when the call went upstream; zero if it never did
	deadline time.Time // zero for none
	grpc     bool
	safe     bool // the method changes nothing, says RFC 9110
	upgrade  bool
	request  *http.Request // as it is sent, when it goes the short way
	answers  chan answer   // what the handler waits for: one answer, or the news that it is late

	// For the log; the handler's goroutine writes them.
	reason string
	status int
	tunnel *tunnel

	// touched is when something last moved between client and upstream, in
	// nanoseconds since started.
	touched atomic.Int64

	mu      sync.Mutex
	phase   phase
	timer   *time.Timer // nil for none
	ctx     context.Context
	cancel  context.CancelCauseFunc
	release func(plimsoll.Outcome)
	ended   bool // the ticket has been released
	held    bool // the call was abandoned
	left    bool // by its client; otherwise by its deadline
	events  bool // the answer is an event stream and holds no slot of the pool
	outcome plimsoll.Outcome
	took    time.Duration // from sent to the end of the answer
	conn    net.Conn      // to the upstream, when the call went the short way and is on it
	again   bool          // the call has been sent a second time
	wanted  bool          // a connection was asked for: the request can be sent
	onWire  bool          // there was a connection for it: from then on something may have been sent
	unsent  bool          // it was given up before that, and must not be sent any more
	unwatch func() bool   // stops watching the client while an answer streams; nil for none
}

// phase is how far a call has come.
type phase uint8

const (
	phaseWaiting   phase = iota // for the answer's header
	phaseStreaming              // the answer's body
	phaseAbandoned              // nobody waits; held or cancelled
	phaseDone                   // the answer has been read to its end, or failed
)

// clientContext is a request's context that leads back to its exchange.
type clientContext struct {
	context.Context
	x *exchange
}

type exchangeKey struct{}

// Value answers for the exchange; everything else is the request's.
func (c *clientContext) Value(key any) any {
	if _, ok := key.(exchangeKey); ok {
		return c.x
	}
	return c.Context.Value(key)
}

// exchangeOf is the exchange that ctx belongs to.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// detached is the context of the upstream's side: it has the client's values
// and outlives the client.
type detached struct{ client *clientContext }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
func (d detached) Value(key any) any         { return d.client.Value(key) }

// ServeHTTP answers one request of a user.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s, set: s.current.Load(), base: w, started: time.Now()}
	x.client = clientContext{r.Context(), x}
	x.out.x = x
	x.body.init(x, r)
	s.stats.Requests.Add(1)
	s.stats.InFlight.Add(1)
	if status, why := unfit(r); status != 0 {
		http.Error(w, "proxy: "+why, status)
		x.done(status)
		return
	}
	r = r.WithContext(&x.client)
	r.Body = &x.body
	x.grpc = isGRPC(r.Header)
	x.safe = isSafe(r.Method)
	if wantsEvents(r.Header) && !x.admitStream(w, r) {
		return
	}
	s.gated.ServeHTTP(w, r)
	lastWrite(w, r, x.set.config.WriteIdle)
}

// onDone is told by the middleware that a request has been dealt with: refused,
// given up, answered, or broken off.
func (s *Server) onDone(r *http.Request, c *httpgate.Call) {
	if c.Reason == core.Streams {
		s.stats.StreamsRefused.Add(1) // an upgrade; event streams are refused by the exchange
	}
	x := exchangeOf(r.Context())
	if x == nil {
		return
	}
	x.call = c
	// Not before: what is counted here the gate has among those that failed.
	if x.reason == core.Upstream.String() && c.Outcome() == plimsoll.Failed {
		s.unsent.add(c.Class)
	}
	if c.Reason != 0 {
		x.reason = c.Reason.String()
	}
	x.done(c.Status)
}

// done ends the client's side and writes its line.
func (x *exchange) done(status int) {
	x.endStream()
	x.server.stats.InFlight.Add(-1)
	if x.status == 0 {
		x.status = status
	}
	if x.server.log == nil {
		return
	}
	x.log()
}

func (x *exchange) log() {
	e := Entry{
		Time: x.started, Method: x.body.method, Path: x.body.path, Status: x.status,
		Reason: x.reason, Protocol: x.body.protocol,
		Total: time.Since(x.started), In: x.body.n.Load(), Out: x.out.n,
	}
	if x.call != nil {
		e.Class, e.Wait = x.call.Class, x.call.Waited
	}
	var o plimsoll.Outcome
	o, e.Upstream, e.Held = x.soFar(e.Total)
	if x.tunnel != nil {
		e.Status, e.In, e.Out = http.StatusSwitchingProtocols, x.tunnel.in.Load(), x.tunnel.out.Load()
	}
	if o != 0 {
		e.Outcome = o.String()
	}
	x.server.log.add(&e)
}

// soFar is what can be said of the call when its handler has returned.
func (x *exchange) soFar(total time.Duration) (o plimsoll.Outcome, upstream time.Duration, held bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	o, upstream = x.outcome, x.took
	if upstream == 0 && !x.sent.IsZero() {
		upstream = total - x.sent.Sub(x.started)
	}
	switch {
	case x.left && (x.events || !x.ended):
		o = plimsoll.Cancelled
	case x.held && !x.ended: // what was sent and not answered in time is unknown
		o = plimsoll.Unknown
	case o == plimsoll.OK && !x.events && !x.deadline.IsZero() && x.sent.Add(x.took).After(x.deadline):
		o = plimsoll.Late
	case o == 0 && x.reason != "":
		o = plimsoll.Refused
	case o == 0 && x.call != nil:
		o = x.call.Outcome()
	}
	return o, upstream, x.held
}

// forward is the handler behind the gate: the call has been admitted.
func (s *Server) forward(w http.ResponseWriter, r *http.Request) {
	x := exchangeOf(r.Context())
	x.call = httpgate.FromContext(r.Context())
	x.gated = w
	x.body.open()
	x.out.begin()
	defer x.body.finish()
	defer x.out.breakOff()
	if x.call.Stream {
		x.forwardUpgrade(r)
		return
	}
	x.release = x.call.Hold()
	// Whatever panics below must not take the slot along.
	defer x.handlerReturns()
	x.ctx, x.cancel = context.WithCancelCause(detached{&x.client})
	x.answers = make(chan answer, 2)
	x.deadline, _ = x.call.Deadline()
	x.arm()
	x.set.proxy.ServeHTTP(&x.out, r.WithContext(x.ctx))
}

// wantsEvents says whether a client asks for an event stream, as an EventSource
// does. Such a request is admitted as a stream, because it will live as long
// as one.
func wantsEvents(h http.Header) bool {
	for _, v := range h["Accept"] {
		if strings.HasPrefix(v, "text/event-stream") {
			return true
		}
	}
	return false
}

// isGRPC says whether h is that of a gRPC call or answer; gRPC-Web is none, it
// is made for HTTP/1.
func isGRPC(h http.Header) bool {
	v := h["Content-Type"]
	if len(v) == 0 {
		return false
	}
	rest, ok := strings.CutPrefix(v[0], "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
