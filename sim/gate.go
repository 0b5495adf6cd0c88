package sim

import (
	"math"

	"github.com/plimsoll-go/plimsoll/core"
)

// The gate of a World does what the live one does: after every event it hands
// out the free slots in the same breath, and asks to be woken when time alone
// changes something.

func (r *worldRun) arrive(i int32) {
	v := &r.visits[i]
	v.phase = settled // unless the machine says otherwise
	var id core.ID
	id, r.effects = r.machine.Arrive(nanos(r.now), core.Request{Class: v.Class}, r.effects[:0])
	for _, e := range r.effects {
		switch {
		case e.Kind == core.Wait:
			v.id, v.phase = e.ID, waiting
			for int(e.ID.Index) >= len(r.who) {
				r.who = append(r.who, 0)
			}
			r.who[e.ID.Index] = i
		case e.ID.Seq == id.Seq:
			r.refuse(i, e.Reason)
		default: // one that had to make way
			r.refuse(r.who[e.ID.Index], e.Reason)
		}
	}
	r.dispatch()
}

// ticked tells the machine the time, unless it has asked for an earlier
// instant since, and was told then.
func (r *worldRun) ticked() {
	if r.now != r.tick {
		return
	}
	r.tick = math.Inf(1)
	r.effects = r.machine.Tick(nanos(r.now), r.effects[:0])
	r.apply()
	r.dispatch()
}

// answered frees the slot and passes the answer on.
func (r *worldRun) answered(i int32) {
	v := &r.visits[i]
	v.phase = settled
	outcome := core.OK
	if v.known {
		outcome = core.Cancelled
	}
	r.effects = r.machine.Release(nanos(r.now), v.id, outcome, r.effects[:0])
	r.schedule(r.now+r.Hops.Out, clientTold, i)
	r.dispatch()
}

// cancelled takes a waiting call out. For one that was sent or refused in the
// meantime it is too late.
func (r *worldRun) cancelled(v *visit) {
	if v.phase != waiting {
		return
	}
	v.phase = settled
	r.effects = r.machine.Cancel(nanos(r.now), v.id, r.effects[:0])
	r.dispatch()
}

func (r *worldRun) dispatch() {
	r.effects = r.machine.Dispatch(nanos(r.now), r.effects[:0])
	r.apply()
	next := r.machine.Next()
	if next == core.Never {
		return
	}
	if at := max(r.now, millis(next)); at < r.tick {
		r.tick = at
		r.agenda.add(at, gateTick, 0)
	}
}

func (r *worldRun) apply() {
	for _, e := range r.effects {
		i := r.who[e.ID.Index]
		switch e.Kind {
		case core.Run:
			v := &r.visits[i]
			v.phase, v.Started = out, r.now
			r.schedule(r.now+r.Hops.Up, upstreamAsked, i)
		case core.Refuse:
			r.refuse(i, e.Reason)
		}
	}
}

func (r *worldRun) refuse(i int32, why core.Reason) {
	v := &r.visits[i]
	v.phase, v.Reason = settled, why
	r.schedule(r.now+r.Hops.Out, clientTold, i)
}

// The client.

// told gives the client its answer, if it is still there.
func (r *worldRun) told(v *visit) {
	if v.known {
		return
	}
	v.known = true
	outcome := core.OK
	if v.Reason != core.NoReason {
		outcome = core.Refused
	}
	r.end(v, outcome)
}

// gone has the client give up. What it was waiting for is late if it had been
// sent to the upstream, and cancelled if not.
func (r *worldRun) gone(i int32) {
	v := &r.visits[i]
	if v.known {
		return
	}
	v.known = true
	r.schedule(r.now+r.Hops.In, gateCancelled, i)
	sent := v.phase == out || v.phase == settled && v.Reason == core.NoReason
	v.Reason = core.NoReason
	if sent {
		r.end(v, core.Late)
	} else {
		r.end(v, core.Cancelled)
	}
}

func (r *worldRun) end(v *visit, o core.Outcome) {
	v.Outcome, v.Ended = o, r.now
	r.result.add(&v.Call)
	if r.Ended != nil {
		r.Ended(&v.Call)
	}
}
