package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A long header to an upstream that has stopped reading: its client is answered
// at the deadline.
func TestAHeaderThatTheUpstreamDoesNotTake(t *testing.T) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 2048) })
	}}
	l, _ := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	hold := make(chan struct{})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				http.ReadRequest(bufio.NewReader(c))
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				<-hold
				c.Close()
			}()
		}
	}()
	b := newBench(t, setup{gate: onePool(4, 4, 300*time.Millisecond, 0), handler: echo, change: func(c *Config) {
		c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
	}})
	u := b.server.current.Load().upstream
	real := u.short.dial
	u.short.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := real(ctx, network, addr)
		if err == nil {
			c.(*net.TCPConn).SetWriteBuffer(2048)
		}
		return c, err
	}
	b.do("GET", "/", nil)
	c := b.raw("GET /big HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("x", 60_000) + "\r\n\r\n")
	start := time.Now()
	c.SetDeadline(start.Add(3 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if d := time.Since(start); d > time.Second {
		t.Errorf("answered after %v: %v %v; the deadline is 300ms", d, res, err)
	}
	close(hold)
	l.Close()
}
