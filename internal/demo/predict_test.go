package demo

import (
	"math"
	"testing"
	"time"
)

// hops of a machine like those that this was written on.
var quiet = Calibration{HopIn: 0.2, HopUp: 0.2, HopDown: 0.3, HopOut: 0.2, Margin: 1}

// What the demo is about, foretold: blind loses everybody alike, the priority
// door keeps critical calls, and priority at the desk makes them quick as well.
func TestWhatThePoliciesAreWorth(t *testing.T) {
	c := Defaults()
	var got []Figures
	for _, p := range policies() {
		x, err := predict(&c, p, quiet)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, x.figures)
		if f := x.figures; f.GoodputRPS < 95 {
			t.Errorf("%s: goodput %.1f a second of 100", p.id, f.GoodputRPS)
		}
		for i, series := range x.series {
			if len(series) != 12 {
				t.Errorf("%s: class %d has %d windows, want 12", p.id, i, len(series))
			}
		}
	}
	blind, door, both := got[0], got[1], got[2]
	if blind.CriticalSuccessPct > 45 || math.Abs(blind.CriticalSuccessPct-blind.BackgroundSuccessPct) > 10 {
		t.Errorf("blind: %+v", blind)
	}
	if door.CriticalSuccessPct < 98 || door.BackgroundSuccessPct > 20 {
		t.Errorf("door: %+v", door)
	}
	if both.CriticalSuccessPct < 99 || both.CriticalP95 >= 100 {
		t.Errorf("both: %+v", both)
	}
	if d := math.Abs(blind.SurvivorP99 - door.SurvivorP99); d > 10 {
		t.Errorf("the survivors tell blind from priority by %.0f ms; then there is no trap", d)
	}
}

func TestCalibrate(t *testing.T) {
	var calls []probed
	for i := range 9 { // one call is far off, and must not matter
		calls = append(calls, probed{there: 600e3, back: 400e3, gate: 500e3, late: 50e3})
		if i == 4 {
			calls[i] = probed{there: 9e6, back: 9e6, gate: 9e6, late: 9e6}
		}
	}
	k := calibrate(calls)
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v ms, want %v", name, got, want)
		}
	}
	near("up", k.HopUp, 0.3)
	near("in", k.HopIn, 0.3)
	near("down", k.HopDown, 0.2+0.05)
	near("out", k.HopOut, 0.2)
	near("timer p50", k.TimerLateP50, 0.05)
	near("timer p99", k.TimerLateP99, 9)
}

// Whatever was measured, no hop is negative: the simulator would refuse it.
func TestCalibrateNonsense(t *testing.T) {
	for _, c := range []probed{
		{}, {there: -1, back: -1, gate: -1, late: -1},
		{there: 1e6, back: 1e6, gate: 9e6}, {there: 0, back: 1e6, gate: 1e6},
	} {
		k := calibrate([]probed{c})
		for _, h := range []float64{k.HopIn, k.HopUp, k.HopDown, k.HopOut} {
			if h < 0 || math.IsNaN(h) {
				t.Errorf("%+v: %+v", c, k)
			}
		}
		cfg := Defaults()
		cfg.Duration = time.Second
		if _, err := predict(&cfg, policies()[0], k); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
