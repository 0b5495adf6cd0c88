package plimsoll

import "github.com/plimsoll-go/plimsoll/core"

// A loose call runs without the machine's leave: its pool is off or broken, or
// in shadow and the machine has refused it. The group counts it all the same,
// and its ticket is released like any other.

type looseCall struct {
	since    int64
	deadline int64
	waited   int64
	class    int32
	why      Reason // for which the machine would have refused it
}

// offSeq marks the sequence numbers of loose calls that never were in a machine.
const offSeq = uint64(1) << 63

// undecided admits a call to a pool that decides nothing, and gives up the lock.
func (gr *group) undecided(now int64, s *seatOf, r *Request, t *Ticket) error {
	if gr.draining {
		b := &gr.classes[s.index] // no machine knows of it
		b.passed++
		b.real[Refused]++
		b.turned[core.Draining]++
		err := gr.refusal(now, &core.Effect{Kind: core.Refuse, Reason: core.Draining, Class: int32(s.index)})
		gr.mu.Unlock()
		gr.ended(s.class.Name, Refused, core.Draining, 0, 0, false)
		return err
	}
	defer gr.mu.Unlock()
	gr.lastOff++
	id := core.ID{Seq: offSeq | gr.lastOff}
	gr.classes[s.index].passed++
	gr.classes[s.index].wait.add(0)
	gr.setLoose(id.Seq, looseCall{since: now, deadline: deadlineOf(now, r.Timeout, s.class.Deadline), class: int32(s.index)})
	gr.fill(t, s.class.Name, id, 0, ownDeadline(now, r), now)
	return nil
}

// admitInShadow admits a call whatever the machine says of it.
func (gr *group) admitInShadow(now int64, class string, r *Request, e core.Effect, deadline int64, t *Ticket) {
	if e.Kind == core.Refuse {
		gr.wouldRefuse(&e, now, deadline, 0)
	}
	if e.Kind != core.Run { // it would have waited, and does not
		gr.classes[e.Class].wait.add(0)
	}
	gr.fill(t, class, e.ID, 0, ownDeadline(now, r), now)
}

// ownDeadline is what a call brought itself. A pool that does not enforce
// leaves it at that: nothing is cut off at a class's deadline because a gate
// looks on.
func ownDeadline(now int64, r *Request) int64 { return deadlineOf(now, r.Timeout, 0) }

// wouldRefuse notes what would have been refused, and runs all the same.
func (gr *group) wouldRefuse(e *core.Effect, since, deadline, waited int64) {
	gr.classes[e.Class].would[e.Reason]++
	gr.setLoose(e.ID.Seq, looseCall{since, deadline, waited, e.Class, e.Reason})
}

func (gr *group) setLoose(seq uint64, l looseCall) {
	if gr.loose == nil {
		gr.loose = make(map[uint64]looseCall)
	}
	gr.loose[seq] = l
	gr.classes[l.class].running++
}
