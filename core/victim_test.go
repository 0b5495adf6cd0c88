package core

import "testing"

// A critical newcomer that does not fit behind the work that waits goes on
// evicting background calls, also when critical calls wait among them.
func TestEvictionGoesOnWhileCriticalCallsWait(t *testing.T) {
	const ms = int64(1_000_000)
	m, err := New(Config{
		Pools: []Pool{{
			Workers: 1, Slots: 2, Waiting: 17, Door: DoorPriority,
			Expected: 10 * ms, Margin: 10 * ms, RefuseHopeless: true,
		}},
		Classes: []Class{{Rank: 0, Deadline: 200 * ms, Waiting: Unbounded}, {Rank: 1, Deadline: 200 * ms, Waiting: Unbounded}},
		Default: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 18 {
		m.Arrive(0, Request{Class: 1}, nil)
		m.Dispatch(0, nil)
	}
	// 18 background calls are 180 ms of work: each critical call must evict
	// one, the first few places among them taken by critical calls already.
	for i := int64(1); i <= 9; i++ {
		_, out := m.Arrive(i*ms/10, Request{Class: 0}, nil)
		if last := out[len(out)-1]; last.Kind != Wait {
			t.Fatalf("critical call %d got %v: background calls still wait before it", i, out)
		}
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
}
