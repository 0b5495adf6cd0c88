package plimsoll

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
)

// errRetired says that the class's pool has left the configuration since the
// class was looked up: ask again.
var errRetired = errors.New("plimsoll: the pool has left the configuration")

// group is the live shell of one machine: its lock, its timer, and who waits.
// Today a group holds one pool.
type group struct {
	gate  *Gate
	index int // among the gate's groups, in recordings
	pool  string

	mu      sync.Mutex
	m       *core.Machine
	cfg     core.Config // the machine's, with what was learnt
	mode    Mode
	now     int64 // of the last event: time never runs backwards in a machine
	out     []core.Effect
	seats   []seat // by the machine's index
	classes []classBook
	idle    []*waiter // of calls that have stopped waiting
	// loose are calls that run without the machine's leave: a pool that is off
	// or broken, or one in shadow whose machine refused them.
	loose    map[uint64]looseCall
	lastOff  uint64
	timer    *time.Timer
	timerAt  int64
	settings Pool // as configured
	learner  learner
	retry    pacer
	broken   bool
	retired  bool // no class of the configuration leads here
	draining bool
	log      *eventLog // nil: not recorded
	stale    uint64    // second releases; the machine never sees them
}

// seat is what the shell keeps of a call in the machine.
type seat struct {
	w        *waiter // nil: nobody waits for a verdict
	seq      uint64
	since    int64 // arrival, then start
	waited   int64
	deadline int64
	class    int32
	running  bool // as the machine sees it
	shadow   bool // it runs whatever the machine says
	delayed  bool // it would have waited; its times in the machine are not real
}

// classBook is what a class has counted beside the machine's counts.
type classBook struct {
	class Class
	wait  Histogram
	run   Histogram

	// In shadow and off the machine's counts are not what happened. would is
	// what it counted as refused and ran all the same; misled is what it
	// counted as cancelled and was not. passed has arrived, and real has ended,
	// beside the machine or in spite of it; running are those that have not.
	would   [core.NumReasons]uint64
	misled  uint64
	passed  uint64
	real    [core.NumOutcomes]uint64
	running int
}

// waiter is where a waiting call gets its verdict. The channel holds one: the
// sender, under the lock, never blocks.
type waiter struct{ verdict chan core.Effect }

func (gr *group) acquire(ctx context.Context, s *seatOf, r *Request) (Ticket, error) {
	gr.mu.Lock()
	now := gr.tick()
	if gr.retired {
		gr.mu.Unlock()
		return Ticket{}, errRetired
	}
	if gr.mode == Off || gr.broken {
		t, err := gr.admitUndecided(now, s, r)
		gr.mu.Unlock()
		gr.saysDraining(s, err)
		return t, err
	}
	q := core.Request{
		Class: s.index, Cost: r.Cost, Attempt: r.Attempt, Key: r.Key, Expected: int64(r.Expected),
		Deadline: deadlineOf(now, r.Timeout, s.class.Deadline),
	}
	e := gr.admit(now, q)
	switch {
	case gr.broken: // just now
		t, err := gr.admitUndecided(now, s, r)
		gr.mu.Unlock()
		gr.saysDraining(s, err)
		return t, err
	case gr.mode == Shadow && e.Reason != core.Draining:
		t := gr.admitInShadow(now, s, r, e, q.Deadline)
		gr.mu.Unlock()
		return t, nil
	case e.Kind == core.Refuse:
		f := gr.refusal(now, s, e)
		gr.mu.Unlock()
		gr.ended(s.class.Name, Refused, e.Reason, 0, 0, false)
		return Ticket{}, f
	case e.Kind == core.Run:
		gr.mu.Unlock()
		return gr.ticket(s.class.Name, e.ID, 0, q.Deadline, now), nil
	}
	w := gr.waiter()
	gr.seats[e.ID.Index].w = w
	gr.mu.Unlock()
	return gr.wait(ctx, s, w, e.ID, now, q.Deadline)
}

// tick reads the clock, under the lock so that it never runs backwards.
func (gr *group) tick() int64 {
	gr.now = max(gr.now, gr.gate.now())
	return gr.now
}

// deadlineOf is the instant that a call is held to, as core.Request wants it.
func deadlineOf(now int64, timeout, class time.Duration) int64 {
	switch {
	case timeout == 0 || class > 0 && timeout > class:
		timeout = class
	case timeout < 0:
		return max(now-1, 1)
	}
	if timeout == 0 || int64(timeout) > core.Never-now {
		return core.Never
	}
	return now + int64(timeout)
}

// admit lets the call knock and dispatches, and returns what became of it.
func (gr *group) admit(now int64, q core.Request) (e core.Effect) {
	defer gr.rescue()
	id, out := gr.m.Arrive(now, q, gr.out[:0])
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpArrive, Now: now, Request: q, Seq: id.Seq}, out)
	}
	if len(out) > 1 || id.Index == 0 {
		// Those who had to make way are told first: the machine may have given
		// the newcomer the index of one of them.
		e = gr.apply(now, out, id.Seq)
	} else {
		e = out[0]
	}
	if id.Index != 0 {
		for int(id.Index) >= len(gr.seats) {
			gr.seats = append(gr.seats, seat{})
		}
		gr.seats[id.Index] = seat{seq: id.Seq, since: now, deadline: q.Deadline, class: out[len(out)-1].Class, shadow: gr.mode == Shadow}
	}
	n := len(out)
	out = gr.m.Dispatch(now, out)
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpDispatch, Now: now}, out[n:])
	}
	if len(out) == n+1 && out[n].ID == id && out[n].Kind == core.Run {
		gr.runs(now, &out[n]) // by far the most frequent case: it starts at once
		e = out[n]
	} else if later := gr.apply(now, out[n:], id.Seq); later.Kind != 0 {
		e = later
	}
	gr.out = out
	gr.arm(now)
	return e
}

// apply makes happen what the machine decided, and returns the last effect on
// the call own.
func (gr *group) apply(now int64, out []core.Effect, own uint64) (mine core.Effect) {
	gr.out = out
	for i := range out {
		e := &out[i]
		if e.ID.Seq == own {
			mine = *e
		}
		switch e.Kind {
		case core.Run:
			gr.runs(now, e)
		case core.Refuse:
			if e.ID.Index == 0 {
				continue
			}
			s := &gr.seats[e.ID.Index]
			if s.shadow && e.ID.Seq != own {
				gr.wouldRefuse(e, s.since, s.deadline)
			}
			s.tell(e)
			*s = seat{}
		}
	}
	return mine
}

// runs notes that a call has started, and tells whoever waits for that.
func (gr *group) runs(now int64, e *core.Effect) {
	s := &gr.seats[e.ID.Index]
	s.running = true
	if s.shadow && e.Ns > 0 {
		s.delayed = true // it has run since it arrived
		return
	}
	gr.classes[e.Class].wait.add(time.Duration(e.Ns))
	s.since, s.waited = now, e.Ns
	s.tell(e)
}

func (s *seat) tell(e *core.Effect) {
	if s.w != nil {
		s.w.verdict <- *e
		s.w = nil
	}
}

func (gr *group) waiter() *waiter {
	if n := len(gr.idle); n > 0 {
		w := gr.idle[n-1]
		gr.idle = gr.idle[:n-1]
		return w
	}
	return &waiter{verdict: make(chan core.Effect, 1)}
}

// wait waits for the machine's verdict, or for the caller to leave. A verdict
// that came first stands, but a permit that the caller is no longer there to
// use is given back unused.
func (gr *group) wait(ctx context.Context, s *seatOf, w *waiter, id core.ID, arrived, deadline int64) (Ticket, error) {
	var v core.Effect
	select {
	case v = <-w.verdict:
	case <-ctx.Done():
	}
	left := ctx.Err() != nil
	gr.mu.Lock()
	now := gr.tick()
	if v.Kind == 0 {
		select {
		case v = <-w.verdict:
		default:
			gr.cancel(now, id)
		}
	}
	gr.idle = append(gr.idle, w)
	switch {
	case v.Kind == core.Refuse:
		f := gr.refusal(now, s, v)
		gr.mu.Unlock()
		gr.ended(s.class.Name, Refused, v.Reason, time.Duration(v.Ns), 0, false)
		return Ticket{}, f
	case left:
		if v.Kind == core.Run {
			// By whatever it runs: the machine's leave, or a pool that has
			// stopped enforcing while the machine still has it waiting.
			gr.giveBack(now, id, Cancelled)
		}
		gr.mu.Unlock()
		gr.gate.stir()
		gr.ended(s.class.Name, Cancelled, core.NoReason, time.Duration(now-arrived), 0, false)
		return Ticket{}, context.Cause(ctx)
	}
	gr.mu.Unlock()
	return gr.ticket(s.class.Name, id, v.Ns, deadline, arrived+v.Ns), nil
}

func (gr *group) ticket(class string, id core.ID, waited, deadline, now int64) Ticket {
	t := Ticket{Waited: time.Duration(waited), Timeout: -1, Class: class, group: gr, id: id}
	if deadline != core.Never {
		t.Timeout = time.Duration(max(0, deadline-now))
	}
	return t
}

// cancel takes a waiting call out, and lets whoever can start now.
func (gr *group) cancel(now int64, id core.ID) {
	if gr.broken {
		return
	}
	defer gr.rescue()
	out := gr.m.Cancel(now, id, gr.out[:0])
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpCancel, Now: now, Seq: id.Seq}, out)
	}
	gr.seats[id.Index] = seat{}
	gr.dispatch(now, out)
}

// finish ends a running call, and lets whoever can start now.
func (gr *group) finish(now int64, id core.ID, o Outcome) (e core.Effect) {
	if gr.broken {
		return core.Effect{Outcome: o}
	}
	defer gr.rescue()
	out := gr.m.Release(now, id, o, gr.out[:0])
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpRelease, Now: now, Seq: id.Seq, Outcome: o}, out)
	}
	e = out[0]
	if e.Kind == core.End {
		real := !gr.seats[id.Index].delayed
		gr.seats[id.Index] = seat{}
		if real && (e.Outcome == OK || e.Outcome == Late) && e.Ns > 0 && gr.learner.sample(now, e.Ns) {
			gr.learn(now)
		}
	}
	gr.dispatch(now, out)
	return e
}

func (gr *group) dispatch(now int64, out []core.Effect) {
	n := len(out)
	out = gr.m.Dispatch(now, out)
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpDispatch, Now: now}, out[n:])
	}
	gr.apply(now, out[n:], 0)
	gr.out = out
	gr.arm(now)
}

func (gr *group) release(id core.ID, o Outcome) {
	if o == core.NoOutcome || o >= Refused {
		o = Failed
	}
	gr.mu.Lock()
	now := gr.tick()
	end := gr.giveBack(now, id, o)
	name := ""
	if end.class >= 0 {
		name = gr.classes[end.class].class.Name
	}
	gr.mu.Unlock()
	gr.gate.stir()
	if name != "" {
		gr.ended(name, end.outcome, end.why, time.Duration(end.waited), time.Duration(now-end.since), end.shadow)
	}
}

// ending is how a call ended. The class is -1 if there was nothing to end.
type ending struct {
	class         int32
	outcome       Outcome
	why           Reason // for which it would have been refused
	shadow        bool   // its pool did not enforce
	since, waited int64
}

// giveBack ends a call, under the lock.
func (gr *group) giveBack(now int64, id core.ID, o Outcome) (end ending) {
	defer gr.rescue()
	end = ending{class: -1, outcome: o}
	s := gr.seat(id)
	if l, ok := gr.loose[id.Seq]; ok {
		delete(gr.loose, id.Seq)
		end = ending{l.class, inTime(o, now, l.deadline), l.why, true, l.since, 0}
		gr.classes[l.class].running--
		gr.classes[l.class].real[end.outcome]++
	} else if s == nil || s.w != nil {
		gr.stale++
		return end
	} else {
		end.class, end.since, end.waited, end.shadow = s.class, s.since, s.waited, s.shadow
		if s.running {
			end.outcome = gr.finish(now, id, o).Outcome
		} else { // it ran in the shadow of the machine, which still has it waiting
			end.outcome = inTime(o, now, s.deadline)
			gr.classes[s.class].misled++
			gr.classes[s.class].real[end.outcome]++
			gr.cancel(now, id)
		}
	}
	gr.classes[end.class].run.add(time.Duration(now - end.since))
	return end
}

// inTime turns an OK that came too late into Late, as the machine does for
// those that run with its leave.
func inTime(o Outcome, now, deadline int64) Outcome {
	if o == OK && now > deadline {
		return Late
	}
	return o
}

// seat is that of a call which the machine has, or nil.
func (gr *group) seat(id core.ID) *seat {
	if gr.broken || !gr.m.Has(id) {
		return nil
	}
	return &gr.seats[id.Index]
}

func (gr *group) ended(class string, o Outcome, why Reason, waited, ran time.Duration, shadow bool) {
	if gr.gate.observer != nil {
		gr.gate.observer.Ended(CallEnded{Pool: gr.pool, Class: class, Outcome: o, Reason: why, Waited: waited, Ran: ran, Shadow: shadow})
	}
}
