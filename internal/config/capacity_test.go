package config

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBears(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		workers                    int
		expected, deadline, margin time.Duration
		want                       int
	}{
		{1, 10 * ms, 200 * ms, 0, 20},
		{1, 10 * ms, 200 * ms, 1, 19}, // a nanosecond is enough: the edge is lost
		{1, 10 * ms, 200 * ms, 10 * ms, 19},
		{1, 10 * ms, 200 * ms, 11 * ms, 18},
		{1, 10 * ms, 5 * ms, 0, 0},
		{1, 10 * ms, 200 * ms, 200 * ms, 0},
		{1, 10 * ms, 200 * ms, 300 * ms, 0},
		{4, 25 * ms, 300 * ms, 1 * ms, 47},
		{0, 10 * ms, 200 * ms, 0, 0},
		{3, 7 * ms, 350 * ms, 0, 150},
		{1 << 19, 1, 24 * time.Hour, 0, math.MaxInt},
		{1 << 19, time.Microsecond, time.Hour, 0, 1 << 19 * 3600 * 1000000},
	} {
		if got := Bears(test.workers, test.expected, test.deadline, test.margin); got != test.want {
			t.Errorf("Bears(%d, %v, %v, %v) = %d, want %d", test.workers, test.expected, test.deadline, test.margin, got, test.want)
		}
	}
}

func TestSummary(t *testing.T) {
	c := mustParse(t, `
listen: :1
upstream: {url: "http://x"}
pools:
  app: {workers: 4, slots: 5, waiting: 40, order: priority, door: priority, expected: 25ms}
  new: {slots: 3, waiting: 9, admit_hopeless: true}
classes:
  top: {pool: app, rank: 0, deadline: 300ms, objective: 99%, reserve: 1, waiting: 30}
  low: {pool: app, rank: 1, deadline: 1s, reserve: 2}
  other: {pool: new, rank: 3, deadline: 1s, waiting: 0}
default: low
`)
	want := Summary{Pools: []PoolSummary{
		{Name: "app", Mode: "enforce", Order: "priority", Door: "priority", Slots: 5, Workers: 4, Waiting: 40, InSystem: 45, ExpectedMS: 25, CapacityRPS: 160, SharedSlots: 2, Classes: []ClassSummary{
			// Slots: 5 − 2. Three workers end 3 ÷ 25ms × 298ms = 35.76 calls in time.
			{Name: "top", Rank: 0, DeadlineMS: 300, Objective: 0.99, Reserve: 1, EffectiveSlots: 3, Waiting: 30, Bears: 35, Burst: 33, MarginMS: 2, MarginAssumed: true, CeilingRPS: 120},
			{Name: "low", Rank: 1, DeadlineMS: 1000, Reserve: 2, EffectiveSlots: 4, Waiting: 40, Bears: 159, Burst: 44, MarginMS: 2, MarginAssumed: true, CeilingRPS: 160},
		}},
		{Name: "new", Mode: "enforce", Order: "fifo", Door: "blind", Slots: 3, Workers: 3, Waiting: 9, InSystem: 12, SharedSlots: 3, Classes: []ClassSummary{
			{Name: "other", Rank: 3, DeadlineMS: 1000, EffectiveSlots: 3, Waiting: 0, Bears: -1, Burst: 3},
		}},
	}}
	if d := cmp.Diff(want, Summarise(c)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// A burst of b calls within one service time finds room when waiting is at
// least b − slots, and the summary says how large b may be.
func TestBurst(t *testing.T) {
	c := mustParse(t, small)
	if got := Summarise(c).Pools[0].Classes[0].Burst; got != 19 {
		t.Errorf("burst %d, want 2 slots + 17 waiting", got)
	}
}
