package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Traffic of odd kinds, with reloads and clients that leave; then nothing is left.
func TestSwarm(t *testing.T) {
	b := newBench(t, setup{gate: onePool(8, 16, 100*time.Millisecond, time.Millisecond), handler: func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			<-time.After(150 * time.Millisecond)
		case "/long":
			for range 20 {
				if _, err := w.Write(make([]byte, 16<<10)); err != nil {
					return
				}
				http.NewResponseController(w).Flush()
			}
		case "/close":
			w.Header().Set("Connection", "close")
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/early":
			w.WriteHeader(413)
			return
		case "/hint":
			w.WriteHeader(103)
		case "/sse":
			w.Header().Set("Content-Type", "text/event-stream")
			for range 5 {
				io.WriteString(w, "data: x\n\n")
				http.NewResponseController(w).Flush()
				<-time.After(time.Millisecond)
			}
			return
		}
		io.Copy(w, r.Body)
	}, change: func(c *Config) {
		c.HoldMax = 200 * time.Millisecond
		c.UpstreamIdle = 20 * time.Millisecond
		c.IdleConnections = 4
	}})
	b.upstream.ErrorLog = log.New(io.Discard, "", 0)
	var n atomic.Int64
	end := time.Now().Add(time.Second)
	done := make(chan struct{})
	paths := []string{"/slow", "/long", "/close", "/abort", "/early", "/hint", "/sse", "/x"}
	for w := range 24 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := w; time.Now().Before(end); i++ {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+i%60)*time.Millisecond)
				method, path := []string{"GET", "POST", "HEAD"}[i%3], paths[i%len(paths)]
				var body io.Reader
				if method == "POST" {
					body = strings.NewReader(strings.Repeat("b", i%100_000))
				}
				h := []string{}
				if path == "/sse" {
					h = append(h, "Accept", "text/event-stream")
				}
				b.try(ctx, method, path, body, h...)
				cancel()
				n.Add(1)
			}
		}()
	}
	for i := 0; time.Now().Before(end); i++ {
		cfg := b.config
		cfg.DialTimeout = time.Duration(1+i%3) * time.Second
		cfg.OnAbandon = []OnAbandon{Hold, Cancel}[i%2]
		if err := b.server.Reload(cfg); err != nil {
			t.Error(err)
		}
		<-time.After(10 * time.Millisecond)
	}
	for range 24 {
		<-done
	}
	until(t, 5*time.Second, "all back", func() bool {
		c := b.server.Counts()
		return c.Held == 0 && c.InFlight == 0 && c.Streams == 0 && b.gate.Outstanding() == 0
	})
	if n.Load() < 100 {
		t.Errorf("only %d calls", n.Load())
	}
}

// Answers with a few bytes changed, left out or put in: nothing panics, and
// everything is given back.
func TestOddAnswers(t *testing.T) {
	seeds := []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nplain",
		"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nrest",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nplain!",
		"HTTP/1.1 102 P\r\n\r\nHTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
	}
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
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					io.Copy(io.Discard, r.Body)
					a := []byte(seeds[rand.IntN(len(seeds))])
					for range rand.IntN(4) {
						if i := rand.IntN(len(a)); rand.IntN(2) == 0 {
							a = append(a[:i], a[i+1:]...)
						} else {
							a[i] = "0159 \r\n:x\x00\xff"[rand.IntN(11)]
						}
					}
					c.Write(a)
					if rand.IntN(3) == 0 {
						return
					}
				}
			}()
		}
	}()
	b := newBench(t, setup{gate: onePool(16, 16, 200*time.Millisecond, time.Millisecond), handler: echo, change: func(c *Config) {
		c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
		c.AnswerIdle, c.HoldMax = 100*time.Millisecond, 100*time.Millisecond
		c.Notes = func(s string) {
			if strings.Contains(s, "panic") {
				t.Error(s)
			}
		}
	}})
	done := make(chan bool)
	end := time.Now().Add(time.Second)
	var n atomic.Int64
	for w := range 12 {
		go func() {
			for i := w; time.Now().Before(end); i++ {
				m := []string{"GET", "HEAD", "POST"}[i%3]
				var body io.Reader
				if m == "POST" {
					body = strings.NewReader("hello")
				}
				b.try(t.Context(), m, fmt.Sprint("/", i), body)
				n.Add(1)
			}
			done <- true
		}()
	}
	for range 12 {
		<-done
	}
	l.Close()
	until(t, 5*time.Second, "all back", func() bool {
		c := b.server.Counts()
		return c.Held == 0 && c.InFlight == 0 && b.gate.Outstanding() == 0
	})
	if n.Load() < 100 {
		t.Errorf("only %d calls", n.Load())
	}
}
