package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// answer is what came of sending a call upstream. Without res and err it is
// the news that the deadline has passed.
type answer struct {
	res *http.Response
	err error
}

// Why the upstream's side of a call was broken off.
var (
	errIdle    = errors.New("proxy: nothing moved for too long")
	errHeld    = errors.New("proxy: the call was held for as long as allowed")
	errGivenUp = errors.New("proxy: nobody waits for the call any more")
	errUnasked = errors.New("proxy: the upstream switched protocols without being asked")
	errTooSoon = errors.New("proxy: the upstream switched protocols before it had the body of the request")
	errNoOther = errors.New("proxy: the upstream closed the connection and took no other")
)

// What the reverse proxy is told when a call is abandoned.
var (
	errLate = errors.New("proxy: the deadline passed before an answer came")
	errLeft = errors.New("proxy: the client left before an answer came")
)

// roundTripper sends calls upstream so that they can be abandoned: the sending
// goroutine stays with the call, the handler's returns.
type roundTripper struct{}

func (roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r.Context())
	x.sent = time.Now()
	if x.upgrade {
		return x.roundTripUpgrade(r)
	}
	if short := x.set.upstream.short; short != nil && x.safe && !x.grpc && r.Body == nil {
		x.sendShort(r)
	} else {
		go x.send(r)
	}
	select {
	case a := <-x.answers:
		if a.res == nil && a.err == nil {
			return x.abandon(errLate)
		}
		return x.begin(a)
	case <-x.client.Done():
		return x.abandon(errLeft)
	}
}

// send takes the long way: any protocol, any body.
func (x *exchange) send(r *http.Request) {
	res, err := x.set.upstream.pick(x).RoundTrip(x.traced(r))
	err = x.verdict(err)
	x.noteUpstream(err)
	if err == nil && res.StatusCode < http.StatusOK { // http.Transport deals with the rest of those
		res.Body.Close()
		err = errUnasked
		if res.StatusCode != http.StatusSwitchingProtocols {
			err = fmt.Errorf("proxy: the upstream's answer has the status %d", res.StatusCode)
		}
		res = nil
	}
	x.answered(res, err, false)
}

// answered hands the answer to whoever is responsible by now: the handler, or
// nobody. whole says that the body has been read already; then the call is over.
func (x *exchange) answered(res *http.Response, err error, whole bool) {
	x.mu.Lock()
	if x.phase == phaseAbandoned {
		x.mu.Unlock()
		x.settle(res, err)
		return
	}
	if err != nil {
		x.phase = phaseDone
		x.endLocked(x.failure(err))
	} else {
		x.phase = phaseStreaming
		x.touch()
		res.Body = &answerBody{body: res.Body, x: x, res: res}
		if whole && !isEvents(res.Header) {
			x.endLocked(wholeOutcome(res))
		} else if idle := x.idle(); idle > 0 && x.timer != nil {
			x.timer.Reset(idle) // it stood for the deadline
		}
	}
	x.mu.Unlock()
	x.answers <- answer{res, err}
}

// wholeOutcome is the outcome of a call that was answered to the end.
func wholeOutcome(res *http.Response) plimsoll.Outcome {
	if failedAnswer(res) {
		return plimsoll.Failed
	}
	return plimsoll.OK
}

// failure is the outcome of a call that got no answer.
func (x *exchange) failure(err error) plimsoll.Outcome {
	switch {
	case x.client.Err() != nil || x.body.failed():
		return plimsoll.Cancelled
	case isDialError(err): // nothing was sent
		return plimsoll.Failed
	case isUnsendable(err): // nor could it be
		return plimsoll.Cancelled
	}
	x.server.stats.UpstreamErrors.Add(1)
	if x.safe { // whatever became of it has changed nothing
		return plimsoll.Failed
	}
	return plimsoll.Unknown
}

// begin is called by the handler with the answer in hand.
func (x *exchange) begin(a answer) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	x.beginStream(a.res)
	x.out.length = a.res.ContentLength
	// A long silence of the upstream would hide that the client has left.
	if x.over() {
		return a.res, nil
	}
	if x.events || a.res.ContentLength < 0 || a.res.ContentLength > 1<<16 || x.set.config.OnAbandon == Cancel {
		stop := context.AfterFunc(&x.client, x.clientLeft)
		x.mu.Lock()
		x.unwatch = stop
		x.mu.Unlock()
	}
	return a.res, nil
}

// abandon leaves the call to its sender, unless the answer came in the same
// moment.
func (x *exchange) abandon(why error) (*http.Response, error) {
	x.mu.Lock()
	if x.phase != phaseWaiting {
		x.mu.Unlock()
		for {
			// The news of lateness may be before it.
			if a := <-x.answers; a.res != nil || a.err != nil {
				return x.begin(a)
			}
		}
	}
	x.left = why == errLeft
	if !x.onWire {
		o := plimsoll.Failed
		if x.left {
			o = plimsoll.Cancelled
		}
		x.withdrawLocked(o)
		x.mu.Unlock()
		if !x.left {
			why = &dialError{errLate} // before there was a connection
			if x.waitedForConn() {
				x.server.noteUpstream(x.set.upstream, why)
			}
		}
		return nil, why
	}
	x.giveUpLocked()
	x.mu.Unlock()
	return nil, why
}

// over says whether the call has ended and holds nothing.
func (x *exchange) over() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended && !x.events
}

// abortLocked breaks the upstream's side off.
func (x *exchange) abortLocked(why error) {
	x.cancel(why)
	if x.conn != nil {
		x.conn.Close()
	}
}

// clientLeft runs when the client leaves while its answer streams.
func (x *exchange) clientLeft() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.phase != phaseStreaming {
		return
	}
	x.left = true
	if x.events {
		x.abortLocked(errGivenUp)
	} else if !x.ended {
		x.giveUpLocked()
	}
}

// giveUpLocked turns a call that has not ended into one that nobody waits for.
func (x *exchange) giveUpLocked() {
	x.phase = phaseAbandoned
	x.held = true
	x.server.stats.Abandoned.Add(1)
	x.server.stats.Held.Add(1)
	x.server.held.add(x)
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.set.config.OnAbandon == Hold {
		x.timer = time.AfterFunc(x.holdMax(), func() {
			x.mu.Lock()
			x.abortLocked(errHeld)
			x.mu.Unlock()
		})
		return
	}
	x.abortLocked(errGivenUp)
	o := plimsoll.Unknown
	if x.left {
		o = plimsoll.Cancelled
	}
	x.timer = time.AfterFunc(x.server.expected(x.call.Pool), func() {
		x.mu.Lock()
		x.endLocked(o)
		x.mu.Unlock()
	})
}

// holdMax is how long the call is held from now on.
func (x *exchange) holdMax() time.Duration {
	if d := x.set.config.HoldMax; d > 0 {
		return d
	}
	if x.deadline.IsZero() {
		return DefaultHoldMax
	}
	return HoldDeadlines * max(x.deadline.Sub(x.started), time.Millisecond)
}

// settle reads the answer of an abandoned call to its end and throws it away.
func (x *exchange) settle(res *http.Response, err error) {
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	x.settled(res, err)
}

// settled ends an abandoned call of which nothing more will come. Without an
// err the answer was whole.
func (x *exchange) settled(res *http.Response, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch cause := context.Cause(x.ctx); {
	case cause == errGivenUp: // the timer ends it
	case cause == errHeld:
		x.server.stats.Lost.Add(1)
		x.endLocked(plimsoll.Lost)
	case x.left:
		x.endLocked(plimsoll.Cancelled)
	case err != nil || failedAnswer(res):
		x.endLocked(plimsoll.Unknown)
	default:
		x.endLocked(plimsoll.OK) // by now the gate counts it as late
	}
}

// endLocked releases the ticket, once.
func (x *exchange) endLocked(o plimsoll.Outcome) {
	if x.ended {
		return
	}
	x.ended, x.outcome = true, o
	if !x.sent.IsZero() {
		x.took = time.Since(x.sent)
	}
	if x.timer != nil && !x.events {
		x.timer.Stop()
	}
	if x.phase == phaseAbandoned {
		x.server.stats.Held.Add(-1)
		x.server.held.remove(x)
	}
	x.release(o)
}

// handlerReturns sees to calls that were not ended on a path of their own:
// those that were never sent, and those whose handler panicked.
func (x *exchange) handlerReturns() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unwatch != nil {
		x.unwatch()
	}
	if x.phase == phaseWaiting || x.phase == phaseStreaming {
		x.phase = phaseDone
		x.abortLocked(errGivenUp)
		x.endLocked(plimsoll.Failed)
	}
}

// touch notes that something moved.
func (x *exchange) touch() { x.touched.Store(int64(time.Since(x.started))) }

// idle is how long nothing may move; 0 or less means no bound.
func (x *exchange) idle() time.Duration { return x.set.config.AnswerIdle }

// arm starts the one timer of a call: until the answer begins it stands for
// the deadline, and after that for the silence that is allowed.
func (x *exchange) arm() {
	first := x.idle()
	if !x.deadline.IsZero() {
		first = max(time.Until(x.deadline), time.Microsecond)
	}
	if first <= 0 {
		return
	}
	x.mu.Lock()
	x.timer = time.AfterFunc(first, x.tick)
	x.mu.Unlock()
}

func (x *exchange) tick() {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.phase {
	case phaseWaiting:
		if x.deadline.IsZero() {
			x.timer.Reset(x.idle())
		} else if left := time.Until(x.deadline); left > 0 {
			x.timer.Reset(left)
		} else {
			x.answers <- answer{} // there is room: this is said once
		}
	case phaseStreaming:
		idle := x.idle()
		if idle <= 0 {
			return
		}
		if left := idle - (time.Since(x.started) - time.Duration(x.touched.Load())); left > 0 {
			x.timer.Reset(left)
		} else {
			x.abortLocked(errIdle)
		}
	}
}

// answerBody is an upstream's answer on its way to the client. The ticket ends
// with it, not with its header.
type answerBody struct {
	body  io.ReadCloser
	x     *exchange
	res   *http.Response
	ended bool // the handler's goroutine alone reads and closes
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.x.touch()
	if err != nil && !b.ended {
		b.ended = true
		b.x.answerEnded(b.res, err)
	}
	return n, err
}

// Close is called early when the client has stopped reading. A held call is
// then read to its end behind the handler's back.
func (b *answerBody) Close() error {
	if b.ended {
		return b.body.Close()
	}
	b.ended = true
	x := b.x
	x.mu.Lock()
	if x.phase == phaseStreaming {
		x.left = true
		if x.ended {
			x.phase = phaseDone
		} else {
			x.giveUpLocked()
		}
	}
	drain := x.phase == phaseAbandoned && x.set.config.OnAbandon == Hold
	x.mu.Unlock()
	if drain {
		res := *b.res
		res.Body = b.body
		go x.settle(&res, nil)
		return nil
	}
	return b.body.Close()
}

// answerEnded ends a call with its answer.
func (x *exchange) answerEnded(res *http.Response, err error) {
	x.mu.Lock()
	abandoned := x.phase == phaseAbandoned
	if x.phase == phaseStreaming {
		x.phase = phaseDone
		switch {
		case x.client.Err() != nil:
			x.left = true
			x.endLocked(plimsoll.Cancelled)
		case err != io.EOF:
			x.server.stats.UpstreamErrors.Add(1)
			x.endLocked(plimsoll.Failed)
		default:
			x.endLocked(wholeOutcome(res))
		}
		if x.timer != nil {
			x.timer.Stop()
		}
	}
	x.mu.Unlock()
	if err == io.EOF { // which is how a whole answer ends
		err = nil
	}
	if abandoned {
		x.settled(res, err)
	}
}

// failedAnswer says whether a whole answer is one of a call that failed at the
// upstream: a status from 500, the upstream's own refusal, or a gRPC status
// that says the same.
func failedAnswer(res *http.Response) bool {
	if res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests {
		return true
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "application/grpc") {
		return false
	}
	status := res.Trailer.Get("Grpc-Status")
	if status == "" {
		status = res.Header.Get("Grpc-Status") // an answer without a message
	}
	switch status {
	case "2", "4", "8", "12", "13", "14", "15", "": // unknown, late, exhausted, unimplemented, internal, unavailable, data loss
		return true
	}
	return false
}
