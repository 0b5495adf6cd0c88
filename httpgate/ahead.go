package httpgate

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// AheadMax is how much of one body is read ahead at most, in bytes.
const AheadMax = 4 << 10

// quota bounds the bytes of all buffers together.
type quota struct {
	used   atomic.Int64
	denied atomic.Uint64
}

// take reserves n bytes within limit, or counts that it could not.
func (q *quota) take(n, limit int64) bool {
	if q.used.Add(n) > limit {
		q.used.Add(-n)
		q.denied.Add(1)
		return false
	}
	return true
}

// ahead is a body of which the beginning is read while its request waits. The
// reading is done by a goroutine, which ends when the buffer is full, at the
// end of the body, or with the first read that returns after stop. The read
// that is under way at that moment cannot be taken back without breaking the
// connection, so the next handler's first reads may wait for it; they get the
// bytes in order all the same.
type ahead struct {
	body  io.ReadCloser
	quota *quota
	size  int64

	mu      sync.Mutex
	cond    sync.Cond
	buf     []byte // read and not yet taken
	taken   int
	err     error // what the body said after the last byte of buf
	reading bool  // the goroutine is in body.Read, or about to be
	stopped bool
	closed  bool
}

func newAhead(r *http.Request, q *quota, limit int64) *ahead {
	size := int64(AheadMax)
	if r.ContentLength > 0 && r.ContentLength < size {
		size = r.ContentLength
	}
	if !q.take(size, limit) {
		return nil
	}
	a := &ahead{body: r.Body, quota: q, size: size, reading: true}
	a.cond.L = &a.mu
	go a.fill()
	return a
}

func (a *ahead) fill() {
	space := make([]byte, a.size)
	n := 0
	for {
		k, err := a.body.Read(space[n:])
		n += k
		if a.filled(space[:n], err) {
			return
		}
	}
}

// filled takes what was read so far and says whether the reading ends.
func (a *ahead) filled(b []byte, err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.buf, a.err = b[a.taken:], err
	a.reading = err == nil && len(b) < int(a.size) && !a.stopped
	if a.closed {
		a.drop()
	}
	a.cond.Broadcast()
	return !a.reading
}

// stop ends the reading ahead with the read that is under way.
func (a *ahead) stop() {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
}

// pending says whether a read is still under way.
func (a *ahead) pending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reading
}

// complete says whether all of the body has been read ahead.
func (a *ahead) complete() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err == io.EOF
}

// Read gives the next handler the bytes of the body in order.
func (a *ahead) Read(p []byte) (int, error) {
	a.mu.Lock()
	for a.reading && len(a.buf) == 0 && !a.closed {
		a.cond.Wait()
	}
	switch {
	case a.closed:
		a.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	case len(a.buf) > 0:
		n := copy(p, a.buf)
		a.buf, a.taken = a.buf[n:], a.taken+n
		var err error
		if len(a.buf) == 0 {
			err = a.err // the end may come with the last bytes, as from net/http
			a.drop()
		}
		a.mu.Unlock()
		return n, err
	case a.err != nil:
		err := a.err
		a.drop()
		a.mu.Unlock()
		return 0, err
	}
	a.drop()
	a.mu.Unlock()
	return a.body.Read(p)
}

// Close closes the body when no read is under way; when one is, end does.
func (a *ahead) Close() error {
	a.mu.Lock()
	a.closed = true
	reading := a.reading
	if !reading {
		a.drop()
	}
	a.cond.Broadcast()
	a.mu.Unlock()
	if reading {
		return nil
	}
	return a.body.Close()
}

// drop gives the buffer's bytes back to the quota, once. The caller holds mu.
func (a *ahead) drop() {
	if a.size > 0 && !a.reading {
		a.quota.used.Add(-a.size)
		a.size, a.buf = 0, nil
	}
}

// end makes sure that no read is under way when the server takes the
// connection back, and gives back the memory. A read that has to be broken off
// takes the connection with it. w is nil when the connection was hijacked: that
// has ended every read.
func (a *ahead) end(w http.ResponseWriter) {
	a.mu.Lock()
	a.stopped, a.closed = true, true
	a.cond.Broadcast()
	if a.reading && w != nil {
		a.mu.Unlock()
		interruptRead(w)
		a.mu.Lock()
	}
	for a.reading {
		a.cond.Wait()
	}
	a.drop()
	a.mu.Unlock()
}

// interruptRead ends reads from the connection, present and future.
func interruptRead(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
}

// drainTime is how long a refusal waits for the rest of a body that is still
// under way, so that the connection can be kept. The server itself bounds the
// bytes, at 256 KiB.
const drainTime = 20 * time.Millisecond

// unread says whether r has a body that nobody has read and that lies in the
// way of the next request on the connection.
func unread(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// expects says whether the client waits to be told before it sends the body.
func expects(r *http.Request) bool {
	v := r.Header["Expect"]
	return len(v) > 0 && strings.EqualFold(v[0], "100-continue")
}

// leaveBody prepares the answer to a request whose body nobody will read. It
// must be called before the answer is written.
//
// A body that was announced with Expect is not touched, and the connection
// closes. Another one is read by the server before it answers, up to a bound
// in bytes, and here the bound in time is set; at either the connection closes.
func leaveBody(w http.ResponseWriter, r *http.Request, a *ahead) {
	if !unread(r) || a != nil && a.complete() {
		return
	}
	if a != nil && a.pending() || expects(r) {
		abandonBody(w)
		interruptRead(w)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
}

// abandonBody tells the server what a MaxBytesReader at its limit tells it: that
// the rest of the body will not be read, so that it announces the end of the
// connection and lingers for a moment, lest a reset overtakes the answer.
func abandonBody(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	over := http.MaxBytesReader(serverWriter(w), io.NopCloser(oneByte{}), 0)
	_, _ = over.Read(make([]byte, 1)) // says that it is too large, as it should
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
