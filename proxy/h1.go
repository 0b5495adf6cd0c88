package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"time"
)

// What follows is the short way to an HTTP/1.1 upstream for calls without a
// body that change nothing. http.Transport hands such a call through three
// goroutines; here the handler writes it and the connection's one goroutine
// reads the answer, which is where a held call has to be read anyway. Parsing
// and framing are net/http's own. Calls that change something, or have a body,
// go through http.Transport.

// h1pool keeps connections to one upstream.
type h1pool struct {
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	addr     string
	max      int           // unused ones that are kept
	patience time.Duration // how long one is kept unused

	buffers sync.Pool // of *[]byte

	mu     sync.Mutex
	free   []*h1conn // the one used last is at the end
	closed bool
	timer  *time.Timer
}

// h1conn is one connection, used by one call at a time.
type h1conn struct {
	pool  *h1pool
	conn  net.Conn
	limit int64 // bytes that may still be read: it bounds a header
	in    *bufio.Reader
	jobs  chan *exchange // the call whose answer comes next
	done  chan bool      // the body of the answer has been dealt with; may the connection be used again?
	used  bool           // a call has been answered on it

	// Guarded by the pool's mu.
	idle  bool
	since time.Time
}

// maxAnswerHeader bounds the header of an answer in bytes.
const maxAnswerHeader = 1 << 20

// take gives the connection that was used last, or nil.
func (p *h1pool) take() *h1conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free)
	if n == 0 {
		return nil
	}
	c := p.free[n-1]
	p.free[n-1] = nil
	p.free = p.free[:n-1]
	c.idle = false
	return c
}

// put keeps a connection for the next call, and says whether it did.
func (p *h1pool) put(c *h1conn, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.free) >= p.max {
		return false
	}
	c.idle, c.used, c.since = true, true, now
	p.free = append(p.free, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.patience, p.sweep)
	}
	return true
}

// remove takes an unused connection out; false means that a call has it.
func (p *h1pool) remove(c *h1conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.idle {
		return false
	}
	c.idle = false
	for i := range p.free {
		if p.free[i] == c {
			p.free = append(p.free[:i], p.free[i+1:]...)
			break
		}
	}
	return true
}

// sweep closes what has been unused for too long. The oldest are in front.
func (p *h1pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.free) > 0 && now.Sub(p.free[0].since) >= p.patience {
		p.free[0].conn.Close() // its goroutine ends by that
		p.free[0].idle = false
		p.free[0].jobs <- nil
		p.free = p.free[1:]
	}
	if len(p.free) == 0 || p.closed {
		p.timer = nil
		return
	}
	p.timer = time.AfterFunc(max(p.patience-now.Sub(p.free[0].since), time.Millisecond), p.sweep)
}

// close closes what is unused now and what becomes so.
func (p *h1pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, c := range p.free {
		c.idle = false
		c.conn.Close()
		c.jobs <- nil
	}
	p.free = nil
}

// Read reads for the buffer, within the limit.
func (c *h1conn) Read(p []byte) (int, error) {
	if c.limit <= 0 {
		return 0, errors.New("proxy: the upstream's answer has too long a header")
	}
	n, err := c.conn.Read(p[:min(int64(len(p)), c.limit)])
	c.limit -= int64(n)
	return n, err
}

// sendShort sends a call on a connection that is there, or on a new one; then
// the dialling needs a goroutine.
func (x *exchange) sendShort(r *http.Request) {
	x.request = r
	c := x.set.upstream.short.take()
	if c == nil {
		go x.dialShort()
		return
	}
	c.start(x) // nobody but this goroutine could have given the call up
}

func (x *exchange) dialShort() {
	p := x.set.upstream.short
	conn, err := p.dial(x.ctx, "tcp", p.addr)
	if err != nil {
		x.noteUpstream(err)
		if x.again { // then something had been sent, and it is no refusal
			err = errNoOther
		}
		x.answered(nil, err, false)
		return
	}
	c := &h1conn{pool: p, conn: conn, limit: math.MaxInt64, jobs: make(chan *exchange, 1), done: make(chan bool, 1)}
	c.in = bufio.NewReaderSize(c, 4<<10)
	if !c.start(x) { // nobody waits any more, and nothing has been sent
		conn.Close()
		x.answered(nil, errGivenUp, false)
		return
	}
	c.loop()
}

// start sends x's request. It returns false when x was abandoned before, and
// then has not touched the connection. A connection that breaks is noticed by
// its reader.
func (c *h1conn) start(x *exchange) bool {
	x.mu.Lock()
	if x.phase == phaseAbandoned {
		x.mu.Unlock()
		return false
	}
	x.conn, x.onWire = c.conn, true
	x.mu.Unlock()
	// The buffer is this call's until Write returns. The answer can be there
	// before that, and with it the connection's next call.
	out, _ := c.pool.buffers.Get().(*[]byte)
	if out == nil {
		out = new([]byte)
	}
	*out = appendRequest((*out)[:0], x.request)
	c.jobs <- x
	// A header of a few kilobytes always finds room at the socket. A longer one
	// may have to wait for the upstream, and its client does not wait for ever.
	long := len(*out) > 4<<10
	if long {
		_ = c.conn.SetWriteDeadline(x.writeBy())
	}
	if _, err := c.conn.Write(*out); err != nil {
		c.conn.Close()
	} else if long {
		_ = c.conn.SetWriteDeadline(time.Time{})
	}
	if cap(*out) <= 16<<10 {
		c.pool.buffers.Put(out)
	}
	return true
}

// writeBy is until when a request's header must have been taken.
func (x *exchange) writeBy() time.Time {
	if !x.deadline.IsZero() {
		return x.deadline
	}
	if idle := x.idle(); idle > 0 {
		return time.Now().Add(idle)
	}
	return time.Time{}
}

// appendRequest writes the header of a request without a body. Names and values
// have been checked by the server that read them.
func appendRequest(b []byte, r *http.Request) []byte {
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, r.URL.RequestURI()...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, cmp.Or(r.Host, r.URL.Host)...)
	b = append(b, "\r\n"...)
	for name, values := range r.Header {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
			continue
		}
		for _, v := range values {
			if v == "" && name == "User-Agent" {
				continue // the reverse proxy's word for none
			}
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, v...)
			b = append(b, "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

// loop reads answers until the connection ends. While the connection is unused
// it waits here as well, so that it sees the upstream close it.
func (c *h1conn) loop() {
	for {
		_, err := c.in.Peek(1)
		if c.pool.remove(c) { // closed, or nonsense that nobody asked for
			c.conn.Close()
			return
		}
		x := <-c.jobs
		if x == nil { // swept
			return
		}
		if err != nil {
			c.conn.Close()
			x.broke(c, err)
			return
		}
		if !c.answer(x) {
			return
		}
	}
}

// broke is what becomes of a call whose connection ended without a byte of an
// answer. One that had been used before may have been closed by the upstream
// just when the call came; what is sent here changes nothing, so it is sent
// once more on a new connection.
func (x *exchange) broke(c *h1conn, err error) {
	x.mu.Lock()
	again := c.used && !x.again && x.phase == phaseWaiting
	x.again = true
	x.conn = nil
	x.mu.Unlock()
	if again {
		go x.dialShort() // the goroutine of the old connection ends with it
		return
	}
	x.answered(nil, err, false)
}

// answer reads one answer and says whether the connection lives on. A short
// body is read at once: then neither the connection nor the slot has to wait
// for the client.
func (c *h1conn) answer(x *exchange) bool {
	c.limit = maxAnswerHeader
	res, err := c.readHeader(x.request)
	c.limit = math.MaxInt64
	if err != nil {
		c.conn.Close()
		x.answered(nil, err, false)
		return false
	}
	x.noteUpstream(nil)
	if res.Body != http.NoBody && (res.ContentLength < 0 || res.ContentLength > int64(c.in.Buffered())) {
		res.Body = &h1body{body: res.Body, c: c, x: x, keep: !res.Close}
		x.answered(res, nil, false)
		if !<-c.done {
			c.conn.Close()
			return false
		}
		return true
	}
	if res.ContentLength > 0 && res.Body != http.NoBody {
		whole := make([]byte, res.ContentLength)
		_, err = io.ReadFull(res.Body, whole) // from the buffer: it cannot fail
		res.Body = &wholeBody{bytes.NewReader(whole)}
	}
	keep := err == nil && c.leave(x, !res.Close)
	x.answered(res, err, true)
	if !keep {
		c.conn.Close()
	}
	return keep
}

// leave separates call and connection, before the slot is free: the next call
// finds the connection.
func (c *h1conn) leave(x *exchange, keep bool) bool {
	x.mu.Lock()
	x.conn = nil
	x.mu.Unlock()
	// Bytes that nobody asked for would become the next call's answer.
	return keep && c.in.Buffered() == 0 && c.pool.put(c, time.Now())
}

// maxInformational bounds the 1xx answers before the answer.
const maxInformational = 16

// readHeader reads the header of the answer, and passes on what comes before it.
func (c *h1conn) readHeader(r *http.Request) (*http.Response, error) {
	for range maxInformational {
		res, err := http.ReadResponse(c.in, r)
		switch {
		case err != nil || res.StatusCode >= http.StatusOK:
			return res, err
		case res.StatusCode < http.StatusContinue:
			return nil, fmt.Errorf("proxy: the upstream's answer has the status %d", res.StatusCode)
		}
		if res.StatusCode == http.StatusSwitchingProtocols {
			return nil, errUnasked
		}
		if t := httptrace.ContextClientTrace(r.Context()); t != nil && t.Got1xxResponse != nil {
			if err := t.Got1xxResponse(res.StatusCode, textproto.MIMEHeader(res.Header)); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("proxy: the upstream sent too many informational answers")
}

// h1body is a body that is read from the connection.
type h1body struct {
	body io.ReadCloser
	c    *h1conn
	x    *exchange
	keep bool
	over bool
}

func (b *h1body) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err != nil && !b.over {
		b.over = true
		b.c.done <- b.c.leave(b.x, b.keep && err == io.EOF)
	}
	return n, err
}

// Close gives up a connection whose body has not been read to its end.
func (b *h1body) Close() error {
	if !b.over {
		b.over = true
		b.c.conn.Close()
		b.c.done <- false
	}
	return nil
}

// wholeBody is a body that has been read.
type wholeBody struct{ *bytes.Reader }

// Close does nothing.
func (wholeBody) Close() error { return nil }
