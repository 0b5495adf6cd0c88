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
		_, out := m.Arrive(0, Request{}, nil)
		out = m.Dispatch(0, out)
		m.Tick(1, out)
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
	})
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
		"no cost":                   func(s *State) { s.Running[0].Cost = 0 },
		"a number to come":          func(s *State) { s.Waiting[0].Seq = 99 },
		"twice the same":            func(s *State) { s.Waiting = append(s.Waiting, s.Waiting[0]) },
		"arrivals that are nowhere": func(s *State) { s.Classes[0].Arrived++ },
		"more out than slots":       func(s *State) { s.Running[0].Cost = 5 },
	} {
		s := m.Snapshot()
		spoil(&s)
		if _, err := Restore(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
