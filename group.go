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
	class   Class
	wait    Histogram
	run     Histogram
	refused error // the last refusal given

	// In shadow and off the machine's counts are not what happened. would is
	// what it counted as refused and ran all the same; misled is what it
	// counted as cancelled and was not. passed has arrived, and real has ended,
	// beside the machine or in spite of it; running are those that have not. Of
	// a broken pool these are all there is.
	would   [core.NumReasons]uint64
	misled  uint64
	passed  uint64
	real    [core.NumOutcomes]uint64
	turned  [core.NumReasons]uint64 // of the real, those refused
	running int
}

// waiter is where a waiting call gets its verdict. The channel holds one: the
// sender, under the lock, never blocks.
type waiter struct{ verdict chan core.Effect }

// acquire fills in t if the call may run. A ticket is a large value to hand
// through several functions.
func (gr *group) acquire(ctx context.Context, s *seatOf, r *Request, t *Ticket) error {
	gr.mu.Lock()
	now := gr.tick()
	if gr.retired {
		gr.mu.Unlock()
		return errRetired
	}
	if gr.mode == Off || gr.broken {
		return gr.undecided(now, s, r, t)
	}
	var q core.Request
	q.Class, q.Cost, q.Attempt, q.Key, q.Expected = s.index, r.Cost, r.Attempt, r.Key, int64(r.Expected)
	q.Deadline = deadlineOf(now, r.Timeout, s.class.Deadline)
	if id, ok := gr.pass(now, &q); ok {
		gr.mu.Unlock()
		gr.fill(t, s.class.Name, id, 0, q.Deadline, now)
		return nil
	}
	e := gr.admit(now, &q)
	class := gr.classes[e.Class].class.Name // another than s's if that has just gone
	switch {
	case gr.broken && gr.loose[e.ID.Seq] != looseCall{}: // just now, and it was let through
		gr.fill(t, class, e.ID, 0, ownDeadline(now, r), now)
		gr.mu.Unlock()
		return nil
	case gr.broken:
		return gr.undecided(now, s, r, t)
	case gr.mode == Shadow && e.Reason != core.Draining:
		gr.admitInShadow(now, class, r, e, q.Deadline, t)
		gr.mu.Unlock()
		return nil
	case e.Kind == core.Refuse:
		err := gr.refusal(now, &e)
		gr.mu.Unlock()
		gr.ended(class, Refused, e.Reason, 0, 0, false)
		return err
	case e.Kind == core.Run:
		gr.mu.Unlock()
		gr.fill(t, class, e.ID, 0, q.Deadline, now)
		return nil
	}
	w := gr.waiter()
	gr.seats[e.ID.Index].w = w
	gr.mu.Unlock()
	return gr.wait(ctx, class, w, e.ID, now, q.Deadline, t)
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

// pass starts a call at once if the machine sees nothing to decide. A recording
// has the long way, event by event, and so has a pool that does not enforce.
func (gr *group) pass(now int64, q *core.Request) (id core.ID, ok bool) {
	if gr.log != nil || gr.mode != Enforce {
		return id, false
	}
	defer gr.rescue()
	if id, ok = gr.m.Pass(now, q); !ok {
		return id, false
	}
	for int(id.Index) >= len(gr.seats) {
		gr.seats = append(gr.seats, seat{})
	}
	s := &gr.seats[id.Index] // empty: whoever had it has cleared it
	s.seq, s.since, s.deadline, s.class, s.running = id.Seq, now, q.Deadline, int32(q.Class), true
	gr.classes[q.Class].wait.add(0)
	return id, true
}

// admit lets the call knock and dispatches, and returns what became of it.
func (gr *group) admit(now int64, q *core.Request) (e core.Effect) {
	if gr.broken { // by the short way, just now
		return e
	}
	defer gr.rescue()
	id, out := gr.m.Arrive(now, *q, gr.out[:0])
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpArrive, Now: now, Request: *q, Seq: id.Seq}, out)
	}
	if len(out) > 1 {
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
	if len(out) > n {
		if later := gr.apply(now, out[n:], id.Seq); later.Kind != 0 {
			e = later
		}
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
			gr.runs(now, e, own)
		case core.Refuse:
			if e.ID.Index == 0 {
				continue
			}
			s := &gr.seats[e.ID.Index]
			if s.shadow && e.ID.Seq != own {
				gr.wouldRefuse(e, s.since, s.deadline, s.waited)
			}
			s.tell(e)
			*s = seat{}
		}
	}
	return mine
}

// runs notes that a call has started, and tells whoever waits for that.
func (gr *group) runs(now int64, e *core.Effect, own uint64) {
	s := &gr.seats[e.ID.Index]
	s.running = true
	if s.shadow && (e.Ns > 0 || e.ID.Seq != own) {
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
func (gr *group) wait(ctx context.Context, class string, w *waiter, id core.ID, arrived, deadline int64, t *Ticket) error {
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
			select {
			case v = <-w.verdict: // a bug let it through
			default:
			}
		}
	}
	gr.idle = append(gr.idle, w)
	switch {
	case v.Kind == core.Refuse:
		err := gr.refusal(now, &v)
		gr.mu.Unlock()
		gr.ended(class, Refused, v.Reason, time.Duration(v.Ns), 0, false)
		return err
	case left:
		if v.Kind == core.Run {
			// By whatever it runs: the machine's leave, or a pool that has
			// stopped enforcing while the machine still has it waiting.
			gr.giveBack(now, id, Cancelled)
		}
		gr.mu.Unlock()
		gr.gate.stir()
		gr.ended(class, Cancelled, core.NoReason, time.Duration(now-arrived), 0, false)
		return context.Cause(ctx)
	}
	gr.mu.Unlock()
	gr.fill(t, class, id, v.Ns, deadline, arrived+v.Ns)
	return nil
}

// fill makes t the ticket of a call that has waited for ns.
func (gr *group) fill(t *Ticket, class string, id core.ID, ns, deadline, now int64) {
	t.Waited, t.Timeout, t.Class, t.group, t.id = time.Duration(ns), -1, class, gr, id
	if deadline != core.Never {
		t.Timeout = time.Duration(max(0, deadline-now))
	}
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

// finish ends a running call, and lets whoever can start now. Its times teach
// something if they are real.
func (gr *group) finish(now int64, id core.ID, o Outcome, real bool) Outcome {
	out := gr.m.Release(now, id, o, gr.out[:0])
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpRelease, Now: now, Seq: id.Seq, Outcome: o}, out)
	}
	e := &out[0]
	o = e.Outcome
	if real && (o == OK || o == Late) && e.Ns > 0 && gr.learner.sample(now, e.Ns) {
		gr.learn(now)
	}
	gr.dispatch(now, out)
	return o
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
		end = ending{l.class, inTime(o, now, l.deadline), l.why, true, l.since, l.waited}
		gr.classes[l.class].running--
		gr.classes[l.class].real[end.outcome]++
	} else if s == nil || s.w != nil {
		gr.stale++
		return end
	} else {
		end.class, end.since, end.waited, end.shadow = s.class, s.since, s.waited, s.shadow
		if s.running {
			real := !s.delayed
			*s = seat{} // first of all: the call has ended even if the machine finds a bug now
			end.outcome = gr.finish(now, id, o, real)
		} else { // it ran in the shadow of the machine, which still has it waiting
			end.outcome = inTime(o, now, s.deadline)
			*s = seat{}
			gr.classes[end.class].misled++
			gr.classes[end.class].real[end.outcome]++
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
