package plimsoll

import (
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
)

// Bounds of what is learnt.
const (
	learnWindow = 128 // samples: what is older is forgotten
	learnFirst  = 8   // samples before anything is concluded
	// learnEvery is how often conclusions are drawn: often enough to follow a
	// step in service time within a fraction of a second, seldom enough to
	// cost nothing.
	learnEvery = int64(100 * time.Millisecond)
)

// learner collects how long workers took for calls, as the machine tells it,
// and concludes what a pool may expect. It is told the time, and holds no
// clock. Calls that were refused or whose client left teach nothing.
type learner struct {
	ring [learnWindow]int64
	n    int // samples ever
	last int64
}

// sample takes in one service time, and says whether it is time to conclude.
func (l *learner) sample(now, ns int64) bool {
	l.ring[l.n%learnWindow] = ns
	l.n++
	if l.n < learnFirst || now-l.last < learnEvery {
		return false
	}
	l.last = now
	return true
}

// conclude gives the expected service time, which is the median, or told if
// that is more than 0; and the margin: how far the slowest hundredth was over
// the expectation, plus a floor for what happens outside of the gate's sight
// (the way from the client and back), and never more than a quarter of the
// deadline, because a pool that takes off more refuses work it could do.
func (l *learner) conclude(told, deadline int64) (expected, margin int64) {
	n := min(l.n, learnWindow)
	s := slices.Clone(l.ring[:n])
	slices.Sort(s)
	expected = told
	if expected <= 0 {
		expected = s[n/2]
	}
	over := max(0, s[(n*99-1)/100]-expected)
	floor := marginFloor(deadline)
	return expected, max(floor, min(floor+over, deadline/4))
}

// AssumedMargin is the margin of a pool that is to learn one, while nothing has
// been learnt: a hundredth of its shortest deadline, from 200 µs to 2 ms. It is
// also the least that is ever learnt.
func AssumedMargin(shortest time.Duration) time.Duration {
	return min(max(shortest/100, 200*time.Microsecond), 2*time.Millisecond)
}

func marginFloor(deadline int64) int64 { return int64(AssumedMargin(time.Duration(deadline))) }

// learn draws conclusions and tells the machine what is new to it. Small
// changes are not worth an event.
func (gr *group) learn(now int64) {
	p, set := &gr.cfg.Pools[0], gr.settings
	expected, margin := gr.learner.conclude(int64(set.Expected), shortest(gr.cfg.Classes))
	if set.Margin != 0 {
		margin = p.Margin
	}
	if near(expected, p.Expected) && near(margin, p.Margin) {
		return
	}
	p.Expected, p.Margin = min(expected, core.MaxExpected), min(margin, core.MaxExpected)
	gr.configure(now)
}

// near says that a change is under a twentieth.
func near(a, b int64) bool {
	d := a - b
	return max(d, -d)*20 <= max(a, b)
}

// shortest is the shortest deadline of the classes, the longest possible if
// none has one.
func shortest(classes []core.Class) int64 {
	d := core.Never
	for _, c := range classes {
		if c.Deadline > 0 && !c.Retired {
			d = min(d, c.Deadline)
		}
	}
	return d
}

// configure makes gr.cfg the machine's, and applies what follows from it.
func (gr *group) configure(now int64) {
	if gr.broken {
		return
	}
	defer gr.rescue()
	cfg := core.Config{Pools: slices.Clone(gr.cfg.Pools), Classes: slices.Clone(gr.cfg.Classes), Default: gr.cfg.Default}
	out, err := gr.m.Configure(now, cfg, nil)
	if err != nil {
		panic(err) // whoever changes gr.cfg has validated it
	}
	gr.record(core.Event{Op: core.OpConfigure, Now: now, Config: &cfg}, out)
	gr.apply(now, out, 0)
}

// pacer gives refused callers instants to come back at, no more a second than
// the pool can serve, one after another: they grow with the backlog of those
// told to come back, and no second is promised to a crowd.
type pacer struct {
	cursor int64
	spread uint64 // state of a small generator, for when the horizon is full
}

// retryHorizon is the farthest that a caller is sent away, in seconds.
const retryHorizon = 120

// after is when to come back, in whole seconds from 1. gap is the time the
// pool needs for a call, backlog for all that it has.
func (p *pacer) after(now, gap, backlog int64) time.Duration {
	second := int64(time.Second)
	at := max(p.cursor+gap, now+second+backlog)
	if s := (at - now + second - 1) / second; s <= retryHorizon {
		p.cursor = at
		return time.Duration(s) * time.Second
	}
	// Everything up to the horizon is promised: spread over its second half.
	p.spread = p.spread*6364136223846793005 + 1442695040888963407
	return time.Duration(retryHorizon/2+1+(p.spread>>33)%(retryHorizon/2)) * time.Second
}

// refusal is the error for an effect. Refusals of a class come in rows that say
// the same, and a value in an interface never changes: the last one is given
// out again while it fits, so that an overload does not also fill the heap.
func (gr *group) refusal(now int64, e *core.Effect) error {
	b := &gr.classes[e.Class]
	f := Refusal{Reason: e.Reason, Class: b.class.Name, Pool: gr.pool, Waited: time.Duration(e.Ns)}
	switch {
	case e.Reason == core.TooCostly: // never
	case gr.broken:
		f.RetryAfter = time.Second
	default:
		gap := gr.gap()
		f.RetryAfter = gr.retry.after(now, gap, gap*int64(gr.m.Calls(0)))
	}
	if last, ok := b.refused.(Refusal); !ok || last != f {
		b.refused = f
	}
	return b.refused
}

// gap is the time the pool needs for a call, in nanoseconds. While nothing is
// known of that, it is taken that a full pool can just be served within its
// shortest deadline, or within a second if that is less: to assume nothing would
// send everybody who is refused back at once.
func (gr *group) gap() int64 {
	p := &gr.cfg.Pools[0]
	switch {
	case p.Expected == 0:
		return min(shortest(gr.cfg.Classes), int64(time.Second)) / int64(max(1, p.Slots+p.Waiting))
	case p.Workers == 0:
		return p.Expected / int64(max(1, p.Slots))
	}
	return p.Expected / int64(p.Workers)
}
