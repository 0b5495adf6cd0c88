package core

import (
	"strings"
	"testing"
)

// The check finds what it is there for: every number and list of a busy machine,
// put wrong, is reported as the invariant that it breaks.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	busy := func() *Machine {
		m, err := New(Config{
			Pools:   []Pool{{Name: "p", Slots: 4, Workers: 2, Waiting: 4, Expected: 10, ExpireWaiting: true}},
			Classes: []Class{{Name: "a", Waiting: 3, Reserve: 1, Deadline: 1000}, {Name: "b", Rank: 1, Waiting: Unbounded, Deadline: 1000}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var out []Effect
		for range 3 {
			_, out = m.Arrive(0, Request{Class: 1}, out)
		}
		_, out = m.Arrive(0, Request{}, out)
		out = m.Dispatch(0, out)
		for i := range 4 {
			_, out = m.Arrive(0, Request{Class: i % 2}, out)
		}
		m.Cancel(0, ID{Seq: 8, Index: 8}, out)
		m.Dispatch(0, nil)
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		return m
	}
	busy()
	for _, c := range []struct {
		want  string
		spoil func(m *Machine, p *pool, a, b *class)
	}{
		{"1:", func(m *Machine, p *pool, a, b *class) { a.arrived++ }},
		{"1:", func(m *Machine, p *pool, a, b *class) { a.outcomes[OK]++ }},
		{"1:", func(m *Machine, p *pool, a, b *class) { a.arrived++; a.outcomes[Refused]++ }},
		{"1:", func(m *Machine, p *pool, a, b *class) { m.calls = append(m.calls, call{}) }},
		{"2:", func(m *Machine, p *pool, a, b *class) { p.Waiting, p.maxCalls, p.settled = 2, 6, false }},
		{"3:", func(m *Machine, p *pool, a, b *class) { p.Slots, p.maxUnits = 3, 3 }},
		{"4:", func(m *Machine, p *pool, a, b *class) { p.Waiting, p.maxCalls = 2, 7 }},
		{"4:", func(m *Machine, p *pool, a, b *class) { a.Waiting = 1 }},
		{"4:", func(m *Machine, p *pool, a, b *class) { p.Slots, p.reserves = 5, false }},
		{"4:", func(m *Machine, p *pool, a, b *class) { p.Slots, a.Reserve, p.unfilled = 5, 2, 1 }},
		{"5:", func(m *Machine, p *pool, a, b *class) { a.started-- }},
		{"5:", func(m *Machine, p *pool, a, b *class) { b.started += 2 }},
		{"6:", func(m *Machine, p *pool, a, b *class) { m.calls[a.waiting.tail].seq = 1 }},
		{"7:", func(m *Machine, p *pool, a, b *class) { p.servable = 0 }},
		{"7:", func(m *Machine, p *pool, a, b *class) { m.calls[p.running.tail].serving = true }},
		{"8:", func(m *Machine, p *pool, a, b *class) { a.waits++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.waits++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.mask = 0 }},
		{"8:", func(m *Machine, p *pool, a, b *class) { a.local = 1 }},
		{"8:", func(m *Machine, p *pool, a, b *class) { a.work++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { a.units++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.units++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.runs++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.unfilled++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.serving++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.served++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.runWork++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.dueWork++ }},
		{"8:", func(m *Machine, p *pool, a, b *class) { p.heap[0], p.heap[1] = p.heap[1], p.heap[0] }},
		{"8:", func(m *Machine, p *pool, a, b *class) { m.calls[a.waiting.head].heap = 0 }},
		{"8:", func(m *Machine, p *pool, a, b *class) { m.calls[a.waiting.head].state = running }},
		{"8:", func(m *Machine, p *pool, a, b *class) { m.calls[p.running.tail].state = waiting }},
		{"6:", func(m *Machine, p *pool, a, b *class) { m.calls[a.waiting.tail].next = a.waiting.head }},
		{"8:", func(m *Machine, p *pool, a, b *class) { m.free = a.waiting.head }},
	} {
		m := busy()
		c.spoil(m, &m.pools[0], &m.classes[0], &m.classes[1])
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
}

// A machine's books of whom it has: by number, by place, and not any more.
func TestViewsAndLookup(t *testing.T) {
	m, err := New(sound())
	if err != nil {
		t.Fatal(err)
	}
	id, _ := m.Arrive(5, Request{Class: 1}, nil)
	gone, _ := m.Arrive(6, Request{Class: 1}, nil)
	if got, ok := m.Lookup(id.Seq); !ok || got != id || !m.Has(id) {
		t.Errorf("%v: looked up as %v, %v", id, got, ok)
	}
	if p, a, b := m.PoolView(0), m.ClassView(0), m.ClassView(1); p.Oldest != 5 || b.Oldest != 5 || a.Oldest != Never || p.Waiting != 2 || b.Waits != 2 {
		t.Errorf("%+v\n%+v\n%+v", p, a, b)
	}
	m.Cancel(6, gone, nil)
	if _, ok := m.Lookup(gone.Seq); ok || m.Has(gone) {
		t.Errorf("%v has gone and is there", gone)
	}
	// Its place may be taken by another, who is not mistaken for it.
	next, _ := m.Arrive(7, Request{Class: 1}, nil)
	if next.Index != gone.Index || m.Has(gone) {
		t.Errorf("%v and %v", next, gone)
	}
	m.Cancel(7, gone, nil)
	m.Release(7, ID{Seq: 9, Index: 999}, OK, nil)
	m.Release(7, ID{Seq: 9, Index: uint32(len(m.calls))}, OK, nil)
	if m.Stale() != 3 || !m.Has(next) {
		t.Errorf("%d stale", m.Stale())
	}
}
