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
	"testing"
	"time"
)

func TestProbeNest(t *testing.T) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				http.ReadRequest(in)
			}()
		}
	}()
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
		c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
	}})
	for range 50 {
		if res, _ := b.do("GET", "/", nil); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	buf := make([]byte, 4<<20)
	n := runtime.Stack(buf, true)
	t.Log("loops", strings.Count(string(buf[:n]), "(*h1conn).loop("))
	l.Close()
}

// h2 raw request with odd pseudo headers
func h2raw(t *testing.T, addr string, fields [][2]string, end bool) string {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	frame := func(kind, flags byte, stream uint32, payload string) {
		n := len(payload)
		fmt.Fprintf(c, "%s%s", []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}, payload)
	}
	io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	frame(4, 0, 0, "")
	var hp strings.Builder
	for _, f := range fields {
		hp.WriteByte(0)
		hp.WriteByte(byte(len(f[0])))
		hp.WriteString(f[0])
		hp.WriteByte(byte(len(f[1])))
		hp.WriteString(f[1])
	}
	fl := byte(4)
	if end {
		fl |= 1
	}
	frame(1, fl, 1, hp.String())
	in := bufio.NewReader(c)
	out := ""
	for {
		h := make([]byte, 9)
		if _, err := io.ReadFull(in, h); err != nil {
			return out + fmt.Sprint(" err ", err)
		}
		n := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
		p := make([]byte, n)
		io.ReadFull(in, p)
		out += fmt.Sprintf("[%d %x %q]", h[3], h[4], p)
		if (h[3] == 0 || h[3] == 1) && h[4]&1 != 0 || h[3] == 3 || h[3] == 7 {
			return out
		}
	}
}

func TestProbeH2Method(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo})
	for _, f := range [][][2]string{
		{{":method", "GET /x HTTP/1.1"}, {":path", "/"}, {":scheme", "http"}, {":authority", "a"}},
		{{":method", "POST"}, {":path", "/a b?x y\tz"}, {":scheme", "http"}, {":authority", "a"}},
		{{":method", "GET"}, {":path", "/a?x y#z"}, {":scheme", "http"}, {":authority", "a b"}},
		{{":method", "GET"}, {":path", "/a?x\xffy"}, {":scheme", "http"}, {":authority", "a/b?c"}},
		{{":method", "POST"}, {":path", "/a?x\xffy"}, {":scheme", "http"}, {":authority", "a/b?c"}},
		{{":method", "POST"}, {":path", "http:evil"}, {":scheme", "http"}, {":authority", "a"}},
		{{":method", "POST"}, {":path", "*"}, {":scheme", "http"}, {":authority", "a"}},
		{{":method", "GET"}, {":path", "//evil.example/x"}, {":scheme", "http"}, {":authority", "a"}},
		{{":method", "GET"}, {":path", "/ok"}, {":scheme", "http"}, {":authority", "a"}, {"te", "trailers"}},
		{{":method", "GET"}, {":path", "/ok"}, {":scheme", "http"}, {":authority", "a"}, {"transfer-encoding", "chunked"}},
		{{":method", "GET"}, {":path", "/cl"}, {":scheme", "http"}, {":authority", "a"}, {"content-length", "5"}},
	} {
		t.Log(f, "\n   ", h2raw(t, b.addr, f, true))
	}
	for _, l := range b.log.lines() {
		t.Log(l)
	}
}

func TestProbeRaw(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo})
	for _, s := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\nContent-Length: 1\r\n\r\nx",
		"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
		"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
		"GET / HTTP/3.0\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nConnection: close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
		"PO ST / HTTP/1.1\r\nHost: x\r\n\r\n",
		"G(T / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /q HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /q HTTP/1.1\r\nHost: x\r\n\r\nPOST /r HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nz",
		"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("y", 80<<10) + "\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab",
		"TRACE / HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n",
	} {
		c, _ := net.Dial("tcp", b.addr)
		c.SetDeadline(time.Now().Add(2 * time.Second))
		io.WriteString(c, s)
		all, err := io.ReadAll(c)
		t.Logf("%.150q\n      %q %v", s, all, err)
		c.Close()
	}
}
