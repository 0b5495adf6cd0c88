package main

import (
	"io"
	"os"
	"sync"

	"github.com/plimsoll-go/plimsoll/internal/config"
)

// accessFile is where the access log goes. The server's one goroutine writes to
// it, and a reload opens it anew. When it cannot be written, that is said once,
// and once more when it can again; how many lines were lost, the server counts.
type accessFile struct {
	at  config.AccessLog
	say func(format string, args ...any)

	mu      sync.Mutex
	w       io.Writer
	file    *os.File // w, unless that is standard output
	failing bool
	torn    bool // the last line was written in part
}

// openAccess opens the log of a configuration; nil for none.
func openAccess(at config.AccessLog, stdout io.Writer, say func(string, ...any)) (*accessFile, error) {
	if at.Format == "off" {
		return nil, nil
	}
	l := &accessFile{at: at, say: say, w: stdout}
	if at.Path == "-" {
		return l, nil
	}
	return l, l.reopen()
}

// reopen opens the path again and lets go of the file that was open. If it
// fails, that file stays. Standard output stays in any case.
func (l *accessFile) reopen() error {
	if l.at.Path == "-" {
		return nil
	}
	f, err := l.at.Open()
	if err != nil {
		return err
	}
	l.mu.Lock()
	old := l.file
	l.w, l.file, l.torn = f, f, false
	l.mu.Unlock()
	if old != nil {
		return old.Close()
	}
	return nil
}

// Write writes whole lines.
func (l *accessFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.torn { // nothing may be appended to half a line
		if _, err := l.w.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		l.torn = false
	}
	n, err := l.w.Write(p)
	switch {
	case err != nil:
		l.torn = n > 0 && p[n-1] != '\n'
		if !l.failing {
			l.say("access log: %v; lines are lost, and counted as access_log_dropped", err)
		}
		l.failing = true
	case l.failing:
		l.failing = false
		l.say("access log: can be written again")
	}
	return n, err
}

func (l *accessFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
}
