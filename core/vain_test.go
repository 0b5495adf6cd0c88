package core

import (
	"slices"
	"testing"
)

// What the door says a call has time for, a dispatch in the same instant does
// not deny: nobody is let in, and perhaps others put out for it, to be expired
// at once. It is so when everybody who could start has been started before the
// arrival, as at a live gate. A laboratory that lets several arrivals in before
// the dispatch may see one of them expire behind the others.
func TestNobodyIsLetInToExpireAtOnce(t *testing.T) {
	tried, histories := 0, uint64(2000)
	if testing.Short() {
		histories = 700
	}
	for seed := range histories {
		h := newHistory(seed)
		m, err := New(h.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			e := h.next()
			if e.Op == OpArrive && letIn(t, m, e, seed, n) {
				tried++
			}
			out, err := m.Step(e, nil)
			if err != nil {
				t.Fatal(err)
			}
			h.saw(out)
		}
	}
	if tried < 1000 {
		t.Errorf("only %d calls were let in by the test at the door", tried)
	}
}

// letIn says whether the arrival would be let in by the test at the door.
func letIn(t *testing.T, m *Machine, e Event, seed uint64, n int) bool {
	t.Helper()
	m, err := Restore(m.Snapshot()) // a copy
	if err != nil {
		t.Fatal(err)
	}
	m.Dispatch(e.Now, nil)
	id, out := m.Arrive(e.Now, e.Request, nil)
	if out[len(out)-1].Kind != Wait || !m.poolOf(id.Index).RefuseHopeless {
		return false
	}
	then := m.Dispatch(e.Now, nil)
	if slices.ContainsFunc(then, func(x Effect) bool { return x.ID == id && x.Reason == Expired }) {
		t.Fatalf("seed %d, event %d: %+v came to %+v, then %+v", seed, n, e, out, then)
	}
	return true
}
