package httpgate

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// behind serves what x's middleware makes of h, with other handlers around it.
func (x *rig) behind(how string, outer func(http.Handler) http.Handler, h http.HandlerFunc) *httptest.Server {
	return startServer(x.t, how, outer(x.m.Wrap(h)))
}

// take takes the only slot of x until the function returned is called.
func (x *rig) take() (release func()) {
	x.t.Helper()
	t, err := x.gate.Acquire(x.t.Context(), plimsoll.Request{Class: "critical"})
	if err != nil {
		x.t.Fatal(err)
	}
	return func() { t.Release(plimsoll.OK) }
}

// Trailers that come while the body is read ahead do not change the request
// under the handler's hands, and are there when it has read the body.
func TestTrailersAfterWaiting(t *testing.T) {
	for _, announced := range []bool{true, false} {
		for _, size := range []int{5, AheadMax + 100} {
			x := newRig(t, "blind", arrangement(1, 1), Options{}, func(w http.ResponseWriter, r *http.Request) {
				for i := range 1000 { // beside the reading, for the race detector
					if i%100 == 0 {
						http.NewResponseController(w).EnableFullDuplex()
					}
					for range r.Trailer {
					}
				}
				n, err := io.Copy(io.Discard, r.Body)
				w.Header().Set("Sum", r.Trailer.Get("Sum"))
				if n != int64(size) || err != nil {
					t.Errorf("%d bytes, %v", n, err)
				}
			})
			release := x.take()
			c := dial(t, x.server).send("%sTransfer-Encoding: chunked\r\n", post)
			if announced {
				c.send("Trailer: Sum\r\n")
			}
			c.send("\r\n")
			x.waiting(1)
			release()
			c.send("%x\r\n%s\r\n0\r\nSum: 17\r\n\r\n", size, pattern(size))
			if r, _ := c.answer(); r.StatusCode != 200 || r.Header.Get("Sum") != "17" {
				t.Errorf("announced %v, %d bytes: %d, trailer %q", announced, size, r.StatusCode, r.Header.Get("Sum"))
			}
			x.ended(1)
			x.quiet()
		}
	}
}

// A handler may refuse before and after it has read the body, and take its time
// after it; the next call on the connection is none the worse for it.
func TestRefuseAndGoOn(t *testing.T) {
	var reads atomic.Bool
	x := newRig(t, "watched", arrangement(1, 1), Options{}, nil)
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			io.WriteString(w, "next")
			return
		}
		r.Body = struct{ io.ReadCloser }{r.Body}
		if reads.Load() {
			io.Copy(io.Discard, r.Body)
		}
		x.m.Refuse(w, r, plimsoll.Refusal{Reason: core.Quota, Class: "background", Pool: "app", RetryAfter: time.Second})
		http.NewResponseController(w).Flush()
		<-time.After(2 * drainTime)
		if err := r.Context().Err(); err != nil {
			t.Errorf("the client is there: %v", err)
		}
	}
	for _, how := range []string{"watched", "blind"} {
		s := x.behind(how, func(h http.Handler) http.Handler { return h }, h)
		for _, waits := range []bool{false, true} {
			for _, read := range []bool{false, true} {
				for _, q := range []string{"Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"} {
					reads.Store(read)
					release := func() {}
					if waits {
						release = x.take()
					}
					c := dial(t, s).send("%s%s", post, q)
					if waits {
						x.waiting(1)
					}
					release()
					if r, body := c.answer(); r.StatusCode != 429 || r.Close || !strings.Contains(body, `"reason":"quota"`) {
						t.Errorf("%s: waits %v, read %v, %q: %d %q, close %v", how, waits, read, q, r.StatusCode, body, r.Close)
						continue
					}
					if r, body := c.send(get).answer(); r.StatusCode != 200 || body != "next" {
						t.Errorf("%s: waits %v, read %v, %q: the next call got %d %q", how, waits, read, q, r.StatusCode, body)
					}
				}
			}
		}
	}
}

// A deadline that a middleware outside has set is the call's own: it is refused
// in time, in words, and not taken for a client that has left.
func TestDeadlineFromOutside(t *testing.T) {
	x := newRig(t, "watched", arrangement(1, 10), Options{}, tell)
	within := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), 100*time.Millisecond)
			defer cancel()
			h.ServeHTTP(w, r.WithContext(ctx))
		})
	}
	s := x.behind("watched", within, tell)
	release := x.take()
	for i, q := range []string{get, post + "Content-Length: 5\r\n\r\nhello", "GET / HTTP/1.1\r\nHost: h\r\nPlimsoll-Timeout-Ms: 50000\r\n\r\n"} {
		r, body := dial(t, s).send("%s", q).answer()
		if r.StatusCode != 429 || !strings.Contains(body, `"reason":"expired"`) || r.Header.Get("Retry-After") == "" {
			t.Errorf("%d %v %q", r.StatusCode, r.Header, body)
		}
		if d := x.last(i + 1); d.Outcome != plimsoll.Refused || d.Reason != core.Expired || d.Status != 429 {
			t.Errorf("%+v", d)
		}
	}
	if n := x.m.Counters().Left; n != 0 {
		t.Errorf("%d left", n)
	}
	release()
	if r, body := dial(t, s).send(get).answer(); r.StatusCode != 200 || !strings.Contains(body, `"HasDeadline":true`) {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	// The same when the deadline has passed before anybody was asked.
	over := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithDeadline(r.Context(), time.Unix(1, 0))
			defer cancel()
			h.ServeHTTP(w, r.WithContext(ctx))
		})
	}
	if r, body := dial(t, x.behind("watched", over, tell)).send(get).answer(); r.StatusCode != 429 || !strings.Contains(body, `"reason":"expired"`) {
		t.Errorf("%d %q", r.StatusCode, body)
	}
}

// bare hides all that a writer can do but answer.
type bare struct{ http.ResponseWriter }

// A handler outside that hides the server's writer makes nothing hang.
func TestWriterWithoutUnwrap(t *testing.T) {
	x := newRig(t, "watched", arrangement(1, 1), Options{}, nil)
	hide := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(bare{w}, r) })
	}
	silent := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // lest the server waits for the body
		w.WriteHeader(http.StatusForbidden)
	}
	for _, how := range []string{"watched", "blind"} {
		s := x.behind(how, hide, silent)
		for _, body := range []string{"Content-Length: 50\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhel"} {
			release := x.take()
			waits := dial(t, s).send("%s%s", post, body)
			x.waiting(1)
			if r, _ := dial(t, s).send("%s%s", post, body).answer(); r.StatusCode != 429 || !r.Close {
				t.Errorf("refused: %d, close %v", r.StatusCode, r.Close)
			}
			release()
			if r, _ := waits.answer(); r.StatusCode != 403 {
				t.Errorf("admitted: %d", r.StatusCode)
			}
			eventually(t, "the slot is free", func() bool { return x.gate.Outstanding() == 0 })
		}
	}
}

// However it is written, a client that asks whether to send its body is not
// told to before it is admitted.
func TestExpectTwice(t *testing.T) {
	for _, expect := range []string{"Expect: 100-continue, 100-continue", "Expect: 100-Continue\r\nExpect: 100-continue", "Expect: a, 100-continue"} {
		x := newRig(t, "blind", arrangement(1, 1), Options{}, func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if string(b) != "hello" || err != nil {
				t.Errorf("%s: %q %v", expect, b, err)
			}
		})
		release := x.take()
		c := dial(t, x.server).send("%s%s\r\nContent-Length: 5\r\n\r\n", post, expect)
		if !strings.Contains(expect, "a,") { // which the server refuses by itself
			x.waiting(1)
			c.c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if b, err := c.br.Peek(1); err == nil {
				t.Errorf("%s: told %q while it waits", expect, b)
			}
			c.c.SetReadDeadline(time.Now().Add(patience))
			c.br = bufio.NewReader(c.c)
		}
		release()
		c.send("hello").answer()
	}
}

// An upgrade that passes its class's pool holds its place there until it is
// granted or, when the ticket is held, until its release.
func TestHoldHoldsTheHandshake(t *testing.T) {
	for _, granted := range []bool{false, true} {
		release := make(chan func(plimsoll.Outcome), 1)
		x := newRig(t, "watched", arrangement(1, 0), Options{GateHandshakes: true}, func(w http.ResponseWriter, r *http.Request) {
			release <- FromContext(r.Context()).Hold()
			if granted {
				w.WriteHeader(http.StatusSwitchingProtocols)
			}
		})
		c := dial(t, x.server).send(upgrade)
		end := <-release
		http.ReadResponse(c.br, nil)
		want := 1
		if granted {
			want = 0
		}
		x.ended(1)
		if n := x.pool().Running; n != want {
			t.Errorf("granted %v: %d run in the pool while it is held", granted, n)
		}
		if n := x.m.StreamsGate().Outstanding(); n != 1 {
			t.Errorf("granted %v: %d streams while it is held", granted, n)
		}
		end(plimsoll.OK)
		if n := x.gate.Outstanding() + x.m.StreamsGate().Outstanding(); n != 0 {
			t.Errorf("granted %v: %d tickets out after the release", granted, n)
		}
		if n := x.pool().Stale; n != 0 {
			t.Errorf("granted %v: %d stale releases", granted, n)
		}
	}
}

// What a handler says after it has given the connection away is not an answer.
func TestWriteHeaderAfterHijack(t *testing.T) {
	x := newRig(t, "watched", arrangement(1, 0), Options{}, func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		w.WriteHeader(500)
	})
	dial(t, x.server).send(get).closed()
	if d := x.last(1); d.Status != 0 || d.Outcome != plimsoll.OK {
		t.Errorf("%+v", d)
	}
}

// Whoever takes the connection over gets every byte from then on, also when the
// body was being read ahead.
func TestHijackAfterWaiting(t *testing.T) {
	for range 20 {
		x := newRig(t, "blind", arrangement(1, 1), Options{}, func(w http.ResponseWriter, r *http.Request) {
			c, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			io.WriteString(c, "go on")
			line, err := rw.ReadString('\n')
			io.WriteString(c, line)
			if err != nil {
				t.Error(err)
			}
		})
		release := x.take()
		c := dial(t, x.server).send("%sContent-Length: 50\r\n\r\nhello", post)
		x.waiting(1)
		release()
		if b, err := io.ReadAll(io.LimitReader(c.br, 5)); string(b) != "go on" || err != nil {
			t.Fatalf("%q %v", b, err)
		}
		c.send("mine\n")
		if b, err := io.ReadAll(c.br); string(b) != "mine\n" || err != nil {
			t.Errorf("%q %v", b, err)
		}
		x.ended(1)
	}
}

// An IPv4 network in IPv6's notation would trust nobody, without a word.
func TestMappedTrust(t *testing.T) {
	g, err := plimsoll.New(arrangement(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for network, want := range map[string]string{
		"::ffff:10.0.0.0/104": "httpgate: trust 2: ::ffff:10.0.0.0/104 is an IPv4 network in IPv6's notation; write 10.0.0.0/8",
		"::ffff:0.0.0.0/90":   "httpgate: trust 2: ::ffff:0.0.0.0/90 is an IPv4 network in IPv6's notation; an IPv4 network in its own notation is allowed",
	} {
		_, err := New(Options{Gate: g, Trust: []netip.Prefix{netip.MustParsePrefix("::1/128"), netip.MustParsePrefix(network)}})
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// unwatchable is a descriptor that is gone.
type unwatchable struct{ syscall.RawConn }

func (unwatchable) Control(func(uintptr)) error { return syscall.EBADF }

// A socket that cannot be watched is counted, and read ahead instead.
func TestWatchFailuresAreCounted(t *testing.T) {
	if !canWatch {
		t.Skip("sockets are not watched on this system")
	}
	m := &Middleware{}
	t.Cleanup(m.Close)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), connKey{}, syscall.RawConn(unwatchable{}))
		c := &waiting{Context: ctx, m: m, s: &settings{aheadBytes: AheadMax}, w: w, r: r}
		c.Done()
		c.end()
		if n := m.counters.watchFailed.Load(); n != 1 || c.ahead == nil {
			t.Errorf("%d failures, read ahead: %v", n, c.ahead)
		}
		c.ahead.end(w)
	}))
	s.Start()
	t.Cleanup(s.Close)
	dial(t, s).send("%sContent-Length: 5\r\n\r\nhello", post).answer()
}

// No descriptors for a moment are not the end of watching.
func TestWatchingIsTriedAgain(t *testing.T) {
	if !canWatch {
		t.Skip("sockets are not watched on this system")
	}
	m := &Middleware{}
	defer m.Close()
	m.watchAfter = time.Now().Add(time.Hour) // as after a failure
	if m.watching() != nil {
		t.Error("watching before the pause is over")
	}
	m.watchAfter = time.Now().Add(-time.Millisecond)
	if m.watching() == nil {
		t.Error("never tried again")
	}
}
