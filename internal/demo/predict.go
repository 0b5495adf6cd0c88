package demo

import (
	"math"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
	"github.com/plimsoll-go/plimsoll/sim"
	"github.com/plimsoll-go/plimsoll/slo"
)

// Calibration is what a probe at low load found out about this machine: what
// the simulator cannot know. Nothing of it comes from a phase that is scored.
type Calibration struct {
	// Calls is how many calls the probe made.
	Calls int `json:"calls"`
	// The hops that a message makes, in milliseconds, each a median.
	HopIn   float64 `json:"hop_in_ms"`   // client to gate
	HopUp   float64 `json:"hop_up_ms"`   // gate to upstream
	HopDown float64 `json:"hop_down_ms"` // upstream to gate, and how late the upstream's timer is
	HopOut  float64 `json:"hop_out_ms"`  // gate to client
	// TimerLate is how late the upstream's timers were, in milliseconds.
	TimerLateP50 float64 `json:"timer_late_p50_ms"`
	TimerLateP99 float64 `json:"timer_late_p99_ms"`
	// Margin is what the gate adds to predicted finishes, in milliseconds.
	Margin float64 `json:"margin_ms"`
}

// prediction is what the simulator says of one policy.
type prediction struct {
	figures Figures
	series  [][]slo.Point // by class
	calls   int64         // that reach the upstream
}

// predict runs the same arrivals, the same classes and the same machine in
// virtual time, and scores them with the same scorer.
func predict(c *Config, p policy, k Calibration) (*prediction, error) {
	source, err := c.source()
	if err != nil {
		return nil, err
	}
	classes, err := c.classes()
	if err != nil {
		return nil, err
	}
	board, err := c.board()
	if err != nil {
		return nil, err
	}
	result, err := sim.World{
		Gate:     machineConfig(c, p, k.Margin),
		Workers:  workers,
		Service:  millis(service),
		Hops:     sim.Hops{In: k.HopIn, Up: k.HopUp, Down: k.HopDown, Out: k.HopOut},
		Deadline: millis(c.Deadline),
		Duration: c.Duration.Milliseconds(),
		Arrivals: source,
		Class: func() int {
			if classes.Next() {
				return critical
			}
			return background
		},
		Ended: func(call *sim.Call) {
			r := asRecord(c, call)
			board.Add(&r)
		},
	}.Run()
	if err != nil {
		return nil, err
	}
	out := &prediction{figures: figuresOf(board), calls: int64(result.UpstreamCalls)}
	for _, name := range classNames() {
		out.series = append(out.series, board.Series(name))
	}
	return out, nil
}

// machineConfig is what the live gate tells its machine.
func machineConfig(c *Config, p policy, marginMs float64) core.Config {
	names := classNames()
	return core.Config{
		Pools: []core.Pool{{
			Name: "app", Workers: workers, Slots: slots, Waiting: c.waiting(), Door: p.door, Order: p.order,
			Expected: int64(service), Margin: int64(marginMs * 1e6), ExpireWaiting: true, RefuseHopeless: true,
		}},
		Classes: []core.Class{
			{Name: names[critical], Rank: 0, Deadline: int64(c.Deadline), Waiting: core.Unbounded},
			{Name: names[background], Rank: 1, Deadline: int64(c.Deadline), Waiting: core.Unbounded},
		},
		Default: background,
	}
}

// asRecord is a simulated call as a load tester would have recorded it.
// Instants are rounded up, as a schedule does, so that both score the same calls.
func asRecord(c *Config, call *sim.Call) record.Record {
	at := int64(math.Ceil(call.Arrived * 1e6))
	r := record.Record{
		Intended: at, Start: at, Class: classNames()[call.Class],
		Deadline: at + int64(c.Deadline), Outcome: call.Outcome, Reason: call.Reason,
	}
	took := max(0, int64(math.Ceil(call.Ended*1e6))-at)
	switch call.Outcome {
	case core.Refused:
		r.Wait = took
	case core.Late: // the client gave up, and had no answer
		r.Outcome, r.Service = core.Cancelled, took
	default:
		r.Service = took
	}
	return r
}

func millis(d time.Duration) float64 { return float64(d) / 1e6 }
