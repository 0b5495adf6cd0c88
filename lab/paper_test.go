package lab

import (
	"fmt"
	"math"
	"testing"

	"github.com/plimsoll-go/plimsoll/core"
)

// The claims of "Bounded Systems Architecture and SLO-Driven Load Control"
// (J. Salgotra, Production System Labs, series 2, post 5), one test each. The
// section that makes the claim is named above the test.

// published runs the experiment with the published constants.
func published(t *testing.T) *sloResult {
	t.Helper()
	r, err := DefaultSLOModel().measure(t.Context(), 5000, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at is the point of a door that was meant to be at a rate.
func (r *sloResult) at(t *testing.T, d core.Door, rate float64) *sloPoint {
	t.Helper()
	for i, have := range doors {
		for _, p := range r.points[i] {
			if have == d && p.rate == rate {
				return p
			}
		}
	}
	t.Fatalf("no point at %v rps of door %v", rate, d)
	return nil
}

var overloaded = []float64{150, 200, 300, 400, 500}

// "The bounded system works; now it has to choose": fixed 10 ms service, 100 rps
// capacity, a 200 ms deadline, an in-system bound of 20. "Priority has a
// ceiling": capacity / critical share = 100 / 0.25 = 400 rps.
func TestPaperBoundAndCeiling(t *testing.T) {
	m := DefaultSLOModel()
	if m.Capacity() != 100 || m.Budget() != 20 || m.Ceiling() != 400 {
		t.Errorf("capacity %v, bound %d, ceiling %v; the text says 100, 20, 400", m.Capacity(), m.Budget(), m.Ceiling())
	}
	p := m.gate(core.DoorBlind).Pools[0]
	if p.Slots+p.Waiting != 20 {
		t.Errorf("the gate holds %d", p.Slots+p.Waiting)
	}
	for _, c := range []struct{ service, deadline, budget int64 }{
		{12, 200, 17}, {15, 200, 13}, {8, 100, 13}, {40, 100, 3}, {9, 150, 17}, {90, 40, 0},
	} {
		m := SLOModel{Service: c.service, Deadline: c.deadline}
		if got := m.Budget(); got != c.budget {
			t.Errorf("service %d, deadline %d: a bound of %d, want %d", c.service, c.deadline, got, c.budget)
		}
	}
}

// "A survivor-latency SLO cannot see rejection": every served request completes
// within 200 ms, and the critical p99 is 200 ms for both policies at every
// overloaded point.
func TestPaperServedLatencyIsFlat(t *testing.T) {
	r := published(t)
	for _, d := range doors {
		for _, rate := range overloaded {
			for class, s := range r.at(t, d, rate).class {
				if s.SurvivorMs(99) != 200 || s.SurvivorMs(100) != 200 {
					t.Errorf("%v at %v rps, class %d: p99 %d ms, slowest %d ms", d, rate, class, s.SurvivorMs(99), s.SurvivorMs(100))
				}
			}
		}
	}
}

// "A survivor-latency SLO cannot see rejection": blind shedding moves both
// classes together, 51.1 and 52.3 % at 200 rps, 32.3 and 35.4 % at 300 rps.
func TestPaperBlindDegradesInLockstep(t *testing.T) {
	r := published(t)
	for _, rate := range overloaded {
		p := r.at(t, core.DoorBlind, rate)
		if d := math.Abs(p.class[critical].SuccessPct() - p.class[background].SuccessPct()); d > 5 {
			t.Errorf("at %v rps the classes are %v points apart", rate, d)
		}
		if p.met() {
			t.Errorf("at %v rps the objective is met", rate)
		}
	}
	wantSuccess(t, r, core.DoorBlind, critical, map[float64]string{150: "70.8", 200: "51.1", 300: "32.3", 400: "25.3", 500: "20.0"})
	wantSuccess(t, r, core.DoorBlind, background, map[float64]string{150: "68.7", 200: "52.3", 300: "35.4", 400: "26.3", 500: "21.1"})
}

func wantSuccess(t *testing.T, r *sloResult, d core.Door, class int, want map[float64]string) {
	t.Helper()
	for rate, text := range want {
		if got := one(r.at(t, d, rate).class[class].SuccessPct()); got != text {
			t.Errorf("door %v, class %d, at %v rps: %s %%, the text says %s", d, class, rate, got, text)
		}
	}
}

// "Priority has a ceiling": below the boundary critical traffic fits; at 300 rps
// priority delivers 99.7 %, enough for the 99 % SLO.
func TestPaperProtectionBelowTheCeiling(t *testing.T) {
	r := published(t)
	wantSuccess(t, r, core.DoorPriority, critical, map[float64]string{150: "100.0", 200: "100.0", 300: "99.7"})
	for _, rate := range []float64{150, 200, 300} {
		if !r.at(t, core.DoorPriority, rate).met() {
			t.Errorf("at %v rps the objective is missed", rate)
		}
	}
}

// "Priority has a ceiling": the boundary is no promise; at 400.2 rps the realised
// critical load is 99.8 rps and success 93.3 %. At 500.2 rps it is 124.0 rps,
// and 80.8 % is close to the arithmetic upper ratio 100 / 124.
func TestPaperFailureAtTheCeiling(t *testing.T) {
	r := published(t)
	at400, at500 := r.at(t, core.DoorPriority, 400), r.at(t, core.DoorPriority, 500)
	if one(at400.offered()) != "400.2" || one(at400.offeredOf(critical)) != "99.8" || one(at500.offeredOf(critical)) != "124.0" {
		t.Errorf("%v rps offered, %v critical; at 500: %v critical", at400.offered(), at400.offeredOf(critical), at500.offeredOf(critical))
	}
	wantSuccess(t, r, core.DoorPriority, critical, map[float64]string{400: "93.3", 500: "80.8"})
	if at400.met() || at500.met() {
		t.Error("the objective is met at the ceiling or above it")
	}
	upper := 100 * 100 / at500.offeredOf(critical)
	if got := at500.class[critical].SuccessPct(); math.Abs(got-upper) > 0.5 {
		t.Errorf("%v %% at 500 rps; capacity over critical load is %v %%", got, upper)
	}
}

// "Priority has a ceiling": background pays, from 59.1 % at 150 rps to 12.9, 3.5
// and 1.1 %; and the system as a whole does as much work behind either door.
func TestPaperBackgroundPays(t *testing.T) {
	r := published(t)
	wantSuccess(t, r, core.DoorPriority, background, map[float64]string{150: "59.1", 200: "36.3", 300: "12.9", 400: "3.5", 500: "1.1"})
	for _, rate := range overloaded {
		blind, priority := r.at(t, core.DoorBlind, rate), r.at(t, core.DoorPriority, rate)
		if b, p := blind.class[background].SuccessPct(), priority.class[background].SuccessPct(); p >= b {
			t.Errorf("at %v rps background has %v %% blind and %v %% with priority", rate, b, p)
		}
		if d := math.Abs(blind.goodput() - priority.goodput()); d > 1.5 {
			t.Errorf("at %v rps the doors' goodput is %v apart", rate, d)
		}
	}
}

// "Critical success through the burst": blind falls to 0.0 % in the window at
// 1100 ms; priority stays at 100.0 % in every scored window; background reaches
// 0.0 % at 1200 and 1300 ms and is back at 100.0 % at 1500 ms.
func TestPaperBurstProtection(t *testing.T) {
	r := published(t)
	blind, priority := r.bursts[0], r.bursts[1]
	if n := len(blind.class[critical]); n != 48 {
		t.Errorf("%d windows, up to 4.8 s there are 48", n)
	}
	if got := blind.class[critical][11].SuccessPct(); got != 0 {
		t.Errorf("blind, critical, at 1100 ms: %v %%", got)
	}
	if got := priority.worst(critical); got != 100 {
		t.Errorf("priority, critical, worst window: %v %%", got)
	}
	for w, want := range map[int]float64{9: 100, 12: 0, 13: 0, 15: 100} {
		if got := priority.class[background][w].SuccessPct(); got != want {
			t.Errorf("priority, background, at %d00 ms: %v %%, want %v", w, got, want)
		}
	}
}

// "A critical class needs something expendable": both generated CSVs matched
// their golden files byte for byte.
func TestPaperTables(t *testing.T) {
	r := published(t)
	for _, table := range []Table{r.protection(), r.burst()} {
		if got := table.SHA256(); got != table.Golden {
			t.Errorf("%s is %s, published is %s", table.File, got, table.Golden)
		}
	}
}

// "A critical class needs something expendable": deterministic output.
func TestPaperDeterminism(t *testing.T) {
	a, b := published(t), published(t)
	if fmt.Sprint(a.protection(), a.burst()) != fmt.Sprint(b.protection(), b.burst()) {
		t.Error("two runs, two results")
	}
}

// "The bounded system works": arrivals after duration − deadline are excluded,
// so a run that is no longer than the deadline has nothing to score: invalid.
// One millisecond more is a run, with a burst table of no window.
func TestPaperInvalidShortWindows(t *testing.T) {
	m := DefaultSLOModel()
	for _, duration := range []int64{1, 199, 200} {
		if err := m.Validate(duration); err == nil {
			t.Errorf("a run of %d ms is taken", duration)
		}
	}
	if err := m.Validate(201); err != nil {
		t.Fatal(err)
	}
	r, err := m.measure(t.Context(), 201, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows := r.burst().Rows; len(rows) != 0 {
		t.Errorf("a run of 201 ms has %d windows", len(rows))
	}
	if rows := r.protection().Rows; len(rows) != 14 {
		t.Errorf("a run of 201 ms has %d points", len(rows))
	}
}
