package main

import (
	"log"
	"strings"
	"sync"
	"time"
)

// seldom passes on a line a second at most of what the standard library has to
// say through the logger of the process, such as bytes that an upstream sent
// without being asked. Any peer can make it say that at will.
type seldom struct {
	say func(format string, args ...any)

	mu     sync.Mutex
	last   time.Time
	unsaid int
}

// captureLog makes s the process's logger until restore is called.
func captureLog(s *seldom) (restore func()) {
	was, flags := log.Writer(), log.Flags()
	log.SetOutput(s)
	log.SetFlags(0)
	return func() {
		log.SetOutput(was)
		log.SetFlags(flags)
	}
}

// Write takes one line, or a line and a stack of which only the line is passed on.
func (s *seldom) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.last) < time.Second {
		s.unsaid++
		return len(p), nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(p)), "\n")
	if s.unsaid > 0 {
		s.say("%s (and %d lines more since the last)", line, s.unsaid)
	} else {
		s.say("%s", line)
	}
	s.last, s.unsaid = now, 0
	return len(p), nil
}
