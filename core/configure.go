package core

import (
	"cmp"
	"fmt"
	"slices"
)

// Configure changes the parameters while calls wait and run. Pools and classes
// keep their indexes: new ones are appended, a class that goes is Retired, and
// a class stays in its pool. An impossible configuration is refused with what
// is wrong, and nothing has changed.
//
// Nothing that runs is stopped. A waiting call that could now never start,
// because it needs more units than its class can have, is refused as
// TooCostly, or as Full if the class can have none; one that waits beyond a smaller bound, as Full at the next Dispatch.
func (m *Machine) Configure(now int64, cfg Config, out []Effect) ([]Effect, error) {
	if err := cfg.Validate(); err != nil {
		return out, err
	}
	if len(cfg.Pools) < len(m.pools) || len(cfg.Classes) < len(m.classes) {
		return out, fmt.Errorf("core: a running machine keeps its %d pools and %d classes; retire a class instead of leaving it out", len(m.pools), len(m.classes))
	}
	for i := range m.classes {
		if m.classes[i].Pool != cfg.Classes[i].Pool {
			return out, fmt.Errorf("core: class %q cannot move to another pool while the machine runs", cfg.Classes[i].Name)
		}
	}
	m.pools = append(m.pools, make([]pool, len(cfg.Pools)-len(m.pools))...)
	m.classes = append(m.classes, make([]class, len(cfg.Classes)-len(m.classes))...)
	m.adopt(cfg)
	for k := range m.classes {
		for i := m.classes[k].waiting.head; i != 0; {
			x := &m.calls[i]
			next := x.next
			if int(x.cost) > m.classes[k].ceiling {
				out = m.refuse(now, i, tooMuch(int(x.cost)), out)
			}
			i = next
		}
	}
	for k := range m.pools {
		m.serve(now, &m.pools[k])
		m.pools[k].settle()
	}
	return out, nil
}

// adopt takes over the parameters and rebuilds everything derived from them.
func (m *Machine) adopt(cfg Config) {
	m.standby = cfg.Default
	for i := range m.pools {
		p := &m.pools[i]
		p.Pool = cfg.Pools[i]
		p.classes = p.classes[:0]
		p.unfilled, p.mask, p.reserves = 0, 0, false
		p.dirty, p.settled = true, false
	}
	for i := range m.classes {
		c := &m.classes[i]
		c.Class = cfg.Classes[i]
		p := &m.pools[c.Pool]
		p.classes = append(p.classes, int32(i))
		p.unfilled += c.unfilled()
		p.reserves = p.reserves || c.Reserve > 0
	}
	for i := range m.pools {
		m.arrange(&m.pools[i])
	}
}

// arrange orders a pool's classes by rank and works out what depends on it.
func (m *Machine) arrange(p *pool) {
	slices.SortFunc(p.classes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(m.classes[a].Rank, m.classes[b].Rank), cmp.Compare(a, b))
	})
	reserved := 0
	for _, k := range p.classes {
		reserved += m.classes[k].Reserve
	}
	for l, k := range p.classes {
		c := &m.classes[k]
		c.local = uint(l)
		c.ceiling = p.Slots - (reserved - c.Reserve)
		c.peers = 0
		for l2, k2 := range p.classes {
			if m.classes[k2].Rank == c.Rank {
				c.peers |= 1 << l2
			}
		}
		if c.waits > 0 {
			p.mask |= 1 << l
		}
	}
	m.reheap(p)
	p.shrunk = true
	p.over = true // settle finds out
	p.maxUnits, p.maxCalls = p.units+p.unfilled, p.runs+p.waits
	p.settle()
}

// reheap makes the heap hold exactly those whom time alone can doom.
func (m *Machine) reheap(p *pool) {
	for _, i := range p.heap {
		m.calls[i].heap = 0
	}
	p.heap = p.heap[:0]
	if !p.ExpireWaiting {
		return
	}
	for _, k := range p.classes {
		for i := m.classes[k].waiting.head; i != 0; i = m.calls[i].next {
			if m.calls[i].deadline != Never {
				m.heapPush(p, i)
			}
		}
	}
}

// Config is the configuration in force.
func (m *Machine) Config() Config {
	cfg := Config{Default: m.standby, Pools: make([]Pool, len(m.pools)), Classes: make([]Class, len(m.classes))}
	for i := range m.pools {
		cfg.Pools[i] = m.pools[i].Pool
	}
	for i := range m.classes {
		cfg.Classes[i] = m.classes[i].Class
	}
	return cfg
}

// Step applies an event given as a value. An arrival gets the next sequence
// number, whatever the event says; a release or cancel looks its call up.
func (m *Machine) Step(e Event, out []Effect) ([]Effect, error) {
	switch e.Op {
	case OpArrive:
		_, out = m.Arrive(e.Now, e.Request, out)
	case OpRelease:
		id, _ := m.Lookup(e.Seq)
		out = m.Release(e.Now, id, e.Outcome, out)
	case OpDispatch:
		out = m.Dispatch(e.Now, out)
	case OpCancel:
		id, _ := m.Lookup(e.Seq)
		out = m.Cancel(e.Now, id, out)
	case OpTick:
		out = m.Tick(e.Now, out)
	case OpConfigure:
		if e.Config == nil {
			return out, fmt.Errorf("core: a configure event without a configuration")
		}
		return m.Configure(e.Now, *e.Config, out)
	case OpDrain:
		out = m.Drain(e.Now, e.On, out)
	case OpFlush:
		if e.Reason == NoReason || e.Reason >= numReasons {
			return out, fmt.Errorf("core: a flush event without a reason")
		}
		out = m.Flush(e.Now, e.Reason, out)
	default:
		return out, fmt.Errorf("core: no such event: %v", e.Op)
	}
	return out, nil
}
