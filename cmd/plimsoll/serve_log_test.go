package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// scarce takes so many bytes and then none.
type scarce struct {
	strings.Builder
	left int
}

func (s *scarce) Write(p []byte) (int, error) {
	n := min(len(p), s.left)
	s.left -= n
	s.Builder.Write(p[:n])
	if n < len(p) {
		return n, errors.New("full")
	}
	return n, nil
}

// Trouble is said once, and so is its end; a line that was cut off is ended
// before the next begins.
func TestAccessFile(t *testing.T) {
	var said []string
	w := &scarce{left: 8}
	l := &accessFile{w: w, say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	for _, line := range []string{"one\n", "second\n", "lost\n"} {
		l.Write([]byte(line))
	}
	w.left = 100
	l.Write([]byte("last\n"))
	l.Write([]byte("end\n"))
	if got, want := w.String(), "one\nseco\nlast\nend\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := "access log: full; lines are lost, and counted as access_log_dropped|access log: can be written again"
	if got := strings.Join(said, "|"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
