package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// BenchmarkProxy compares this proxy with a bare tuned httputil.ReverseProxy:
// the same upstream, the same 64 connections over loopback, in one run. The
// clients are as cheap as they can be, since they share the processors.
//
//	go test -run '^$' -bench BenchmarkProxy -count 10 ./proxy
func BenchmarkProxy(b *testing.B) {
	payload := []byte(strings.Repeat("x", 1024))
	upstream := serveBench(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(payload) }))
	b.Run("bare", func(b *testing.B) { hammer(b, serveBench(b, bareProxy(upstream))) })
	b.Run("plimsoll", func(b *testing.B) { hammer(b, servePlimsoll(b, upstream, nil)) })
	b.Run("plimsoll-log", func(b *testing.B) { hammer(b, servePlimsoll(b, upstream, io.Discard)) })
}

// BenchmarkRefusal is what a refusal costs, beside a bare handler that writes
// as many bytes.
func BenchmarkRefusal(b *testing.B) {
	upstream := serveBench(b, http.NotFoundHandler())
	b.Run("bare", func(b *testing.B) {
		body := []byte(strings.Repeat("x", 160))
		hammer(b, serveBench(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h["Content-Type"] = []string{"application/problem+json"}
			h["Plimsoll-Refusal"] = []string{"reason=full; class=background; executed=?0"}
			h["Retry-After"] = []string{"1"}
			w.WriteHeader(429)
			w.Write(body)
		})))
	})
	b.Run("plimsoll", func(b *testing.B) {
		gate, err := plimsoll.New(onePool(0, 0, time.Second, 0))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(gate.Close)
		hammer(b, serveGate(b, gate, upstream, nil))
	})
}

func bareProxy(upstream string) http.Handler {
	target := &url.URL{Scheme: "http", Host: upstream}
	var pool buffers
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.SetXForwarded(); p.Out.Host = p.In.Host },
		Transport: &http.Transport{
			DialContext: (&net.Dialer{}).DialContext, DisableCompression: true, MaxIdleConnsPerHost: 4096, IdleConnTimeout: 30 * time.Second,
		},
		BufferPool: &pool,
	}
}

func serveBench(b *testing.B, h http.Handler) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	b.Cleanup(func() {
		s.Close()
		<-done
		if p, ok := h.(*httputil.ReverseProxy); ok {
			p.Transport.(*http.Transport).CloseIdleConnections()
		}
	})
	return l.Addr().String()
}

func servePlimsoll(b *testing.B, upstream string, log io.Writer) string {
	gate, err := plimsoll.New(onePool(128, 128, 5*time.Second, 0))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(gate.Close)
	return serveGate(b, gate, upstream, log)
}

func serveGate(b *testing.B, gate *plimsoll.Gate, upstream string, log io.Writer) string {
	b.Helper()
	s, err := New(Config{Gate: gate, Upstream: &url.URL{Scheme: "http", Host: upstream}, AccessLog: log, ClassHeader: "X-Class"})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			b.Error(err)
		}
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return l.Addr().String()
}

// hammer sends b.N requests over 64 connections, one after the other on each.
func hammer(b *testing.B, addr string) {
	const connections = 64
	request := benchRequest
	work := make(chan int, connections)
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range connections {
		all.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			in := bufio.NewReaderSize(c, 4096)
			for n := range work {
				for range n {
					if err := exchangeOnce(c, in, request); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	for left := b.N; left > 0; {
		n := min(left, 64)
		work <- n
		left -= n
	}
	close(work)
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// exchangeOnce reads an answer with a Content-Length and no more of it than it must.
func exchangeOnce(c net.Conn, in *bufio.Reader, request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	length := -1
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if len(line) > 16 && strings.EqualFold(string(line[:16]), "Content-Length: ") {
			if _, err := fmt.Sscanf(string(line[16:]), "%d", &length); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("no length")
	}
	_, err := in.Discard(length)
	return err
}
