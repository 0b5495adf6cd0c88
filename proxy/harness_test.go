package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a whole arrangement over real sockets: clients, the proxy, and an
// upstream that counts what reaches it.
type bench struct {
	t        testing.TB
	gate     *plimsoll.Gate
	server   *Server
	upstream *http.Server
	calls    atomic.Int64 // that reached the upstream
	url      string       // of the proxy
	addr     string
	admin    string // URL of the admin listener
	client   *http.Client
	log      *lockedBuffer
	config   Config
	served   sync.WaitGroup
}

type setup struct {
	gate    plimsoll.Config
	handler http.HandlerFunc
	change  func(*Config)
}

// onePool is a pool "app" with the classes critical and background.
func onePool(slots, waiting int, deadline, expected time.Duration) plimsoll.Config {
	c := plimsoll.Bounded(slots, waiting, deadline)
	c.Pools[0].Expected = expected
	return c
}

// roomy admits whatever a test without load sends.
func roomy() plimsoll.Config { return onePool(64, 64, 10*time.Second, 0) }

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	b := &bench{t: t, log: &lockedBuffer{}}
	gate, err := plimsoll.New(s.gate)
	if err != nil {
		t.Fatal(err)
	}
	b.gate = gate
	upstream := b.listen()
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	b.upstream = &http.Server{Protocols: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.calls.Add(1)
		s.handler(w, r)
	})}
	b.served.Go(func() { b.upstream.Serve(upstream) })
	rules, err := httpgate.CompileRules([]httpgate.Rule{{When: httpgate.Match{ClassHeader: "X-Class"}}})
	if err != nil {
		t.Fatal(err)
	}
	b.config = Config{
		Upstream: &url.URL{Scheme: "http", Host: upstream.Addr().String()},
		Gate:     gate, Classify: rules, ClassHeader: "X-Class", AccessLog: b.log,
		Notes: func(line string) { t.Log("note:", line) },
	}
	if s.change != nil {
		s.change(&b.config)
	}
	b.start()
	return b
}

func (b *bench) start() {
	b.t.Helper()
	var err error
	if b.server, err = New(b.config); err != nil {
		b.t.Fatal(err)
	}
	users, admin := b.listen(), b.listen()
	b.addr = users.Addr().String()
	b.url, b.admin = "http://"+b.addr, "http://"+admin.Addr().String()
	if b.config.TLS != nil {
		b.url = "https://" + b.addr
	}
	b.served.Go(func() {
		if err := b.server.Serve(users); err != nil {
			b.t.Error(err)
		}
	})
	b.served.Go(func() {
		if err := b.server.ServeAdmin(admin); err != nil {
			b.t.Error(err)
		}
	})
	b.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	b.t.Cleanup(b.stop)
}

// stop ends everything; a gate that still has tickets out has lost some.
func (b *bench) stop() {
	b.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.server.Shutdown(ctx); err != nil {
		b.t.Error(err)
	}
	if n := b.gate.Outstanding(); n != 0 {
		b.t.Errorf("%d tickets are still out", n)
	}
	b.gate.Close()
	b.upstream.Close()
	b.served.Wait()
}

func (b *bench) listen() net.Listener {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// do sends one request and reads the whole answer.
func (b *bench) do(method, path string, body io.Reader, headers ...string) (*http.Response, string) {
	b.t.Helper()
	res, text, err := b.try(context.Background(), method, path, body, headers...)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, text
}

func (b *bench) try(ctx context.Context, method, path string, body io.Reader, headers ...string) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.url+path, body)
	if err != nil {
		return nil, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := b.client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

// pool is the first pool's status.
func (b *bench) pool() plimsoll.PoolStatus { return b.gate.Status().Pools[0] }

// outcomes sums an outcome over the classes.
func (b *bench) outcomes(o plimsoll.Outcome) (n uint64) {
	for _, c := range b.pool().Classes {
		n += c.Outcomes[o]
	}
	return n
}

// until polls a condition on real sockets.
func until(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	end := time.NewTimer(within)
	defer end.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-end.C:
			t.Fatalf("not within %v: %s", within, what)
		case <-tick.C:
		}
	}
}

// lockedBuffer is an access log that tests read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) lines() []map[string]any {
	var out []map[string]any
	sc := bufio.NewScanner(strings.NewReader(l.text()))
	for sc.Scan() {
		var m map[string]any
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			m = map[string]any{"broken": sc.Text()}
		}
		out = append(out, m)
	}
	return out
}

// line waits for the one line about path.
func (b *bench) line(path string) map[string]any {
	b.t.Helper()
	var found map[string]any
	until(b.t, 3*time.Second, "a log line for "+path, func() bool {
		for _, m := range b.log.lines() {
			if m["path"] == path {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// raw opens a connection to the proxy and writes text to it.
func (b *bench) raw(text string) net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// gatekeeper lets upstream handlers be held and let go.
type gatekeeper struct {
	entered chan string
	leave   chan struct{}
}

func newGatekeeper() *gatekeeper {
	return &gatekeeper{entered: make(chan string, 1024), leave: make(chan struct{})}
}

// enter blocks until the test lets go, or the connection ends.
func (k *gatekeeper) enter(r *http.Request) bool {
	k.entered <- r.URL.Path
	select {
	case <-k.leave:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (k *gatekeeper) wait(t testing.TB) string {
	t.Helper()
	select {
	case path := <-k.entered:
		return path
	case <-time.After(5 * time.Second):
		t.Fatal("nothing reached the upstream")
		return ""
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("X-Method", r.Method)
	fmt.Fprintf(w, "%s %s", r.URL.RequestURI(), body)
}

var nobody = []netip.Prefix{}
