package core

import (
	"reflect"
	"slices"
	"testing"
)

// Where Pass says yes, the machine is as after Arrive and Dispatch, and those
// would have let the call wait and run in the same instant. Where it says no,
// nothing has happened.
func TestPassIsArriveAndDispatch(t *testing.T) {
	passed := 0
	for seed := range uint64(3000) {
		h := newHistory(seed)
		calm := seed%2 == 1
		if calm {
			h.calm()
		}
		short, err := New(h.cfg)
		if err != nil {
			t.Fatal(err)
		}
		long := reborn(t, short)
		for n := range 80 {
			e := h.next()
			if calm && e.Op == OpArrive {
				e.Request.Cost = 1
			}
			if e.Op == OpArrive {
				id, ok := short.Pass(e.Now, &e.Request)
				if ok {
					passed++
					h.saw(walk(t, long, e, id))
				}
				alike(t, short, long, seed, n, e)
				if ok {
					continue
				}
			}
			step(t, short, e)
			h.saw(step(t, long, e))
			if calm { // as the live gate does
				rest := Event{Op: OpDispatch, Now: e.Now}
				step(t, short, rest)
				step(t, long, rest)
			}
		}
		alike(t, short, long, seed, -1, Event{})
	}
	if passed < 5000 {
		t.Fatalf("only %d arrivals had nothing to decide", passed)
	}
}

// calm is a machine with room.
func (h *history) calm() {
	for i := range h.cfg.Pools {
		h.cfg.Pools[i].Slots, h.cfg.Pools[i].Workers = 40, 0
	}
	for i := range h.cfg.Classes {
		h.cfg.Classes[i].Reserve = 0
	}
}

// walk takes an arrival the long way, and holds that it starts at once.
func walk(t *testing.T, m *Machine, e Event, id ID) []Effect {
	t.Helper()
	k := int32(e.Request.Class)
	want := []Effect{{Kind: Wait, Class: k, ID: id}, {Kind: Run, Class: k, ID: id}}
	_, got := m.Arrive(e.Now, e.Request, nil)
	if got = m.Dispatch(e.Now, got); !slices.Equal(got, want) {
		t.Fatalf("%+v\n got %+v\nwant %+v", e, got, want)
	}
	return got
}

func step(t *testing.T, m *Machine, e Event) []Effect {
	t.Helper()
	out, err := m.Step(e, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func alike(t *testing.T, a, b *Machine, seed uint64, n int, e Event) {
	t.Helper()
	if err := a.Check(); err != nil {
		t.Fatalf("seed %d, event %d: %v", seed, n, err)
	}
	if x, y := a.Snapshot(), b.Snapshot(); !reflect.DeepEqual(x, y) {
		t.Fatalf("seed %d, event %d: %+v\nshort %+v\n long %+v", seed, n, e, x, y)
	}
}

func BenchmarkPass(b *testing.B) {
	m, err := New(Config{
		Pools:   []Pool{{Slots: 100, Waiting: 10, Expected: 1e6, ExpireWaiting: true, RefuseHopeless: true}},
		Classes: []Class{{Deadline: 1e9}},
	})
	if err != nil {
		b.Fatal(err)
	}
	var out []Effect
	now := int64(0)
	for b.Loop() {
		now++
		id, ok := m.Pass(now, &Request{})
		if !ok {
			b.Fatal("something to decide")
		}
		out = m.Dispatch(now, m.Release(now, id, OK, out[:0]))
	}
}
