package plimsoll

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

// A reload that is refused leaves nothing behind: no number taken, nothing
// followed by the recording, no pool in the status.
func TestARefusedReloadLeavesNothing(t *testing.T) {
	crowd := func(first int) Config {
		cfg := one()
		for i := range core.MaxClasses - 2 {
			cfg.Classes = append(cfg.Classes, Class{Name: fmt.Sprint("c", first+i), Pool: "app"})
		}
		return cfg
	}
	g := start(t, crowd(0))
	var buf strings.Builder
	rec, err := g.Record(&buf, record.JSON)
	if err != nil {
		t.Fatal(err)
	}
	next := crowd(100)
	next.Pools = append([]Pool{{Name: "new", Slots: 1}}, next.Pools...)
	next.Classes = append(next.Classes, Class{Name: "x", Pool: "new"})
	if err := g.Reload(next); err == nil || !strings.Contains(err.Error(), "keep their places") {
		t.Fatalf("%v", err)
	}
	if g.made != 1 || len(g.groups) != 1 || logsOf(rec) != 1 || len(g.Status().Pools) != 1 {
		t.Fatalf("made %d, %d groups, %d logs", g.made, len(g.groups), logsOf(rec))
	}
	if err := rec.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(buf.String(), `"snapshot"`); n != 1 {
		t.Fatalf("%d snapshots\n%s", n, buf.String())
	}
}

// Pools that come and go for months must not make a recording heavier.
func TestARecordingForgetsPoolsThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		var buf strings.Builder
		rec, err := g.Record(&buf, record.JSON)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			cfg := one()
			name := fmt.Sprint("p", i)
			cfg.Pools = append(cfg.Pools, Pool{Name: name, Slots: 1})
			cfg.Classes = append(cfg.Classes, Class{Name: name, Pool: name})
			if err := g.Reload(cfg); err != nil {
				t.Fatal(err)
			}
			acquire(t, g, name).Release(OK)
		}
		if err := g.Reload(one()); err != nil { // forgets the last but one
			t.Fatal(err)
		}
		time.Sleep(2 * recordingEvery)
		if n := logsOf(rec); n > 2 {
			t.Errorf("%d logs of one pool and one that may still be asked", n)
		}
		if err := rec.Stop(); err != nil {
			t.Fatal(err)
		}
		rep, err := record.Replay(strings.NewReader(buf.String()))
		if err != nil || rep.Difference != nil || rep.Snapshots != 11 || rep.Events < 40 {
			t.Fatalf("%v, %+v", err, rep)
		}
	})
}

// What a gate cannot plan with is refused, not cut to what it can.
func TestLongestExpectation(t *testing.T) {
	for _, c := range []struct {
		expected, margin time.Duration
		says             string
	}{
		{MaxExpected, MaxExpected, ""},
		{MaxExpected + 1, 0, "expected is 1h13m18.046511105s; 0 (learnt) to 1h13m18.046511104s is allowed"},
		{0, MaxExpected + 1, "margin is 1h13m18.046511105s; less than 0 (none), 0 (learnt) or up to 1h13m18.046511104s is allowed"},
	} {
		cfg := one()
		cfg.Pools[0].Expected, cfg.Pools[0].Margin = c.expected, c.margin
		switch err := cfg.Validate(); {
		case c.says == "" && err != nil, c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%v, %v: %v", c.expected, c.margin, err)
		}
	}
}

// Nothing has been learnt yet, and still a crowd is not sent back at one instant.
func TestRetryAfterSpreadsBeforeAnythingIsLearnt(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		most int // told to come back within one second
	}{
		{Bounded(1, 19, 200*time.Millisecond), 150}, // 20 in a deadline: 100 a second
		{Bounded(10, 0, time.Hour), 15},             // slots that turn over once a second
		{Bounded(10, 0, 0), 15},
		{Bounded(0, 0, 0), 20}, // spread over the horizon's second half
	} {
		synctest.Test(t, func(t *testing.T) { spread(t, c.cfg, c.most) })
	}
}

func spread(t *testing.T, cfg Config, most int) {
	g := start(t, cfg)
	ctx, leave := context.WithCancel(t.Context())
	for range cfg.Pools[0].Slots {
		acquire(t, g, "background")
	}
	for range cfg.Pools[0].Waiting {
		await(ctx, g, Request{Class: "background", Timeout: time.Minute})
	}
	seconds := map[time.Duration]int{}
	for range 1000 {
		_, err := g.Acquire(ctx, Request{Class: "background"})
		f, ok := err.(Refusal)
		if !ok {
			t.Fatalf("%v", err)
		}
		seconds[f.RetryAfter]++
	}
	for s, n := range seconds {
		if n > most && s < retryHorizon/2*time.Second || n > most+100 {
			t.Errorf("%+v: %v was told to %d", cfg.Pools[0], s, n)
		}
	}
	leave()
	synctest.Wait()
}
