package httpgate

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxTimeout is the longest deadline that a header may carry. What is longer
// is no deadline but a mistake, and is ignored.
const MaxTimeout = 24 * time.Hour

// maxAttempt is the highest number in a Plimsoll-Attempt that is believed.
const maxAttempt = 100

// timeoutOf is the time that the headers of r say the call has left: the
// smaller one when Plimsoll-Timeout-Ms and grpc-timeout both say it, 0 when
// neither does. bad counts headers that were there and could not be used.
func timeoutOf(h http.Header) (d time.Duration, bad int) {
	if v := h[HeaderTimeout]; len(v) > 0 {
		if t, ok := oneOf(v, parseMillis); ok {
			d = t
		} else {
			bad++
		}
	}
	if v := h["Grpc-Timeout"]; len(v) > 0 {
		if t, ok := oneOf(v, parseGRPC); !ok {
			bad++
		} else if d == 0 || t < d {
			d = t
		}
	}
	return d, bad
}

// oneOf parses a header that must be there once: of two, nobody knows which is meant.
func oneOf(v []string, parse func(string) (time.Duration, bool)) (time.Duration, bool) {
	if len(v) != 1 {
		return 0, false
	}
	return parse(v[0])
}

// parseMillis reads a positive decimal number of milliseconds up to MaxTimeout.
func parseMillis(s string) (time.Duration, bool) {
	n, ok := digits(s, 10)
	if !ok || n == 0 || n > MaxTimeout.Milliseconds() {
		return 0, false
	}
	return time.Duration(n) * time.Millisecond, true
}

// parseGRPC reads a grpc-timeout: up to eight digits and a unit. What is
// positive and shorter than a nanosecond does not exist; zero is ignored.
func parseGRPC(s string) (time.Duration, bool) {
	if len(s) < 2 {
		return 0, false
	}
	unit := grpcUnit(s[len(s)-1])
	n, ok := digits(s[:len(s)-1], 8)
	if !ok || unit == 0 || n == 0 || n > int64(MaxTimeout/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

func grpcUnit(c byte) time.Duration {
	switch c {
	case 'H':
		return time.Hour
	case 'M':
		return time.Minute
	case 'S':
		return time.Second
	case 'm':
		return time.Millisecond
	case 'u':
		return time.Microsecond
	case 'n':
		return time.Nanosecond
	}
	return 0
}

// digits reads 1 to most decimal digits and nothing else: no sign, no space.
func digits(s string, most int) (int64, bool) {
	if s == "" || len(s) > most {
		return 0, false
	}
	var n int64
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// formatGRPC writes d, at least a nanosecond, as a grpc-timeout in the finest
// unit of which eight digits suffice, rounded down.
func formatGRPC(d time.Duration) string {
	for _, u := range [...]struct {
		d time.Duration
		c string
	}{{time.Nanosecond, "n"}, {time.Microsecond, "u"}, {time.Millisecond, "m"}, {time.Second, "S"}} {
		if n := int64(d / u.d); n < 100_000_000 {
			return strconv.FormatInt(n, 10) + u.c
		}
	}
	return "99999999S"
}

// attemptOf is the number of earlier tries that the headers tell of. Anything
// but a number from 1 to 100 is a first try.
func attemptOf(h http.Header) int {
	v := h[HeaderAttempt]
	if len(v) != 1 {
		return 0
	}
	n, ok := digits(v[0], 3)
	if !ok || n < 1 || n > maxAttempt {
		return 0
	}
	return int(n) - 1
}

// sfItem writes s as an item of a structured field (RFC 9651): a token where
// it is one, a string where it is ASCII, a display string otherwise.
func sfItem(s string) string {
	token, ascii := s != "", true
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isToken(c, i == 0) {
			token = false
		}
		if c < 0x20 || c > 0x7e {
			ascii = false
		}
	}
	switch {
	case token:
		return s
	case ascii:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	var b strings.Builder
	b.WriteString(`%"`)
	for _, c := range []byte(strings.ToValidUTF8(s, "\uFFFD")) {
		if c < 0x20 || c > 0x7e || c == '%' || c == '"' {
			fmt.Fprintf(&b, "%%%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isToken(c byte, first bool) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '*':
		return true
	case first:
		return false
	case c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'+-.^_`|~:/", c) >= 0
}
