package httpgate

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// body is the body of a request as its handler sees it. It knows whether all
// of it has been read, which the server keeps to itself.
type body struct {
	io.ReadCloser // the server's, or what was read ahead of it
	over          atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.over.Store(true)
	}
	return n, err
}

// complete says whether all of the body has been read.
func (b *body) complete() bool {
	a, ok := b.ReadCloser.(*ahead)
	return b.over.Load() || ok && a.complete()
}

// pending says whether a read is under way that nobody waits for.
func (b *body) pending() bool {
	a, ok := b.ReadCloser.(*ahead)
	return ok && a.pending()
}

// bodyOf is the body of r, or what was read ahead of it; nil when it lies in
// nobody's way.
func bodyOf(r *http.Request, a *ahead) *body {
	switch {
	case a != nil:
		return &body{ReadCloser: a}
	case unread(r):
		return &body{ReadCloser: r.Body}
	}
	return nil
}

// unread says whether r has a body that nobody has read and that lies in the
// way of the next request on the connection.
func unread(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// expects says whether the client waits to be told before it sends the body.
// The server may take any expectation for that one.
func expects(r *http.Request) bool {
	for _, v := range r.Header["Expect"] {
		if strings.Contains(strings.ToLower(v), "100-continue") {
			return true
		}
	}
	return false
}

const (
	// drainTime is how long a refusal waits for the rest of a body that is
	// still under way, so that the connection can be kept.
	drainTime = 20 * time.Millisecond
	// drainMax is how much of it is read, in bytes: as much as the server itself reads.
	drainMax = 256 << 10
)

// leaveBody prepares the answer to a request whose body nobody will read. It
// must be called before the answer is written.
//
// A body that was announced with Expect is not touched, and the connection
// closes; nor is one whose connection is to close anyway. Another one is read up to a bound in bytes and one in time; at
// either the connection closes. A server would do it by itself, without a
// bound in time.
func leaveBody(w http.ResponseWriter, r *http.Request, b *body) {
	switch {
	case b == nil || b.complete():
	case b.pending() || expects(r) || r.ContentLength > drainMax || hasToken(w.Header()["Connection"], "close"):
		abandonBody(w)
	default:
		drain(w, b)
	}
}

// drain reads the rest of a body. From its end on the server itself reads the
// connection, ahead of the next request, and takes a deadline that passes then
// for the client's leaving. So it must be gone by then, and it is known to be
// if it has not been reached after that.
func drain(w http.ResponseWriter, b io.Reader) {
	c := http.NewResponseController(w)
	start := time.Now()
	if c.SetReadDeadline(start.Add(drainTime)) != nil {
		abandonBody(w)
		return
	}
	if _, err := io.CopyN(io.Discard, b, drainMax+1); err != io.EOF {
		abandonBody(w)
		return
	}
	if c.SetReadDeadline(time.Time{}) != nil || time.Since(start) >= drainTime {
		w.Header().Set("Connection", "close")
	}
}

// abandonBody tells the server what a MaxBytesReader at its limit tells it: that
// the rest of the body will not be read, so that it announces the end of the
// connection and lingers for a moment, lest a reset overtakes the answer.
func abandonBody(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	over := http.MaxBytesReader(serverWriter(w), io.NopCloser(oneByte{}), 0)
	_, _ = over.Read(make([]byte, 1)) // says that it is too large, as it should
	interruptRead(w)
}

// interruptRead ends reads from the connection, present and future.
func interruptRead(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
}

// interruptible says whether interruptRead works.
func interruptible(w http.ResponseWriter) bool {
	_, ok := serverWriter(w).(interface{ SetReadDeadline(time.Time) error })
	return ok
}

// serverWriter takes the wrappings off.
func serverWriter(w http.ResponseWriter) http.ResponseWriter {
	for {
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}

// oneByte is a body that is too large for a limit of none.
type oneByte struct{}

func (oneByte) Read(p []byte) (int, error) { return copy(p, "x"), nil }
