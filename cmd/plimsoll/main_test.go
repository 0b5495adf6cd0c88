package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Every line says who speaks, but for those that belong to the line above.
func TestEveryLineHasThePrefix(t *testing.T) {
	var b strings.Builder
	say(&b, "config: two are wrong\n    5 | app:\n\nserve: and this too\n")
	if want := "plimsoll: config: two are wrong\n    5 | app:\nplimsoll: serve: and this too\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	say(&b, "")
	if b.Len() > 0 {
		t.Errorf("nothing to say is %q", b.String())
	}
}

// Who is stopped before the end says so, has printed nothing, and has left
// nothing behind.
func TestStoppedBeforeTheEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"demo", "--no-web"}, {"demo", "--addr", "127.0.0.1:0", "--json"}, {"lab", "slo-load-control", "--output-dir", "out"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, diag bytes.Buffer
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&diag)
		err := root.ExecuteContext(ctx)
		if exit := (exitError{}); !errors.As(err, &exit) || exit.code != exitStopped || !strings.Contains(err.Error(), args[0]+": stopped before the end") {
			t.Errorf("%q ends with %v", args, err)
		}
		if left, err := os.ReadDir("."); err != nil || len(left) > 0 || out.Len() > 0 {
			t.Errorf("%q prints %q and leaves %v, %v", args, out.String(), left, err)
		}
	}
}

func TestASignalIsTheEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("left out: no process can interrupt itself here")
	}
	ctx, stop := untilSignal(t.Context())
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("a minute after the signal it goes on")
	}
}
