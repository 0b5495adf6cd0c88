package httpgate

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait of these tests; none takes nearly as long.
const patience = 10 * time.Second

// eventually polls a condition about sockets, for which there is nothing to wait on.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %v: %s", patience, what)
		case <-tick.C:
		}
	}
}

// startServer serves h; how is "watched", "blind" (without ConnContext), or "tls".
func startServer(t testing.TB, how string, h http.Handler) *httptest.Server {
	t.Helper()
	return startLogged(t, how, h, nil)
}

// startLogged is startServer with a place for what the server has to say.
func startLogged(t testing.TB, how string, h http.Handler, l *log.Logger) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = l
	if how != "blind" {
		s.Config.ConnContext = ConnContext
	}
	if how == "tls" {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// client is a connection with which a test writes and reads what it likes.
type client struct {
	t  testing.TB
	c  net.Conn
	br *bufio.Reader
}

func dial(t testing.TB, s *httptest.Server) *client {
	t.Helper()
	addr := s.Listener.Addr().String()
	var c net.Conn
	var err error
	if s.TLS != nil {
		c, err = tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	} else {
		c, err = net.Dial("tcp", addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) send(format string, args ...any) *client {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.c, format, args...); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// answer reads one answer and its body.
func (c *client) answer() (*http.Response, string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.br, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return r, string(b)
}

// closed fails unless the server ends the connection without another byte.
func (c *client) closed() {
	c.t.Helper()
	if b, err := io.ReadAll(c.br); err != nil || len(b) > 0 {
		c.t.Errorf("%q and %v instead of the end of the connection", b, err)
	}
}

const post = "POST /p HTTP/1.1\r\nHost: h\r\n"

// waiters is a handler whose requests wait until their client leaves, or for ever.
type waiters struct {
	m    *Middleware
	s    *settings
	in   chan struct{} // one for each that waits
	left chan error    // the cause with which its wait ended
	goOn chan struct{} // ends the wait of one that stays
}

func newWaiters(t testing.TB, aheadBytes int64) *waiters {
	m := &Middleware{}
	t.Cleanup(m.Close)
	return &waiters{m, &settings{aheadBytes: aheadBytes}, make(chan struct{}, 64), make(chan error, 64), make(chan struct{})}
}

func (h *waiters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := &waiting{Context: r.Context(), m: h.m, s: h.s, w: w, r: r}
	done := r.Context().Done()
	if unread(r) {
		done = ctx.Done()
	}
	defer func() {
		if ctx.ahead != nil {
			ctx.ahead.end(w)
		}
	}()
	h.in <- struct{}{}
	select {
	case <-done:
		h.left <- context.Cause(ctx)
		ctx.end()
	case <-h.goOn:
		ctx.end()
		body := r.Body
		if ctx.ahead != nil {
			body = ctx.ahead
		}
		b, err := io.ReadAll(body)
		fmt.Fprintf(w, "%d %v ", len(b), err)
		w.Write(b)
	}
}

// The rows of what was measured about net/http: in each the client leaves
// while its request waits with an unread body.
var leavers = []struct {
	name, request string
	// aheadSees says whether reading ahead is enough to see it.
	aheadSees bool
}{
	{"get", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", true},
	{"small body", post + "Content-Length: 5\r\n\r\nhello", true},
	{"partial body", post + "Content-Length: 50\r\n\r\nhello", true},
	{"no body yet", post + "Content-Length: 50\r\n\r\n", true},
	{"chunked", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", true},
	{"partial chunked", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", true},
	{"expect", post + "Expect: 100-continue\r\nContent-Length: 50\r\n\r\n", false},
	{"more than is read ahead", post + "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 20000), false},
}

func TestLeavingIsSeenWhileWaiting(t *testing.T) {
	for _, how := range []string{"watched", "tls", "blind"} {
		for _, x := range leavers {
			t.Run(how+"/"+x.name, func(t *testing.T) {
				h := newWaiters(t, DefaultAheadBytes)
				s := startServer(t, how, h)
				c := dial(t, s).send("%s", x.request)
				<-h.in
				if how == "blind" && !x.aheadSees || how != "blind" && !canWatch && !x.aheadSees {
					// What the package comment says is lost.
					eventually(t, "the body is read ahead, or cannot be", func() bool {
						return h.m.counters.unwatched.Load() > 0 || h.m.quota.used.Load() > 0
					})
					c.c.Close()
					h.goOn <- struct{}{}
					return
				}
				c.c.Close()
				start := time.Now()
				select {
				case <-h.left:
				case <-time.After(patience):
					t.Fatal("not seen")
				}
				if d := time.Since(start); d > 250*time.Millisecond {
					t.Errorf("seen after %v", d)
				}
			})
		}
	}
}

// wrapped is a connection in a wrapping that says so.
type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

func TestRawConn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, q := net.Pipe()
	defer p.Close()
	defer q.Close()
	for name, x := range map[string]struct {
		c    net.Conn
		want bool
	}{
		"socket": {c, true}, "wrapped": {wrapped{wrapped{struct{ net.Conn }{wrapped{c}}}}, false},
		"said": {wrapped{wrapped{c}}, true}, "tls": {tls.Server(wrapped{c}, nil), true}, "pipe": {p, false},
	} {
		if got := rawConn(x.c) != nil; got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A watch belongs to its request: what happens to the descriptor later, or to
// another one with its number, is not told.
func TestWatchesEnd(t *testing.T) {
	if !canWatch {
		t.Skip("sockets are not watched on this system")
	}
	w, err := newWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told := make(chan int, 100)
	for i := range 50 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		raw := rawConn(s)
		id, ok := w.add(raw, func() { told <- i })
		if !ok {
			t.Fatal("not watched")
		}
		if i%2 == 0 { // the peer goes while it is watched
			c.Close()
			if got := <-told; got != i {
				t.Errorf("told of %d, want %d", got, i)
			}
			w.remove(raw, id)
		} else { // and after
			w.remove(raw, id)
			c.Close()
		}
		s.Close()
	}
	select {
	case i := <-told:
		t.Errorf("told of %d once more", i)
	default:
	}
}

func TestHalfClosedCountsAsGone(t *testing.T) {
	if !canWatch {
		t.Skip("sockets are not watched on this system")
	}
	h := newWaiters(t, 0)
	s := startServer(t, "watched", h)
	c := dial(t, s).send("%s", post+"Content-Length: 50\r\n\r\nhello")
	<-h.in
	if err := c.c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := <-h.left; err != errLeft {
		t.Errorf("cause %v", err)
	}
	eventually(t, "the watch ends", func() bool { return h.m.counters.watched.Load() == 0 })
}

// The next handler reads the same bytes whatever was read ahead.
func TestBodyIsTheSameAfterWaiting(t *testing.T) {
	for _, how := range []string{"watched", "tls", "blind"} {
		for _, n := range []int{1, 100, AheadMax - 1, AheadMax, AheadMax + 1, 3 * AheadMax, 300 << 10} {
			for _, coding := range []string{"length", "chunked", "expect"} {
				t.Run(fmt.Sprintf("%s/%s/%d", how, coding, n), func(t *testing.T) {
					h := newWaiters(t, DefaultAheadBytes)
					s := startServer(t, how, h)
					body := pattern(n)
					c := dial(t, s)
					c.send("%s", post)
					switch coding {
					case "length":
						c.send("Content-Length: %d\r\n\r\n", n)
						go io.WriteString(c.c, body)
					case "expect":
						c.send("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", n)
					case "chunked":
						c.send("Transfer-Encoding: chunked\r\n\r\n")
						go func() {
							half := n / 2
							if half > 0 {
								fmt.Fprintf(c.c, "%x\r\n%s\r\n", half, body[:half])
							}
							fmt.Fprintf(c.c, "%x\r\n%s\r\n0\r\n\r\n", n-half, body[half:])
						}()
					}
					<-h.in
					h.goOn <- struct{}{}
					if coding == "expect" {
						if line, err := c.br.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
							t.Fatalf("%q %v", line, err)
						}
						c.br.ReadString('\n')
						go io.WriteString(c.c, body)
					}
					r, got := c.answer()
					if want := fmt.Sprintf("%d <nil> %s", n, body); r.StatusCode != 200 || got != want {
						t.Errorf("%d: %d bytes %.30q, want %d bytes %.30q", r.StatusCode, len(got), got, len(want), want)
					}
					eventually(t, "the buffer is given back", func() bool { return h.m.quota.used.Load() == 0 })
					// The connection is still in step.
					c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
					<-h.in
					h.goOn <- struct{}{}
					if r, _ := c.answer(); r.StatusCode != 200 {
						t.Errorf("second answer %d", r.StatusCode)
					}
				})
			}
		}
	}
}

func pattern(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d,", i)
	}
	return b.String()[:n]
}

// Bytes that are there are handed on while the rest is still under way.
func TestAheadGivesWhatItHas(t *testing.T) {
	pr, pw := io.Pipe()
	var q quota
	a := newAhead(&http.Request{Body: pr, ContentLength: 100}, &q, 100)
	pw.Write([]byte("first"))
	eventually(t, "the first bytes", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.buf) == 5 })
	a.stop()
	b := make([]byte, 3)
	for _, want := range []string{"fir", "st"} {
		if n, err := a.Read(b); string(b[:n]) != want || err != nil {
			t.Fatalf("%q %v, want %q", b[:n], err, want)
		}
	}
	go pw.Write([]byte("second"))
	if n, err := io.ReadFull(a, b); string(b[:n]) != "sec" || err != nil {
		t.Fatalf("%q %v", b[:n], err)
	}
	go pw.Close()
	if rest, err := io.ReadAll(a); string(rest) != "ond" || err != nil {
		t.Fatalf("%q %v", rest, err)
	}
	if n := q.used.Load(); n != 0 {
		t.Errorf("%d bytes still accounted", n)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.Read(b); err != http.ErrBodyReadAfterClose {
		t.Errorf("after Close: %v", err)
	}
}

func TestAheadIsBounded(t *testing.T) {
	var q quota
	body := func() *http.Request {
		return &http.Request{Body: io.NopCloser(strings.NewReader(pattern(9000))), ContentLength: 9000}
	}
	a := newAhead(body(), &q, AheadMax)
	eventually(t, "a full buffer", func() bool { return !a.pending() })
	if q.used.Load() != AheadMax || len(a.buf) != AheadMax {
		t.Errorf("%d bytes accounted, %d read", q.used.Load(), len(a.buf))
	}
	if b := newAhead(body(), &q, AheadMax); b != nil || q.denied.Load() != 1 {
		t.Errorf("a second buffer within the bound of one; %d denied", q.denied.Load())
	}
	got, err := io.ReadAll(a)
	if string(got) != pattern(9000) || err != nil || q.used.Load() != 0 {
		t.Errorf("%d bytes, %v, %d accounted", len(got), err, q.used.Load())
	}
	if newAhead(body(), &q, -1) != nil {
		t.Error("a buffer where none is allowed")
	}
}

// Waiting requests take memory up to the bound and give all of it back.
func TestAheadBytesOfMany(t *testing.T) {
	const limit = 5 * AheadMax
	h := newWaiters(t, limit)
	s := startServer(t, "blind", h)
	var cs []*client
	for range 12 {
		cs = append(cs, dial(t, s).send("%s", post+"Content-Length: 100000\r\n\r\n"+strings.Repeat("x", 9000)))
		<-h.in
		if n := h.m.quota.used.Load(); n > limit {
			t.Fatalf("%d bytes, %d allowed", n, limit)
		}
	}
	if n := h.m.quota.denied.Load(); n != 7 {
		t.Errorf("%d of 12 without a buffer, want 7", n)
	}
	for _, c := range cs {
		c.c.Close()
		h.goOn <- struct{}{}
	}
	eventually(t, "all bytes are given back", func() bool { return h.m.quota.used.Load() == 0 })
}
