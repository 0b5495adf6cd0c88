package core

import "math/bits"

// door decides about an arrival: the reason for which it is refused, or how
// many waiting calls must first give up their places. It changes nothing.
//
// The tests stand in this order, the cheapest and the most final first:
// draining, a cost that can never fit, the class's own waiting room, the
// pool's bound, and last whether the call can finish in time.
func (m *Machine) door(now int64, p *pool, c *class, r *Request) (Reason, int) {
	if m.draining {
		return Draining, 0
	}
	if r.Cost < 0 || r.Cost > c.ceiling {
		return tooMuch(r.Cost), 0
	}
	evict, ok := m.room(now, p, c, r.Cost)
	if !ok {
		return Full, 0
	}
	if p.RefuseHopeless && r.Deadline != Never {
		if evict, ok = m.inTime(now, p, c, r, evict); !ok {
			return Hopeless, 0
		}
	}
	return NoReason, evict
}

// tooMuch is the reason for a cost above all that the class can have. If that is
// one unit, the class has none at all, and the call is not to blame.
func tooMuch(cost int) Reason {
	if cost == 1 {
		return Full
	}
	return TooCostly
}

// room says whether the bounds let the call in, and if only in the place of
// how many others.
//
// When every call costs one unit and nothing is reserved, the free units go to
// whoever waits, so "at most Waiting wait after the next dispatch" is the same
// as "at most Slots + Waiting are in the system", and one comparison decides.
// Otherwise the next dispatch is played through.
func (m *Machine) room(now int64, p *pool, c *class, cost int) (evict int, ok bool) {
	own := c.Waiting == Unbounded || c.waits < c.Waiting
	if own && (p.Waiting == Unbounded || p.waits < p.Waiting) && (p.Waiting == Unbounded || p.runs+p.waits < p.Slots+p.Waiting) {
		return 0, true
	}
	if own && cost == 1 && p.plain() {
		if p.runs+p.waits < p.Slots+p.Waiting {
			return 0, true
		}
	} else if fits, ours := m.rehearse(now, p, c, cost, 0); fits {
		return 0, true
	} else if !ours {
		return 0, false // others' places would not help
	}
	if p.Door == DoorBlind {
		return 0, false
	}
	v := m.victim(p, c.Rank)
	if v == 0 {
		return 0, false
	}
	if own && cost == 1 && p.plain() {
		return 1, true
	}
	fits, _ := m.rehearse(now, p, c, cost, v)
	return 1, fits
}

// plain says that every call in the system costs one unit, that nothing is
// reserved, and that no shrink is being worked off.
func (p *pool) plain() bool { return p.big == 0 && !p.reserves && !p.over }

// rehearse plays the next dispatch with the newcomer among the waiting and the
// victim, if any, gone. It reports whether the bounds hold after it, and
// whether the class's own bound does. Everything is then as before.
func (m *Machine) rehearse(now int64, p *pool, c *class, cost int, victim uint32) (fits, own bool) {
	if victim != 0 {
		v := &m.classes[m.calls[victim].class]
		m.detach(p, v, victim)
		// The victim was the newest of its class, so the end is where it goes back.
		defer m.link(p, v, victim)
	}
	i := m.alloc()
	k := p.classes[c.local]
	m.calls[i] = call{seq: m.seq, cost: int32(cost), class: k, blocked: Never}
	m.link(p, c, i)
	defer func() {
		m.detach(p, c, i)
		m.vacate(i)
	}()

	var t turn
	t.begin(m, p)
	starts, startsOwn := 0, 0
	for {
		j, ok := t.next(now, false)
		if !ok {
			break
		}
		t.take(j)
		starts++
		if m.calls[j].class == k {
			startsOwn++
		}
	}
	own = c.Waiting == Unbounded || c.waits-startsOwn <= c.Waiting
	if p.Waiting == Unbounded {
		return own, own
	}
	calls, waits := p.Slots+p.Waiting, p.Waiting
	if p.over && victim != 0 { // one for one: the shrunk pool does not grow
		calls, waits = p.maxCalls, max(waits, p.waits)
	}
	return own && p.runs+p.waits <= calls && p.waits-starts <= waits, own
}

// inTime says whether the call can finish before its deadline, and how many
// waiting calls must go for that (at least evict, which the bound asks for).
//
// Under a priority door it goes on evicting the newest waiting call of the
// least critical rank until the newcomer fits. To refuse after a single
// eviction would throw away critical calls that background work still stands
// in front of. Whether it can succeed is known beforehand from the sums per
// class, so nobody is evicted in vain.
func (m *Machine) inTime(now int64, p *pool, c *class, r *Request, evict int) (int, bool) {
	latest := r.Deadline - p.Margin - r.Expected // when it must be started
	if latest < now {
		return 0, false
	}
	ahead, below := m.workAhead(now, p, c, r.Cost)
	w := int64(p.workers())
	if now+m.onReserve(now, p, c, r.Cost, ahead)/w <= latest {
		return evict, true
	}
	if p.Door == DoorBlind || now+(ahead-below)/w > latest {
		return 0, false
	}
	return m.enough(now, p, c, ahead, latest, evict)
}

// enough counts the victims whose work, taken from ahead, lets the newcomer
// start at latest. The caller knows that all together are enough.
func (m *Machine) enough(now int64, p *pool, c *class, ahead, latest int64, evict int) (int, bool) {
	w := int64(p.workers())
	n := 0
	var at [MaxClasses]uint32
	for mask := p.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros64(mask)
		at[l] = m.classes[p.classes[l]].waiting.tail
	}
	for n < evict || now+ahead/w > latest {
		l := m.last(p, &at)
		if at[l] == 0 || m.classes[p.classes[l]].Rank <= c.Rank {
			return 0, false
		}
		ahead -= m.calls[at[l]].work
		at[l] = m.calls[at[l]].prev
		n++
	}
	return n, true
}

// last is the local place of the class whose call at the cursor is the newest
// of the least critical rank that has one.
func (m *Machine) last(p *pool, at *[MaxClasses]uint32) int {
	found := -1
	for l := len(p.classes) - 1; l >= 0; l-- {
		if at[l] == 0 {
			continue
		}
		if found < 0 {
			found = l
			continue
		}
		if m.classes[p.classes[l]].Rank != m.classes[p.classes[found]].Rank {
			break
		}
		if m.calls[at[l]].seq > m.calls[at[found]].seq {
			found = l
		}
	}
	return max(found, 0)
}

// workAhead is the work, in nanoseconds of one worker, that is done before a
// newcomer of the class is taken up: what runs, and those of the waiting whose
// turn comes before. The second result is the part of it that a priority door
// may evict. It is nothing when a worker is free and nobody stands before the
// newcomer.
func (m *Machine) workAhead(now int64, p *pool, c *class, cost int) (ahead, below int64) {
	if p.Order != OrderLIFO {
		for mask := p.mask; mask != 0; mask &= mask - 1 {
			k := &m.classes[p.classes[bits.TrailingZeros64(mask)]]
			if k.Rank > c.Rank {
				if p.Order == OrderPriority {
					break
				}
				below += k.work
			}
			ahead += k.work
		}
	}
	if ahead == 0 && p.workerFree(cost) {
		return 0, 0
	}
	return ahead + m.inFlight(now, p), below
}

// onReserve is ahead, or less for a class with a reserve. Its own units work
// for it alone: whatever the others have piled up, it waits no longer than for
// its own work on its own units. Evicting others does not shorten that, so
// [Machine.enough] does not count with it.
//
// With fewer workers than slots a unit is not yet a worker: those who run now
// have started before it, so it stands behind all of them there.
func (m *Machine) onReserve(now int64, p *pool, c *class, cost int, ahead int64) int64 {
	if c.Reserve == 0 {
		return ahead
	}
	own := int64(0)
	if c.waits > 0 || c.units+cost > c.Reserve {
		own = (c.work + int64(c.units)*p.Expected/2) / int64(c.Reserve)
		if own >= ahead/int64(p.Slots) {
			return ahead
		}
		own *= int64(p.Slots)
	}
	if p.workers() < p.Slots && !p.workerFree(cost) {
		own = max(own, m.inFlight(now, p))
	}
	return min(ahead, own)
}

// workerFree says that a call of that cost would be taken up by a worker at once.
func (p *pool) workerFree(cost int) bool {
	return p.servable == 0 && p.served+cost <= p.workers()
}

// inFlight is the work that the running still need, in nanoseconds of one
// worker. Up to exactFlight serving calls are looked at one by one; of more,
// half is taken to be done: the error is then small beside the sum.
func (m *Machine) inFlight(now int64, p *pool) int64 {
	rest := p.runWork - p.dueWork
	if p.serving > exactFlight {
		return rest + p.dueWork/2
	}
	for i, n := p.running.head, p.serving; n > 0; i, n = m.calls[i].next, n-1 {
		x := &m.calls[i]
		done := min(now-x.begun, x.expected)
		rest += x.work - workOf(done, int(x.cost))
	}
	return rest
}

const exactFlight = 8
