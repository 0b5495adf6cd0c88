package plimsoll

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

// The caller goes on editing what it gave, also for a reload that is refused.
func TestWhatTheCallerEditsIsTheCallers(t *testing.T) {
	cfg := Bounded(1, 1, time.Second)
	g := start(t, cfg)
	cfg.Classes[1].Deadline = -5 // edit for a reload, wrong
	if err := g.Reload(cfg); err == nil {
		t.Fatal("accepted")
	}
	if d := g.Config().Classes[1].Deadline; d != time.Second {
		t.Errorf("a refused reload is in force: %v", d)
	}
	if err := g.SetMode("app", Shadow); err != nil {
		t.Errorf("SetMode after it: %v", err)
	}
}

func TestReloadWhatWasEditedWhileCallsRun(t *testing.T) {
	cfg := Bounded(1, 1, time.Second)
	g := start(t, cfg)
	done := make(chan bool)
	go func() {
		for range 1000 {
			if k, err := g.Acquire(context.Background(), Request{}); err == nil {
				k.Release(OK)
			}
		}
		close(done)
	}()
	for i := range 200 {
		cfg.Classes[1].Deadline = time.Second + time.Duration(i)
		if err := g.Reload(cfg); err != nil {
			t.Error(err)
		}
	}
	<-done
}

func TestALongBacklogIsForgottenWhenItIsGone(t *testing.T) {
	var p pacer
	sec := int64(time.Second)
	p.after(0, 10*sec, 1000*sec) // a hiccup
	if d := p.after(1*sec, sec/100, 0); d > 2*time.Second {
		t.Errorf("with nobody before it: %v", d)
	}
}

// No time passes between start and release.
func TestShadowCountsAWaitOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Pools[0].Mode = Shadow
		g := start(t, cfg)
		a, b := acquire(t, g, "critical"), acquire(t, g, "critical")
		a.Release(OK)
		b.Release(OK)
		c := g.Status().Pools[0].Classes[0]
		w, r := uint64(0), uint64(0)
		for i := range c.Wait.Counts {
			w, r = w+c.Wait.Counts[i], r+c.Run.Counts[i]
		}
		if w != 2 || r != 2 {
			t.Errorf("2 calls: %d waits, %d runs", w, r)
		}
	})
}

func TestDrainingIsCountedInAPoolThatIsOff(t *testing.T) {
	cfg := one()
	cfg.Pools[0].Mode = Off
	g := start(t, cfg)
	if err := g.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := g.Acquire(t.Context(), Request{Class: "critical"})
	c := g.Status().Pools[0].Classes[0]
	if c.Arrived != 1 || c.Refused[core.Draining] != 1 {
		t.Errorf("%v: arrived %d, refused %v", err, c.Arrived, c.Refused)
	}
}

func TestObserverInForce(t *testing.T) {
	cfg := one()
	cfg.Observer = &seen{}
	g := start(t, cfg)
	cfg.Observer = nil
	if err := g.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	if g.Config().Observer == nil {
		t.Errorf("the observer of New is in force, and Config says there is none")
	}
}

// Waiting and arriving are told the same: it is not the call that is too large.
func TestAPoolResizedToNothingIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, one())
		k := acquire(t, g, "critical")
		w := await(t.Context(), g, Request{Class: "critical"})
		if err := g.Resize("app", 0, 0, 19); err != nil {
			t.Fatal(err)
		}
		err := <-w
		_, door := g.Acquire(t.Context(), Request{Class: "critical"})
		k.Release(OK)
		if reasonOf(err) != reasonOf(door) {
			t.Errorf("waiting: %+v; arriving: %+v", err, door)
		}
	})
}

func TestWaitedSurvivesTheSwitchToShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		obs := &seen{}
		cfg.Observer = obs
		g := start(t, cfg)
		k := acquire(t, g, "critical")
		got := make(chan Ticket, 1)
		go func() {
			w, _ := g.Acquire(context.Background(), Request{Class: "critical"})
			got <- w
		}()
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		g.SetMode("app", Shadow)
		w := <-got
		time.Sleep(time.Second) // it expires in the machine
		w.Release(OK)
		k.Release(OK)
		if len(obs.ends) != 2 || obs.ends[0].Waited != w.Waited || w.Waited != 100*time.Millisecond {
			t.Errorf("the ticket says %v: %+v", w.Waited, obs.ends)
		}
	})
}

// It is counted in the class that its ticket names.
func TestACallOnItsWayWhileItsClassGoes(t *testing.T) {
	g := start(t, one())
	s := g.table.Load().classes["critical"]
	cfg := g.Config()
	cfg.Classes = cfg.Classes[1:]
	if err := g.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	var k Ticket
	if err := s.group.acquire(context.Background(), s, &Request{}, &k); err != nil {
		t.Fatal(err)
	}
	c := g.Status().Pools[0].Classes
	if len(c) != 1 || c[0].Running != 1 || k.Class != c[0].Name {
		t.Errorf("ticket says %s; running: %+v", k.Class, c[0].Name)
	}
	k.Release(OK)
}

func TestARecordingWhoseDestinationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Pools = append(cfg.Pools, Pool{Name: "b", Slots: 5})
		cfg.Classes = append(cfg.Classes, Class{Name: "x", Pool: "b"})
		g := start(t, cfg)
		r, err := g.Record(failing{}, record.JSON)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			for range 1000 {
				acquire(t, g, "critical").Release(OK)
				acquire(t, g, "x").Release(OK)
			}
			time.Sleep(time.Second)
		}
		for _, gr := range g.groups {
			if gr.log != nil {
				t.Errorf("%s is still logged, for nobody", gr.pool)
			}
		}
		if r.Err() == nil || r.Stop() == nil {
			t.Error("nothing is said of it")
		}
	})
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }
