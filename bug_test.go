package plimsoll

import (
	"bytes"
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

// What follows finds bugs in the machine where there are none: it breaks one
// from inside, and holds that a pool which fails open loses nobody.

// corrupt sets a field of a machine, as a bug might.
func corrupt(v reflect.Value) {
	*(*uint32)(unsafe.Pointer(v.UnsafeAddr())) = 1 << 30
}

func machineOf(g *Gate) reflect.Value { return reflect.ValueOf(g.groups[0].m).Elem() }

// breakPool is a bug in an event that concerns nobody in particular.
func breakPool(g *Gate) {
	gr := g.groups[0]
	gr.mu.Lock()
	defer gr.mu.Unlock()
	defer gr.rescue()
	panic("a bug")
}

// quiet is a gate whose alarm says nothing.
func quiet(t *testing.T, cfg Config) *Gate {
	cfg.Alarm = func(error) {}
	return start(t, cfg)
}

// nobodyLeft holds that everything that was released is gone, and counted.
func nobodyLeft(t *testing.T, g *Gate) {
	t.Helper()
	p := g.Status().Pools[0]
	if n := g.Outstanding(); n != 0 || p.Running != 0 {
		t.Errorf("broken %v: everything was released, and %d are outstanding, %d running, classes %+v", p.Broken, n, p.Running, p.Classes)
	}
	for _, c := range p.Classes {
		ended := uint64(0)
		for _, n := range c.Outcomes {
			ended += n
		}
		if ended != c.Arrived {
			t.Errorf("%s: %d arrived and %d ended: %v", c.Name, c.Arrived, ended, c.Outcomes)
		}
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := g.Drain(ctx); err != nil {
		t.Errorf("drain: %v", err)
	}
}

func TestBugWhileAWaiterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		g := quiet(t, cfg)
		k := acquire(t, g, "critical")
		ctx, cancel := context.WithCancel(t.Context())
		w := await(ctx, g, Request{Class: "critical"})
		corrupt(machineOf(g).FieldByName("calls").Index(2).FieldByName("prev"))
		cancel()
		<-w
		k.Release(OK)
		nobodyLeft(t, g)
	})
}

func TestBugWhileACallArrivesInShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Pools[0].Mode = Shadow
		g := quiet(t, cfg)
		corrupt(machineOf(g).FieldByName("pools").Index(0).FieldByName("running").FieldByName("tail"))
		k := acquire(t, g, "critical")
		k.Release(OK)
		nobodyLeft(t, g)
	})
}

func TestBugWhileACallIsReleasedThatTheMachineHasWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Pools[0].Mode = Shadow
		g := quiet(t, cfg)
		a, b := acquire(t, g, "critical"), acquire(t, g, "critical")
		corrupt(machineOf(g).FieldByName("calls").Index(2).FieldByName("prev"))
		b.Release(OK)
		a.Release(OK)
		nobodyLeft(t, g)
	})
}

func TestBugAfterTheCallWasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Bounded(2, 5, 0)
		g := quiet(t, cfg)
		var b bytes.Buffer
		r, err := g.Record(&b, record.JSON) // the long way
		if err != nil {
			t.Fatal(err)
		}
		h := machineOf(g).FieldByName("pools").Index(0).FieldByName("heap")
		*(*[]uint32)(unsafe.Pointer(h.UnsafeAddr())) = []uint32{1 << 30}
		k := acquire(t, g, "critical")
		k.Release(OK)
		nobodyLeft(t, g)
		r.Stop()
	})
}

func TestWaitersThatABugLetsThroughAreToldTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		obs := &seen{}
		cfg.Observer = obs
		g := quiet(t, cfg)
		k := acquire(t, g, "critical")
		got := make(chan Ticket, 1)
		go func() {
			w, err := g.Acquire(context.Background(), Request{Class: "critical"})
			if err != nil {
				t.Error(err)
			}
			got <- w
		}()
		synctest.Wait()
		time.Sleep(150 * time.Millisecond)
		breakPool(g)
		w := <-got
		w.Release(OK)
		k.Release(OK)
		if w.Waited != 150*time.Millisecond || w.Timeout != 50*time.Millisecond {
			t.Errorf("waited %v, left %v; it was 150 ms and 50 ms", w.Waited, w.Timeout)
		}
		c := g.Status().Pools[0].Classes[0]
		n, m := uint64(0), uint64(0)
		for i := range c.Wait.Counts {
			n, m = n+c.Wait.Counts[i], m+c.Run.Counts[i]
		}
		if n != 2 || m != 2 || c.Run.Sum != 150*time.Millisecond {
			t.Errorf("%d waits, %d runs of %v; the one that waited ran for no time", n, m, c.Run.Sum)
		}
	})
}

func TestABrokenPoolKeepsItsCounts(t *testing.T) {
	cfg := one()
	cfg.Pools[0].Mode, cfg.Pools[0].Slots, cfg.Pools[0].Waiting = Shadow, 0, 0
	g := quiet(t, cfg)
	for range 10 {
		acquire(t, g, "critical").Release(OK)
	}
	breakPool(g)
	c := g.Status().Pools[0].Classes[0]
	if c.Arrived < c.Outcomes[OK] {
		t.Errorf("arrived %d, ok %d", c.Arrived, c.Outcomes[OK])
	}
}

func TestARecordingSaysWhatItLostBeforeABreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		g := quiet(t, cfg)
		var b bytes.Buffer
		r, err := g.Record(&b, record.JSON)
		if err != nil {
			t.Fatal(err)
		}
		for range recordingRoom { // three events each; no time passes, nothing is written
			acquire(t, g, "critical").Release(OK)
		}
		breakPool(g)
		time.Sleep(time.Second)
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		if r.Lost() == 0 || !bytes.Contains(b.Bytes(), []byte(`"gap"`)) {
			t.Errorf("lost %d, gap %v", r.Lost(), bytes.Contains(b.Bytes(), []byte("gap")))
		}
	})
}

func TestBugWhileThePoolIsResized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		g := quiet(t, cfg)
		k := acquire(t, g, "critical")
		w := await(t.Context(), g, Request{Class: "critical"})
		corrupt(machineOf(g).FieldByName("pools").Index(0).FieldByName("running").FieldByName("tail"))
		func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("Resize panics: %v; broken %v", v, g.groups[0].broken)
				}
			}()
			g.Resize("app", 2, 0, 19)
		}()
		g.groups[0].mu.Lock()
		func() { defer g.groups[0].rescue(); panic("let go") }()
		g.groups[0].mu.Unlock()
		<-w
		k.Release(OK)
	})
}

func TestABrokenPoolThatIsRemoved(t *testing.T) {
	cfg := one()
	g := quiet(t, cfg)
	breakPool(g)
	other := Config{Pools: []Pool{{Name: "other", Slots: 1}}, Classes: []Class{{Name: "x", Pool: "other"}}, Default: "x"}
	if err := g.Reload(other); err != nil {
		t.Fatal(err)
	}
	if n := len(g.Status().Pools); n != 1 {
		t.Errorf("%d pools", n)
	}
}

func TestARecordingForgetsBrokenPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		g := quiet(t, cfg)
		var b bytes.Buffer
		r, err := g.Record(&b, record.JSON)
		if err != nil {
			t.Fatal(err)
		}
		breakPool(g)
		other := Config{Pools: []Pool{{Name: "other", Slots: 1}}, Classes: []Class{{Name: "x", Pool: "other"}}, Default: "x"}
		for range 3 {
			if err := g.Reload(other); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if n := logsOf(r); n != 1 {
			t.Errorf("%d logs, the gate has %d pools", n, len(g.groups))
		}
		r.Stop()
	})
}

func TestRefusedJustBeforeABug(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		g := quiet(t, cfg)
		k := acquire(t, g, "critical")
		w := await(t.Context(), g, Request{Class: "critical"})
		gr := g.groups[0]
		gr.mu.Lock()
		out := gr.m.Flush(gr.now, core.Draining, nil)
		gr.apply(gr.now, out, 0)
		func() { defer gr.rescue(); panic("a bug") }()
		gr.mu.Unlock()
		err := <-w
		k.Release(OK)
		if f, ok := err.(Refusal); !ok || f.RetryAfter != time.Second {
			t.Errorf("%#v", err)
		}
	})
}

func logsOf(r *Recording) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.logs)
}
