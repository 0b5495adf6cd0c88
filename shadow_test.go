package plimsoll

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
)

// seen is an observer that remembers.
type seen struct {
	mu   sync.Mutex
	ends []CallEnded
}

func (s *seen) Ended(e CallEnded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, e)
}

// Nothing is refused or held back in shadow, so what is reported is what
// happened: five answers, one of them late, one failure, and no refusal; each
// heard of once.
func TestShadowReportsWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard seen
		cfg := one()
		cfg.Pools[0].Waiting, cfg.Pools[0].Mode, cfg.Observer = 2, Shadow, &heard
		g := start(t, cfg)
		var tickets []Ticket
		for range 6 { // one runs, two would wait, three would be refused
			tickets = append(tickets, acquire(t, g, "background"))
		}
		time.Sleep(50 * time.Millisecond)
		for _, k := range tickets[:4] {
			k.Release(OK)
		}
		tickets[4].Release(Failed)
		time.Sleep(time.Second)
		tickets[5].Release(OK)
		c := g.Status().Pools[0].Classes[1]
		if c.Arrived != 6 || c.Outcomes != [core.NumOutcomes]uint64{OK: 4, Late: 1, Failed: 1} || c.Refused != [core.NumReasons]uint64{} {
			t.Errorf("%d arrived, outcomes %v, refused %v", c.Arrived, c.Outcomes, c.Refused)
		}
		if c.WouldRefuse[core.Full] != 3 || c.Running+c.Waiting != 0 {
			t.Errorf("would refuse %v, %d run, %d wait", c.WouldRefuse, c.Running, c.Waiting)
		}
		if len(heard.ends) != 6 {
			t.Fatalf("heard of %d calls: %+v", len(heard.ends), heard.ends)
		}
		full := 0
		for _, e := range heard.ends {
			if e.Waited != 0 || e.Ran < 50*time.Millisecond || !e.Shadow || e.Outcome == Refused {
				t.Errorf("%+v", e)
			}
			if e.Reason == core.Full {
				full++
			}
		}
		if full != 3 {
			t.Errorf("%d would have been refused", full)
		}
	})
}

// A pool that does not enforce imposes no deadline, passes on the call's own,
// and still counts what is late.
func TestOnlyTheCallsOwnDeadlineOutsideOfEnforce(t *testing.T) {
	for _, mode := range []Mode{Shadow, Off} {
		synctest.Test(t, func(t *testing.T) {
			cfg := one()
			cfg.Pools[0].Waiting, cfg.Pools[0].Mode = 0, mode
			g := start(t, cfg)
			for range 3 { // the second and third would be refused in shadow
				k := acquire(t, g, "critical")
				if k.Timeout >= 0 {
					t.Errorf("%v: %v left, of a deadline that is not the call's", mode, k.Timeout)
				}
				defer k.Release(OK)
			}
			k, err := g.Acquire(t.Context(), Request{Class: "critical", Timeout: 20 * time.Millisecond})
			if err != nil || k.Timeout != 20*time.Millisecond {
				t.Errorf("%v: %v, %v left", mode, err, k.Timeout)
			}
			time.Sleep(30 * time.Millisecond)
			k.Release(OK)
			if n := g.Status().Pools[0].Classes[0].Outcomes[Late]; n != 1 {
				t.Errorf("%v: %d late", mode, n)
			}
		})
	}
}

// Counts stay whole through changes of mode: everybody who arrived has ended
// once, by what really became of it.
func TestCountsAddUpThroughModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Pools[0].Waiting = 1
		g := start(t, cfg)
		var tickets []Ticket
		take := func() {
			for range 4 {
				if k, err := g.Acquire(t.Context(), Request{Class: "critical", Timeout: time.Hour}); err == nil {
					tickets = append(tickets, k)
				}
			}
		}
		for _, m := range []Mode{Shadow, Off, Shadow, Off} {
			if err := g.SetMode("app", m); err != nil {
				t.Fatal(err)
			}
			take()
		}
		if err := g.SetMode("app", Enforce); err != nil {
			t.Fatal(err)
		}
		for _, k := range tickets {
			k.Release(OK)
		}
		c := g.Status().Pools[0].Classes[0]
		if c.Arrived != 16 || c.Outcomes[OK]+c.Outcomes[Late] != 16 || c.Refused != [core.NumReasons]uint64{} {
			t.Errorf("%d arrived, outcomes %v, refused %v", c.Arrived, c.Outcomes, c.Refused)
		}
		if g.Outstanding() != 0 || g.Status().Pools[0].Stale != 0 {
			t.Errorf("%d outstanding, %d stale", g.Outstanding(), g.Status().Pools[0].Stale)
		}
	})
}

// Whoever runs when a pool breaks stays counted, and Drain waits for it.
func TestABrokenPoolStillKnowsWhoRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Alarm = func(error) {}
		g := start(t, cfg)
		k := acquire(t, g, "critical")
		gr := g.groups[0]
		gr.mu.Lock()
		func() {
			defer gr.rescue()
			panic("a bug")
		}()
		gr.mu.Unlock()
		late := acquire(t, g, "background") // it fails open
		if n := g.Outstanding(); n != 2 {
			t.Fatalf("%d outstanding", n)
		}
		drained := make(chan error, 1)
		go func() { drained <- g.Drain(t.Context()) }()
		synctest.Wait()
		k.Release(OK)
		late.Release(OK)
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		p := g.Status().Pools[0]
		if !p.Broken || p.Stale != 0 || p.Classes[0].Outcomes[OK] != 1 || p.Classes[1].Outcomes[OK] != 1 {
			t.Fatalf("%+v", p)
		}
	})
}

// A pool that leaves the configuration and comes back while a call of it still
// runs is the same pool: shown once, and the call counts against its slots.
func TestAPoolThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one()
		cfg.Pools[0].Waiting = 0
		g := start(t, cfg)
		k := acquire(t, g, "critical")
		other := Config{Pools: []Pool{{Name: "other", Slots: 1}}, Classes: []Class{{Name: "x", Pool: "other"}}, Default: "x"}
		for _, next := range []Config{other, cfg} {
			if err := g.Reload(next); err != nil {
				t.Fatal(err)
			}
		}
		pools := g.Status().Pools
		if len(pools) != 1 || pools[0].Running != 1 {
			t.Fatalf("%+v", pools)
		}
		if _, err := g.Acquire(context.Background(), Request{Class: "critical"}); reasonOf(err) != core.Full {
			t.Fatalf("%v, want full", err)
		}
		k.Release(OK)
		acquire(t, g, "critical").Release(OK)
	})
}
