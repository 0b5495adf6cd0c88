package httpgate

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// rig is a gate, a middleware and a server with a handler that a test steers.
type rig struct {
	t      testing.TB
	gate   *plimsoll.Gate
	m      *Middleware
	server *httptest.Server
	calls  atomic.Int64 // that reached the handler
	log    *syncBuffer  // what the server had to complain about

	mu   sync.Mutex
	done []Done
}

// Done is what OnDone was told.
type Done struct {
	Class, Pool, Ignored string
	Outcome              plimsoll.Outcome
	Reason               plimsoll.Reason
	Status               int
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// arrangement is a pool of slots and waiting places in which nothing expires
// before a minute has passed.
func arrangement(slots, waiting int) plimsoll.Config {
	c := plimsoll.Bounded(slots, waiting, time.Minute)
	c.Pools[0].AdmitHopeless = true
	return c
}

func newRig(t testing.TB, how string, cfg plimsoll.Config, o Options, h http.HandlerFunc) *rig {
	t.Helper()
	x := &rig{t: t, log: &syncBuffer{}}
	var err error
	if x.gate, err = plimsoll.New(cfg); err != nil {
		t.Fatal(err)
	}
	o.Gate = x.gate
	if o.Classify == nil {
		o.Classify = compileOrFail(t, Rule{When: Match{ClassHeader: "X-Class"}})
	}
	o.OnDone = x.note
	if x.m, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		x.server.Close()
		x.m.Close()
		x.gate.Close()
		if n := x.gate.Outstanding(); n != 0 {
			t.Errorf("%d tickets are lost", n)
		}
		if c := x.m.Counters(); c.AheadBytes != 0 || c.Watched != 0 {
			t.Errorf("left over: %+v", c)
		}
	})
	x.server = startLogged(t, how, x.m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.calls.Add(1)
		h(w, r)
	})), log.New(x.log, "", 0))
	return x
}

func (x *rig) note(_ *http.Request, c *Call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = append(x.done, Done{c.Class, c.Pool, c.Ignored, c.Outcome(), c.Reason, c.Status})
}

// last is what OnDone was told last, once it has been told n times.
func (x *rig) last(n int) Done {
	x.t.Helper()
	x.ended(n)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.done[n-1]
}

func (x *rig) ended(n int) {
	x.t.Helper()
	eventually(x.t, fmt.Sprintf("%d requests have ended", n), func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.done) >= n
	})
}

func (x *rig) pool() plimsoll.PoolStatus { return x.gate.Status().Pools[0] }

func (x *rig) waiting(n int) {
	x.t.Helper()
	eventually(x.t, fmt.Sprintf("%d waiting", n), func() bool { return x.pool().Waiting == n })
}

func (x *rig) quiet() {
	x.t.Helper()
	if s := x.log.String(); s != "" {
		x.t.Errorf("the server complains: %s", s)
	}
}

// blocker is a handler that answers when it is told to, and counts its calls.
type blocker struct {
	in, out chan struct{}
}

func newBlocker() *blocker { return &blocker{make(chan struct{}, 1024), make(chan struct{})} }

func (b *blocker) serve(w http.ResponseWriter, r *http.Request) {
	b.in <- struct{}{}
	select {
	case <-b.out:
		io.WriteString(w, "done")
	case <-r.Context().Done():
	}
}

const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

// clients that leave take nothing from one that stays, and A-02: nor do
// those with a body.
func TestLeaversFreeTheirPlaces(t *testing.T) {
	for _, how := range []string{"watched", "tls", "blind"} {
		for _, q := range leavers {
			if !q.aheadSees && (how == "blind" || !canWatch) {
				continue // lost there, as the package comment says
			}
			t.Run(how+"/"+q.name, func(t *testing.T) {
				b := newBlocker()
				x := newRig(t, how, arrangement(1, 10), Options{}, b.serve)
				first := dial(t, x.server).send(get)
				<-b.in
				var cs []*client
				for i := range 9 {
					cs = append(cs, dial(t, x.server).send("%s", q.request))
					x.waiting(i + 1)
				}
				stays := dial(t, x.server).send(get)
				x.waiting(10)
				for _, c := range cs {
					c.c.Close()
				}
				start := time.Now()
				x.waiting(1)
				if d := time.Since(start); d > 250*time.Millisecond {
					t.Errorf("places free after %v", d)
				}
				b.out <- struct{}{}
				<-b.in
				b.out <- struct{}{}
				first.answer()
				if r, body := stays.answer(); r.StatusCode != 200 || body != "done" {
					t.Errorf("%d %q", r.StatusCode, body)
				}
				x.ended(11)
				if n := x.calls.Load(); n != 2 {
					t.Errorf("%d calls reached the handler, want 2", n)
				}
				if c := x.m.Counters(); c.Left != 9 {
					t.Errorf("%d left, want 9", c.Left)
				}
				if o := x.pool().Classes[1].Outcomes[core.Cancelled]; o != 9 {
					t.Errorf("%d cancelled, want 9", o)
				}
				x.quiet()
			})
		}
	}
}

// a thousand that leave leave nothing behind.
func TestThousandLeaversLeaveNothing(t *testing.T) {
	b := newBlocker()
	x := newRig(t, "watched", arrangement(1, 1000), Options{}, b.serve)
	first := dial(t, x.server).send(get)
	<-b.in
	fds, goroutines := openFiles(t), runtime.NumGoroutine()
	var cs []*client
	for i := range 1000 {
		cs = append(cs, dial(t, x.server).send("%s", leavers[i%len(leavers)].request))
	}
	want := 1000
	if !canWatch {
		want = 0
	}
	x.waiting(1000)
	if n := x.m.Counters().Watched; n < int64(want)/2 {
		t.Errorf("%d watched", n)
	}
	for _, c := range cs {
		c.c.Close()
	}
	start := time.Now()
	x.waiting(0)
	eventually(t, "descriptors and goroutines are at the baseline", func() bool {
		return openFiles(t) <= fds+2 && runtime.NumGoroutine() <= goroutines+2 // the watcher's own
	})
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("after %v", d)
	}
	b.out <- struct{}{}
	first.answer()
	if n := x.calls.Load(); n != 1 {
		t.Errorf("%d calls reached the handler", n)
	}
}

// openFiles counts descriptors where the system shows them.
func openFiles(t testing.TB) int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Logf("descriptors are not counted: %v", err)
		return 0
	}
	return len(d)
}

// whoever finds the pool full gets a whole answer with a reason, on a
// connection that goes on, and never reaches the handler.
func TestFullIsAnswered(t *testing.T) {
	b := newBlocker()
	x := newRig(t, "watched", arrangement(1, 0), Options{}, b.serve)
	first := dial(t, x.server).send(get)
	<-b.in
	c := dial(t, x.server)
	for i, q := range []string{
		get,
		post + "Content-Length: 5\r\n\r\nhello",
		post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		post + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 200<<10, pattern(200<<10)),
		"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		c.send("%s", q)
		head := strings.HasPrefix(q, "HEAD")
		r, err := http.ReadResponse(c.br, &http.Request{Method: map[bool]string{true: "HEAD", false: "GET"}[head]})
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != 429 || r.Header.Get(HeaderRefusal) != "reason=full; class=background; executed=?0" {
			t.Errorf("request %d: %d %v", i, r.StatusCode, r.Header)
		}
		if r.Header.Get("Retry-After") == "" || r.Close || !head && !bytes.Contains(body, []byte(`"reason":"full"`)) {
			t.Errorf("request %d: %v %s", i, r.Header, body)
		}
	}
	if d := x.last(5); d.Outcome != core.Refused || d.Reason != core.Full || d.Status != 429 || d.Pool != "app" {
		t.Errorf("%+v", d)
	}
	if n := x.calls.Load(); n != 1 {
		t.Errorf("%d calls reached the handler", n)
	}
	b.out <- struct{}{}
	first.answer()
	x.quiet()
}

// A refusal does not wait for a body that dribbles, and F-11: it does not read
// one without end.
func TestRefusedBodiesAreNotAwaited(t *testing.T) {
	for _, how := range []string{"watched", "blind", "tls"} {
		t.Run(how, func(t *testing.T) {
			b := newBlocker()
			x := newRig(t, how, arrangement(1, 0), Options{}, b.serve)
			first := dial(t, x.server).send(get)
			<-b.in
			for _, q := range []string{
				post + "Content-Length: 50\r\n\r\nhello",
				post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
				post + "Content-Length: 5000000\r\n\r\nhello",
			} {
				start := time.Now()
				c := dial(t, x.server).send("%s", q)
				r, body := c.answer()
				if d := time.Since(start); d > drainTime+200*time.Millisecond {
					t.Errorf("answered after %v", d)
				}
				if r.StatusCode != 429 || !strings.Contains(body, `"reason":"full"`) || !r.Close {
					t.Errorf("%d %q, close %v", r.StatusCode, body, r.Close)
				}
				c.closed()
			}
			// Sends until the server has had enough of it.
			c := dial(t, x.server).send("%s", post+"Transfer-Encoding: chunked\r\n\r\n")
			sent := 0
			chunk := fmt.Sprintf("%x\r\n%s\r\n", 16<<10, pattern(16<<10))
			for sent < 1<<30 {
				if _, err := io.WriteString(c.c, chunk); err != nil {
					break
				}
				sent += len(chunk)
			}
			if sent > 64<<20 {
				t.Errorf("%d bytes went out after the refusal", sent)
			}
			b.out <- struct{}{}
			first.answer()
			x.quiet()
		})
	}
}

// F-01: the body that a client announced and did not send is not read, and the
// connection ends.
func TestRefusedExpect(t *testing.T) {
	for _, how := range []string{"watched", "blind", "tls"} {
		t.Run(how, func(t *testing.T) {
			b := newBlocker()
			x := newRig(t, how, arrangement(1, 0), Options{}, b.serve)
			first := dial(t, x.server).send(get)
			<-b.in
			for _, n := range []int{5, 5_000_000} {
				c := dial(t, x.server).send("%sExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", post, n)
				r, body := c.answer()
				if r.StatusCode != 429 || !r.Close || !strings.Contains(body, `"reason":"full"`) {
					t.Errorf("%d %v %q", r.StatusCode, r.Header, body)
				}
				c.closed() // and no 100 Continue
			}
			// One that did not wait to be told is answered all the same.
			c := dial(t, x.server).send("%sExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", post)
			if r, body := c.answer(); r.StatusCode != 429 || !strings.Contains(body, `"reason":"full"`) {
				t.Errorf("%d %v %q", r.StatusCode, r.Header, body)
			}
			b.out <- struct{}{}
			first.answer()
			x.quiet()
		})
	}
}

// The same for one that waited first, and F-03: nothing panics.
func TestRefusedAfterWaiting(t *testing.T) {
	for _, how := range []string{"watched", "blind", "tls"} {
		for _, q := range leavers {
			t.Run(how+"/"+q.name, func(t *testing.T) {
				b := newBlocker()
				x := newRig(t, how, arrangement(1, 1), Options{}, b.serve)
				first := dial(t, x.server).send(get)
				<-b.in
				c := dial(t, x.server).send("%s", q.request)
				x.waiting(1)
				// A more critical one takes the place.
				critical := dial(t, x.server).send("GET / HTTP/1.1\r\nHost: h\r\nX-Class: critical\r\n\r\n")
				r, body := c.answer()
				if r.StatusCode != 429 || !strings.Contains(body, `"reason":"evicted"`) {
					t.Errorf("%d %q", r.StatusCode, body)
				}
				if r.Close {
					c.closed()
				} else {
					c.send("BAD\r\n\r\n") // is in step: answered as a request of its own
					if r, _ := c.answer(); r.StatusCode != 400 {
						t.Errorf("out of step: %d", r.StatusCode)
					}
				}
				b.out <- struct{}{}
				<-b.in
				b.out <- struct{}{}
				first.answer()
				critical.answer()
				x.ended(3)
				x.quiet()
			})
		}
	}
}

// A handler that answers without reading is not held up by what is being read ahead.
func TestEarlyAnswerAfterWaiting(t *testing.T) {
	for _, how := range []string{"watched", "blind", "tls"} {
		for _, q := range leavers {
			t.Run(how+"/"+q.name, func(t *testing.T) {
				b := newBlocker()
				var n atomic.Int64
				x := newRig(t, how, arrangement(1, 1), Options{}, func(w http.ResponseWriter, r *http.Request) {
					if n.Add(1) == 1 {
						b.serve(w, r)
						return
					}
					// So that net/http does not itself wait for the body.
					w.Header().Set("Connection", "close")
					w.WriteHeader(http.StatusForbidden)
				})
				first := dial(t, x.server).send(get)
				<-b.in
				c := dial(t, x.server).send("%s", q.request)
				x.waiting(1)
				b.out <- struct{}{}
				first.answer()
				if r, _ := c.answer(); r.StatusCode != 403 {
					t.Errorf("%d", r.StatusCode)
				}
				x.ended(2)
				x.quiet()
			})
		}
	}
}

// however a handler ends, its ticket comes back.
func TestEveryEndReleases(t *testing.T) {
	outcomes := map[string]plimsoll.Outcome{
		"/ok": core.OK, "/silent": core.OK, "/304": core.OK, "/401": core.OK,
		"/500": core.Failed, "/503": core.Failed, "/panic": core.Failed, "/abort": core.Failed, "/half": core.Failed,
		"/unread": core.OK,
	}
	x := newRig(t, "watched", arrangement(1, 0), Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok", "/unread":
			io.WriteString(w, "ok")
		case "/304":
			w.WriteHeader(304)
		case "/401":
			w.WriteHeader(401)
		case "/500":
			http.Error(w, "no", 500)
		case "/503":
			w.WriteHeader(503)
		case "/panic":
			panic("on purpose")
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/half":
			io.WriteString(w, "half")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	n := 0
	for path, want := range outcomes {
		n++
		c := dial(t, x.server)
		if path == "/unread" {
			c.send("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", path)
		} else {
			c.send("GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
		}
		io.ReadAll(io.LimitReader(c.br, 1))
		if d := x.last(n); d.Outcome != want {
			t.Errorf("%s: %+v, want %v", path, d, want)
		}
		c.c.Close()
		if x.gate.Outstanding() != 0 {
			t.Errorf("%s: a ticket is out", path)
		}
	}
	if s := x.log.String(); !strings.Contains(s, "on purpose") {
		t.Errorf("the panic was swallowed: %s", s)
	}
}

// C-17: a client that leaves while its call runs is no failure of the handler.
func TestLeavingWhileRunning(t *testing.T) {
	x := newRig(t, "watched", arrangement(1, 0), Options{}, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		w.WriteHeader(http.StatusBadGateway) // what a proxy makes of it
	})
	c := dial(t, x.server).send(get)
	eventually(t, "the call runs", func() bool { return x.calls.Load() == 1 })
	c.c.Close()
	if d := x.last(1); d.Outcome != core.Cancelled || d.Reason != core.NoReason {
		t.Errorf("%+v", d)
	}
	if n := x.pool().Classes[1].Outcomes[core.Failed]; n != 0 {
		t.Errorf("%d failed", n)
	}
}
