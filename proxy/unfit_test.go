package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// h2conn is a client of HTTP/2 that says what no library would.
type h2conn struct {
	net.Conn
	t  testing.TB
	in *bufio.Reader
}

// dialHTTP2 begins a connection with these settings, six bytes each.
func (b *bench) dialHTTP2(settings string) *h2conn {
	b.t.Helper()
	c := &h2conn{Conn: b.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), t: b.t}
	c.SetDeadline(time.Now().Add(10 * time.Second))
	c.in = bufio.NewReader(c)
	c.frame(4, 0, 0, settings)
	return c
}

func (c *h2conn) frame(kind, flags byte, stream uint32, payload string) {
	n := len(payload)
	fmt.Fprintf(c, "%s%s", []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}, payload)
}

// get sends the header of a request without a body.
func (c *h2conn) get(stream uint32, fields ...string) {
	var block strings.Builder
	for i := 0; i < len(fields); i += 2 { // literals, name and value
		fmt.Fprintf(&block, "\x00%c%s%c%s", len(fields[i]), fields[i], len(fields[i+1]), fields[i+1])
	}
	const endStream, endHeaders = 1, 4
	c.frame(1, endStream|endHeaders, stream, block.String())
}

// next gives the next frame of a stream.
func (c *h2conn) next() (kind, flags byte, payload string) {
	for {
		h := make([]byte, 9)
		if _, err := io.ReadFull(c.in, h); err != nil {
			c.t.Fatal(err)
		}
		p := make([]byte, int(h[0])<<16|int(h[1])<<8|int(h[2]))
		if _, err := io.ReadFull(c.in, p); err != nil {
			c.t.Fatal(err)
		}
		if h[3] != 4 && h[3] != 6 && h[3] != 8 { // settings, ping, window
			return h[3], h[4], string(p)
		}
	}
}

// HTTP/2 carries what would not stay in its line of HTTP/1. It is the client's
// mistake, is not sent, and counts for nobody.
func TestWhatALineCannotCarry(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo})
	for _, x := range []struct {
		method, host string
		good         bool
	}{
		{"GET", "a.example:80", true}, {"M-SEARCH", "[::1]", true},
		{"GET /admin HTTP/1.1", "a", false}, {"POST", "a/b?c", false}, {"GET", "a b", false}, {"GET", "a\xff", false},
	} {
		c := b.dialHTTP2("")
		c.get(1, ":method", x.method, ":path", "/", ":scheme", "http", ":authority", x.host)
		kind, _, block := c.next()
		const ok, badRequest = 0x88, 0x8c // in the static table
		want := byte(badRequest)
		if x.good {
			want = ok
		}
		if kind != 1 || block[0] != want {
			t.Errorf("%q at %q: frame %d, %q", x.method, x.host, kind, block)
		}
	}
	if n := b.calls.Load(); n != 2 {
		t.Errorf("%d calls were sent, 2 are good", n)
	}
	if n := b.server.Counts(); n.UpstreamErrors != 0 || b.outcomes(plimsoll.OK) != 2 || n.InFlight != 0 {
		t.Errorf("%+v", n)
	}
}

// What http.Transport does not send is not the upstream's fault either.
func TestWhatTheTransportDoesNotSend(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo})
	c := b.raw("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X Sum\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusBadRequest || res.Header.Get("Plimsoll-Effect") != "" {
		t.Fatal(res, err)
	}
	if n := b.server.Counts(); n.UpstreamErrors != 0 || b.outcomes(plimsoll.Cancelled) != 1 {
		t.Errorf("%+v %+v", n, b.pool().Classes)
	}
}

// The upstream gets the query that was sent, whatever parsers think of it.
func TestQueriesPassUnchanged(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo})
	for _, path := range []string{"/?b=1&a=%zz", "/?a=1;b=2", "/?&&", "/?"} {
		for _, method := range []string{"GET", "DELETE"} {
			c := b.raw(method + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := io.ReadAll(res.Body); string(got) != path+" " {
				t.Errorf("%s %s: the upstream got %q", method, path, got)
			}
		}
	}
}

// A tunnel to anywhere is not to be had, and asking for one takes no slot.
func TestConnect(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo})
	c := b.raw("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nConnection: close\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusNotImplemented {
		t.Fatal(res, err)
	}
	if k := b.pool().Classes; k[0].Arrived+k[1].Arrived != 0 {
		t.Errorf("%+v", k)
	}
}
