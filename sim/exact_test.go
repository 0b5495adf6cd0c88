package sim

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/core"
)

func TestLastStart(t *testing.T) {
	whole := rapid.Map(rapid.IntRange(1, 4000), func(n int) float64 { return float64(n) })
	rapid.Check(t, func(t *rapid.T) {
		arrived := rapid.OneOf(rapid.Just(0.0), whole, rapid.Float64Range(0, 1e-9), rapid.Float64Range(0, 1e6)).Draw(t, "arrived")
		expected, deadline := whole.Draw(t, "expected"), whole.Draw(t, "deadline")
		in := func(at float64) bool { return (at-arrived)+expected <= deadline }
		last := lastStart(arrived, expected, deadline)
		if last == tooLate {
			if in(arrived) {
				t.Fatal("too late at once, and yet in time")
			}
			return
		}
		at := fromOrdinal(last)
		if at < arrived || !in(at) || in(math.Nextafter(at, math.Inf(1))) {
			t.Fatalf("the last start is %v", at)
		}
	})
}

// Expected and deadline may be far apart in size from the instant itself.
func TestLastStartInTheExtremes(t *testing.T) {
	for _, c := range [][3]float64{{0, 1, MaxMillis}, {0, MaxMillis - 1, MaxMillis}, {MaxMillis, 1, 1}, {5e-324, 3.6e6 - 1, 3.6e6}, {0, 7, 7}} {
		last := lastStart(c[0], c[1], c[2])
		if at := fromOrdinal(last); (at-c[0])+c[1] > c[2] || (fromOrdinal(last+1)-c[0])+c[1] <= c[2] {
			t.Errorf("lastStart%v is %v", c, at)
		}
	}
}

func TestOrdinalsKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0, MaxMillis).Draw(t, "a"), rapid.Float64Range(0, MaxMillis).Draw(t, "b")
		if (a < b) != (ordinal(a) < ordinal(b)) || fromOrdinal(ordinal(a)) != a || ordinal(a) < 1 {
			t.Fatalf("%v is number %d, %v number %d", a, ordinal(a), b, ordinal(b))
		}
	})
}

// A wait meant to be 48 ms, of 48 that the deadline bears, comes out a hair
// longer: an exact run sees it, nanoseconds may not.
func TestExactSeesTheLastBit(t *testing.T) {
	s := Slots{Gate: one(5, core.OrderFIFO), Service: 52, Duration: 1000}
	s.Gate.Pools[0].Expected, s.Gate.Classes[0].Deadline = 52*ms, 100*ms
	s.Exact = true
	for _, c := range []struct {
		at   []float64
		want string
	}{
		{[]float64{0, 4}, "0:ok@0-52 4:ok@52-104"},
		{[]float64{0, 3.9999999999999996}, "0:ok@0-52 3.9999999999999996:ok@52-104"}, // the sum rounds to 100
		{[]float64{0, 3.99999999999998}, "0:ok@0-52 3.99999999999998:expired@52"},
	} {
		if got := told(t, s, c.at...); got != c.want {
			t.Errorf("got %s; want %s", got, c.want)
		}
	}
	// Here truncation loses the difference.
	for _, exact := range []bool{false, true} {
		s.Exact = exact
		want := "50.0000000000001:ok@50.0000000000001-102.0000000000001 54:ok@102.0000000000001-154.0000000000001"
		if exact {
			want = "50.0000000000001:ok@50.0000000000001-102.0000000000001 54:expired@102.0000000000001"
		}
		if got := told(t, s, 50.0000000000001, 54); got != want {
			t.Errorf("exact %v: got %s; want %s", exact, got, want)
		}
	}
}

// Late is said of a call by its end, although the machine was told of its start.
func TestExactOutcomes(t *testing.T) {
	gate := one(5, core.OrderFIFO)
	gate.Classes[0].Deadline = 15 * ms
	gate.Pools[0].Expected = 1 * ms // too little: the call runs for 10
	s := Slots{Gate: gate, Service: 10, Duration: 1000, Exact: true}
	if got, want := told(t, s, 0, 1), "0:ok@0-10 1:late@10-20"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	gate.Classes[0].Deadline = 0
	if got, want := told(t, s, 0, 1), "0:ok@0-10 1:ok@10-20"; got != want {
		t.Errorf("without a deadline: got %s; want %s", got, want)
	}
}

func TestExactRefusesWhatOrdinalsCannotDo(t *testing.T) {
	for what, spoil := range map[string]func(*core.Pool){
		"margin":         func(p *core.Pool) { p.Margin = 1 },
		"expire waiting": func(p *core.Pool) { p.ExpireWaiting = true },
		"hopeless":       func(p *core.Pool) { p.RefuseHopeless = true },
		"fewer workers":  func(p *core.Pool) { p.Slots, p.Workers = 2, 1 },
	} {
		gate := one(1, core.OrderFIFO)
		spoil(&gate.Pools[0])
		s := Slots{Gate: gate, Service: 10, Duration: 100, Arrivals: &times{}, Ended: func(*Call) {}, Exact: true}
		if err := s.Run(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// Where no last bit decides, the two agree.
func TestExactAgreesWithNanoseconds(t *testing.T) {
	for _, rate := range []float64{50, 100, 150, 200, 300, 400, 500} {
		var ends [2][]Call
		for i, exact := range []bool{false, true} {
			s := Slots{Gate: bounded(core.DoorPriority), Service: 10, Duration: 5000, Exact: exact,
				Ended: func(c *Call) { d := *c; d.Started = 0; ends[i] = append(ends[i], d) }}
			s.Arrivals, s.Class = demand(t, rate, 5000)
			if err := s.Run(); err != nil {
				t.Fatal(err)
			}
		}
		if len(ends[0]) != len(ends[1]) {
			t.Fatalf("%d and %d calls", len(ends[0]), len(ends[1]))
		}
		for i := range ends[0] {
			a, b := ends[0][i], ends[1][i]
			a.Outcome, b.Outcome = min(a.Outcome, core.Refused), min(b.Outcome, core.Refused)
			if (a.Outcome == core.Refused) != (b.Outcome == core.Refused) || a.Ended != b.Ended || a.Reason != b.Reason {
				t.Fatalf("%v rps, call %d: %+v and %+v", rate, i, a, b)
			}
		}
	}
}
