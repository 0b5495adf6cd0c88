package plimsoll

import (
	"cmp"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
)

// Observer is told of every ended or refused call, one struct an event. It is
// called outside the gate's locks, on the goroutine of that call, and must not
// block.
type Observer interface {
	Ended(CallEnded)
}

// CallEnded describes one call that has ended, or never began.
type CallEnded struct {
	Pool, Class string
	Outcome     Outcome
	Reason      Reason // when Outcome is Refused; see also Shadow
	Waited      time.Duration
	Ran         time.Duration
	// Shadow is true when the call's pool did not enforce. The outcome is what
	// really happened, and Reason, if there is one, is what the call would have
	// been refused for.
	Shadow bool
}

// Status is one consistent look at each pool; pools are looked at one after another.
type Status struct {
	Uptime   time.Duration
	Draining bool
	Pools    []PoolStatus
}

// PoolStatus is what one pool looks like.
type PoolStatus struct {
	Name           string
	Mode           Mode
	Order          Order
	Door           Door
	Slots          int // units
	Workers        int
	Used           int // units
	Running        int // calls
	Waiting        int // calls
	WaitingLimit   int
	HeadAge        time.Duration // how long the oldest waiting call has waited
	Expected       time.Duration // in force: configured or learnt
	Margin         time.Duration
	MarginLearnt   bool
	ExpectedLearnt bool
	Broken         bool   // an internal error was found; the pool lets everything through
	Stale          uint64 // releases of tickets that had been released
	Classes        []ClassStatus
}

// ClassStatus is what one class looks like.
type ClassStatus struct {
	Name         string
	Rank         int
	Deadline     time.Duration
	Objective    float64
	Reserve      int
	Running      int // calls
	Used         int // units
	Waiting      int
	WaitingLimit int // -1: only the pool's
	HeadAge      time.Duration
	Arrived      uint64
	Outcomes     [core.NumOutcomes]uint64 // indexed by Outcome; Refused is their sum by reason
	Refused      [core.NumReasons]uint64  // indexed by Reason
	WouldRefuse  [core.NumReasons]uint64  // while in shadow mode, ever
	Wait         Histogram                // of the calls that ran
	Run          Histogram
}

// Histogram counts durations in buckets; HistogramBounds are their upper bounds.
type Histogram struct {
	Counts [len(HistogramBounds) + 1]uint64
	Sum    time.Duration
}

// HistogramBounds are the inclusive upper bounds of a Histogram's buckets; one
// more bucket holds what is longer.
var HistogramBounds = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 5 * time.Minute,
}

// Status looks at the gate. Pools that have left the configuration and still
// hold calls are among its pools.
func (g *Gate) Status() Status {
	g.mu.Lock()
	groups := g.groups
	g.mu.Unlock()
	s := Status{Uptime: time.Since(g.epoch), Draining: g.draining.Load(), Pools: make([]PoolStatus, 0, len(groups))}
	for _, gr := range groups {
		if p, ok := gr.status(); ok {
			s.Pools = append(s.Pools, p)
		}
	}
	return s
}

// status is what the group looks like; false if its pool has gone for good.
func (gr *group) status() (PoolStatus, bool) {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	now := gr.tick()
	if gr.retired && gr.held() == 0 {
		return PoolStatus{}, false
	}
	if gr.broken {
		return gr.brokenStatus(), true
	}
	v := gr.m.PoolView(0)
	s := PoolStatus{
		Name: gr.pool, Mode: gr.mode, Order: v.Order, Door: v.Door,
		Slots: v.Slots, Workers: v.Workers, Used: v.Units, Running: v.Running + len(gr.loose),
		Waiting: v.Waiting, WaitingLimit: v.Pool.Waiting, HeadAge: age(now, v.Oldest),
		Expected: time.Duration(v.Expected), Margin: time.Duration(v.Margin),
		ExpectedLearnt: gr.settings.Expected == 0, MarginLearnt: gr.settings.Margin == 0,
		Broken: gr.broken, Stale: gr.stale,
	}
	s.Workers = cmp.Or(s.Workers, s.Slots)
	for i := range gr.classes {
		if c := gr.classStatus(now, i); !gr.cfg.Classes[i].Retired || c.Running+c.Waiting > 0 {
			s.Classes = append(s.Classes, c)
		}
	}
	return s, true
}

// brokenStatus is what can be said without asking the machine.
func (gr *group) brokenStatus() PoolStatus {
	s := PoolStatus{
		Name: gr.pool, Mode: gr.mode, Order: gr.settings.Order, Door: gr.settings.Door,
		Slots: gr.settings.Slots, Workers: cmp.Or(gr.settings.Workers, gr.settings.Slots), WaitingLimit: gr.settings.Waiting,
		Running: len(gr.loose), Broken: true, Stale: gr.stale,
	}
	for i := range gr.classes {
		b := &gr.classes[i]
		s.Classes = append(s.Classes, ClassStatus{
			Name: b.class.Name, Rank: b.class.Rank, Deadline: b.class.Deadline, Objective: b.class.Objective,
			Reserve: b.class.Reserve, Running: b.running, WaitingLimit: b.class.core().Waiting,
			Arrived: b.passed, Outcomes: b.real, Refused: b.turned, WouldRefuse: b.would, Wait: b.wait, Run: b.run,
		})
	}
	return s
}

func (gr *group) classStatus(now int64, i int) ClassStatus {
	v, b := gr.m.ClassView(i), &gr.classes[i]
	v.Arrived += b.passed
	v.Running += b.running
	v.Outcomes[Cancelled] -= b.misled
	for why, n := range b.would { // the machine refused them, and they ran
		v.Refused[why] -= n
		v.Outcomes[Refused] -= n
	}
	for o, n := range b.real {
		v.Outcomes[o] += n
	}
	for why, n := range b.turned {
		v.Refused[why] += n
	}
	return ClassStatus{
		Name: v.Name, Rank: v.Rank, Deadline: b.class.Deadline, Objective: b.class.Objective,
		Reserve: v.Reserve, Running: v.Running, Used: v.Units, Waiting: v.Waits, WaitingLimit: v.Class.Waiting,
		HeadAge: age(now, v.Oldest), Arrived: v.Arrived, Outcomes: v.Outcomes, Refused: v.Refused,
		WouldRefuse: b.would, Wait: b.wait, Run: b.run,
	}
}

func age(now, since int64) time.Duration {
	if since == core.Never {
		return 0
	}
	return time.Duration(now - since)
}
