package core

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// FuzzMachine lives a history whose every choice the fuzzer makes.
func FuzzMachine(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) > 1<<14 {
			return
		}
		source := &bytesSource{b: choices}
		h := &history{r: rand.New(source)}
		h.begin()
		m, err := New(h.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for source.left() {
			e := h.next()
			out, err := m.Step(e, nil)
			if err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
			if err := m.Check(); err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
			h.saw(out)
		}
		reborn(t, m)
	})
}

// bytesSource is chance that somebody else has thrown.
type bytesSource struct {
	b []byte
	n int
}

func (s *bytesSource) left() bool { return s.n < len(s.b) }

// Uint64 spreads a byte over the word, since callers look at either end of it.
func (s *bytesSource) Uint64() uint64 {
	v := uint64(s.n)
	if s.n < len(s.b) {
		v = uint64(s.b[s.n])
	}
	s.n++
	return (v + 1) * 0x9e3779b97f4a7c15
}

// FuzzRestore: a state from a file may be anything. It is refused, or the
// machine made of it holds its invariants.
func FuzzRestore(f *testing.F) {
	for seed := range uint64(6) {
		h := newHistory(seed)
		m, err := New(h.cfg)
		if err != nil {
			f.Fatal(err)
		}
		for range 60 {
			out, err := m.Step(h.next(), nil)
			if err != nil {
				f.Fatal(err)
			}
			h.saw(out)
		}
		text, err := json.Marshal(m.Snapshot())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s State
		if json.Unmarshal(text, &s) != nil {
			return
		}
		m, err := Restore(s)
		if err != nil {
			return
		}
		reborn(t, m)
		liveOn(t, m)
	})
}

// liveOn goes on with a machine of unknown origin, and holds it to its invariants.
func liveOn(t *testing.T, m *Machine) {
	t.Helper()
	s := m.Snapshot()
	events := []Event{{Op: OpTick}, {Op: OpDispatch}, {Op: OpArrive}, {Op: OpArrive, Request: Request{Cost: 2, Deadline: 50}}, {Op: OpDispatch}, {Op: OpConfigure, Config: &s.Config}}
	for _, x := range s.Running[:min(8, len(s.Running))] {
		events = append(events, Event{Op: OpRelease, Seq: x.Seq, Outcome: OK}, Event{Op: OpDispatch})
	}
	for _, x := range s.Waiting[:min(8, len(s.Waiting))] {
		events = append(events, Event{Op: OpCancel, Seq: x.Seq}, Event{Op: OpDispatch})
	}
	events = append(events, Event{Op: OpFlush, Reason: Draining}, Event{Op: OpDispatch})
	for i, e := range events {
		e.Now = int64(i)
		if _, err := m.Step(e, nil); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		if err := m.Check(); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
	}
}

func TestRestoreRefusesWhatCannotBe(t *testing.T) {
	m, err := New(Config{Pools: []Pool{{Name: "p", Slots: 1, Waiting: 1}}, Classes: []Class{{Name: "c", Waiting: Unbounded}}})
	if err != nil {
		t.Fatal(err)
	}
	_, out := m.Arrive(0, Request{}, nil)
	m.Dispatch(0, out)
	m.Arrive(0, Request{}, nil)
	for name, spoil := range map[string]func(*State){
		"no configuration":          func(s *State) { s.Config = Config{} },
		"counts of other pools":     func(s *State) { s.Pools = nil },
		"a class beyond":            func(s *State) { s.Waiting[0].Class = 7 },
		"a class below zero":        func(s *State) { s.Waiting[0].Class = -1 },
		"no number":                 func(s *State) { s.Waiting[0].Seq = 0 },
		"less than no time":         func(s *State) { s.Waiting[0].Expected = -1 },
		"more time than any":        func(s *State) { s.Waiting[0].Expected = MaxExpected + 1 },
		"more cost than any":        func(s *State) { s.Running[0].Cost = MaxSlots + 1; s.Pools[0].MaxUnits = MaxSlots + 1 },
		"no cost":                   func(s *State) { s.Running[0].Cost = 0 },
		"a number to come":          func(s *State) { s.Waiting[0].Seq = 99 },
		"twice the same":            func(s *State) { s.Waiting = append(s.Waiting, s.Waiting[0]) },
		"arrivals that are nowhere": func(s *State) { s.Classes[0].Arrived++ },
		"more out than slots":       func(s *State) { s.Running[0].Cost = 5 },
		"waiting and running":       func(s *State) { s.Waiting[0].Seq = s.Running[0].Seq },
		"running twice": func(s *State) {
			s.Running = append(s.Running, s.Running[0])
			s.Pools[0].MaxUnits = 2
			s.Classes[0].Arrived++
		},
		"waiting for what it can never have": func(s *State) { s.Waiting[0].Cost = 2 },
		"an attempt beyond":                  func(s *State) { s.Waiting[0].Attempt = 1 << 40 },
		"due before it arrived":              func(s *State) { s.Waiting[0].Deadline = s.Waiting[0].Arrived - 2 },
		"less than no attempt":               func(s *State) { s.Waiting[0].Attempt = -1 << 40 },
		"more beyond the bound": func(s *State) {
			s.Waiting = append(s.Waiting, s.Waiting[0])
			s.Waiting[1].Seq = 3
			s.Seq = 3
			s.Classes[0].Arrived++
		},
		"too many pools counted": func(s *State) { s.Pools = append(s.Pools, PoolCount{}) },
		"without a reason":       func(s *State) { s.Classes[0].Arrived++; s.Classes[0].Outcomes[Refused]++ },
		"refused for no reason": func(s *State) {
			s.Classes[0].Arrived++
			s.Classes[0].Outcomes[Refused]++
			s.Classes[0].Refused[NoReason]++
		},
		"ran without a start": func(s *State) { s.Classes[0].Started-- },
		"a worker out of turn": func(s *State) {
			s.Running = append(s.Running, s.Running[0])
			s.Running[0].Serving = false
			s.Running[1].Seq = 3
			s.Seq = 3
			s.Classes[0].Arrived++
			s.Classes[0].Started++
			s.Pools[0].MaxUnits = 2
			s.Pools[0].MaxCalls = 3
		},
		"settled with a free unit": func(s *State) {
			s.Running = nil
			s.Classes[0].Arrived--
			s.Classes[0].Started--
			s.Pools[0].Settled = true
			s.Pools[0].Dirty = false
		},
	} {
		s := m.Snapshot()
		spoil(&s)
		if _, err := Restore(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
