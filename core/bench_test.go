package core

import (
	"fmt"
	"testing"
)

// The costs that the package promises: what an event costs does not depend on
// how many wait, but for the logarithm of a heap where time alone may expire
// them. Each benchmark runs with 10, 1 000 and 100 000 waiting.

// crowd is a machine with one call running and n waiting, half of them critical.
func crowd(tb testing.TB, p Pool, n int) *Machine {
	tb.Helper()
	p.Slots, p.Waiting = 1, n
	m, err := New(Config{Pools: []Pool{p}, Classes: []Class{
		{Name: "critical", Rank: 0, Waiting: Unbounded, Deadline: 1 << 50},
		{Name: "background", Rank: 1, Waiting: Unbounded, Deadline: 1 << 50},
	}, Default: 1})
	if err != nil {
		tb.Fatal(err)
	}
	var out []Effect
	for i := range n + 1 {
		_, out = m.Arrive(int64(i), Request{Class: i % 2}, out[:0])
		out = m.Dispatch(int64(i), out[:0])
	}
	return m
}

func crowds(b *testing.B, what string, p Pool, step func(m *Machine, now int64, out []Effect) []Effect) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) {
			m := crowd(b, p, n)
			now := int64(n + 1)
			var out []Effect
			b.ReportAllocs()
			for b.Loop() {
				now++
				out = step(m, now, out[:0])
			}
		})
	}
}

// turnOver ends the running call, lets another one start and a new one in.
func turnOver(m *Machine, now int64, out []Effect) []Effect {
	out = m.Release(now, m.runningID(), OK, out)
	out = m.Dispatch(now, out)
	_, out = m.Arrive(now, Request{Class: int(now & 1)}, out)
	return out
}

// runningID is the first running call of the first pool.
func (m *Machine) runningID() ID {
	i := m.pools[0].running.head
	return ID{Seq: m.calls[i].seq, Index: i}
}

func BenchmarkTurnOver(b *testing.B) {
	crowds(b, "fifo", Pool{Order: OrderFIFO}, turnOver)
	crowds(b, "priority", Pool{Order: OrderPriority}, turnOver)
	crowds(b, "lifo", Pool{Order: OrderLIFO}, turnOver)
	crowds(b, "timed", Pool{Order: OrderFIFO, ExpireWaiting: true}, turnOver)
}

func BenchmarkRefuse(b *testing.B) {
	refuse := func(m *Machine, now int64, out []Effect) []Effect {
		_, out = m.Arrive(now, Request{Class: 1}, out)
		return out
	}
	crowds(b, "full", Pool{}, refuse)
}

func BenchmarkEvict(b *testing.B) {
	crowds(b, "priority", Pool{Door: DoorPriority}, func(m *Machine, now int64, out []Effect) []Effect {
		// A critical call evicts one, leaves again, and background takes its place.
		id, out := m.Arrive(now, Request{Class: 0}, out)
		out = m.Cancel(now, id, out)
		_, out = m.Arrive(now, Request{Class: 1}, out)
		return out
	})
}

// BenchmarkPredict admits with the door test on, at 1 to 64 classes.
func BenchmarkPredict(b *testing.B) {
	for _, classes := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(classes), func(b *testing.B) {
			cfg := Config{Pools: []Pool{{Name: "p", Slots: 1, Waiting: 1000, Expected: 1, RefuseHopeless: true}}}
			for k := range classes {
				cfg.Classes = append(cfg.Classes, Class{Name: fmt.Sprint(k), Rank: k, Waiting: Unbounded, Deadline: 1 << 50})
			}
			m, err := New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			var out []Effect
			for k := range classes { // somebody of each waits
				_, out = m.Arrive(0, Request{Class: k}, out[:0])
			}
			b.ReportAllocs()
			for b.Loop() {
				var id ID
				id, out = m.Arrive(1, Request{}, out[:0])
				out = m.Cancel(1, id, out)
			}
		})
	}
}

func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	for _, p := range []Pool{
		{Order: OrderFIFO}, {Order: OrderPriority, Door: DoorPriority, ExpireWaiting: true, RefuseHopeless: true, Expected: 1}, {Order: OrderLIFO},
	} {
		m := crowd(t, p, 100)
		now, out := int64(1000), make([]Effect, 0, 16)
		if n := testing.AllocsPerRun(1000, func() {
			now++
			out = turnOver(m, now, out[:0])
			out = m.Tick(now, out[:0])
		}); n != 0 {
			t.Errorf("%+v: %v allocations an event", p, n)
		}
	}
}
