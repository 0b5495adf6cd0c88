package core

import "math/bits"

// passScan bounds how many waiting calls of a class that do not fit a dispatch
// looks at before it stops searching for smaller ones of that class behind them.
// Other classes are searched on: one class's queue never hides another's reserve.
const passScan = 64

// Dispatch hands the free units of every pool to those who wait, in the pool's
// order. It appends Run for each call that starts, and Refuse (Expired) for
// each whose turn came too late: now + its expected time + the margin is after
// its deadline; with equality it still runs. An expired call costs nothing.
//
// After a shrink it also refuses, as Full, whoever waits beyond the bound.
func (m *Machine) Dispatch(now int64, out []Effect) []Effect {
	for k := range m.pools {
		p := &m.pools[k]
		if p.waits > 0 && p.dirty && (p.units < p.Slots || p.shrunk) {
			out = m.dispatchPool(now, p, out)
			p.settle()
			p.shrunk = false
		}
		p.dirty, p.settled = false, true
	}
	return out
}

// dispatchPool starts whom it can and then refuses whoever waits beyond the
// bounds. One of those may have been the head that collected units, so it goes
// on until nobody is refused.
func (m *Machine) dispatchPool(now int64, p *pool, out []Effect) []Effect {
	for {
		if p.big == 0 && !p.reserves {
			out = m.dispatchPlain(now, p, out)
		} else {
			out = m.dispatchUnits(now, p, out)
		}
		n := len(out)
		if out = m.trim(now, p, out); len(out) == n {
			return out
		}
	}
}

// dispatchPlain serves a pool in which every call costs one unit.
func (m *Machine) dispatchPlain(now int64, p *pool, out []Effect) []Effect {
	for p.units < p.Slots && p.mask != 0 {
		out = m.startOrExpire(now, p, m.first(p), out)
	}
	return out
}

// dispatchUnits serves a pool with costs or reserves.
func (m *Machine) dispatchUnits(now int64, p *pool, out []Effect) []Effect {
	var t turn
	t.begin(m, p)
	for {
		i, ok := t.next(now, true)
		if !ok {
			return out
		}
		if !m.doomed(now, p, i) {
			t.take(i)
		}
		out = m.startOrExpire(now, p, i, out)
	}
}

func (m *Machine) startOrExpire(now int64, p *pool, i uint32, out []Effect) []Effect {
	if m.doomed(now, p, i) {
		return m.refuse(now, i, Expired, out)
	}
	x := &m.calls[i]
	m.start(now, i)
	return append(out, Effect{Kind: Run, Class: x.class, ID: ID{x.seq, i}, Ns: now - x.arrived})
}

// doomed says that a call would end after its deadline if it started now. When
// no worker is free, the running ones are done first.
func (m *Machine) doomed(now int64, p *pool, i uint32) bool {
	x := &m.calls[i]
	if x.deadline == Never {
		return false
	}
	end := now + x.expected + p.Margin
	if !p.workerFree(int(x.cost)) && p.serving > 0 {
		end += m.inFlight(now, p) / int64(max(1, p.workers()))
	}
	return end > x.deadline
}

// first is the waiting call whose turn it is; somebody waits.
func (m *Machine) first(p *pool) uint32 {
	switch p.Order {
	case OrderLIFO:
		return m.newest(p, p.mask)
	case OrderPriority:
		c := &m.classes[p.classes[bits.TrailingZeros64(p.mask)]]
		return m.oldest(p, p.mask&c.peers)
	default:
		return m.oldest(p, p.mask)
	}
}

// trim refuses whoever waits beyond the bounds: the newest, and behind a
// priority door the least critical first. A shrink leaves them there; and a
// call whose class may not wait was let in for a unit that another arrival of
// the same instant then took.
func (m *Machine) trim(now int64, p *pool, out []Effect) []Effect {
	for _, k := range p.classes {
		c := &m.classes[k]
		for c.Waiting != Unbounded && c.waits > c.Waiting {
			out = m.refuse(now, c.waiting.tail, Full, out)
		}
	}
	for p.Waiting != Unbounded && p.waits > p.Waiting {
		mask := p.mask
		if p.Door == DoorPriority {
			mask &= m.classes[p.classes[bits.Len64(mask)-1]].peers
		}
		out = m.refuse(now, m.newest(p, mask), Full, out)
	}
	return out
}

// turn walks the waiting of a pool in its order and yields those that can
// start, keeping its own account of the units, so that it serves a dispatch
// and its rehearsal alike.
//
// Who does not fit is passed over, with two exceptions that keep a costly call
// from waiting for ever. The first one in order that lacks units is the head.
// While it has been the head for no longer than it expects to run, smaller
// calls pass it. After that it collects: only calls that start on their own
// class's reserve, which the head could not use anyway, still pass.
type turn struct {
	m        *Machine
	p        *pool
	at       [MaxClasses]uint32 // next of each class
	units    int
	unfilled int
	used     [MaxClasses]int
	passed   [MaxClasses]uint8 // up to passScan
	headless bool              // no head found yet
	holding  bool
}

func (t *turn) begin(m *Machine, p *pool) {
	t.m, t.p, t.units, t.unfilled, t.headless = m, p, p.units, p.unfilled, true
	for l, k := range p.classes {
		c := &m.classes[k]
		t.used[l] = c.units
		t.at[l] = p.firstOf(c)
	}
}

// firstOf is the waiting call of the class whose turn comes first, or 0.
func (p *pool) firstOf(c *class) uint32 {
	if p.Order == OrderLIFO {
		return c.waiting.tail
	}
	return c.waiting.head
}

// next is the next call that can start; take accounts for it if it does.
// Unless next marks, the machine is not touched: a rehearsal must not make
// anybody the head.
func (t *turn) next(now int64, mark bool) (uint32, bool) {
	for t.units < t.p.Slots {
		l, ok := t.candidate()
		if !ok {
			break
		}
		i := t.at[l]
		t.advance(l)
		x := &t.m.calls[i]
		c := &t.m.classes[x.class]
		own := max(0, c.Reserve-t.used[l])
		free := t.p.Slots - t.units - (t.unfilled - own)
		if int(x.cost) <= free && (!t.holding || int(x.cost) <= own) {
			return i, true
		}
		if t.headless {
			t.headless = false
			if x.blocked == Never && mark {
				x.blocked = now
			}
			t.holding = x.blocked != Never && now-x.blocked > x.expected
		}
		// What a class may still take only falls during a dispatch. When not even
		// one unit is left for it, all of its calls are passed over at once.
		t.passed[l]++
		if free < 1 || t.holding && own < 1 || t.passed[l] == passScan {
			t.at[l] = 0
		}
	}
	return 0, false
}

func (t *turn) take(i uint32) {
	x := &t.m.calls[i]
	c := &t.m.classes[x.class]
	own := max(0, c.Reserve-t.used[c.local])
	t.units += int(x.cost)
	t.used[c.local] += int(x.cost)
	t.unfilled += max(0, c.Reserve-t.used[c.local]) - own
}

func (t *turn) advance(l int) {
	if t.p.Order == OrderLIFO {
		t.at[l] = t.m.calls[t.at[l]].prev
	} else {
		t.at[l] = t.m.calls[t.at[l]].next
	}
}

// candidate is the local place of the class whose cursor is first in order.
func (t *turn) candidate() (int, bool) {
	best := -1
	for l, k := range t.p.classes {
		if t.at[l] == 0 {
			continue
		}
		if best < 0 {
			best = l
			continue
		}
		if t.p.Order == OrderPriority && t.m.classes[k].Rank != t.m.classes[t.p.classes[best]].Rank {
			break // the classes stand by rank
		}
		newer := t.m.calls[t.at[l]].seq > t.m.calls[t.at[best]].seq
		if newer == (t.p.Order == OrderLIFO) {
			best = l
		}
	}
	return best, best >= 0
}
