package web

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted counts how often it is asked.
type counted struct {
	Source
	asked atomic.Int64
}

func (c *counted) Snapshot() Snapshot {
	c.asked.Add(1)
	return c.Source.Snapshot()
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestThePageNeedsNothingFromElsewhere(t *testing.T) {
	page := New(canned(calm()))
	for path, kind := range map[string]string{
		"/": "text/html", "/page.css": "text/css", "/page.js": "text/javascript",
		"/favicon.svg": "image/svg+xml", "/snapshot.json": "application/json",
	} {
		w := get(t, page, path)
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) {
			t.Errorf("%s: status %d, type %q", path, w.Code, w.Header().Get("Content-Type"))
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: content security policy %q", path, policy)
		}
		body := strings.ReplaceAll(w.Body.String(), "http://www.w3.org/2000/svg", "") // a name, not an address
		if i := strings.Index(body, "://"); i >= 0 {
			t.Errorf("%s mentions an address: …%s…", path, body[max(0, i-20):min(len(body), i+40)])
		}
	}
	if w := get(t, page, "/else"); w.Code != 404 {
		t.Errorf("/else: status %d", w.Code)
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/snapshot.json", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d; the page only reads", w.Code)
	}
}

func TestTheSnapshotIsTheSources(t *testing.T) {
	for name, s := range gallery() {
		var got Snapshot
		if err := json.Unmarshal(get(t, New(canned(s)), "/snapshot.json").Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.Headline = Headline(&s)
		if !reflect.DeepEqual(got, s) {
			t.Errorf("%s: the snapshot changed on its way", name)
		}
	}
}

// pipes is a listener on net.Pipe: no buffer anywhere, so a viewer that does
// not read is stuck at once, and time is synctest's.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// view opens a stream and leaves it unread.
func (p *pipes) view(t *testing.T) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	p.conns <- server
	if _, err := io.WriteString(client, "GET /events HTTP/1.1\r\nHost: page\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return client
}

// inBubble runs a page in virtual time.
func inBubble(t *testing.T, source Source, look func(*Page, *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		page, listener := New(source), newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- page.Serve(ctx, listener) }()
		look(page, listener)
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

func TestAStuckViewerIsDropped(t *testing.T) {
	inBubble(t, canned(done()), func(page *Page, l *pipes) {
		stuck := l.view(t)
		defer stuck.Close()
		synctest.Wait()
		if n := len(page.viewers); n != 1 {
			t.Fatalf("%d viewers, want 1", n)
		}
		start := time.Now()
		for len(page.viewers) > 0 {
			if time.Since(start) > 2*Patience {
				t.Fatal("a viewer that does not read is still there")
			}
			time.Sleep(100 * time.Millisecond) // virtual
		}
		if waited := time.Since(start); waited < Patience/2 {
			t.Errorf("it was dropped after %v, without patience", waited)
		}
	})
}

func TestViewersAreBoundedAndTheSourceIsSpared(t *testing.T) {
	source := &counted{Source: canned(calm())}
	inBubble(t, source, func(page *Page, l *pipes) {
		for range MaxViewers {
			conn := l.view(t)
			defer conn.Close()
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
		synctest.Wait()
		extra := l.view(t)
		defer extra.Close()
		answer, err := http.ReadResponse(bufio.NewReader(extra), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" {
			t.Errorf("one viewer too many gets status %d, Retry-After %q", answer.StatusCode, answer.Header.Get("Retry-After"))
		}
		before := source.asked.Load()
		time.Sleep(20 * Period) // virtual
		if n := source.asked.Load() - before; n > 41 {
			t.Errorf("%d viewers asked the source %d times in 20 periods", MaxViewers, n)
		} else if n < 10 {
			t.Errorf("the source was asked only %d times in 20 periods", n)
		}
	})
}

func TestAnUnchangedSnapshotIsSentOnce(t *testing.T) {
	inBubble(t, canned(done()), func(page *Page, l *pipes) {
		conn := l.view(t)
		defer conn.Close()
		var data, pulses atomic.Int64
		go func() {
			lines := bufio.NewScanner(conn)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				switch {
				case strings.HasPrefix(lines.Text(), "data: "):
					data.Add(1)
				case strings.HasPrefix(lines.Text(), ": "):
					pulses.Add(1)
				}
			}
		}()
		time.Sleep(pulse*3 + pulse/2) // virtual
		if data.Load() != 1 || pulses.Load() != 3 {
			t.Errorf("%d snapshots and %d signs of life, want 1 and 3", data.Load(), pulses.Load())
		}
	})
}
