package lab

import (
	"math"
	"strconv"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/sim"
)

// doors are compared in this order.
var doors = [...]core.Door{core.DoorBlind, core.DoorPriority}

// classScore counts the scored arrivals of one class in one run.
type classScore struct {
	arrivals, ok int64
	sojourns     Histogram // of the served
}

// success is in percent of the arrivals, 100 if there are none.
func (s *classScore) success() float64 { return percent(s.ok, s.arrivals) }

func percent(part, whole int64) float64 {
	if whole == 0 {
		return 100
	}
	return float64(100*float64(part)) / float64(whole)
}

func (s *classScore) p99() int64 { return s.sojourns.Percentile(99) }

// sloPoint is one run of the sweep.
type sloPoint struct {
	door    core.Door
	rate    float64 // nominal
	seconds float64 // scored
	class   [2]classScore
}

func (p *sloPoint) offered() float64 {
	return float64(p.class[critical].arrivals+p.class[background].arrivals) / p.seconds
}

func (p *sloPoint) offeredOf(class int) float64 {
	return float64(p.class[class].arrivals) / p.seconds
}

func (p *sloPoint) goodput() float64 {
	return float64(p.class[critical].ok+p.class[background].ok) / p.seconds
}

func (p *sloPoint) met() bool { return p.class[critical].success() >= sloTarget }

// tally counts the scored arrivals of one class by window of arrival.
type tally struct{ arrivals, ok []int64 }

// sloBurst is one run of the burst.
type sloBurst struct {
	door  core.Door
	class [2]tally
}

// run drives the bounded system over a curve and hands every scored arrival,
// of each class the time from arrival to end, and whether it was served.
func (m *SLOModel) run(door core.Door, curve arrival.Curve, duration int64, scored func(c *sim.Call, served bool)) error {
	source, err := arrival.NewTiled(curve, duration)
	if err != nil {
		return err
	}
	classes, err := arrival.NewClasses(sloSeed, m.Share)
	if err != nil {
		return err
	}
	limit := float64(duration - m.Deadline)
	return sim.Slots{
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
}

// sweep is one point: a constant rate at one door.
func (m *SLOModel) sweep(door core.Door, rate float64, duration int64) (*sloPoint, error) {
	p := &sloPoint{door: door, rate: rate, seconds: max(0.001, float64(duration-m.Deadline)/1000)}
	err := m.run(door, arrival.Constant(rate), duration, func(c *sim.Call, served bool) {
		s := &p.class[c.Class]
		s.arrivals++
		if served {
			s.ok++
			s.sojourns.Record(int64(math.Round(c.Ended - c.Arrived)))
		}
	})
	return p, err
}

// windows is the number of whole windows in the scored part of the run.
func (m *SLOModel) windows(duration int64) int { return int((duration - m.Deadline) / windowSize) }

func (m *SLOModel) runBurst(door core.Door, duration int64) (*sloBurst, error) {
	b := &sloBurst{door: door}
	n := m.windows(duration)
	for k := range b.class {
		b.class[k] = tally{make([]int64, n), make([]int64, n)}
	}
	err := m.run(door, m.burst(), duration, func(c *sim.Call, served bool) {
		w := int(c.Arrived / windowSize)
		if w >= n {
			return
		}
		b.class[c.Class].arrivals[w]++
		if served {
			b.class[c.Class].ok[w]++
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
func (m SLOModel) measure(duration int64, progress func(float64)) (*sloResult, error) {
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
			p, err := m.sweep(door, rate, duration)
			if err != nil {
				return nil, err
			}
			r.points[d] = append(r.points[d], p)
			step(arrival.Constant(rate).Count(duration))
		}
		b, err := m.runBurst(door, duration)
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
				p.door.String(), one(p.offered()), one(p.offeredOf(critical)), one(c.success()), one(b.success()),
				one(float64(c.p99())), one(float64(b.p99())), met, one(p.goodput()),
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
				row = append(row, one(b.class[class].success(w)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (t *tally) success(w int) float64 { return percent(t.ok[w], t.arrivals[w]) }
