package proxy

import (
	"bufio"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/httpgate"
)

// HTTP/2 has no upgrade: one goes in HTTP/1.1, also where the upstream offers the other.
func TestUpgradeOverTLS(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				http.Error(w, err.Error(), 500)
				return
			}
			rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			rw.Flush()
			c.Close()
		}))
		up.EnableHTTP2 = h2
		up.StartTLS()
		u, _ := url.Parse(up.URL)
		roots := x509.NewCertPool()
		roots.AddCert(up.Certificate())
		b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) { c.Upstream = u; c.UpstreamRoots = roots }})
		c := b.raw("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n")
		c.SetDeadline(time.Now().Add(5 * time.Second))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		var body []byte
		if res.StatusCode != 101 {
			body, _ = io.ReadAll(res.Body)
			t.Errorf("h2 offered %v: %d %s", h2, res.StatusCode, body)
		}
		up.Close()
	}
}

// A target that is neither a path nor a URL would pass the rules, the path of the upstream and the log by.
func TestTargetsThatLeadElsewhere(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Host+" "+r.URL.Path)
	}, change: func(c *Config) {
		u := *c.Upstream
		u.Path = "/public"
		c.Upstream = &u
	}})
	for _, target := range []string{"/x", "x:http://other/private/secret", "http:http://other/private/secret", "x:evil"} {
		for _, m := range []string{"GET", "POST"} {
			want := "HTTP/1.1 400"
			if target == "/x" {
				want = "HTTP/1.1 200"
			}
			c := b.raw(m + " " + target + " HTTP/1.1\r\nHost: front\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			c.SetDeadline(time.Now().Add(5 * time.Second))
			all, _ := io.ReadAll(c)
			_, body, _ := strings.Cut(string(all), "\r\n\r\n")
			if !strings.HasPrefix(string(all), want) || strings.Contains(body, "other /private/secret") {
				t.Errorf("%s %s: %q", m, target, all)
			}
		}
	}
	until(t, time.Second, "log", func() bool { return len(b.log.lines()) >= 8 })
}

// The upstream takes a call on a used connection, breaks off, and then cannot be dialled. That is no refusal.
func TestNoRefusalOfWhatWasSent(t *testing.T) {
	for _, header := range []time.Duration{0, time.Second} { // short way, long way
		var got atomic.Int64
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			http.ReadRequest(in)
			got.Add(1)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			http.ReadRequest(in)
			got.Add(1) // it has been executed
			l.Close()
			c.Close()
		}()
		b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
			c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
			c.HeaderTimeout = header
		}})
		b.do("GET", "/", nil)
		res, _ := b.do("GET", "/", nil)
		<-done
		if strings.Contains(res.Header.Get("Plimsoll-Refusal"), "executed=?0") {
			t.Errorf("HeaderTimeout %v: says not executed, upstream had %d", header, got.Load())
		}
	}
}

func TestOneImpatientClientSaysNothingOfTheUpstream(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	up.StartTLS()
	defer up.Close()
	l, _ := net.Listen("tcp", "127.0.0.1:0") // a path of 50 ms
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				<-time.After(50 * time.Millisecond)
				d, err := net.Dial("tcp", up.Listener.Addr().String())
				if err != nil {
					return
				}
				go func() { io.Copy(d, c); d.Close() }()
				io.Copy(c, d)
				c.Close()
			}()
		}
	}()
	u := &url.URL{Scheme: "https", Host: l.Addr().String()}
	roots := x509.NewCertPool()
	roots.AddCert(up.Certificate())
	var notes []string
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
		c.Upstream, c.UpstreamRoots, c.Trust = u, roots, nobody
		c.Notes = func(s string) { notes = append(notes, s) }
	}})
	if res, body := b.do("GET", "/", nil, "Plimsoll-Timeout-Ms", "20"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if b.server.Counts().UpstreamDown {
		t.Error("the upstream, which is well, is down for everybody")
	}
	b.do("GET", "/", nil)
	if len(notes) > 0 {
		t.Errorf("%q", notes)
	}
}

// An answer does not wait for the rest of a body that nobody asks for.
func TestEarlyAnswerToAHalfSentBody(t *testing.T) {
	for _, length := range []int{1000, 10_000_000} {
		b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) { c.BodyIdle = 3 * time.Second }})
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		cfg := b.config
		cfg.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
		if err := b.server.Reload(cfg); err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
			io.Copy(io.Discard, c)
			c.Close()
		}()
		c := b.raw(fmt.Sprintf("POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\nhalf", length))
		start := time.Now()
		c.SetDeadline(start.Add(8 * time.Second))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("length %d: %v after %v", length, res.Status, d)
		}
		l.Close()
		c.Close()
		until(t, 5*time.Second, "line", func() bool { return len(b.log.lines()) > 0 })
	}
}

func TestSilenceIsBoundedBeforeTheDeadlineToo(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(4, 4, 3*time.Second, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begin")
		http.NewResponseController(w).Flush()
		keeper.enter(r)
	}, change: func(c *Config) { c.AnswerIdle = 100 * time.Millisecond }})
	start := time.Now()
	_, _, err := b.try(t.Context(), "GET", "/silent", nil)
	if d := time.Since(start); d > time.Second {
		t.Errorf("cut after %v (%v); AnswerIdle is 100ms", d, err)
	}
}

func TestSilenceOfAnAnswerToAnUpgrade(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(4, 4, 100*time.Millisecond, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begin")
		http.NewResponseController(w).Flush()
		keeper.enter(r)
	}, change: func(c *Config) { c.AnswerIdle = 100 * time.Millisecond }})
	c := b.raw("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	c.SetDeadline(time.Now().Add(2 * time.Second))
	_, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("not cut within 2s: %v, running %d", err, b.pool().Running)
	}
	c.Close()
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(4, 4, 10*time.Second, 0), handler: func(w http.ResponseWriter, r *http.Request) { keeper.enter(r) },
		change: func(c *Config) { c.HoldMax = 4 * time.Second }})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { keeper.wait(t); cancel() }()
	b.try(ctx, "GET", "/", nil)
	until(t, time.Second, "held", func() bool { return b.server.Counts().Held == 1 })
	if err := b.server.Close(); err == nil {
		t.Error("nothing is said of it")
	}
	until(t, 2*time.Second, "nothing is held", func() bool { return b.server.Counts().Held == 0 && b.gate.Outstanding() == 0 })
}

// Its connection is closed.
func TestA101ThatNobodyAskedFor(t *testing.T) {
	for _, x := range []struct{ name, req, up string }{
		{"POST", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", ""},
		{"POST with name", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "Upgrade: foo\r\nConnection: upgrade\r\n"},
		{"upgrade, other protocol", "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", "Upgrade: foo\r\nConnection: upgrade\r\n"},
	} {
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		closed := make(chan time.Duration, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"+x.up+"\r\n")
			start := time.Now()
			io.Copy(io.Discard, c)
			closed <- time.Since(start)
			c.Close()
		}()
		b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
			c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
		}})
		c := b.raw(x.req)
		c.SetDeadline(time.Now().Add(3 * time.Second))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: %v, %v", x.name, res, err)
		}
		c.Close()
		select {
		case <-closed:
		case <-time.After(2 * time.Second):
			t.Errorf("%s: the upstream's connection is still open", x.name)
		}
		l.Close()
	}
}

func TestTheLogHasTheStatusOfARefusedEventStream(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
		c.Streams = -1
	}})
	b.server.upstreamDown.Store(true)
	res, _ := b.do("GET", "/sse", nil, "Accept", "text/event-stream")
	if line := b.line("/sse"); line["status"] != float64(res.StatusCode) {
		t.Errorf("answered %d, the log says %v", res.StatusCode, line)
	}
}

func TestOptionsOfTheServerPassTheGate(t *testing.T) {
	b := newBench(t, setup{gate: onePool(1, 0, time.Second, 0), handler: echo})
	c := b.raw("OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	c.SetDeadline(time.Now().Add(2 * time.Second))
	all, _ := io.ReadAll(c)
	if b.line("*")["status"] != float64(http.StatusOK) || !strings.HasPrefix(string(all), "HTTP/1.1 200") {
		t.Errorf("%q", all)
	}
}

func TestTheLogMovesNoCursor(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) { c.AccessLogText = true }})
	b.do("GET", "/%C2%9B2J%C2%85x%E2%80%A8y%E2%80%AEz", nil)
	until(t, time.Second, "line", func() bool { return b.log.text() != "" })
	if s := b.log.text(); strings.ContainsAny(s, "\u009b\u0085\u2028\u202e") {
		t.Errorf("%q", s)
	}
}

func TestTrailersSayNoMoreThanHeaders(t *testing.T) {
	got := make(chan http.Header, 1)
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); got <- r.Trailer }, change: func(c *Config) { c.Trust = nobody }})
	b.raw("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Class, X-Forwarded-For, Plimsoll-Attempt, X-Sum\r\n\r\n1\r\nx\r\n0\r\nX-Class: critical\r\nX-Forwarded-For: 6.6.6.6\r\nPlimsoll-Attempt: 7\r\nX-Sum: 3\r\nUndeclared: 1\r\n\r\n")
	if h := <-got; len(h) != 1 || h.Get("X-Sum") != "3" {
		t.Errorf("%v", h)
	}
}

// A status that is none costs one call, on whatever way it comes.
func TestStatusBelow100(t *testing.T) {
	_, b := serveRaw(t, map[string]string{"/low": "HTTP/1.1 050 Odd\r\nContent-Length: 0\r\n\r\n"})
	for _, method := range []string{"GET", "DELETE"} {
		if res, body := b.do(method, "/low", nil); res.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: %d %s", method, res.StatusCode, body)
		}
	}
}

func TestNoGoodbyeBeforeThe101(t *testing.T) {
	bad := 0
	for i := 0; i < 3 && bad == 0; i++ {
		b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
			c, rw, _ := http.NewResponseController(w).Hijack()
			rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			rw.Flush()
			io.Copy(io.Discard, c)
			c.Close()
		}})
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for b.server.tunnels.count() == 0 {
			}
			b.server.tunnels.leave()
		}()
		c := b.raw("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		c.SetDeadline(time.Now().Add(3 * time.Second))
		all, _ := io.ReadAll(c)
		if !strings.HasPrefix(string(all), "HTTP/1.1 101") {
			bad++
			t.Errorf("try %d: the client read %q", i, all)
		}
		<-stop
	}
}

func TestARefusedReloadIsWhollyUndone(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo})
	cfg := b.config
	rules, err := httpgate.CompileRules([]httpgate.Rule{{Class: "critical"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Classify = rules
	cfg.Streams = 1 << 60
	err = b.server.Reload(cfg)
	if err == nil {
		t.Fatal("accepted")
	}
	b.do("GET", "/x", nil)
	if line := b.line("/x"); line["class"] != "background" {
		t.Errorf("a reload that was refused is in force: %v", line)
	}
}

func TestTheGatesHeadersAreTheAnswers(t *testing.T) {
	_, b := serveRaw(t, map[string]string{
		"/hints": "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nConnection: X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"/plain": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
	})
	cfg := b.config
	cfg.Trust = nobody
	if err := b.server.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/plain", "/hints"} {
		c := b.raw("GET " + path + " HTTP/1.1\r\nHost: x\r\nX-Class: critical\r\nConnection: close\r\n\r\n")
		c.SetDeadline(time.Now().Add(2 * time.Second))
		all, _ := io.ReadAll(c)
		head, answer, _ := strings.Cut(string(all), "HTTP/1.1 200 OK")
		if strings.Contains(head, "Plimsoll-") || strings.Contains(head, "Keep-Alive") || !strings.Contains(answer, "Plimsoll-Ignored: class") {
			t.Errorf("%s: %q", path, all)
		}
	}
}

// It ends its own stream and leaves the connection to the others.
func TestAStalledBodyOnHTTP2(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) { c.BodyIdle = 80 * time.Millisecond }})
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	h2 := &http.Transport{Protocols: p}
	defer h2.CloseIdleConnections()
	b.client.Transport = h2
	b.do("GET", "/1", nil)
	pr, pw := io.Pipe()
	go pw.Write([]byte("half"))
	res, body := b.do("POST", "/stall", pr)
	if res.StatusCode != http.StatusRequestTimeout || res.Header.Get("Plimsoll-Effect") != "unknown" {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
	}
	pw.Close()
	reused := false
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
	if _, _, err := b.try(ctx, "GET", "/2", nil); err != nil || !reused {
		t.Errorf("one stalled stream ended the connection of all: %v", err)
	}
}

func TestAStalledBodyMayHaveHadItsEffect(t *testing.T) {
	got := make(chan string, 1)
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 4)
		io.ReadFull(r.Body, buf)
		got <- string(buf)
		io.Copy(io.Discard, r.Body)
	}, change: func(c *Config) { c.BodyIdle = 80 * time.Millisecond }})
	c := b.raw("POST /still HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := <-got; res.Header.Get("Plimsoll-Effect") != "unknown" {
		t.Errorf("%d, the upstream has %q, effect %q", res.StatusCode, s, res.Header.Get("Plimsoll-Effect"))
	}
}

// An HTTP/2 upstream that says 101 has switched nothing.
func TestHTTP2Upstream101(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go speakHTTP2(c, "101", "200")
		}
	}()
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
		c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
		c.Protocol = ProtocolH2C
	}})
	c := b.raw("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	c.SetDeadline(time.Now().Add(3 * time.Second))
	if all, _ := io.ReadAll(c); strings.HasPrefix(string(all), "HTTP/1.1 101") {
		t.Errorf("%q", all)
	}
}

// speakHTTP2 answers each request with the header of these statuses, frame by frame.
func speakHTTP2(c net.Conn, statuses ...string) {
	defer c.Close()
	frame := func(kind, flags byte, stream uint32, payload string) {
		n := len(payload)
		fmt.Fprintf(c, "%s%s", []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}, payload)
	}
	const headers, settings, ack, endStream, endHeaders = 1, 4, 1, 1, 4
	in := bufio.NewReader(c)
	in.Discard(24) // the client's preface
	frame(settings, 0, 0, "")
	for {
		h := make([]byte, 9)
		if _, err := io.ReadFull(in, h); err != nil {
			return
		}
		in.Discard(int(h[0])<<16 | int(h[1])<<8 | int(h[2]))
		switch {
		case h[3] == settings && h[4]&ack == 0:
			frame(settings, ack, 0, "")
		case h[3] == headers:
			id := uint32(h[5])<<24 | uint32(h[6])<<16 | uint32(h[7])<<8 | uint32(h[8])
			for i, s := range statuses {
				flags := byte(endHeaders)
				if i == len(statuses)-1 {
					flags |= endStream
				}
				frame(headers, flags, id, "\x08\x03"+s) // a literal for :status
			}
		}
	}
}

// Half an answer goes out as that: a client to which nothing came would take
// the connection for a stale one and send the call again.
func TestHalfAnAnswer(t *testing.T) {
	var calls atomic.Int64
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					if calls.Add(1); r.URL.Path == "/whole" {
						io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
					} else {
						io.WriteString(c, answer)
					}
				}
				c.Close()
			}
		}()
		b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
			c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
		}})
		b.do("GET", "/whole", nil) // its connection is used again
		before := calls.Load()
		res, body, err := b.try(t.Context(), "GET", "/half", nil)
		if res == nil || res.StatusCode != 200 || err == nil {
			t.Errorf("%q: %v, %q, %v", answer, res, body, err)
		}
		if n := calls.Load() - before; n != 1 {
			t.Errorf("%q: sent %d times", answer, n)
		}
		l.Close()
	}
}

// What the upstream has sent is passed on while it pauses.
func TestAPauseHoldsNothingBack(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
		http.NewResponseController(w).Flush()
		keeper.enter(r)
		w.Write(make([]byte, 96))
	}})
	res, err := b.client.Get(b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	half := make([]byte, 4)
	if _, err := io.ReadFull(res.Body, half); err != nil || string(half) != "half" {
		t.Fatalf("%q, %v", half, err)
	}
	close(keeper.leave)
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) != 96 {
		t.Errorf("%d, %v", len(rest), err)
	}
}

// An answer that names no type gets none.
func TestNoTypeIsGuessed(t *testing.T) {
	_, b := serveRaw(t, map[string]string{"/": "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"})
	if res, _ := b.do("GET", "/", nil); res.Header["Content-Type"] != nil {
		t.Errorf("%v", res.Header)
	}
}

// A client that goes on sending after its answer does not keep its connection.
func TestTricklingBodiesKeepNoConnection(t *testing.T) {
	b := newBench(t, setup{gate: onePool(64, 64, 100*time.Millisecond, 0), handler: func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }})
	for range 20 {
		c := b.raw("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
		go func() {
			for range 20 {
				if _, err := c.Write([]byte("a")); err != nil {
					return
				}
				<-time.After(20 * time.Millisecond)
			}
		}()
	}
	until(t, 5*time.Second, "every connection is closed", func() bool {
		n := b.server.Counts()
		return n.Accepted == 20 && n.Connections == 0
	})
}

// Operators are told why calls get 502, seldom.
func TestWhyCallsGet502(t *testing.T) {
	var notes atomic.Pointer[[]string]
	notes.Store(&[]string{})
	_, b := serveRaw(t, map[string]string{"/": "garbage\r\n\r\n"})
	cfg := b.config
	cfg.Notes = func(s string) { all := append(*notes.Load(), s); notes.Store(&all) }
	if err := b.server.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		b.do("GET", "/", nil)
	}
	if all := *notes.Load(); len(all) == 0 || len(all) > 3 || !strings.Contains(all[0], "no answer that could be used: malformed HTTP") {
		t.Errorf("%q", all)
	}
}
