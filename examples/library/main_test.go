package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// In virtual time all hundred come in one instant, in whatever order: two run
// and eight wait. A critical call is refused only when no background call waits
// that could make room, so at least eight of the ten are served.
func TestLibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := run(&out); err != nil {
			t.Fatal(err)
		}
		var critical, full, background, evicted, refused int
		_, err := fmt.Sscanf(out.String(),
			"critical ok: %d\ncritical full: %d\nbackground ok: %d\nbackground evicted: %d\nbackground full: %d\n",
			&critical, &full, &background, &evicted, &refused)
		if err != nil {
			t.Fatalf("%v:\n%s", err, &out)
		}
		if critical < 8 || critical+background != 10 || critical+full != 10 || background+evicted+refused != 90 {
			t.Errorf("it printed\n%s", &out)
		}
	})
}
