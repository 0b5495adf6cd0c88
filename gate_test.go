package plimsoll

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one is the bounded system: one worker of 10 ms, a deadline of 200 ms.
func one() Config {
	cfg := Bounded(1, 19, 200*time.Millisecond)
	cfg.Pools[0].Expected, cfg.Pools[0].Margin = 10*time.Millisecond, -1
	return cfg
}

func start(t testing.TB, cfg Config) *Gate {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func acquire(t *testing.T, g *Gate, class string) Ticket {
	t.Helper()
	k, err := g.Acquire(t.Context(), Request{Class: class})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// await runs Acquire on a goroutine of its own.
func await(ctx context.Context, g *Gate, r Request) <-chan error {
	done := make(chan error, 1)
	go func() {
		k, err := g.Acquire(ctx, r)
		if err == nil {
			defer k.Release(OK)
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

func reasonOf(err error) Reason {
	var f Refusal
	if errors.As(err, &f) {
		return f.Reason
	}
	return core.NoReason
}

func TestWaitingCallRunsWhenAnotherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		k := acquire(t, g, "critical")
		done := await(t.Context(), g, Request{Class: "background"})
		time.Sleep(5 * time.Millisecond)
		k.Release(OK)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := g.Outstanding(); n != 0 {
			t.Fatalf("%d outstanding", n)
		}
	})
}

func TestLeavingFreesThePlaceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Pools[0].Waiting = 1
		g := start(t, cfg)
		k := acquire(t, g, "critical")
		ctx, leave := context.WithCancelCause(t.Context())
		first := await(ctx, g, Request{})
		if err := <-await(t.Context(), g, Request{}); reasonOf(err) != core.Full {
			t.Fatalf("%v, want full", err)
		}
		gone := errors.New("gone")
		leave(gone)
		if err := <-first; err != gone {
			t.Fatalf("%v, want the context's cause", err)
		}
		second := await(t.Context(), g, Request{})
		k.Release(OK)
		if err := <-second; err != nil {
			t.Fatalf("the freed place: %v", err)
		}
	})
}

func TestADoneContextGetsNothing(t *testing.T) {
	g := start(t, one())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Acquire(ctx, Request{}); err != context.Canceled {
		t.Fatal(err)
	}
	if s := g.Status().Pools[0].Classes; s[0].Arrived+s[1].Arrived != 0 {
		t.Fatal("it arrived")
	}
}

func TestWaitersAreToldWhenTheyBecomeHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		k := acquire(t, g, "critical")
		defer k.Release(OK)
		begin := time.Now()
		err := <-await(t.Context(), g, Request{Timeout: 100 * time.Millisecond})
		if reasonOf(err) != core.Expired {
			t.Fatal(err)
		}
		if d := time.Since(begin); d < 90*time.Millisecond || d > 91*time.Millisecond {
			t.Fatalf("told after %v, want deadline - expected = 90 ms", d)
		}
	})
}

func TestASecondReleaseIsCountedAndHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		a := acquire(t, g, "critical")
		a.Release(OK)
		b := acquire(t, g, "critical") // takes a's place in the slab
		a.Release(OK)
		Ticket{}.Release(OK)
		if s := g.Status().Pools[0]; s.Running != 1 || s.Stale != 1 {
			t.Fatalf("%d running, %d stale", s.Running, s.Stale)
		}
		b.Release(OK)
	})
}

func TestMoreSlotsStartTheWaitingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		k := acquire(t, g, "critical")
		done := await(t.Context(), g, Request{})
		if err := g.Resize("app", 2, 1, 18); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := g.Resize("app", 1, 2, 0); err == nil {
			t.Fatal("more workers than slots were accepted")
		}
		if err := g.Resize("nope", 1, 1, 0); err == nil {
			t.Fatal("an unknown pool was resized")
		}
		k.Release(OK)
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		k := acquire(t, g, "critical")
		waiting := await(t.Context(), g, Request{Timeout: time.Hour})
		drained := make(chan error, 1)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("grace is over"))
		defer cancel()
		go func() { drained <- g.Drain(ctx) }()
		synctest.Wait()
		if err := <-await(t.Context(), g, Request{}); reasonOf(err) != core.Draining {
			t.Fatal(err)
		}
		if err := <-drained; err == nil || err.Error() != "grace is over" {
			t.Fatal(err)
		}
		if err := <-waiting; reasonOf(err) != core.Draining {
			t.Fatal(err)
		}
		go func() { drained <- g.Drain(t.Context()) }()
		synctest.Wait()
		k.Release(OK)
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
	})
}

func TestShadowDecidesAndHoldsNobodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Pools[0].Waiting, cfg.Pools[0].Mode = 1, Shadow
		g := start(t, cfg)
		var tickets []Ticket
		for range 5 {
			tickets = append(tickets, acquire(t, g, "background"))
		}
		s := g.Status().Pools[0].Classes[1]
		if s.WouldRefuse[core.Full] != 3 || g.Outstanding() != 5 {
			t.Fatalf("%d would be refused, %d outstanding", s.WouldRefuse[core.Full], g.Outstanding())
		}
		for _, k := range tickets {
			k.Release(OK)
			k.Release(OK)
		}
		if p := g.Status().Pools[0]; g.Outstanding() != 0 || p.Stale != 5 || p.Running+p.Waiting != 0 {
			t.Fatalf("%d outstanding, %+v", g.Outstanding(), p)
		}
	})
}

func TestModesSwitchWhileCallsWaitAndRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		k := acquire(t, g, "critical")
		waiting := await(t.Context(), g, Request{Class: "background"})
		if err := g.SetMode("app", Off); err != nil {
			t.Fatal(err)
		}
		if err := <-waiting; err != nil {
			t.Fatalf("whoever waits is let through: %v", err)
		}
		off := acquire(t, g, "critical")
		if err := g.SetMode("app", Enforce); err != nil {
			t.Fatal(err)
		}
		if n := g.Outstanding(); n != 2 {
			t.Fatalf("%d outstanding", n)
		}
		k.Release(OK)
		off.Release(OK)
		acquire(t, g, "critical").Release(OK)
		if p := g.Status().Pools[0]; g.Outstanding() != 0 || p.Stale != 0 {
			t.Fatalf("%d outstanding, %d stale", g.Outstanding(), p.Stale)
		}
	})
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		k := acquire(t, g, "critical")
		waiting := await(t.Context(), g, Request{Class: "background"})
		next := one()
		next.Pools = append(next.Pools, Pool{Name: "other", Slots: 1})
		next.Classes = append(next.Classes[:1:1], Class{Name: "bulk", Pool: "other"}) // background goes
		next.Default = "bulk"
		if err := g.Reload(next); err != nil {
			t.Fatal(err)
		}
		bad := next.clone()
		bad.Classes[0].Pool = "nowhere"
		if err := g.Reload(bad); err == nil {
			t.Fatal("a class without a pool was accepted")
		}
		b, err := g.Acquire(t.Context(), Request{Class: "background"}) // unknown now
		if err != nil || b.Class != "bulk" {
			t.Fatalf("%v, %q", err, b.Class)
		}
		k.Release(OK)
		if err := <-waiting; err != nil {
			t.Fatalf("whoever waits survives a reload: %v", err)
		}
		if err := g.Reload(one()); err != nil { // the other pool goes while it runs a call
			t.Fatal(err)
		}
		if n := g.Outstanding(); n != 1 {
			t.Fatalf("%d outstanding", n)
		}
		b.Release(OK)
		if n := g.Outstanding(); n != 0 {
			t.Fatalf("%d outstanding", n)
		}
	})
}

func TestAGroupsDefaultIsNeverAPromotion(t *testing.T) {
	cfg := Config{Pools: []Pool{{Name: "a", Slots: 1}, {Name: "b", Slots: 1}}, Default: "y", Classes: []Class{
		{Name: "x", Pool: "a", Rank: 0}, {Name: "y", Pool: "a", Rank: 1}, {Name: "z", Pool: "a", Rank: 2},
		{Name: "u", Pool: "b", Rank: 0}, {Name: "v", Pool: "b", Rank: 3}, {Name: "w", Pool: "b", Rank: 2},
	}}
	for pool, want := range map[string]string{"a": "y", "b": "v"} {
		if c := cfg.group(pool); c.Classes[c.Default].Name != want {
			t.Errorf("pool %s: %s, want %s", pool, c.Classes[c.Default].Name, want)
		}
	}
}

// A client that leaves in the instant in which its pool stops enforcing must
// not leave its call behind.
func TestLeavingWhileThePoolStopsEnforcing(t *testing.T) {
	for range 40 { // the waiter finds both news, and takes either first
		synctest.Test(t, func(t *testing.T) {
			g := start(t, one())
			k := acquire(t, g, "critical")
			ctx, leave := context.WithCancel(t.Context())
			gone := await(ctx, g, Request{})
			leave()
			if err := g.SetMode("app", Off); err != nil {
				t.Fatal(err)
			}
			<-gone
			k.Release(OK)
			if p := g.Status().Pools[0]; g.Outstanding() != 0 || p.Used+p.Waiting != 0 {
				t.Fatalf("everybody has gone, and %d are outstanding, %d units out, %d waiting", g.Outstanding(), p.Used, p.Waiting)
			}
		})
	}
}

// A call that looked its class up before a reload arrives in the machine after
// it, and gets a default class that is new.
func TestArrivalBetweenTheHalvesOfAReload(t *testing.T) {
	cfg := Config{Pools: []Pool{{Name: "p", Slots: 9}}, Classes: []Class{{Name: "a", Pool: "p"}}, Default: "a"}
	g := start(t, cfg)
	old := g.table.Load().classes["a"]
	cfg.Classes, cfg.Default = []Class{{Name: "b", Pool: "p"}}, "b"
	gr := g.groups[0]
	gr.reconfigure(gr.merge(cfg.group("p")), &cfg.Pools[0])
	var k Ticket
	err := gr.acquire(t.Context(), old, &Request{Class: "a"}, &k)
	if err != nil || gr.broken {
		t.Fatalf("%v, broken %v", err, gr.broken)
	}
	k.Release(OK)
	if n := g.Outstanding(); n != 0 {
		t.Fatalf("%d outstanding", n)
	}
}

func TestTwoDrainsHearTheSameNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		k := acquire(t, g, "critical")
		drained := make(chan error, 2)
		for range 2 {
			go func() { drained <- g.Drain(t.Context()) }()
		}
		synctest.Wait()
		k.Release(OK)
		for range 2 {
			if err := <-drained; err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A recording that stops must not silence the one that has begun after it.
func TestStopLeavesTheNextRecordingAlone(t *testing.T) {
	g := start(t, one())
	var first, second bytes.Buffer
	a, err := g.Record(&first, record.JSON)
	if err != nil {
		t.Fatal(err)
	}
	g.recorder = nil // as in the middle of Stop
	b, err := g.Record(&second, record.JSON)
	if err != nil {
		t.Fatal(err)
	}
	g.recorder = a
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	g.recorder = b
	acquire(t, g, "critical").Release(OK)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	rep, err := record.Replay(&second)
	if err != nil || rep.Difference != nil || rep.Events < 4 {
		t.Fatalf("%v, %+v", err, rep)
	}
}

// Without a deadline nothing bounds the margin but the machine.
func TestOneVeryLongCallOpensNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Pools: []Pool{{Name: "jobs", Slots: 1}}, Classes: []Class{{Name: "job", Pool: "jobs"}}, Default: "job"}
		g := start(t, cfg)
		for i := range 20 {
			k := acquire(t, g, "job")
			time.Sleep(time.Minute)
			if i == 7 {
				time.Sleep(3 * time.Hour)
			}
			k.Release(OK)
		}
		if p := g.Status().Pools[0]; p.Broken || p.Expected != time.Minute {
			t.Fatalf("broken %v, expected %v", p.Broken, p.Expected)
		}
	})
}

func TestLearning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, Bounded(1, 10, 200*time.Millisecond))
		for range 40 {
			k := acquire(t, g, "critical")
			time.Sleep(10 * time.Millisecond)
			k.Release(OK)
		}
		p := g.Status().Pools[0]
		if p.Expected != 10*time.Millisecond || p.Margin != 2*time.Millisecond {
			t.Fatalf("expected %v, margin %v", p.Expected, p.Margin)
		}
		for range 60 { // the service gets slower
			k := acquire(t, g, "critical")
			time.Sleep(30 * time.Millisecond)
			k.Release(OK)
		}
		for range 60 {
			k := acquire(t, g, "critical")
			time.Sleep(30 * time.Millisecond)
			k.Release(OK)
		}
		if p := g.Status().Pools[0]; p.Expected != 30*time.Millisecond {
			t.Fatalf("expected %v", p.Expected)
		}
	})
}

func TestRetryAfterPromisesNoSecondToACrowd(t *testing.T) {
	var p pacer
	gap := int64(10 * time.Millisecond) // 100 calls a second
	seconds := map[time.Duration]int{}
	for range 10000 {
		seconds[p.after(0, gap, 0)]++
	}
	for s, n := range seconds {
		if s < time.Second || s > retryHorizon*time.Second || s%time.Second != 0 {
			t.Fatalf("%v", s)
		}
		if n > 150 {
			t.Errorf("%v was told to %d callers, more than 1.5 × what a second can serve", s, n)
		}
	}
	if d := p.after(int64(time.Hour), gap, 0); d > 2*time.Second {
		t.Fatalf("after an hour of calm: %v", d)
	}
}

// The machine's panic is provoked by breaking it from inside.
func TestABugFailsOpenAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		alarm := make(chan error, 1)
		cfg.Alarm = func(err error) { alarm <- err }
		g := start(t, cfg)
		k := acquire(t, g, "critical")
		waiting := await(t.Context(), g, Request{})
		gr := g.groups[0]
		gr.mu.Lock()
		gr.m = nil // the next event is its end
		gr.mu.Unlock()
		k.Release(OK)
		if err := <-alarm; err == nil {
			t.Fatal("no alarm")
		}
		if err := <-waiting; err != nil {
			t.Fatal(err)
		}
	})
}

// Everything that thousands of concurrent callers did to a gate, with leaving,
// resizing, double releases and reloads among it, replays through the core to
// the same decisions, from a recording begun in mid-life.
func TestReplayEquality(t *testing.T) {
	for _, enc := range []record.Encoding{record.JSON, record.Binary} {
		t.Run(string(enc), func(t *testing.T) { testReplay(t, enc) })
	}
}

func testReplay(t *testing.T, enc record.Encoding) {
	cfg := Bounded(4, 12, 20*time.Millisecond)
	cfg.Pools = append(cfg.Pools, Pool{Name: "tests", Slots: 8, Waiting: 16, Order: OrderFIFO, Door: DoorPriority})
	cfg.Classes = append(cfg.Classes,
		Class{Name: "control", Pool: "tests", Rank: 0, Reserve: 2, Waiting: 4, Deadline: 50 * time.Millisecond},
		Class{Name: "heavy", Pool: "tests", Rank: 1, Reserve: 6, Waiting: 12, Deadline: time.Second})
	g := start(t, cfg)
	var buf bytes.Buffer
	var rec *Recording
	var calls atomic.Int64
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			classes := []string{"critical", "background", "control", "heavy", "nobody"}
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(5000))*time.Microsecond)
				k, err := g.Acquire(ctx, Request{Class: classes[r.IntN(5)], Cost: r.IntN(3), Timeout: time.Duration(r.IntN(30)) * time.Millisecond, Key: r.Uint64N(9)})
				if err == nil {
					spin(time.Duration(r.IntN(300)) * time.Microsecond)
					k.Release(Outcome(r.IntN(core.NumOutcomes)))
					if r.IntN(10) == 0 {
						k.Release(OK)
					}
				}
				cancel()
				if calls.Add(1) == 1000 {
					var err error
					if rec, err = g.Record(&buf, enc); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 20 {
			if err := g.Resize("app", 1+i%5, 0, i%7); err != nil {
				t.Error(err)
			}
			spin(time.Millisecond)
		}
	})
	wg.Wait()
	if err := rec.Stop(); err != nil {
		t.Fatal(err)
	}
	rep, err := record.Replay(bytes.NewReader(buf.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if rep.Difference != nil {
		t.Fatalf("after %d events: %v", rep.Events, rep.Difference)
	}
	if rep.Events < 5000 || rep.Snapshots < 2 {
		t.Fatalf("too little was recorded: %+v", rep)
	}
	if n := g.Outstanding(); n != 0 {
		t.Fatalf("%d outstanding", n)
	}
	for _, gr := range g.groups {
		if err := gr.m.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// spin works for d: what a call does, on a processor.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

func TestAnOverfullRecordingHasAGapAndGoesOn(t *testing.T) {
	g := start(t, one())
	var buf bytes.Buffer
	slow := &gatedWriter{to: &buf, open: make(chan struct{})}
	rec, err := g.Record(slow, record.Binary)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Record(&buf, record.Binary); err != ErrRecording {
		t.Fatal(err)
	}
	for range 5 * recordingRoom { // the writer stands still as soon as its buffer is full
		acquire(t, g, "critical").Release(OK)
	}
	close(slow.open)
	for range 100 {
		acquire(t, g, "critical").Release(OK)
	}
	if err := rec.Stop(); err != nil {
		t.Fatal(err)
	}
	rep, err := record.Replay(&buf)
	if err != nil || rep.Difference != nil {
		t.Fatal(err, rep.Difference)
	}
	if rep.Gaps == 0 || rep.Lost != rec.Lost() || rep.Lost == 0 {
		t.Fatalf("%+v, lost %d", rep, rec.Lost())
	}
}

type gatedWriter struct {
	to   *bytes.Buffer
	open chan struct{}
}

func (w *gatedWriter) Write(b []byte) (int, error) {
	<-w.open
	return w.to.Write(b)
}
