package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rawUpstream answers each request with the bytes that its path names.
type rawUpstream struct {
	answers map[string]string // path → bytes; "close" after them ends the connection
	conns   atomic.Int64
	calls   atomic.Int64
	all     sync.WaitGroup
	open    sync.Map
}

func serveRaw(t *testing.T, answers map[string]string) (*rawUpstream, *bench) {
	u := &rawUpstream{answers: answers}
	var l net.Listener
	b := newBench(t, setup{gate: roomy(), handler: func(http.ResponseWriter, *http.Request) {}, change: func(c *Config) {
		var err error
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
	}})
	u.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			u.conns.Add(1)
			u.open.Store(c, true)
			u.all.Go(func() { u.talk(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		u.open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		u.all.Wait()
	})
	return u, b
}

func (u *rawUpstream) talk(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		u.calls.Add(1)
		answer, end := strings.CutSuffix(u.answers[r.URL.Path], "close")
		io.WriteString(c, answer)
		if end {
			return
		}
	}
}

func TestShortWayAnswers(t *testing.T) {
	u, b := serveRaw(t, map[string]string{
		"/plain":   "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain",
		"/head":    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
		"/none":    "HTTP/1.1 204 No Content\r\n\r\n",
		"/same":    "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\n",
		"/chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		"/old":     "HTTP/1.0 200 OK\r\n\r\nto the endclose",
		"/long":    "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000),
		"/ends":    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nokclose",
	})
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/plain", 200, "plain"}, {"HEAD", "/head", 200, ""}, {"GET", "/none", 204, ""}, {"GET", "/same", 304, ""},
		{"GET", "/chunked", 200, "abcde"}, {"GET", "/old", 200, "to the end"}, {"GET", "/plain", 200, "plain"},
		{"GET", "/long", 200, strings.Repeat("x", 100000)}, {"GET", "/ends", 200, "ok"}, {"GET", "/plain", 200, "plain"},
	} {
		res, body := b.do(c.method, c.path, nil)
		if res.StatusCode != c.status || body != c.body {
			t.Errorf("%s %s: %d %.40q", c.method, c.path, res.StatusCode, body)
		}
	}
	if n := u.conns.Load(); n > 3 {
		t.Errorf("%d connections: they are not used again", n)
	}
}

// What an upstream sends without being asked must never be anybody's answer.
func TestShortWaySurplusIsNobodysAnswer(t *testing.T) {
	_, b := serveRaw(t, map[string]string{
		"/surplus": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"/chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"/good":    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood",
	})
	for i := range 50 {
		if _, body := b.do("GET", []string{"/surplus", "/chunked"}[i%2], nil); body != "ok" {
			t.Fatalf("%q", body)
		}
		if _, body := b.do("GET", "/good", nil); body != "good" {
			t.Fatalf("call %d got %q", i, body)
		}
	}
}

// An upstream that closes unused connections at once costs a repeat of what
// changes nothing, and no caller an error.
func TestShortWayOutlivesClosedConnections(t *testing.T) {
	u, b := serveRaw(t, map[string]string{"/": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokclose"})
	for range 200 {
		if res, body := b.do("GET", "/", nil); res.StatusCode != 200 || body != "ok" {
			t.Fatalf("%d %q", res.StatusCode, body)
		}
	}
	if n := u.calls.Load(); n != 200 {
		t.Errorf("%d calls were answered", n)
	}
}

func TestShortWayBadAnswers(t *testing.T) {
	_, b := serveRaw(t, map[string]string{
		"/garbage": "hello, I am no HTTP server\r\n\r\nclose",
		"/nothing": "close",
		"/header":  "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 2<<20) + "\r\n\r\nclose",
		"/switch":  "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"/early":   strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 40),
		"/good":    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood",
	})
	bad := []string{"/garbage", "/nothing", "/header", "/switch", "/early"}
	defer func() {
		if n := b.server.Counts().UpstreamErrors; n != uint64(len(bad)) {
			t.Errorf("%d upstream errors counted of %d", n, len(bad))
		}
	}()
	for _, path := range bad {
		if res, _ := b.do("GET", path, nil); res.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
		if _, body := b.do("GET", "/good", nil); body != "good" {
			t.Errorf("after %s: %q", path, body)
		}
	}
	until(t, 2*time.Second, "every slot is back", func() bool { return b.gate.Outstanding() == 0 })
}

func TestShortWayWithoutAHost(t *testing.T) {
	hosts := make(chan string, 1)
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) { hosts <- r.Host }})
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.0\r\n\r\n")
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	if h := <-hosts; h == "" {
		t.Error("the upstream was asked without a host")
	}
}

// HTTP/2 can carry in a path what would end a request line of HTTP/1 early.
func TestLinesStayWhole(t *testing.T) {
	uris := make(chan string, 1)
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) { uris <- r.RequestURI }})
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	h2 := &http.Transport{Protocols: p}
	defer h2.CloseIdleConnections()
	for _, method := range []string{"GET", "POST"} { // the short way and the long one
		r, err := http.NewRequest(method, b.url+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = "x=1 HTTP/1.1"
		res, err := h2.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Fatalf("%s: %v", method, res.Status)
		}
		if uri := <-uris; uri != "/?x=1%20HTTP/1.1" {
			t.Errorf("%s: the upstream was asked for %q", method, uri)
		}
	}
}

// A connection that breaks under a call leaves nothing behind when the call has
// gone to another one, however often that happens.
func TestBrokenConnectionsLeaveNothing(t *testing.T) {
	// The first call on a connection is answered, and the second ends it.
	answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				if _, err := http.ReadRequest(in); err == nil {
					io.WriteString(c, answer)
					http.ReadRequest(in)
				}
			})
		}
	})
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
		c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
	}})
	for range 50 {
		if res, _ := b.do("GET", "/", nil); res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
	}
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if n := strings.Count(string(stacks), "(*h1conn).loop("); n > 2 {
		t.Errorf("%d connections are read from; one is open", n)
	}
	l.Close()
	b.server.current.Load().upstream.close()
	all.Wait()
}
