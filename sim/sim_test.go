package sim

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
)

const ms = int64(1e6) // nanoseconds

// background is the class index of an arrival that is critical or not.
func background(critical bool) int {
	if critical {
		return 0
	}
	return 1
}

// twoClasses are critical and background, both with a deadline of 200 ms.
func twoClasses() []core.Class {
	return []core.Class{
		{Name: "critical", Rank: 0, Deadline: 200 * ms, Waiting: core.Unbounded},
		{Name: "background", Rank: 1, Deadline: 200 * ms, Waiting: core.Unbounded},
	}
}

// bounded is the bounded system: one slot that works, 20 in the system.
func bounded(door core.Door) core.Config {
	return core.Config{
		Pools:   []core.Pool{{Name: "app", Workers: 1, Slots: 1, Waiting: 19, Door: door, Expected: 10 * ms}},
		Classes: twoClasses(),
		Default: 1,
	}
}

// live is the same over a wire: two slots that are one worker, 19 in the system.
func live(door core.Door, order core.Order, duration int64) World {
	return World{
		Gate: core.Config{
			Pools: []core.Pool{{
				Name: "app", Workers: 1, Slots: 2, Waiting: 17, Door: door, Order: order,
				Expected: 10 * ms, Margin: 5 * ms, ExpireWaiting: true, RefuseHopeless: true,
			}},
			Classes: twoClasses(),
			Default: 1,
		},
		Workers: 1, Service: 10, Deadline: 200, Duration: duration,
		Hops: Hops{In: 0.3, Up: 0.2, Down: 0.2, Out: 0.3},
	}
}

func demand(t testing.TB, rate float64, duration int64) (arrival.Source, func() int) {
	t.Helper()
	s, err := arrival.NewTiled(arrival.Constant(rate), duration)
	if err != nil {
		t.Fatal(err)
	}
	c, err := arrival.NewClasses(23, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	return s, func() int { return background(c.Next()) }
}

// times is a source of given instants.
type times []float64

func (t *times) Next() (float64, bool) {
	if len(*t) == 0 {
		return 0, false
	}
	first := (*t)[0]
	*t = (*t)[1:]
	return first, true
}
