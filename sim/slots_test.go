package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
)

// one is a pool of one slot with the given order and room, of one class
// without a deadline.
func one(waiting int, order core.Order) core.Config {
	return core.Config{
		Pools:   []core.Pool{{Name: "app", Slots: 1, Waiting: waiting, Order: order, Expected: 10 * ms}},
		Classes: []core.Class{{Name: "any", Waiting: core.Unbounded}},
	}
}

// told runs s over the given arrivals and writes down what ended, in that order.
func told(t *testing.T, s Slots, at ...float64) string {
	t.Helper()
	var b strings.Builder
	s.Arrivals = (*times)(&at)
	s.Check = true
	s.Ended = func(c *Call) {
		if c.Outcome == core.Refused {
			fmt.Fprintf(&b, "%v:%v@%v ", c.Arrived, c.Reason, c.Ended)
		} else {
			fmt.Fprintf(&b, "%v:%v@%v-%v ", c.Arrived, c.Outcome, c.Started, c.Ended)
		}
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func TestSlots(t *testing.T) {
	expiring := one(core.Unbounded, core.OrderFIFO)
	expiring.Classes[0].Deadline = 15 * ms
	for _, c := range []struct {
		what  string
		slots Slots
		at    []float64
		want  string
	}{
		{"one call", Slots{Gate: one(0, core.OrderFIFO)}, []float64{3}, "3:ok@3-13"},
		{"nobody", Slots{Gate: one(0, core.OrderFIFO)}, nil, ""},
		{"a pool that is full", Slots{Gate: one(1, core.OrderFIFO)}, []float64{0, 1, 2}, "2:full@2 0:ok@0-10 1:ok@10-20"},
		{"an arrival in the instant of an end finds the place free",
			Slots{Gate: one(0, core.OrderFIFO)}, []float64{0, 10}, "0:ok@0-10 10:ok@10-20"},
		{"and one that is a hair before it does not",
			Slots{Gate: one(0, core.OrderFIFO)}, []float64{0, math.Nextafter(10, 0)}, "9.999999999999998:full@9.999999999999998 0:ok@0-10"},
		{"an arrival in the instant of an end is there when the slot is handed out",
			Slots{Gate: one(5, core.OrderLIFO)}, []float64{0, 5, 10}, "0:ok@0-10 10:ok@10-20 5:ok@20-30"},
		{"expiry costs nothing, and equality is served",
			Slots{Gate: expiring}, []float64{0, 4, 5}, "0:ok@0-10 4:expired@10 5:ok@10-20"},
		{"nothing starts at the end", Slots{Gate: one(5, core.OrderFIFO), Duration: 10}, []float64{0, 1}, "1:draining@10 0:ok@0-10"},
		{"what runs at the end is finished", Slots{Gate: one(5, core.OrderFIFO), Duration: 11}, []float64{0, 1}, "0:ok@0-10 1:ok@10-20"},
		{"unless told otherwise", Slots{Gate: one(5, core.OrderFIFO), Duration: 3, RunOff: true}, []float64{0, 1, 2}, "0:ok@0-10 1:ok@10-20 2:ok@20-30"},
		{"who comes after the end is not there", Slots{Gate: one(5, core.OrderFIFO), Duration: 2, RunOff: true}, []float64{0, 1, 2, 3}, "0:ok@0-10 1:ok@10-20"},
	} {
		c.slots.Service = 10
		if c.slots.Duration == 0 {
			c.slots.Duration = 1000
		}
		if got := told(t, c.slots, c.at...); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got, c.want)
		}
	}
}

func TestSlotsRefusesWhatIsNoRun(t *testing.T) {
	good := func() Slots {
		return Slots{Gate: one(1, core.OrderFIFO), Service: 10, Duration: 100, Arrivals: &times{}, Ended: func(*Call) {}}
	}
	for what, spoil := range map[string]func(*Slots){
		"no pool":            func(s *Slots) { s.Gate.Pools = nil },
		"a gate gone wrong":  func(s *Slots) { s.Gate.Pools[0].Slots = -1 },
		"no service":         func(s *Slots) { s.Service = 0 },
		"NaN":                func(s *Slots) { s.Service = math.NaN() },
		"endless service":    func(s *Slots) { s.Service = math.Inf(1) },
		"no duration":        func(s *Slots) { s.Duration = 0 },
		"endless duration":   func(s *Slots) { s.Duration = math.MaxInt64 },
		"no arrivals":        func(s *Slots) { s.Arrivals = nil },
		"nobody told":        func(s *Slots) { s.Ended = nil },
		"arrivals go back":   func(s *Slots) { s.Arrivals = &times{2, 1} },
		"arrivals before 0":  func(s *Slots) { s.Arrivals = &times{-1} },
		"an arrival is NaN":  func(s *Slots) { s.Arrivals = &times{1, math.NaN()} },
		"two pools, one run": func(s *Slots) { s.Gate.Pools = append(s.Gate.Pools, s.Gate.Pools[0]) },
	} {
		s := good()
		spoil(&s)
		if err := s.Run(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if err := good().Run(); err != nil {
		t.Error(err)
	}
}

// Whatever the parameters: every arrival ends exactly once, nothing is served
// by more slots than there are, and nothing runs that was refused.
func TestSlotsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyPool(t)
		duration := rapid.Int64Range(1, 600).Draw(t, "duration")
		curve := anyCurve(t)
		service := rapid.Float64Range(0.1, 40).Draw(t, "service")
		source, err := arrival.NewTiled(curve, duration)
		if err != nil {
			t.Fatal(err)
		}
		classes := arrival.NewLCG(rapid.Int64().Draw(t, "seed"))
		arrived, ended, started := 0, 0, 0
		var running []float64 // when they end
		s := Slots{
			Gate: cfg, Service: service, Duration: duration, Arrivals: source, Check: true,
			RunOff: rapid.Bool().Draw(t, "run off"),
			Class:  func() int { arrived++; return int(classes.Bits(2)) },
			Ended: func(c *Call) {
				ended++
				if c.Outcome == core.Refused {
					if c.Reason == core.NoReason {
						t.Fatalf("refused without a reason: %+v", c)
					}
					return
				}
				if c.Ended != c.Started+service || c.Started < c.Arrived {
					t.Fatalf("served out of time: %+v", c)
				}
				started++
				if n := cfg.Pools[0].Slots; len(running) >= n && running[len(running)-n] > c.Started {
					t.Fatalf("%d slots, and one more call: %+v", n, c)
				}
				running = append(running, c.Ended)
			},
		}
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		if arrived != ended {
			t.Fatalf("%d arrived, %d ended", arrived, ended)
		}
		if arrived > 0 && started == 0 && cfg.Pools[0].Slots > 0 && !cfg.Pools[0].RefuseHopeless {
			t.Fatal("nothing was ever started")
		}
	})
}

func anyCurve(t *rapid.T) arrival.Curve {
	return arrival.Bursty(
		rapid.Float64Range(0, 600).Draw(t, "valley rps"), rapid.Int64Range(1, 200).Draw(t, "valley"),
		rapid.Float64Range(0, 600).Draw(t, "spike rps"), rapid.Int64Range(1, 200).Draw(t, "spike"))
}

// anyPool is a pool of any kind with classes of three ranks, the third unknown to it.
func anyPool(t *rapid.T) core.Config {
	slots := rapid.IntRange(0, 4).Draw(t, "slots")
	deadline := rapid.Int64Range(100, 300).Draw(t, "deadline") * ms
	return core.Config{
		Pools: []core.Pool{{
			Name: "app", Slots: slots, Workers: rapid.IntRange(0, slots).Draw(t, "workers"),
			Waiting:        rapid.IntRange(-1, 20).Draw(t, "waiting"),
			Order:          rapid.SampledFrom([]core.Order{core.OrderFIFO, core.OrderPriority, core.OrderLIFO}).Draw(t, "order"),
			Door:           rapid.SampledFrom([]core.Door{core.DoorBlind, core.DoorPriority}).Draw(t, "door"),
			Expected:       rapid.Int64Range(0, 40).Draw(t, "expected") * ms,
			Margin:         rapid.Int64Range(0, 20).Draw(t, "margin") * ms,
			ExpireWaiting:  rapid.Bool().Draw(t, "expire waiting"),
			RefuseHopeless: rapid.Bool().Draw(t, "refuse hopeless"),
		}},
		Classes: []core.Class{
			{Name: "critical", Deadline: deadline, Waiting: core.Unbounded},
			{Name: "background", Rank: 1, Deadline: deadline, Waiting: rapid.IntRange(-1, 10).Draw(t, "class waiting")},
			{Name: "never", Rank: 2, Waiting: core.Unbounded},
		},
		Default: rapid.IntRange(0, 2).Draw(t, "default"),
	}
}

func TestSlotsAreDeterministic(t *testing.T) {
	run := func() string {
		var b strings.Builder
		s := Slots{Gate: bounded(core.DoorPriority), Service: 10, Duration: 3000,
			Ended: func(c *Call) { fmt.Fprintln(&b, *c) }}
		s.Arrivals, s.Class = demand(t, 300, 3000)
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if first, again := run(), run(); first != again {
		t.Error("the same run twice, and not the same calls")
	}
}

// A run ten times as long needs no more memory.
func TestSlotsNeedMemoryForWhatIsInTheSystem(t *testing.T) {
	allocations := func(duration int64) float64 {
		return testing.AllocsPerRun(3, func() {
			s := Slots{Gate: bounded(core.DoorPriority), Service: 10, Duration: duration, Ended: func(*Call) {}}
			s.Arrivals, s.Class = demand(t, 300, duration)
			if err := s.Run(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if short, long := allocations(5_000), allocations(50_000); long > short {
		t.Errorf("%v allocations for 5 s, %v for 50 s", short, long)
	}
}
