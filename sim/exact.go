package sim

import (
	"fmt"
	"math"

	"github.com/plimsoll-go/plimsoll/core"
)

// Why nanoseconds are not always enough, and what Slots does about it.
//
// An instant that is meant to be 50 ms sits at 50 ± 10⁻¹² ms, and a call whose
// wait is meant to be exactly as long as its deadline bears is served or
// expired by those last bits. Truncated nanoseconds keep some of these
// differences and lose others: of tables with constants drawn at random, about
// one in a hundred comes out differently.
//
// The machine does nothing with an instant but compare it. So in an exact run
// it is handed the ordinal of the instant among all float64 numbers, which
// loses nothing, and with each call the ordinal of the last instant at which
// the call may still be started. The comparison, and with it the decision,
// stays the machine's.

// ordinal numbers the float64s from 0 upwards: the bits of a larger one are a
// larger integer. It starts at 1, because 0 is no deadline to the machine.
func ordinal(ms float64) int64 { return int64(math.Float64bits(ms)) + 1 }

func fromOrdinal(n int64) float64 { return math.Float64frombits(uint64(n - 1)) }

// tooLate is an ordinal before every instant.
const tooLate = -1

// lastStart is the ordinal of the last instant at which a call may be started:
// from which (instant − arrived) + expected, each operation rounded, is not
// more than the deadline.
func lastStart(arrived, expected, deadline float64) int64 {
	doomed := func(n int64) bool { return (fromOrdinal(n)-arrived)+expected > deadline }
	first := ordinal(arrived)
	if doomed(first) {
		return tooLate
	}
	good := max(first, ordinal(max(0, arrived+(deadline-expected))))
	for step := int64(1); doomed(good); step *= 2 {
		good = max(first, good-step)
	}
	bad := good + 1
	for step := int64(1); !doomed(bad); step *= 2 {
		good, bad = bad, bad+step
	}
	for bad-good > 1 {
		if mid := good + (bad-good)/2; doomed(mid) {
			bad = mid
		} else {
			good = mid
		}
	}
	return good
}

// exact is the time line of an exact run: what of the gate's parameters is
// about time, in milliseconds.
type exact struct {
	expected  float64
	deadlines []float64 // by class; +Inf for none
	standby   float64   // of the default class
}

// newExact takes the times out of a gate of one pool, or says why the gate
// cannot run on ordinals, which have no differences.
func newExact(gate core.Config) (*exact, core.Config, error) {
	p := gate.Pools[0]
	if p.Margin != 0 || p.ExpireWaiting || p.RefuseHopeless || p.Workers != 0 && p.Workers != p.Slots {
		return nil, gate, fmt.Errorf("sim: pool %q: an exact run takes no margin, no expiry by time, no hopeless test, and as many workers as slots", p.Name)
	}
	x := &exact{expected: float64(p.Expected) / 1e6}
	p.Expected = 0
	gate.Pools = []core.Pool{p}
	x.deadlines = make([]float64, len(gate.Classes))
	for i, c := range gate.Classes {
		if c.Retired {
			c = gate.Classes[gate.Default]
		}
		x.deadlines[i] = math.Inf(1)
		if c.Deadline > 0 {
			x.deadlines[i] = float64(c.Deadline) / 1e6
		}
	}
	x.standby = x.deadlines[gate.Default]
	return x, gate, nil
}

// deadline is what the machine is told of a call.
func (x *exact) deadline(class int, arrived float64) int64 {
	d := x.standby
	if uint(class) < uint(len(x.deadlines)) {
		d = x.deadlines[class]
	}
	if math.IsInf(d, 1) {
		return core.Never
	}
	return lastStart(arrived, x.expected, d)
}

// outcome is that of a call that ran. The machine cannot know it, because it
// was told when the call had to start, and not when it had to end.
func (x *exact) outcome(c *Call) core.Outcome {
	if c.Ended-c.Arrived > x.deadlines[c.Class] {
		return core.Late
	}
	return core.OK
}
