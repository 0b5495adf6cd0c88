package core

func (m *Machine) pushBack(l *list, i uint32) {
	x := &m.calls[i]
	x.prev, x.next = l.tail, 0
	if l.tail != 0 {
		m.calls[l.tail].next = i
	} else {
		l.head = i
	}
	l.tail = i
}

func (m *Machine) unlink(l *list, i uint32) {
	x := &m.calls[i]
	if x.prev != 0 {
		m.calls[x.prev].next = x.next
	} else {
		l.head = x.next
	}
	if x.next != 0 {
		m.calls[x.next].prev = x.prev
	} else {
		l.tail = x.prev
	}
}

// enqueue puts a new call behind the waiting of its class.
func (m *Machine) enqueue(i uint32) {
	x := &m.calls[i]
	c := &m.classes[x.class]
	p := &m.pools[c.Pool]
	x.state = waiting
	m.link(p, c, i)
	if x.cost > 1 {
		p.big++
	}
	p.dirty, p.settled = true, false
	if p.ExpireWaiting && x.deadline != Never {
		m.heapPush(p, i)
	}
}

// link and detach do what the door's dry run needs and no more.
func (m *Machine) link(p *pool, c *class, i uint32) {
	m.pushBack(&c.waiting, i)
	c.waits++
	p.waits++
	c.work += m.calls[i].work
	p.mask |= 1 << c.local
}

func (m *Machine) detach(p *pool, c *class, i uint32) {
	m.unlink(&c.waiting, i)
	c.waits--
	p.waits--
	c.work -= m.calls[i].work
	if c.waits == 0 {
		p.mask &^= 1 << c.local
	}
}

// dequeue takes a waiting call out of its queue; it stays in the slab.
func (m *Machine) dequeue(i uint32) {
	x := &m.calls[i]
	c := &m.classes[x.class]
	p := &m.pools[c.Pool]
	m.detach(p, c, i)
	if x.heap != 0 {
		m.heapRemove(p, i)
	}
	p.dirty = true
}

// leave takes a waiting call out of the system. The event that does it settles
// the pool at its end: an arrival that takes the place of others is one step.
func (m *Machine) leave(i uint32) {
	p := m.poolOf(i)
	m.dequeue(i)
	if m.calls[i].cost > 1 {
		p.big--
	}
	m.vacate(i)
}

// start lets a waiting call run. A worker takes it at once if one is free and
// nobody who runs is still waiting for a worker.
func (m *Machine) start(now int64, i uint32) {
	m.dequeue(i)
	m.run(now, i)
}

// run counts a call among the running.
func (m *Machine) run(now int64, i uint32) {
	x := &m.calls[i]
	c := &m.classes[x.class]
	p := &m.pools[c.Pool]
	x.state, x.started, x.serving = running, now, false
	before := c.unfilled()
	c.runs++
	c.started++
	c.units += int(x.cost)
	p.unfilled += c.unfilled() - before
	p.runs++
	p.units += int(x.cost)
	p.runWork += x.work
	m.pushBack(&p.running, i)
	if p.servable == 0 {
		p.servable = i
		m.serve(now, p)
	}
}

// finish takes a running call out of the system.
func (m *Machine) finish(now int64, i uint32) {
	x := &m.calls[i]
	c := &m.classes[x.class]
	p := &m.pools[c.Pool]
	if p.servable == i {
		p.servable = x.next
	}
	m.unlink(&p.running, i)
	before := c.unfilled()
	c.runs--
	c.units -= int(x.cost)
	p.unfilled += c.unfilled() - before
	p.runs--
	p.units -= int(x.cost)
	p.runWork -= x.work
	if x.cost > 1 {
		p.big--
	}
	if x.serving {
		p.serving--
		p.served -= int(x.cost)
		p.dueWork -= x.work
	}
	p.dirty = true
	m.vacate(i)
	m.serve(now, p)
	p.settle()
}

// serve gives free workers to the running calls that have none, first started
// first. It is what a first-come-first-served worker does; for any other it is
// an approximation that costs nothing but accuracy of predictions.
func (m *Machine) serve(now int64, p *pool) {
	w := p.workers()
	for p.servable != 0 {
		x := &m.calls[p.servable]
		if p.served+int(x.cost) > w && p.served > 0 {
			return
		}
		x.serving, x.begun = true, now
		p.serving++
		p.served += int(x.cost)
		p.dueWork += x.work
		p.servable = x.next
	}
}

func (m *Machine) poolOf(i uint32) *pool { return &m.pools[m.classes[m.calls[i].class].Pool] }

// settle lowers the bounds that a shrink left too high, as far as they can go.
func (p *pool) settle() {
	if !p.over {
		return
	}
	p.maxUnits = max(p.Slots, min(p.maxUnits, p.units+p.unfilled))
	p.over = p.maxUnits > p.Slots
	if p.Waiting == Unbounded {
		return
	}
	p.maxCalls = max(p.Slots+p.Waiting, min(p.maxCalls, p.runs+p.waits))
	p.over = p.over || p.maxCalls > p.Slots+p.Waiting
}

// The heap holds the waiting of a pool by the last instant at which they can
// still be started in time. The pool's margin is the same for all and not part
// of the key, so that learning it moves nobody. Ties go to the older call: the
// order does not depend on where a call lies in the slab.

// lastChance is the last instant at which a waiting call can be started in time.
func (m *Machine) lastChance(p *pool, i uint32) int64 {
	return m.calls[i].deadline - m.calls[i].expected - p.Margin
}

func (m *Machine) sooner(a, b uint32) bool {
	x, y := &m.calls[a], &m.calls[b]
	if dx, dy := x.deadline-x.expected, y.deadline-y.expected; dx != dy {
		return dx < dy
	}
	return x.seq < y.seq
}

func (m *Machine) heapPush(p *pool, i uint32) {
	p.heap = append(p.heap, i)
	m.heapUp(p, len(p.heap)-1)
}

func (m *Machine) heapRemove(p *pool, i uint32) {
	at := int(m.calls[i].heap) - 1
	last := len(p.heap) - 1
	moved := p.heap[last]
	p.heap = p.heap[:last]
	m.calls[i].heap = 0
	if at == last {
		return
	}
	p.heap[at] = moved
	m.calls[moved].heap = int32(at + 1)
	m.heapDown(p, at)
	m.heapUp(p, int(m.calls[moved].heap)-1)
}

func (m *Machine) heapUp(p *pool, at int) {
	i := p.heap[at]
	for at > 0 {
		up := (at - 1) / 2
		if !m.sooner(i, p.heap[up]) {
			break
		}
		p.heap[at] = p.heap[up]
		m.calls[p.heap[at]].heap = int32(at + 1)
		at = up
	}
	p.heap[at] = i
	m.calls[i].heap = int32(at + 1)
}

func (m *Machine) heapDown(p *pool, at int) {
	i := p.heap[at]
	for {
		down := 2*at + 1
		if down >= len(p.heap) {
			break
		}
		if down+1 < len(p.heap) && m.sooner(p.heap[down+1], p.heap[down]) {
			down++
		}
		if !m.sooner(p.heap[down], i) {
			break
		}
		p.heap[at] = p.heap[down]
		m.calls[p.heap[at]].heap = int32(at + 1)
		at = down
	}
	p.heap[at] = i
	m.calls[i].heap = int32(at + 1)
}
