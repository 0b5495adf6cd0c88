package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
)

// seen runs w over the given arrivals and writes down what the clients saw, in
// that order.
func seen(t *testing.T, w World, at ...float64) (string, *Result) {
	t.Helper()
	var b strings.Builder
	w.Arrivals = (*times)(&at)
	w.Check = true
	w.Ended = func(c *Call) {
		what := c.Outcome.String()
		if c.Outcome == core.Refused {
			what = c.Reason.String()
		}
		fmt.Fprintf(&b, "%v:%v@%v ", c.Arrived, what, math.Round(c.Ended*1e6)/1e6)
	}
	r, err := w.Run()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String()), r
}

// plain is one slot, no deadline at the gate, and hops that add up to 15 ms.
func plain(waiting int) World {
	return World{
		Gate: one(waiting, core.OrderFIFO), Workers: 1, Service: 10, Deadline: 200, Duration: 1000,
		Hops: Hops{In: 1, Up: 2, Down: 4, Out: 8},
	}
}

func TestWorld(t *testing.T) {
	w := plain(5)
	got, _ := seen(t, w, 0, 100)
	// 1 + 2 + 10 + 4 + 8.
	if want := "0:ok@25 100:ok@125"; got != want {
		t.Errorf("two calls that do not meet: %s; want %s", got, want)
	}
	got, _ = seen(t, w, 0, 1)
	// The second reaches the gate at 2, gets the slot at 17, and is at the upstream at 19.
	if want := "0:ok@25 1:ok@41"; got != want {
		t.Errorf("one slot: %s; want %s", got, want)
	}
	w.Gate.Pools[0].Slots = 2
	got, _ = seen(t, w, 0, 1)
	// The second waits at the upstream, and is begun when the first is done at 13.
	if want := "0:ok@25 1:ok@35"; got != want {
		t.Errorf("two slots, one server: %s; want %s", got, want)
	}
	w.Workers = 2
	got, _ = seen(t, w, 0, 1)
	if want := "0:ok@25 1:ok@26"; got != want {
		t.Errorf("two slots, two servers: %s; want %s", got, want)
	}
	got, r := seen(t, plain(0), 0, 1)
	if want := "1:full@10 0:ok@25"; got != want {
		t.Errorf("no room: %s; want %s", got, want)
	}
	if r.UpstreamCalls != 1 {
		t.Errorf("%d calls of the upstream; a refused call is none", r.UpstreamCalls)
	}
}

func TestClientsThatGiveUp(t *testing.T) {
	w := plain(5)
	w.Deadline = 25
	if got, _ := seen(t, w, 0); got != "0:ok@25" {
		t.Errorf("an answer at the deadline: %s", got)
	}
	w.Deadline = 24.9
	got, r := seen(t, w, 0)
	if got != "0:late@24.9" || r.UpstreamCalls != 1 {
		t.Errorf("an answer after the deadline: %s, %d calls", got, r.UpstreamCalls)
	}
	// The first holds the slot until 17 although its client went at 15; the
	// second gave up while waiting, at 16, and was gone from the gate at 17.
	w = plain(5)
	w.Deadline = 15
	got, r = seen(t, w, 0, 1)
	if want := "0:late@15 1:cancelled@16"; got != want || r.UpstreamCalls != 2 {
		// At 17 the slot frees before the news of the second's leaving arrives.
		t.Errorf("got %s, %d calls; want %s, 2 calls", got, r.UpstreamCalls, want)
	}
	w.Deadline = 14
	got, r = seen(t, w, 0, 1)
	if want := "0:late@14 1:cancelled@15"; got != want || r.UpstreamCalls != 1 {
		t.Errorf("got %s, %d calls; want %s, 1 call", got, r.UpstreamCalls, want)
	}
	// Gone before the gate could even have seen the call.
	w.Deadline, w.Hops.In = 5, 7
	if got, _ := seen(t, w, 0); got != "0:cancelled@5" {
		t.Errorf("a client quicker than its own call: %s", got)
	}
	// The refusal is on its way when the client gives up.
	w = plain(0)
	w.Deadline = 8.5
	got, r = seen(t, w, 0, 1)
	if want := "0:late@8.5 1:cancelled@9.5"; got != want || r.Classes[0].RefusedAll() != 0 {
		t.Errorf("got %s, %d refused; want %s, 0", got, r.Classes[0].RefusedAll(), want)
	}
}

func TestTheGateExpiresByTime(t *testing.T) {
	w := plain(5)
	w.Gate.Classes[0].Deadline = 20 * ms
	w.Gate.Pools[0].ExpireWaiting = true
	w.Gate.Pools[0].Margin = 1 * ms
	got, _ := seen(t, w, 0, 1)
	// At the gate at 2, worthless after 22, needs 10 and a margin of 1: hopeless
	// after 11, said a nanosecond later, heard 8 ms after that.
	if want := "1:expired@19.000001 0:ok@25"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// With messages that take no time, one slot and no switch on, the live
// arrangement is the bounded system itself.
func TestWorldWithoutHopsIsSlots(t *testing.T) {
	for _, door := range []core.Door{core.DoorBlind, core.DoorPriority} {
		for _, rate := range []float64{50, 100, 150, 200, 300, 400, 500} {
			const duration = 5000
			type end struct{ arrived, ended float64 }
			served := map[bool][]end{}
			note := func(world bool) func(*Call) {
				return func(c *Call) {
					if c.Arrived <= duration-200 && c.Outcome == core.OK {
						served[world] = append(served[world], end{c.Arrived, c.Ended})
					}
				}
			}
			s := Slots{Gate: bounded(door), Service: 10, Duration: duration, Ended: note(false), Check: true}
			s.Arrivals, s.Class = demand(t, rate, duration)
			if err := s.Run(); err != nil {
				t.Fatal(err)
			}
			// The client stays a little longer than the gate thinks, so that an
			// answer at the very edge is not late by a rounding error.
			w := World{Gate: bounded(door), Workers: 1, Service: 10, Deadline: 200.0001, Duration: duration, Ended: note(true), Check: true}
			w.Arrivals, w.Class = demand(t, rate, duration)
			if _, err := w.Run(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(served[false], served[true]) {
				t.Errorf("door %v at %v rps: %d calls served in one, %d in the other, or not the same ones",
					door, rate, len(served[false]), len(served[true]))
			}
		}
	}
}

// One slot leaves the worker idle while answer and next call travel; two slots
// that are known to be one worker do not.
func TestTurnAround(t *testing.T) {
	goodput := func(slots int) float64 {
		w := live(core.DoorPriority, core.OrderPriority, 12_000)
		w.Hops = Hops{In: 0.5, Up: 0.5, Down: 0.5, Out: 0.5}
		w.Gate.Pools[0].Slots, w.Gate.Pools[0].Waiting = slots, 19-slots
		w.Arrivals, w.Class = demand(t, 300, w.Duration)
		r, err := w.Run()
		if err != nil {
			t.Fatal(err)
		}
		return r.Goodput()
	}
	if got := goodput(1); math.Abs(got-100/1.1) > 2 {
		t.Errorf("one slot, 1 ms of turn-around: %v per second; want about 91", got)
	}
	if got := goodput(2); got < 99 {
		t.Errorf("two slots: %v per second; want about 100", got)
	}
}

func TestPoliciesLive(t *testing.T) {
	critical := map[core.Door]float64{}
	for _, door := range []core.Door{core.DoorBlind, core.DoorPriority} {
		w := live(door, core.OrderFIFO, 12_000)
		w.Arrivals, w.Class = demand(t, 300, w.Duration)
		r, err := w.Run()
		if err != nil {
			t.Fatal(err)
		}
		critical[door] = r.Classes[0].Scored.Success()
		if p := Percentile(r.Classes[0].Latencies, 99); p > 200 || p < 100 {
			t.Errorf("door %v: p99 of the critical survivors is %v ms", door, p)
		}
	}
	if critical[core.DoorBlind] > 45 || critical[core.DoorPriority] < 98 {
		t.Errorf("critical success: %v %% blind, %v %% priority", critical[core.DoorBlind], critical[core.DoorPriority])
	}
}

func TestWorldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hop := func(name string) float64 {
			return rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 30)).Draw(t, name)
		}
		w := World{
			Gate: anyPool(t), Workers: rapid.IntRange(1, 3).Draw(t, "servers"),
			Service:  rapid.Float64Range(0.1, 40).Draw(t, "true service"),
			Hops:     Hops{In: hop("in"), Up: hop("up"), Down: hop("down"), Out: hop("out")},
			Deadline: rapid.Float64Range(1, 300).Draw(t, "patience"),
			Duration: rapid.Int64Range(1, 600).Draw(t, "duration"),
			Check:    true,
		}
		source, err := arrival.NewPoisson(anyCurve(t), w.Duration, rapid.Uint64().Draw(t, "arrivals"))
		if err != nil {
			t.Fatal(err)
		}
		w.Arrivals = source
		classes := arrival.NewLCG(rapid.Int64().Draw(t, "seed"))
		var all, scored, ok int
		w.Class = func() int { all++; return int(classes.Bits(2)) }
		w.Ended = func(c *Call) {
			if c.Arrived <= float64(w.Duration)-w.Deadline {
				scored++
			}
			least := w.Hops.In + w.Hops.Up + w.Service + w.Hops.Down + w.Hops.Out
			if c.Outcome == core.OK {
				ok++
				if took := c.Ended - c.Arrived; took < least-1e-9 || took > w.Deadline+1e-9 {
					t.Fatalf("served in %v ms, of at least %v and at most %v", took, least, w.Deadline)
				}
			}
		}
		r := newWorldRun(w, mustMachine(t, w.Gate))
		r.run()
		if r.err != nil {
			t.Fatal(r.err)
		}
		var total, totalScored Tally
		for _, c := range r.result.Classes {
			for sum, add := range map[*Tally]Tally{&total: c.Tally, &totalScored: c.Scored} {
				if add.Arrivals != add.OK+add.Late+add.Cancelled+add.RefusedAll() {
					t.Fatalf("not every arrival of %s has one outcome: %+v", c.Name, add)
				}
				sum.Arrivals += add.Arrivals
				sum.OK += add.OK
				sum.Late += add.Late
			}
		}
		if total.Arrivals != all || total.OK != ok || totalScored.Arrivals != scored {
			t.Fatalf("%d calls, %d ok, %d scored; the result says %+v and %+v", all, ok, scored, total, totalScored)
		}
		if r.result.UpstreamCalls < total.OK+total.Late {
			t.Fatalf("%d calls of the upstream, %d ok and %d late", r.result.UpstreamCalls, total.OK, total.Late)
		}
		if len(r.free) != len(r.visits) || r.idle != w.Workers || len(r.queue) != r.front {
			t.Fatalf("when all is over: %d of %d places free, %d of %d servers idle", len(r.free), len(r.visits), r.idle, w.Workers)
		}
	})
}

func mustMachine(t *rapid.T, cfg core.Config) *core.Machine {
	m, err := core.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWorldRefusesWhatIsNoWorld(t *testing.T) {
	for what, spoil := range map[string]func(*World){
		"no pool":          func(w *World) { w.Gate.Pools = nil },
		"a gate gone bad":  func(w *World) { w.Gate.Default = 9 },
		"no service":       func(w *World) { w.Service = 0 },
		"no deadline":      func(w *World) { w.Deadline = 0 },
		"a hop back":       func(w *World) { w.Hops.Up = -1 },
		"an endless hop":   func(w *World) { w.Hops.In = math.Inf(1) },
		"a hop of NaN":     func(w *World) { w.Hops.Down = math.NaN() },
		"no duration":      func(w *World) { w.Duration = 0 },
		"no workers":       func(w *World) { w.Workers = 0 },
		"no arrivals":      func(w *World) { w.Arrivals = nil },
		"arrivals go back": func(w *World) { w.Arrivals = &times{2, 1} },
	} {
		w := plain(1)
		w.Arrivals = &times{}
		spoil(&w)
		if _, err := w.Run(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestPercentile(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		n       int
		p, want float64
	}{{0, 99, 0}, {1, 50, 1}, {10, 50, 5}, {10, 51, 6}, {10, 99, 10}, {10, 100, 10}, {10, 0.1, 1}, {4, 75, 3}} {
		if got := Percentile(values[:c.n], c.p); got != c.want {
			t.Errorf("percentile %v of %d values: %v, want %v", c.p, c.n, got, c.want)
		}
	}
}

// The first instant whose nanoseconds reach a number, and not one before it.
func TestMillis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, int64(MaxMillis*1e6)).Draw(t, "ns")
		at := millis(ns)
		if nanos(at) < ns || nanos(math.Nextafter(at, 0)) >= ns && at > float64(ns)/1e6 {
			t.Fatalf("millis(%d) is %v, which is %d", ns, at, nanos(at))
		}
	})
}
