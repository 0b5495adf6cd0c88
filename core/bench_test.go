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
	crowds(b, "fifo", Pool{Order: OrderFIFO}, refuseOne)
	crowds(b, "priority", Pool{Order: OrderPriority}, refuseOne)
	crowds(b, "lifo", Pool{Order: OrderLIFO}, refuseOne)
	crowds(b, "door", Pool{Door: DoorPriority}, refuseOne)
}

// refuseOne lets a call knock at a full pool.
func refuseOne(m *Machine, now int64, out []Effect) []Effect {
	_, out = m.Arrive(now, Request{Class: 1}, out)
	return out
}

func BenchmarkEvict(b *testing.B) {
	crowds(b, "fifo", Pool{Order: OrderFIFO, Door: DoorPriority}, evictOne)
	crowds(b, "priority", Pool{Order: OrderPriority, Door: DoorPriority}, evictOne)
	crowds(b, "lifo", Pool{Order: OrderLIFO, Door: DoorPriority}, evictOne)
	crowds(b, "timed", Pool{Order: OrderFIFO, Door: DoorPriority, ExpireWaiting: true}, evictOne)
}

// evictOne lets a critical call evict one and leave again, and a background
// call take its place.
func evictOne(m *Machine, now int64, out []Effect) []Effect {
	id, out := m.Arrive(now, Request{Class: 0}, out)
	out = m.Cancel(now, id, out)
	_, out = m.Arrive(now, Request{Class: 1}, out)
	return out
}

func BenchmarkCancel(b *testing.B) {
	crowds(b, "fifo", Pool{Order: OrderFIFO}, cancelMiddle)
	crowds(b, "priority", Pool{Order: OrderPriority}, cancelMiddle)
	crowds(b, "lifo", Pool{Order: OrderLIFO}, cancelMiddle)
	crowds(b, "timed", Pool{Order: OrderFIFO, ExpireWaiting: true}, cancelMiddle)
}

// cancelMiddle takes out a call from wherever the slab has one, mostly from
// between others, and lets a new one in. With 100 000 it touches memory that no
// cache holds: the steps are as many, and each costs more.
func cancelMiddle(m *Machine, now int64, out []Effect) []Effect {
	i := uint32(1 + uint64(now)*0x9e3779b97f4a7c15>>32%uint64(len(m.calls)-1))
	if m.calls[i].state != waiting { // the one that runs
		return out
	}
	out = m.Cancel(now, ID{Seq: m.calls[i].seq, Index: i}, out)
	_, out = m.Arrive(now, Request{Class: int(now & 1)}, out)
	return out
}

// BenchmarkExpire lets a call in that is doomed a moment later, and time pass:
// the heap's logarithm.
func BenchmarkExpire(b *testing.B) {
	crowds(b, "timed", Pool{Order: OrderFIFO, Door: DoorPriority, ExpireWaiting: true}, expireOne)
}

func expireOne(m *Machine, now int64, out []Effect) []Effect {
	_, out = m.Arrive(now, Request{Class: 0, Deadline: now}, out) // evicts one
	out = m.Tick(m.Next(), out)
	_, out = m.Arrive(now, Request{Class: 1}, out)
	return out
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

// BenchmarkReserve turns over a class on its own reserve, behind many of another
// class: a class that can have nothing is passed over at once.
func BenchmarkReserve(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, err := New(Config{
				Pools:   []Pool{{Name: "p", Slots: 8, Waiting: Unbounded}},
				Classes: []Class{{Name: "heavy", Reserve: 6, Waiting: Unbounded}, {Name: "control", Reserve: 2, Waiting: 4}},
			})
			if err != nil {
				b.Fatal(err)
			}
			var out []Effect
			for range n + 6 {
				_, out = m.Arrive(0, Request{}, out[:0])
			}
			out = m.Dispatch(0, out[:0])
			b.ReportAllocs()
			for b.Loop() {
				var id ID
				id, out = m.Arrive(1, Request{Class: 1}, out[:0])
				if out = m.Dispatch(1, out[:0]); len(out) != 1 || out[0].ID != id {
					b.Fatalf("%v did not start: %v", id, out)
				}
				out = m.Release(1, id, OK, out[:0])
			}
		})
	}
}

func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	for _, p := range []Pool{
		{Order: OrderFIFO}, {Order: OrderPriority, Door: DoorPriority, ExpireWaiting: true, RefuseHopeless: true, Expected: 1}, {Order: OrderLIFO},
		{Order: OrderLIFO, Door: DoorPriority}, {Order: OrderFIFO, Door: DoorPriority, ExpireWaiting: true},
	} {
		for name, step := range map[string]func(*Machine, int64, []Effect) []Effect{
			"turn over": turnOver, "refuse": refuseOne, "evict": evictOne, "cancel": cancelMiddle, "expire": expireOne,
		} {
			if (name == "evict" || name == "expire") && p.Door != DoorPriority || name == "expire" && !p.ExpireWaiting {
				continue
			}
			m := crowd(t, p, 100)
			now, out, effects := int64(1000), make([]Effect, 0, 16), 0
			if n := testing.AllocsPerRun(1000, func() {
				now++
				out = step(m, now, out[:0])
				effects += len(out)
				out = m.Tick(now, out[:0])
			}); n != 0 {
				t.Errorf("%s, %+v: %v allocations", name, p, n)
			}
			if effects < 900 {
				t.Errorf("%s, %+v: only %d effects: it measures nothing", name, p, effects)
			}
		}
	}
}

// A rehearsed dispatch, which costs and reserves need, allocates nothing either.
func TestNothingIsAllocatedWithCostsAndReserves(t *testing.T) {
	m, err := New(Config{
		Pools:   []Pool{{Name: "p", Slots: 4, Waiting: 6, Expected: 1, Door: DoorPriority, RefuseHopeless: true, ExpireWaiting: true}},
		Classes: []Class{{Name: "a", Waiting: 3, Reserve: 1, Deadline: 1 << 50}, {Name: "b", Rank: 1, Waiting: Unbounded, Deadline: 1 << 50}},
	})
	if err != nil {
		t.Fatal(err)
	}
	now, out, kinds := int64(0), make([]Effect, 0, 16), map[EffectKind]int{Wait: 0, Run: 0, Refuse: 0, End: 0}
	if n := testing.AllocsPerRun(1000, func() {
		now++
		for i := range 5 {
			_, out = m.Arrive(now, Request{Class: i % 2, Cost: 1 + i%3}, out[:0])
			out = m.Dispatch(now, out)
			for _, e := range out {
				kinds[e.Kind]++
			}
		}
		out = m.Release(now, m.runningID(), OK, out[:0])
		kinds[out[0].Kind]++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for kind, n := range kinds {
		if n < 500 {
			t.Errorf("%d effects %v: it measures nothing", n, kind)
		}
	}
}
