package proxy

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// requestBody is a client's body. Each read of it is bounded in time, and how
// it ended is remembered: an upstream that got half a body is not to blame.
type requestBody struct {
	x    *exchange
	body io.ReadCloser
	// What the log and the upstream need of the client's request.
	method, path, protocol, upgradeTo string
	length                            int64
	trailer                           http.Header // filled in by the server at the end of the body
	onward                            http.Header // the trailer of the request that is sent; nil for none

	n     atomic.Int64
	state atomic.Uint32

	reads sync.Mutex // held by a read that is under way
	over  bool       // nobody reads any more

	mu     sync.Mutex
	live   bool          // the call was admitted: reads are bounded from here on
	armed  time.Duration // when the deadline was set, since started; 0 when it is not
	closed bool          // no read may arm the deadline again
}

const (
	bodyReading = iota
	bodyEnded
	bodyFailed
	bodyStalled
	bodyMalformed
)

func (b *requestBody) init(x *exchange, r *http.Request) {
	b.x, b.body = x, r.Body
	b.method, b.path, b.protocol = r.Method, r.URL.Path, r.Proto
	if v := r.Header["Upgrade"]; len(v) > 0 {
		b.upgradeTo = v[0]
	}
	b.length, b.trailer = r.ContentLength, r.Trailer
	if b.length == 0 {
		b.state.Store(bodyEnded)
	}
}

// open bounds reads from now on. Before, while a call waits, the gate reads at
// its own pace.
func (b *requestBody) open() {
	if b.length == 0 || b.x.grpc {
		return // a gRPC call may be silent in one direction for as long as it likes
	}
	b.mu.Lock()
	b.live = b.x.set.config.BodyIdle > 0
	b.mu.Unlock()
}

// Read reads from the client.
func (b *requestBody) Read(p []byte) (int, error) {
	b.reads.Lock()
	defer b.reads.Unlock()
	if b.over {
		return 0, http.ErrBodyReadAfterClose
	}
	b.arm()
	n, err := b.body.Read(p)
	if n > 0 {
		b.n.Add(int64(n))
	}
	if b.x.grpc {
		b.x.touch()
	}
	if err != nil {
		b.end(err)
	}
	return n, err
}

// arm moves the deadline when an eighth of it has been used.
func (b *requestBody) arm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.live || b.closed {
		return
	}
	idle := b.x.set.config.BodyIdle
	now := time.Since(b.x.started)
	if b.armed == 0 || now-b.armed > idle/8 {
		b.armed = now
		_ = http.NewResponseController(b.x.base).SetReadDeadline(time.Now().Add(idle))
	}
}

func (b *requestBody) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.Load() != bodyReading {
		return
	}
	if err == io.EOF {
		b.state.Store(bodyEnded)
		if b.armed != 0 && !b.closed {
			// From here on the server itself listens for the client's leaving,
			// and a deadline would look like one.
			_ = http.NewResponseController(b.x.base).SetReadDeadline(time.Time{})
		}
		b.fillTrailer()
	} else if errors.Is(err, os.ErrDeadlineExceeded) && !b.closed {
		b.state.Store(bodyStalled)
	} else if b.protocol == "HTTP/1.1" && !broken(err) {
		b.state.Store(bodyMalformed)
	} else {
		b.state.Store(bodyFailed)
	}
	b.closed = true
}

// passTrailer takes the trailer of the request that is sent. The body may have
// ended before, when its beginning was read while the call waited.
func (b *requestBody) passTrailer(onward http.Header) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onward = onward
	if b.state.Load() == bodyEnded {
		b.fillTrailer()
	}
}

// fillTrailer hands on what was announced and has come.
func (b *requestBody) fillTrailer() {
	for k, v := range b.trailer {
		if _, ok := b.onward[k]; ok {
			b.onward[k] = v
		}
	}
}

// broken says that a body ended with its connection, or was read no further.
// What else goes wrong with one is its form: chunks that are none.
func broken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrBodyReadAfterClose) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Close closes the body. The server does that too, when the handler has returned.
func (b *requestBody) Close() error {
	if b.state.Load() == bodyReading && b.duplex() {
		return nil // it would read on; finish sees to it
	}
	return b.body.Close()
}

// duplex says whether the server must be told that the body is read while the
// answer is written. Otherwise it holds the answer back until a read returns
// that may wait for the client.
func (b *requestBody) duplex() bool { return b.protocol != "HTTP/2.0" && b.length != 0 }

// finish makes sure that nobody reads the body when the handler has returned: the
// server would be reading the next request there.
func (b *requestBody) finish() {
	if !b.duplex() {
		return
	}
	b.mu.Lock()
	if b.state.Load() == bodyReading {
		b.closed = true
		_ = http.NewResponseController(b.x.base).SetReadDeadline(time.Unix(1, 0))
	}
	b.mu.Unlock()
	b.reads.Lock()
	b.over = true
	b.reads.Unlock()
}

// failed says whether the client did not send its body to the end.
func (b *requestBody) failed() bool {
	s := b.state.Load()
	return s == bodyFailed || s == bodyStalled || s == bodyMalformed
}

// malformed says whether the client's body was none.
func (b *requestBody) malformed() bool { return b.state.Load() == bodyMalformed }

// stalled says whether the body stood still for too long. The server cancels
// the request's context before the read returns, so the clock is asked as well.
func (b *requestBody) stalled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.Load() != bodyReading {
		return b.state.Load() == bodyStalled
	}
	return b.live && b.armed != 0 && time.Since(b.x.started)-b.armed >= b.x.set.config.BodyIdle
}

// stop ends a body that is still being sent, when its call has been answered:
// the connection cannot be used for another request.
func (b *requestBody) stop(h http.Header) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.Load() != bodyReading {
		return
	}
	b.closed = true
	b.last(h)
	_ = http.NewResponseController(b.x.base).SetReadDeadline(time.Unix(1, 0))
}

// last says in an answer's header that it is the connection's last.
func (b *requestBody) last(h http.Header) {
	if b.protocol != "HTTP/2.0" { // which has a connection for many
		h.Set("Connection", "close")
	}
}

// answerWriter is what the reverse proxy answers through. The status goes
// through the gate, which notes it; the bytes go straight to the server.
type answerWriter struct {
	x        *exchange
	n        int64
	started  bool
	own      http.Header // what the gate has set; nil for nothing
	informed bool        // an answer has come before the answer
	unread   unread
	length   int64 // of the upstream's body, if it is known and not here yet; otherwise 0
}

// breakOff is deferred around the reverse proxy, which panics when an answer
// breaks off half-way. What there is of it is sent first: a client that sees a
// connection end without a byte takes it for one that was closed before its call
// came, and sends the call again.
func (w *answerWriter) breakOff() {
	if v := recover(); v != nil {
		if w.started && v == http.ErrAbortHandler {
			_ = w.FlushError()
		}
		panic(v)
	}
}

// begin is called when the gate has set its headers.
func (w *answerWriter) begin() {
	if h := w.Header(); len(h) > 0 {
		w.own = maps.Clone(h)
	}
	if w.x.body.duplex() {
		_ = http.NewResponseController(w.x.base).EnableFullDuplex()
	}
}

// Header is the answer's.
func (w *answerWriter) Header() http.Header { return w.x.base.Header() }

// WriteHeader sends a status, 1xx included.
func (w *answerWriter) WriteHeader(status int) {
	h := w.Header()
	if status < http.StatusOK {
		// The gate's headers are the answer's, and a connection's are its own.
		for name := range w.own {
			delete(h, name)
		}
		delete(h, "Connection")
		delete(h, "Keep-Alive")
		w.informed = true
	} else {
		w.started = true
		if _, ok := h["Content-Type"]; !ok {
			h["Content-Type"] = nil // the server would guess one
		}
		if w.informed { // the reverse proxy has cleared them away
			maps.Copy(h, w.own)
		}
		if w.x.body.duplex() && w.x.body.state.Load() == bodyReading {
			h.Set("Connection", "close") // what comes on it next is the rest of this body
		}
	}
	w.x.gated.WriteHeader(status)
}

// Write sends a part of the answer.
func (w *answerWriter) Write(p []byte) (int, error) {
	if !w.started {
		w.WriteHeader(http.StatusOK)
	}
	w.unread.begin(w)
	n, err := w.x.base.Write(p)
	w.unread.end()
	w.n += int64(n)
	w.x.touch()
	if err == nil && w.n < w.length && len(p) < bufferSize { // the upstream pauses
		err = w.FlushError()
	}
	return n, err
}

// FlushError sends what is buffered.
func (w *answerWriter) FlushError() error {
	w.unread.begin(w)
	defer w.unread.end()
	if f, ok := w.x.base.(interface{ FlushError() error }); ok {
		return f.FlushError()
	}
	return http.NewResponseController(w.x.base).Flush()
}
