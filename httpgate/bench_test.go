package httpgate

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// benchGate is a middleware that refuses everything as full, or nothing.
func benchGate(b *testing.B, slots int) *Middleware {
	b.Helper()
	g, err := plimsoll.New(plimsoll.Bounded(slots, 0, time.Second))
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(Options{Gate: g, Classify: compileOrFail(b, Rule{Match{Path: "/checkout/*"}, "critical"}, Rule{When: Match{ClassHeader: "X-Class"}})})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close(); g.Close() })
	return m
}

// bareRefusal writes, with nothing before it, what the middleware writes.
func bareRefusal() http.Handler {
	refusal := newPage(1, "background", 429, false)
	body := string(refusal.body)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", problemType)
		h.Set(HeaderRefusal, "reason=full; class=background; executed=?0")
		h.Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, body)
	})
}

func ok(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }

// BenchmarkServer is one request on a kept connection, client and sockets
// included: what a refusal costs beside a bare handler that writes the same
// bytes, and what being admitted costs beside not being asked.
func BenchmarkServer(b *testing.B) {
	for _, x := range []struct {
		name string
		h    http.Handler
	}{
		{"refusal/bare", bareRefusal()},
		{"refusal/gate", benchGate(b, 0).Wrap(http.HandlerFunc(ok))},
		{"served/bare", http.HandlerFunc(ok)},
		{"served/gate", benchGate(b, 1000).Wrap(http.HandlerFunc(ok))},
	} {
		b.Run(x.name, func(b *testing.B) {
			s := httptest.NewUnstartedServer(x.h)
			s.Config.ConnContext = ConnContext
			s.Start()
			defer s.Close()
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			request, buf := []byte("GET /reports HTTP/1.1\r\nHost: h.example\r\nX-Class: background\r\n\r\n"), make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := c.Read(buf); err != nil { // small answers come in one piece
					b.Fatal(err)
				}
			}
		})
	}
}

// nowhere is a writer that costs nothing.
type nowhere struct{ h http.Header }

func (w *nowhere) Header() http.Header         { return w.h }
func (w *nowhere) WriteHeader(int)             {}
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkHandler is the middleware alone.
func BenchmarkHandler(b *testing.B) {
	for _, x := range []struct {
		name string
		h    http.Handler
	}{
		{"refusal/bare", bareRefusal()},
		{"refusal/gate", benchGate(b, 0).Wrap(http.HandlerFunc(ok))},
		{"served/gate", benchGate(b, 1000).Wrap(http.HandlerFunc(ok))},
	} {
		b.Run(x.name, func(b *testing.B) {
			r := request(b, "GET", "http://h.example/reports", near, "X-Class", "background")
			w := &nowhere{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.h)
				x.h.ServeHTTP(w, r)
			}
		})
	}
}

// BenchmarkWait is what a waiting request with an unread body adds: beginning
// and ending the watch of its client.
func BenchmarkWait(b *testing.B) {
	for _, how := range []string{"watched", "blind"} {
		b.Run(how, func(b *testing.B) {
			m := &Middleware{}
			defer m.Close()
			s := &settings{aheadBytes: DefaultAheadBytes}
			done := make(chan struct{})
			srv := startServer(b, how, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if how == "blind" { // a body that can be read over and over
					r.Body = io.NopCloser(strings.NewReader("hello"))
				}
				b.ReportAllocs()
				for b.Loop() {
					ctx := &waiting{Context: r.Context(), m: m, s: s, w: w, r: r}
					ctx.Done()
					ctx.end()
					if ctx.ahead != nil {
						ctx.ahead.end(w)
					}
				}
				close(done)
			}))
			dial(b, srv).send("%s", post+"Content-Length: 5\r\n\r\n")
			<-done
		})
	}
}
