package httpgate

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// Call is what the middleware knows of one request.
type Call struct {
	// Class is the class that the call was admitted or refused as.
	Class string
	// Pool is the pool that it asked; "streams" for an upgrade or a tunnel.
	Pool string
	// Stream is true for a request for an upgrade or a tunnel.
	Stream bool
	// FromHeader is true when a believed header named the class.
	FromHeader bool
	// Ignored is IgnoredUntrusted or IgnoredValue when a header that spoke of
	// the class was not followed; empty otherwise.
	Ignored string
	// Attempt numbers the tries of one intention from 0.
	Attempt int
	// Waited is how long the call waited for its ticket or its refusal; 0 when
	// its client left meanwhile.
	Waited time.Duration
	// Reason says why the call was refused; 0 when it was not.
	Reason plimsoll.Reason
	// Status is the status that was answered, for Options.OnDone: 0 when the
	// handler panicked before it answered or took the connection over, 499
	// when the client left while it waited.
	Status int

	deadline    time.Time // zero when there is none
	rules       *Rules
	classHeader string
	trusted     bool

	body    *body                           // nil for one that is not in the next request's way
	shake   atomic.Pointer[plimsoll.Ticket] // of a gated handshake, until that is over
	ticket  plimsoll.Ticket
	held    atomic.Bool
	ended   atomic.Bool
	outcome atomic.Uint32
}

// StatusClientLeft is the status noted for a call whose client left before it
// could be answered.
const StatusClientLeft = 499

type callKey struct{}

// FromContext is the call that ctx belongs to, nil outside of a handler behind
// a [Middleware].
func FromContext(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// callContext carries a call. It is a type of its own to cost no allocation.
type callContext struct {
	context.Context
	call *Call
}

func (c *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c.call
	}
	return c.Context.Value(key)
}

// Remaining is the time left until the call's deadline, less than 0 when it
// has passed; ok is false when the call has none.
func (c *Call) Remaining() (left time.Duration, ok bool) {
	if c.deadline.IsZero() {
		return 0, false
	}
	return time.Until(c.deadline), true
}

// Deadline is the instant after which the answer is worthless; ok is false
// when the call has none. Of an upgrade that passes its class's pool it is the
// deadline of the handshake, and nothing when that is over.
func (c *Call) Deadline() (t time.Time, ok bool) { return c.deadline, !c.deadline.IsZero() }

// Hold takes the release of the ticket over from the middleware: it then ends
// by the function returned, at any time and on any goroutine, and not when the
// handler returns or panics. Who holds and never releases has lost a slot for
// ever. Only the first release counts. A second Hold returns the same right,
// not another one. Of an upgrade that passes its class's pool the release ends
// the handshake, too, unless it was over before.
func (c *Call) Hold() (release func(plimsoll.Outcome)) {
	c.held.Store(true)
	return c.release
}

func (c *Call) release(o plimsoll.Outcome) {
	if c.ended.CompareAndSwap(false, true) {
		c.outcome.Store(uint32(o))
		c.shaken(o)
		c.ticket.Release(o)
	}
}

// shaken ends a gated handshake, if there is one that has not ended.
func (c *Call) shaken(o plimsoll.Outcome) {
	if t := c.shake.Swap(nil); t != nil {
		t.Release(o)
	}
}

// Outcome says how the call ended; 0 while it has not, as for a held ticket
// that is still out. A call that was answered after its deadline says OK here;
// the gate counts it as late. One whose client went before the handler returned
// was cancelled, whether or not it had its answer by then.
func (c *Call) Outcome() plimsoll.Outcome { return plimsoll.Outcome(c.outcome.Load()) }

// Forward makes h, the header of a request to be sent upstream on behalf of
// the call, say what the gate says. Control headers that the client sent are
// removed: those of Plimsoll, grpc-timeout, and those in which it spoke of its
// class without being believed. The time that is left, at least a millisecond,
// and the attempt are set.
func (c *Call) Forward(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Plimsoll-") {
			delete(h, name)
		}
	}
	delete(h, "Grpc-Timeout")
	c.forwardClass(h)
	if c.Attempt > 0 {
		h[HeaderAttempt] = []string{strconv.Itoa(c.Attempt + 1)}
	}
	left, ok := c.Remaining()
	if !ok {
		return
	}
	left = max(left, time.Millisecond)
	h[HeaderTimeout] = []string{strconv.FormatInt(left.Milliseconds(), 10)}
	if v := h["Content-Type"]; len(v) > 0 && strings.HasPrefix(v[0], "application/grpc") {
		h["Grpc-Timeout"] = []string{formatGRPC(left)}
	}
}

// forwardClass leaves in h only what a trusted peer said, and of class headers
// only the one that was followed.
func (c *Call) forwardClass(h http.Header) {
	if c.rules == nil {
		return
	}
	for _, name := range c.rules.claims {
		if _, ok := h[name]; !ok || name == c.classHeader {
			continue
		}
		if !c.trusted || c.rules.isClassHeader(name) {
			delete(h, name)
		}
	}
}

func (c *Rules) isClassHeader(name string) bool {
	for i := range c.list {
		if c.list[i].classHeader == name {
			return true
		}
	}
	return false
}
