package demo

import (
	"time"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/slo"
)

// Result is what a run of the demo found out. Its JSON form is one object.
type Result struct {
	Phases      []Phase     `json:"phases"`
	Settings    Settings    `json:"settings"`
	Calibration Calibration `json:"calibration"`
	Machine     Machine     `json:"machine"`
	// Verdicts say in words what the figures mean.
	Verdicts []string `json:"verdicts"`
	// Warnings say what makes the figures less than they seem.
	Warnings []string `json:"warnings"`
}

// Phase is what one policy did.
type Phase struct {
	Policy    string  `json:"policy"`
	Door      string  `json:"door"`
	Order     string  `json:"order"`
	Measured  Figures `json:"measured"`
	Predicted Figures `json:"predicted"`
	// Arrivals are all calls of the phase, also those that are not scored:
	// arrivals = ok + late + failed + cancelled + the sum of refused.
	Arrivals  uint64            `json:"arrivals"`
	OK        uint64            `json:"ok"`
	Late      uint64            `json:"late"`
	Failed    uint64            `json:"failed"`
	Cancelled uint64            `json:"cancelled"`
	Refused   map[string]uint64 `json:"refused"`
	// Scored are the arrivals that the percentages are shares of.
	Scored uint64 `json:"scored"`
	// UpstreamCalls is how many calls the upstream counted.
	UpstreamCalls          int64 `json:"upstream_calls"`
	PredictedUpstreamCalls int64 `json:"predicted_upstream_calls"`
	// LoadLag is how late the load was with its own schedule, and LoadKept
	// whether that is little enough for the figures to mean something.
	LoadLagP50 float64 `json:"load_lag_p50_ms"`
	LoadLagP99 float64 `json:"load_lag_p99_ms"`
	LoadLagMax float64 `json:"load_lag_max_ms"`
	LoadKept   bool    `json:"load_kept"`
	// UpstreamLateP99 is how late the upstream was with its own schedule, and
	// UpstreamKept whether that is little enough.
	UpstreamLateP99 float64 `json:"upstream_late_p99_ms"`
	UpstreamKept    bool    `json:"upstream_kept"`
	MarginAtEnd     float64 `json:"margin_at_end_ms"` // that the gate had learnt
}

// upstreamTolerance is how late the 99th percentile of the upstream's answers
// may be for its schedule to count as kept: as much as a load may be.
const upstreamTolerance = 3 * time.Millisecond

// kept says that neither the load nor the upstream was held up by this machine.
// Of a phase that was not kept the figures prove nothing about the gate.
func (p *Phase) kept() bool { return p.LoadKept && p.UpstreamKept }

// Figures are measured or predicted. Success counts everybody who asked, and
// latencies those who were answered, both from the instant at which a call was
// meant to be made, and only over calls that had their full deadline.
type Figures struct {
	CriticalSuccessPct   float64 `json:"critical_success_pct"`
	BackgroundSuccessPct float64 `json:"background_success_pct"`
	AdmittedSuccessPct   float64 `json:"admitted_success_pct"`
	GoodputRPS           float64 `json:"goodput_rps"`
	SurvivorP99          float64 `json:"survivor_p99_ms"`
	CriticalP99          float64 `json:"critical_p99_ms"`
	CriticalP95          float64 `json:"critical_p95_ms"`
}

// Settings are what the demo was told.
type Settings struct {
	Rate       float64 `json:"rate_rps"`
	Arrivals   string  `json:"arrivals"`
	DurationMs int64   `json:"duration_ms"`
	DeadlineMs int64   `json:"deadline_ms"`
	ServiceMs  int64   `json:"service_ms"`
	Seed       int64   `json:"seed"`
	Share      float64 `json:"critical_share"`
	Capacity   float64 `json:"capacity_rps"`
	Workers    int     `json:"workers"`
	Slots      int     `json:"slots"`
	Waiting    int     `json:"waiting"`
	Objective  float64 `json:"critical_objective_pct"`
}

func (c *Config) settings() Settings {
	return Settings{
		Rate: c.Rate, Arrivals: c.Arrivals, Seed: c.Seed, Share: share,
		DurationMs: c.Duration.Milliseconds(), DeadlineMs: c.Deadline.Milliseconds(), ServiceMs: service.Milliseconds(),
		Capacity: workers / service.Seconds(), Workers: workers, Slots: slots, Waiting: c.waiting(), Objective: objective,
	}
}

// Machine is what the figures were measured on.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

// board makes the board that a phase, or its prediction, is scored on: one
// scorer for both, so that they can differ in what happened only.
func (c *Config) board() (*slo.Board, error) {
	return slo.NewBoard(slo.Config{
		Classes: classNames(), From: 0, To: int64(c.scoredUntil()), Window: int64(c.window()),
	})
}

// figuresOf reads what a board has.
func figuresOf(b *slo.Board) Figures {
	crit, back, all := b.Class(classNames()[critical]), b.Class(classNames()[background]), b.All()
	return Figures{
		CriticalSuccessPct:   crit.SuccessPct(),
		BackgroundSuccessPct: back.SuccessPct(),
		AdmittedSuccessPct:   all.AdmittedPct(),
		GoodputRPS:           b.GoodputRPS(),
		SurvivorP99:          float64(all.SurvivorMs(99)),
		CriticalP99:          float64(crit.SurvivorMs(99)),
		CriticalP95:          float64(crit.SurvivorMs(95)),
	}
}

// count writes how all calls of the phase ended.
func (p *Phase) count(all *slo.Score) {
	p.Arrivals, p.OK, p.Late = all.Arrivals, all.Outcomes[core.OK], all.Outcomes[core.Late]
	p.Failed, p.Cancelled = all.Outcomes[core.Failed], all.Outcomes[core.Cancelled]
	p.Refused = make(map[string]uint64)
	for reason, n := range all.Refused {
		if n > 0 {
			p.Refused[core.Reason(reason).String()] = n
		}
	}
}
