package core

import "fmt"

// Check verifies the machine's invariants and reports the first that does not
// hold. It looks at everything: it is for tests, fuzzing and simulations.
func (m *Machine) Check() error {
	waits, runs := 0, 0
	for k := range m.pools {
		if err := m.checkPool(&m.pools[k]); err != nil {
			return fmt.Errorf("pool %q: %w", m.pools[k].Name, err)
		}
		waits, runs = waits+m.pools[k].waits, runs+m.pools[k].runs
	}
	if err := m.checkSlab(waits, runs); err != nil {
		return err
	}
	for k := range m.classes {
		if err := m.classes[k].check(); err != nil {
			return fmt.Errorf("class %q: %w", m.classes[k].Name, err)
		}
	}
	return nil
}

func (m *Machine) checkSlab(waits, runs int) error {
	vacants := 0
	for i := m.free; i != 0; i = m.calls[i].next {
		if vacants++; vacants > len(m.calls) || m.calls[i].state != vacant {
			return fmt.Errorf("8: the free list is broken at %d", i)
		}
	}
	if n := len(m.calls) - 1; vacants+waits+runs != n {
		return fmt.Errorf("1: %d places, %d vacant, %d waiting, %d running", n, vacants, waits, runs)
	}
	return nil
}

func (c *class) check() error {
	ended := uint64(0)
	for o, n := range c.outcomes {
		if Outcome(o) != NoOutcome {
			ended += n
		}
	}
	if c.arrived != ended+uint64(c.waits+c.runs) {
		return fmt.Errorf("1: %d arrived, %d ended, %d wait, %d run", c.arrived, ended, c.waits, c.runs)
	}
	refused := uint64(0)
	for _, n := range c.refused {
		refused += n
	}
	if refused != c.outcomes[Refused] || c.refused[NoReason] != 0 {
		return fmt.Errorf("1: %d refused, %d by reason", c.outcomes[Refused], refused)
	}
	// Cancelled counts waiting and running alike, so only a bound can be checked.
	ran := ended - refused - c.outcomes[Cancelled] + uint64(c.runs)
	if c.started < ran || c.started > ran+c.outcomes[Cancelled] {
		return fmt.Errorf("5: %d started, %d ran, %d cancelled", c.started, ran, c.outcomes[Cancelled])
	}
	return nil
}

func (m *Machine) checkPool(p *pool) error {
	var sum pool
	for l, k := range p.classes {
		c := &m.classes[k]
		n, err := m.checkWaiting(p, c)
		if err != nil {
			return err
		}
		if n != c.waits || int(c.local) != l || (p.mask>>l&1 == 1) != (n > 0) {
			return fmt.Errorf("8: class %q: %d wait, counted %d", c.Name, n, c.waits)
		}
		if p.settled && c.Waiting != Unbounded && n > c.Waiting {
			return fmt.Errorf("4: class %q: %d wait after a dispatch, bound %d", c.Name, n, c.Waiting)
		}
		if i := p.firstOf(c); n > 0 && p.settled && !p.dirty && int(m.calls[i].cost) <= min(c.unfilled(), p.Slots-p.units-p.unfilled+c.unfilled()) {
			return fmt.Errorf("4: #%d waits after a dispatch, with units of its class's reserve free", m.calls[i].seq)
		}
		sum.waits += n
		sum.unfilled += c.unfilled()
	}
	if err := m.checkRunning(p, &sum); err != nil {
		return err
	}
	if sum.waits != p.waits || sum.runs != p.runs || sum.units != p.units || sum.unfilled != p.unfilled ||
		sum.serving != p.serving || sum.served != p.served || sum.runWork != p.runWork || sum.dueWork != p.dueWork {
		return fmt.Errorf("8: sums differ: %d/%d wait, %d/%d run, %d/%d units, %d/%d unfilled, %d/%d serving, work %d/%d and %d/%d",
			p.waits, sum.waits, p.runs, sum.runs, p.units, sum.units, p.unfilled, sum.unfilled, p.serving, sum.serving,
			p.runWork, sum.runWork, p.dueWork, sum.dueWork)
	}
	return p.checkBounds()
}

func (p *pool) checkBounds() error {
	if limit := max(p.Slots, p.maxUnits); p.units+p.unfilled > limit {
		return fmt.Errorf("3: %d units out and %d reserved, %d allowed", p.units, p.unfilled, limit)
	}
	if p.Waiting == Unbounded {
		return nil
	}
	if limit := max(p.Slots+p.Waiting, p.maxCalls); p.runs+p.waits > limit {
		return fmt.Errorf("2: %d run and %d wait, %d allowed", p.runs, p.waits, limit)
	}
	if p.settled && p.waits > p.Waiting {
		return fmt.Errorf("4: %d wait after a dispatch, bound %d", p.waits, p.Waiting)
	}
	if p.settled && !p.dirty && !p.reserves && p.big == 0 && p.waits > 0 && p.units < p.Slots {
		return fmt.Errorf("4: %d wait after a dispatch, %d of %d units out", p.waits, p.units, p.Slots)
	}
	return nil
}

func (m *Machine) checkWaiting(p *pool, c *class) (n int, err error) {
	work, last := int64(0), uint64(0)
	for i := c.waiting.head; i != 0; i = m.calls[i].next {
		x := &m.calls[i]
		if n++; n > len(m.calls) || x.state != waiting || &m.classes[x.class] != c {
			return 0, fmt.Errorf("8: the waiting of %q are broken at #%d", c.Name, x.seq)
		}
		if x.seq <= last {
			return 0, fmt.Errorf("6: #%d waits behind #%d", x.seq, last)
		}
		timed := p.ExpireWaiting && x.deadline != Never
		if timed != (x.heap != 0) || timed && p.heap[x.heap-1] != i {
			return 0, fmt.Errorf("8: #%d is not where the heap says", x.seq)
		}
		last = x.seq
		work += x.work
	}
	if work != c.work {
		return 0, fmt.Errorf("8: class %q: work %d, summed %d", c.Name, c.work, work)
	}
	return n, nil
}

func (m *Machine) checkRunning(p *pool, sum *pool) error {
	units := make([]int, len(p.classes))
	gap := false
	for i := p.running.head; i != 0; i = m.calls[i].next {
		x := &m.calls[i]
		if sum.runs++; sum.runs > len(m.calls) || x.state != running {
			return fmt.Errorf("8: the running are broken at #%d", x.seq)
		}
		sum.units += int(x.cost)
		sum.runWork += x.work
		units[m.classes[x.class].local] += int(x.cost)
		if !x.serving {
			if !gap && p.servable != i {
				return fmt.Errorf("7: #%d is the first without a worker, not what the pool says", x.seq)
			}
			gap = true
			continue
		}
		if gap {
			return fmt.Errorf("7: #%d has a worker and one before it has none", x.seq)
		}
		sum.serving++
		sum.served += int(x.cost)
		sum.dueWork += x.work
	}
	if !gap && p.servable != 0 {
		return fmt.Errorf("7: everybody has a worker, not what the pool says")
	}
	for l, k := range p.classes {
		if c := &m.classes[k]; units[l] != c.units {
			return fmt.Errorf("8: class %q: %d units out, counted %d", c.Name, units[l], c.units)
		}
	}
	return nil
}
