package plimsoll

import (
	"github.com/plimsoll-go/plimsoll/core"
)

// A loose call runs without the machine's leave: its pool is off or broken, or
// in shadow and the machine has refused it. The group counts it all the same,
// and its ticket is released like any other.

type looseCall struct {
	since int64
	class int32
}

// offSeq marks the sequence numbers of loose calls that never were in a machine.
const offSeq = uint64(1) << 63

// passBy admits a call to a pool that decides nothing. It unlocks.
func (gr *group) passBy(now int64, s *seatOf) (Ticket, error) {
	defer gr.mu.Unlock()
	if gr.draining {
		return Ticket{}, gr.refusal(now, s, core.Effect{Reason: core.Draining})
	}
	gr.lastOff++
	id := core.ID{Seq: offSeq | gr.lastOff}
	gr.setLoose(id.Seq, now, int32(s.index))
	return gr.ticket(s.class.Name, id, 0, deadlineOf(now, 0, s.class.Deadline), now), nil
}

// letThrough counts what would have been refused, and admits it. It unlocks.
func (gr *group) letThrough(now int64, s *seatOf, e core.Effect) (Ticket, error) {
	if e.Reason == core.Draining {
		f := gr.refusal(now, s, e)
		gr.mu.Unlock()
		return Ticket{}, f
	}
	gr.classes[s.index].would[e.Reason]++
	gr.setLoose(e.ID.Seq, now, e.Class)
	gr.mu.Unlock()
	gr.ended(s.class.Name, Refused, e.Reason, 0, 0, true)
	return gr.ticket(s.class.Name, core.ID{Seq: e.ID.Seq}, 0, deadlineOf(now, 0, s.class.Deadline), now), nil
}

func (gr *group) setLoose(seq uint64, since int64, class int32) {
	if gr.loose == nil {
		gr.loose = make(map[uint64]looseCall)
	}
	gr.loose[seq] = looseCall{since, class}
}
