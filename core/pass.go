package core

// Pass does what Arrive and then Dispatch do to a call that starts at once, and
// reports true; or it changes nothing and reports false, and whoever asked
// calls those two. It is a shortcut for the calm hours, in which nearly every
// call finds a free worker and an empty waiting room: nothing is decided here
// that the two would decide otherwise, and the tests hold it to that. It is for
// machines of one pool: Dispatch would serve the others as well.
func (m *Machine) Pass(now int64, r *Request) (ID, bool) {
	if uint(r.Class) >= uint(len(m.classes)) || m.draining || len(m.pools) > 1 || r.Cost>>1 != 0 {
		return ID{}, false
	}
	c := &m.classes[r.Class]
	p := &m.pools[0]
	if c.Retired || p.waits > 0 || p.units >= p.Slots || !p.plain() || !p.workerFree(1) {
		return ID{}, false
	}
	expected := r.Expected
	if expected <= 0 {
		expected = p.Expected
	}
	expected = min(expected, MaxExpected)
	until := deadline(now, r.Deadline, c.Deadline)
	if until != Never && now+expected+p.Margin > until {
		return ID{}, false
	}
	m.seq++
	c.arrived++
	i := m.alloc()
	x := &m.calls[i]
	x.seq, x.key, x.arrived, x.deadline = m.seq, r.Key, now, until
	x.expected, x.work, x.blocked = expected, expected, Never
	x.class, x.cost, x.attempt, x.heap = int32(r.Class), 1, int32(r.Attempt), 0
	m.run(now, i)
	p.dirty, p.settled, p.shrunk = false, true, false
	return ID{m.seq, i}, true
}
