package lab

import (
	"context"
	"math"
	"strconv"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/sim"
	"github.com/plimsoll-go/plimsoll/slo"
)

// doors are compared in this order.
var doors = [...]core.Door{core.DoorBlind, core.DoorPriority}

// sloPoint is one run of the sweep.
type sloPoint struct {
	door    core.Door
	rate    float64 // nominal
	seconds float64 // scored
	// class are the scores by class. A call that was served ended in time, so
	// it is ok, and every other one was refused.
	class [2]slo.Score
}

func (p *sloPoint) offered() float64 {
	return float64(p.arrivals()) / p.seconds
}

func (p *sloPoint) offeredOf(class int) float64 {
	return float64(p.class[class].Arrivals) / p.seconds
}

func (p *sloPoint) goodput() float64 {
	return float64(p.served()) / p.seconds
}

func (p *sloPoint) arrivals() uint64 {
	return p.class[critical].Arrivals + p.class[background].Arrivals
}

func (p *sloPoint) served() uint64 { return p.class[critical].OK() + p.class[background].OK() }

// met says that the objective holds. Where nobody critical came it does.
func (p *sloPoint) met() bool { return p.class[critical].SuccessPct() >= sloTarget }

// sloBurst is one run of the burst: the scored arrivals by class and by window
// of arrival.
type sloBurst struct {
	door  core.Door
	class [2][]slo.Point
}

// run drives the bounded system over a curve. It hands over every arrival that
// has its full deadline before the end of the run, once it has ended, and says
// whether it was served; the call is only lent.
func (m *SLOModel) run(ctx context.Context, door core.Door, curve arrival.Curve, duration int64, scored func(c *sim.Call, served bool)) error {
	tiled, err := arrival.NewTiled(curve, duration)
	if err != nil {
		return err
	}
	source := &interruptible{Source: tiled, ctx: ctx}
	classes, err := arrival.NewClasses(sloSeed, m.Share)
	if err != nil {
		return err
	}
	limit := float64(duration - m.Deadline)
	err = sim.Slots{
		Gate: m.gate(door), Service: float64(m.Service), Duration: duration, Exact: true, Arrivals: source,
		Class: func() int {
			if classes.Next() {
				return critical
			}
			return background
		},
		Ended: func(c *sim.Call) {
			if c.Arrived <= limit {
				scored(c, c.Outcome != core.Refused)
			}
		},
	}.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// interruptible are arrivals that cease when ctx is done, and with them a run
// that may take minutes. Whoever reads them looks at ctx afterwards.
type interruptible struct {
	arrival.Source
	ctx context.Context
	n   uint
}

// Next implements arrival.Source.
func (s *interruptible) Next() (ms float64, ok bool) {
	s.n++
	if s.n%1024 == 0 && s.ctx.Err() != nil {
		return 0, false
	}
	return s.Source.Next()
}

// sweep is one point: a constant rate at one door.
func (m *SLOModel) sweep(ctx context.Context, door core.Door, rate float64, duration int64) (*sloPoint, error) {
	p := &sloPoint{door: door, rate: rate, seconds: max(0.001, float64(duration-m.Deadline)/1000)}
	err := m.run(ctx, door, arrival.Constant(rate), duration, func(c *sim.Call, served bool) {
		s := &p.class[c.Class]
		s.Arrivals++
		if served {
			s.Outcomes[core.OK]++
			s.Survivors.AddMs(int64(math.Round(c.Ended - c.Arrived)))
		}
	})
	return p, err
}

// windows is the number of whole windows in the scored part of the run.
func (m *SLOModel) windows(duration int64) int { return int((duration - m.Deadline) / windowSize) }

func (m *SLOModel) runBurst(ctx context.Context, door core.Door, duration int64) (*sloBurst, error) {
	b := &sloBurst{door: door}
	n := m.windows(duration)
	for k := range b.class {
		b.class[k] = make([]slo.Point, n)
	}
	err := m.run(ctx, door, m.burst(), duration, func(c *sim.Call, served bool) {
		w := int(c.Arrived / windowSize)
		if w >= n {
			return
		}
		b.class[c.Class][w].Arrivals++
		if served {
			b.class[c.Class][w].OK++
		}
	})
	return b, err
}

// sloResult is everything the experiment measures.
type sloResult struct {
	model    SLOModel
	duration int64
	points   [len(doors)][]*sloPoint
	bursts   [len(doors)]*sloBurst
}

// measure makes all runs.
func (m SLOModel) measure(ctx context.Context, duration int64, progress func(float64)) (*sloResult, error) {
	r := &sloResult{model: m, duration: duration}
	done, all := 0.0, m.work(duration)
	step := func(n float64) {
		done += n
		if progress != nil {
			progress(min(1, done/all))
		}
	}
	for d, door := range doors {
		for _, rate := range m.Rates {
			p, err := m.sweep(ctx, door, rate, duration)
			if err != nil {
				return nil, err
			}
			r.points[d] = append(r.points[d], p)
			step(arrival.Constant(rate).Count(duration))
		}
		b, err := m.runBurst(ctx, door, duration)
		if err != nil {
			return nil, err
		}
		r.bursts[d] = b
		step(m.burst().Count(duration))
	}
	return r, nil
}

func (r *sloResult) protection() Table {
	t := Table{
		Name: "Protection sweep", File: "bp-post5-protection.csv",
		Header: []string{"policy", "offered_rps", "critical_offered_rps", "critical_success_pct", "background_success_pct",
			"critical_p99_ms", "background_p99_ms", "critical_slo_met", "total_goodput_rps"},
		Golden: "203c11498ab8bb7c7ed9fdba300e977b5d8864341382af6ec9db495cac108ecc",
	}
	for _, points := range r.points {
		for _, p := range points {
			c, b := &p.class[critical], &p.class[background]
			met := "no"
			if p.met() {
				met = "yes"
			}
			t.Rows = append(t.Rows, []string{
				p.door.String(), one(p.offered()), one(p.offeredOf(critical)), one(c.SuccessPct()), one(b.SuccessPct()),
				one(float64(c.SurvivorMs(99))), one(float64(b.SurvivorMs(99))), met, one(p.goodput()),
			})
		}
	}
	return t
}

func (r *sloResult) burst() Table {
	t := Table{
		Name: "Burst time series", File: "bp-post5-slo-burst.csv",
		Header: []string{"window_start_ms", "blind_critical_pct", "priority_critical_pct", "blind_background_pct", "priority_background_pct"},
		Golden: "15ae9d057e9bc224882a461eef3a80cdccaa668a13204b0e0f16f92b5cdcd3be",
	}
	for w := range r.model.windows(r.duration) {
		row := []string{strconv.Itoa(w * windowSize)}
		for class := range 2 {
			for _, b := range r.bursts {
				row = append(row, one(b.class[class][w].SuccessPct()))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
