package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
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
		for k, v := range b.trailer {
			if b.onward != nil {
				b.onward[k] = v
			}
		}
	} else if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() && !b.closed {
		b.state.Store(bodyStalled)
	} else if b.protocol == "HTTP/1.1" && !broken(err) {
		b.state.Store(bodyMalformed)
	} else {
		b.state.Store(bodyFailed)
	}
	b.closed = true
}

// broken says that a body ended with its connection, or was read no further.
// What else goes wrong with one is its form: chunks that are none.
func broken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrBodyReadAfterClose) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Close closes the body.
func (b *requestBody) Close() error { return b.body.Close() }

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
	if b.protocol != "HTTP/2.0" {
		h.Set("Connection", "close")
	}
	_ = http.NewResponseController(b.x.base).SetReadDeadline(time.Unix(1, 0))
}

// answerWriter is what the reverse proxy answers through. The status goes
// through the gate, which notes it; the bytes go straight to the server.
type answerWriter struct {
	x       *exchange
	n       int64
	started bool
}

// Header is the answer's.
func (w *answerWriter) Header() http.Header { return w.x.base.Header() }

// WriteHeader sends a status, 1xx included.
func (w *answerWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.started = true
	}
	w.x.gated.WriteHeader(status)
}

// Write sends a part of the answer.
func (w *answerWriter) Write(p []byte) (int, error) {
	if !w.started {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.x.base.Write(p)
	w.n += int64(n)
	w.x.touch()
	return n, err
}

// FlushError sends what is buffered.
func (w *answerWriter) FlushError() error {
	if f, ok := w.x.base.(interface{ FlushError() error }); ok {
		return f.FlushError()
	}
	return http.NewResponseController(w.x.base).Flush()
}
