package proxy

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// Entry is one line of the access log. Text fields come from the client except
// Class, Reason and Outcome; they are escaped when written.
type Entry struct {
	Time     time.Time // when the request's header had been read
	Method   string
	Path     string // without the query, which may hold secrets
	Status   int    // 499 when the client left before an answer began, 101 for a tunnel
	Class    string
	Reason   string // empty unless refused
	Outcome  string
	Protocol string
	Wait     time.Duration // for the right to run
	Upstream time.Duration // from sending to the end of the answer, 0 if nothing was sent
	Total    time.Duration
	In, Out  int64 // bytes of bodies, from and to the client
	Held     bool  // the call was abandoned, and its upstream work goes on behind this line
}

// accessLogBuffer bounds the lines that wait to be written. A writer that
// cannot keep up loses lines, which are counted; it never slows a request.
const accessLogBuffer = 1 << 20

// accessLogDelay is how long lines are collected before they are written.
const accessLogDelay = 20 * time.Millisecond

// accessLog writes entries through a bounded buffer off the request path.
type accessLog struct {
	w       io.Writer
	text    bool
	dropped interface{ Add(uint64) uint64 }

	mu      sync.Mutex
	buf     []byte
	closed  bool
	wake    chan struct{}
	stopped chan struct{}
}

// newAccessLog starts the writing goroutine; close ends it.
func newAccessLog(w io.Writer, text bool, dropped interface{ Add(uint64) uint64 }) *accessLog {
	l := &accessLog{w: w, text: text, dropped: dropped, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go l.run()
	return l
}

// add takes one entry. It does not block on the writer.
func (l *accessLog) add(e *Entry) {
	if l == nil {
		return
	}
	l.mu.Lock()
	if l.closed || len(l.buf) > accessLogBuffer-4096 {
		l.mu.Unlock()
		l.dropped.Add(1)
		return
	}
	first := len(l.buf) == 0
	if l.text {
		l.buf = e.appendText(l.buf)
	} else {
		l.buf = e.appendJSON(l.buf)
	}
	l.mu.Unlock()
	if first {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// run writes what has been collected until the log is closed.
func (l *accessLog) run() {
	defer close(l.stopped)
	var spare []byte
	for range l.wake {
		l.mu.Lock()
		closed := l.closed
		l.mu.Unlock()
		if !closed {
			time.Sleep(accessLogDelay)
		}
		l.mu.Lock()
		full := l.buf
		l.buf = spare[:0]
		closed = l.closed
		l.mu.Unlock()
		if len(full) > 0 {
			// A log that cannot be written has no better place to say so than
			// the counter: the lines are gone.
			if _, err := l.w.Write(full); err != nil {
				l.dropped.Add(uint64(bytes.Count(full, []byte{'\n'})))
			}
		}
		spare = full
		if closed {
			return
		}
	}
}

// close writes what is left and ends the goroutine.
func (l *accessLog) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	if !was {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	<-l.stopped
}

func (e *Entry) appendJSON(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = e.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(b, `","method":`...)
	b = appendQuoted(b, e.Method)
	b = append(b, `,"path":`...)
	b = appendQuoted(b, e.Path)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(e.Status), 10)
	b = append(b, `,"class":`...)
	b = appendQuoted(b, e.Class)
	if e.Reason != "" {
		b = append(b, `,"reason":`...)
		b = appendQuoted(b, e.Reason)
	}
	b = append(b, `,"outcome":`...)
	b = appendQuoted(b, e.Outcome)
	b = append(b, `,"wait_ms":`...)
	b = appendMillis(b, e.Wait)
	b = append(b, `,"upstream_ms":`...)
	b = appendMillis(b, e.Upstream)
	b = append(b, `,"total_ms":`...)
	b = appendMillis(b, e.Total)
	b = append(b, `,"bytes_in":`...)
	b = strconv.AppendInt(b, e.In, 10)
	b = append(b, `,"bytes_out":`...)
	b = strconv.AppendInt(b, e.Out, 10)
	b = append(b, `,"protocol":`...)
	b = appendQuoted(b, e.Protocol)
	if e.Held {
		b = append(b, `,"held":true`...)
	}
	return append(b, "}\n"...)
}

func (e *Entry) appendText(b []byte) []byte {
	b = e.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(e.Status), 10)
	b = append(b, ' ')
	b = appendQuoted(b, e.Method+" "+e.Path)
	b = append(b, ' ')
	b = append(b, e.Protocol...)
	b = append(b, " class="...)
	b = append(b, e.Class...)
	b = append(b, " outcome="...)
	b = append(b, e.Outcome...)
	if e.Reason != "" {
		b = append(b, " reason="...)
		b = append(b, e.Reason...)
	}
	b = append(b, " wait_ms="...)
	b = appendMillis(b, e.Wait)
	b = append(b, " upstream_ms="...)
	b = appendMillis(b, e.Upstream)
	b = append(b, " total_ms="...)
	b = appendMillis(b, e.Total)
	b = append(b, " in="...)
	b = strconv.AppendInt(b, e.In, 10)
	b = append(b, " out="...)
	b = strconv.AppendInt(b, e.Out, 10)
	if e.Held {
		b = append(b, " held"...)
	}
	return append(b, '\n')
}

// appendMillis writes d in milliseconds with three decimals.
func appendMillis(b []byte, d time.Duration) []byte {
	us := max(d.Microseconds(), 0)
	b = strconv.AppendInt(b, us/1000, 10)
	us %= 1000
	return append(b, '.', byte('0'+us/100), byte('0'+us/10%10), byte('0'+us%10))
}

// unseen are the control and format characters of the basic plane that act on
// what stands around them.
func unseen(r rune) bool {
	return r >= 0x80 && r <= 0x9f || r >= 0x200e && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// logTextMax bounds one text field of a line, in bytes.
const logTextMax = 1024

// appendQuoted writes s as a JSON string, cut at logTextMax. What is not valid
// UTF-8 becomes U+FFFD; what would move a terminal's cursor, break a line or turn
// the direction of writing is escaped.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	if len(s) > logTextMax {
		s = s[:logTextMax]
	}
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			if c == '"' || c == '\\' {
				b = append(b, '\\', c)
			} else {
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			start = i + size
		} else if unseen(r) {
			b = append(b, s[start:i]...)
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
