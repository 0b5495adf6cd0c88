package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// deafDials makes every dial of the server hang until release, and then go on
// as if nothing had been: the connection is there, too late. begun counts them.
func deafDials(b *bench) (release func(), begun *atomic.Uint64) {
	open := make(chan struct{})
	begun = new(atomic.Uint64)
	u := b.server.current.Load().upstream
	real := u.short.dial
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		begun.Add(1)
		<-open
		return real(context.WithoutCancel(ctx), network, addr)
	}
	u.short.dial, u.main.DialContext, u.grpc.DialContext = dial, dial, dial
	return sync.OnceFunc(func() { close(open) }), begun
}

// A connection that is not there before the deadline means that nothing was
// sent, whatever way the call was to go; and nothing is sent afterwards.
func TestNothingWasSentBeforeTheDeadline(t *testing.T) {
	b := newBench(t, setup{
		gate:    onePool(8, 8, 60*time.Millisecond, time.Millisecond),
		handler: func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) },
	})
	release, begun := deafDials(b)
	t.Cleanup(release)
	for _, x := range []struct {
		name, method, body string
		header             []string
		grpc               bool
	}{
		{name: "short way", method: "GET"},
		{name: "body", method: "POST", body: "order"},
		{name: "no body, changes something", method: "DELETE"},
		{name: "upgrade", method: "GET", header: []string{"Connection", "Upgrade", "Upgrade", "websocket"}},
		{name: "gRPC", method: "POST", body: "\x00\x00\x00\x00\x00", header: []string{"Content-Type", "application/grpc"}, grpc: true},
	} {
		r, err := http.NewRequest(x.method, b.url+"/", strings.NewReader(x.body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(x.header); i += 2 {
			r.Header.Set(x.header[i], x.header[i+1])
		}
		res, err := b.client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		status := http.StatusServiceUnavailable
		if x.grpc {
			status = http.StatusOK // gRPC says it in a header of its own
		}
		if res.StatusCode != status || !strings.Contains(res.Header.Get("Plimsoll-Refusal"), "reason=upstream") || res.Header.Get("Plimsoll-Effect") == "unknown" {
			t.Errorf("%s: %d, %v\n%s", x.name, res.StatusCode, res.Header, body)
		}
	}
	if n := b.gate.Outstanding(); n != 0 {
		t.Errorf("%d slots are held for what was never sent", n)
	}
	release()
	until(t, 5*time.Second, "the late connections are there", func() bool { return b.server.stats.Dials.Load() == begun.Load() })
	if n := b.calls.Load(); n != 0 {
		t.Errorf("%d calls reached the upstream after their clients had been told that nothing was sent", n)
	}
	if n := b.server.stats.UpstreamErrors.Load(); n != 0 {
		t.Errorf("%d upstream errors", n)
	}
}

// A client that leaves while there is no connection yet takes its call along.
func TestClientLeavesBeforeThereIsAConnection(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(http.ResponseWriter, *http.Request) {}})
	release, begun := deafDials(b)
	t.Cleanup(release)
	for i, method := range []string{"GET", "POST"} {
		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, method, b.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { _, err := b.client.Do(r); done <- err }()
		until(t, 5*time.Second, "the call waits for a connection", func() bool { return begun.Load() == uint64(i+1) })
		leave()
		if err := <-done; err == nil {
			t.Fatal("answered")
		}
		until(t, 5*time.Second, "the slot is free", func() bool { return b.gate.Outstanding() == 0 })
	}
	if b.server.upstreamDown.Load() {
		t.Error("the upstream is taken to be down because a client left")
	}
	release()
	until(t, 5*time.Second, "the late connections are there", func() bool { return b.server.stats.Dials.Load() == 2 })
	if n := b.calls.Load(); n != 0 {
		t.Errorf("%d calls were sent for nobody", n)
	}
	if o := b.gate.Status().Pools[0].Classes[1].Outcomes; o[plimsoll.Cancelled] != 2 {
		t.Errorf("outcomes %v", o)
	}
}

// The connection can come in the very moment in which the call is given up.
func TestConnectionThatComesTooLateIsClosed(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(http.ResponseWriter, *http.Request) {}})
	x := &exchange{server: b.server, set: b.server.current.Load(), unsent: true}
	here, there := net.Pipe()
	x.gotConn(httptrace.GotConnInfo{Conn: here})
	if _, err := there.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("something can still be sent: %v", err)
	}
	if x.onWire {
		t.Fatal("taken for sent")
	}
}

// An upstream over TLS that accepts and does not shake hands has got nothing.
func TestHandshakeThatHangs(t *testing.T) {
	b := newBench(t, setup{
		gate: onePool(8, 8, 60*time.Millisecond, time.Millisecond), handler: func(http.ResponseWriter, *http.Request) {},
		change: func(c *Config) {
			u := *c.Upstream
			u.Scheme, u.Host = "https", silent(t)
			c.Upstream = &u
		},
	})
	for _, method := range []string{"GET", "POST"} {
		r, _ := http.NewRequest(method, b.url, strings.NewReader("x"))
		res, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Plimsoll-Effect") == "unknown" {
			t.Errorf("%s: %d, %v", method, res.StatusCode, res.Header)
		}
	}
}

// silent accepts connections and never says a word.
func silent(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { io.Copy(io.Discard, c); c.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); done.Wait() })
	return l.Addr().String()
}

// Operators are told of an upstream that goes and comes back, once each.
func TestNewsOfTheUpstream(t *testing.T) {
	var mu sync.Mutex
	var notes []string
	var addr string
	b := newBench(t, setup{gate: roomy(), handler: func(http.ResponseWriter, *http.Request) {}, change: func(c *Config) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr = l.Addr().String()
		l.Close()
		u := *c.Upstream
		u.Host = addr
		c.Upstream = &u
		c.Notes = func(line string) { mu.Lock(); notes = append(notes, line); mu.Unlock() }
	}})
	get := func() {
		res, err := b.client.Get(b.url)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	for range 5 {
		get()
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skip("somebody else has taken the port:", err)
	}
	up := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	b.served.Go(func() { up.Serve(l) })
	t.Cleanup(func() { up.Close() })
	for range 5 {
		get()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(notes) != 2 || !strings.Contains(notes[0], addr+" cannot be reached") || !strings.Contains(notes[1], addr+" is back after ") {
		t.Errorf("%q", notes)
	}
}

// An upstream that comes and goes all the time does not fill the log.
func TestNewsAreBounded(t *testing.T) {
	n := 0
	b := newBench(t, setup{gate: roomy(), handler: func(http.ResponseWriter, *http.Request) {}, change: func(c *Config) {
		c.Notes = func(string) { n++ }
	}})
	began, u := time.Now(), b.server.current.Load().upstream
	for range 1000 {
		b.server.noteUpstream(u, &dialError{io.EOF})
		b.server.noteUpstream(u, nil)
	}
	if most := 2 * (1 + int(time.Since(began)/newsEvery)); n > most || n < 2 {
		t.Errorf("%d lines, at most %d", n, most)
	}
}

// A body whose chunks are none is the client's mistake, and no leaving.
func TestMalformedChunks(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }})
	for _, chunks := range []string{"zz\r\nhello\r\n0\r\n\r\n", "5\r\nhelloworld\r\n", "5;\n", "fffffffffffffffffff\r\n"} {
		c := b.raw("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%q: %v", chunks, err)
		}
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusBadRequest || !res.Close {
			t.Errorf("%q: %d\n%s", chunks, res.StatusCode, body)
		}
	}
}

// Operators can tell a service that is away from one that fails: both are in
// failed, and the former is counted by class as well.
func TestRefusedAsUpstreamIsCounted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	l.Close()
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) }})
	b.do("GET", "/", nil)
	away := b.config
	u := *away.Upstream
	u.Host = dead
	away.Upstream = &u
	if err := b.server.Reload(away); err != nil {
		t.Fatal(err)
	}
	b.do("GET", "/", nil)
	b.do("POST", "/", strings.NewReader("x"))
	c := b.raw("GET / HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\nUpgrade: lines\r\n\r\n")
	io.ReadAll(c)
	until(t, time.Second, "all have failed", func() bool {
		refused := b.server.Counts().UpstreamRefused["background"]
		failed := b.outcomes(plimsoll.Failed)
		if failed < refused {
			t.Errorf("%d of %d that failed", refused, failed)
		}
		return refused == 3 && failed == 4
	})
	for _, k := range b.server.Status().Pools[0].Classes {
		if want := map[string]uint64{"background": 3}[k.Name]; k.UpstreamRefused != want {
			t.Errorf("%s: %d, want %d of %d that failed", k.Name, k.UpstreamRefused, want, k.Outcomes["failed"])
		}
	}
}

// What the gate before the proxy did not follow, operators can see.
func TestIgnoredHeadersAreCounted(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {}})
	get := func(headers ...string) {
		r, err := http.NewRequest("GET", b.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		res, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	get("X-Class", "gold")
	get("X-Class", "critical", "Plimsoll-Timeout-Ms", "soon")
	nobody := b.config
	nobody.Trust = []netip.Prefix{}
	if err := b.server.Reload(nobody); err != nil {
		t.Fatal(err)
	}
	get("X-Class", "critical")
	get("X-Class", "critical")
	if p := b.server.Status().Proxy; p.ClassUntrusted != 2 || p.ClassUnknown != 1 || p.TimeoutInvalid != 1 {
		t.Errorf("%+v", p)
	}
}
