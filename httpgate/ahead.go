package httpgate

import (
	"io"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
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
//
// At the end of the body the server puts trailers into its request, whoever
// else may be looking at it. So what is handed on is a copy from before, which
// gets them with the read that sees the end.
type ahead struct {
	body   io.ReadCloser
	server *http.Request // the server's, of whose body this is
	copied *http.Request // and what is handed on
	quota  *quota
	size   int64

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
	a := &ahead{body: r.Body, server: r, copied: r.WithContext(r.Context()), quota: q, size: size, reading: true}
	a.copied.Trailer = maps.Clone(r.Trailer)
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
	n, err := a.read(p)
	if err == io.EOF {
		a.trailers()
	}
	return n, err
}

// trailers hands on what came after the body. The map is kept: handlers that
// copy requests share it.
func (a *ahead) trailers() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.copied.Trailer == nil {
		a.copied.Trailer = a.server.Trailer
		return
	}
	maps.Copy(a.copied.Trailer, a.server.Trailer)
}

func (a *ahead) read(p []byte) (int, error) {
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
	defer a.mu.Unlock()
	a.closed = true
	a.halt(w)
	a.drop()
}

// halt breaks off a read that is under way. The caller holds mu.
func (a *ahead) halt(w http.ResponseWriter) {
	a.stopped = true
	a.cond.Broadcast()
	if a.reading && w != nil {
		a.mu.Unlock()
		interruptRead(w)
		a.mu.Lock()
	}
	for a.reading {
		a.cond.Wait()
	}
}

// yield leaves the connection to whoever is about to take it over.
func (a *ahead) yield(w http.ResponseWriter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.halt(w)
}
