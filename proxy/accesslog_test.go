package proxy

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestEntryIsJSONWhateverTheClientSends(t *testing.T) {
	for _, path := range []string{"/", "/a\"b\\c", "/\n{\"x\":1}", "/\x00\x1f\x7f", "/\xff\xfe", "/ü€😀", "/" + strings.Repeat("ü", 2000)} {
		e := Entry{Time: time.Unix(1, 2000), Method: "GET\t", Path: path, Status: 200, Outcome: "ok", Wait: 1234567, Total: -5}
		line := e.appendJSON(nil)
		if n := strings.Count(string(line), "\n"); n != 1 {
			t.Fatalf("%q: %d lines", path, n)
		}
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%q: %v in %s", path, err, line)
		}
		if m["wait_ms"] != 1.234 || m["total_ms"] != 0.0 || m["time"] != "1970-01-01T00:00:01.000002Z" {
			t.Errorf("%v", m)
		}
		if len(path) < 20 && strings.ToValidUTF8(path, "\ufffd\ufffd") != m["path"] && strings.ToValidUTF8(path, "\ufffd") != m["path"] {
			t.Errorf("%q became %q", path, m["path"])
		}
		if text := string(e.appendText(nil)); strings.Count(text, "\n") != 1 || !strings.Contains(text, " 200 ") {
			t.Errorf("%q", text)
		}
	}
}

// stuckWriter does not take anything until it is let go.
type stuckWriter struct {
	release chan struct{}
	lines   atomic.Int64
	err     error
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	<-w.release
	w.lines.Add(int64(strings.Count(string(p), "\n")))
	return len(p), w.err
}

// A writer that is stuck costs lines, all of them counted, and no request its time.
func TestLogDropsAndCounts(t *testing.T) {
	w := &stuckWriter{release: make(chan struct{})}
	var dropped atomic.Uint64
	l := newAccessLog(w, false, &dropped)
	const n = 20_000
	start := time.Now()
	for range n {
		l.add(&Entry{Method: "GET", Path: "/", Outcome: "ok"})
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("%d lines took %v", n, d)
	}
	if dropped.Load() == 0 {
		t.Error("nothing was dropped")
	}
	close(w.release)
	l.close()
	l.close()
	if got := w.lines.Load() + int64(dropped.Load()); got != n {
		t.Errorf("%d written and %d dropped of %d", w.lines.Load(), dropped.Load(), n)
	}
	l.add(&Entry{})
	if got := w.lines.Load() + int64(dropped.Load()); got != n+1 {
		t.Error("a line after the end is not counted")
	}
}

func TestLogCountsWhatCannotBeWritten(t *testing.T) {
	w := &stuckWriter{release: make(chan struct{}), err: errors.New("disk full")}
	close(w.release)
	var dropped atomic.Uint64
	l := newAccessLog(w, true, &dropped)
	for range 3 {
		l.add(&Entry{})
	}
	l.close()
	if dropped.Load() != 3 {
		t.Errorf("%d dropped, want 3", dropped.Load())
	}
}

func BenchmarkAccessLog(b *testing.B) {
	var dropped atomic.Uint64
	l := newAccessLog(discard{}, false, &dropped)
	defer l.close()
	e := Entry{Time: time.Now(), Method: "GET", Path: "/some/path", Status: 200, Class: "critical", Outcome: "ok", Protocol: "HTTP/1.1", Wait: time.Millisecond, Total: time.Second}
	b.ReportAllocs()
	for b.Loop() {
		l.add(&e)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
