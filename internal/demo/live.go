package demo

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/load"
	"github.com/plimsoll-go/plimsoll/slo"
	"github.com/plimsoll-go/plimsoll/web"
)

// Live is a run of the demo as it happens. It is the page's source; its methods
// may be called concurrently.
type Live struct {
	cfg Config

	mu       sync.Mutex
	state    web.State
	doing    string
	failure  string
	phases   []*phase
	verdicts []web.Words
	warnings []string
}

// phase is one phase as it happens. Live's lock holds for it.
type phase struct {
	policy    policy
	state     web.State
	board     *slo.Board
	all       slo.Score
	start     time.Time
	elapsed   time.Duration // once it is over
	predicted *prediction
	status    func() plimsoll.Status // while it runs
	refused   map[refusedAs]uint64
	shedding  streak
}

type refusedAs struct {
	reason core.Reason
	class  string
}

// streak is a time in which something happened at least once a second.
type streak struct{ first, last time.Time }

func (s *streak) add(now time.Time) {
	if now.Sub(s.last) > time.Second {
		s.first = now
	}
	s.last = now
}

// seconds is for how long the streak has lasted; nil when it is over.
func (s *streak) seconds(now time.Time) *float64 {
	if s.first.IsZero() || now.Sub(s.last) > time.Second {
		return nil
	}
	d := now.Sub(s.first).Seconds()
	return &d
}

// New makes a run that has not begun, or says what is wrong with cfg.
func New(cfg Config) (*Live, error) {
	if cfg.Probe == 0 {
		cfg.Probe = Defaults().Probe
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Live{cfg: cfg, state: web.Pending, doing: "About to begin."}
	for _, p := range policies() {
		board, err := cfg.board()
		if err != nil {
			return nil, err
		}
		l.phases = append(l.phases, &phase{
			policy: p, state: web.Pending, board: board, refused: make(map[refusedAs]uint64),
		})
	}
	return l, nil
}

// change changes the state under the lock.
func (l *Live) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// result takes in one call of a phase.
func (l *Live) result(ph *phase, r *load.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ph.all.Add(&r.Record)
	ph.board.Add(&r.Record)
	if r.Record.Outcome == core.Refused {
		ph.refused[refusedAs{r.Record.Reason, r.Record.Class}]++
		ph.shedding.add(time.Now())
	}
}

// Snapshot implements web.Source.
func (l *Live) Snapshot() web.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.cfg
	s := web.Snapshot{
		Title: "Plimsoll demo",
		Lead: fmt.Sprintf("A service that can do %.0f calls a second is offered %s. The same calls, three times over, with three policies.",
			workers/service.Seconds(), c.offered()),
		State: l.state, Doing: l.doing, Error: l.failure,
		Deadline: millis(c.Deadline),
		Classes:  []web.Class{{Name: classNames()[critical], Objective: objective}, {Name: classNames()[background]}},
		Facts: []web.Fact{
			{Name: "offered", Value: fmt.Sprintf("%.4g/s, %s", c.Rate, c.Arrivals)},
			{Name: "capacity", Value: fmt.Sprintf("%.0f/s", workers/service.Seconds())},
			{Name: "critical", Value: fmt.Sprintf("%.0f %%", 100*share)},
			{Name: "deadline", Value: c.Deadline.String()},
			{Name: "slots", Value: fmt.Sprintf("%d for %d worker", slots, workers)},
			{Name: "waiting places", Value: fmt.Sprint(c.waiting())},
			{Name: "seed", Value: fmt.Sprint(c.Seed)},
		},
		Verdicts: slices.Clone(l.verdicts),
		Notes:    append(notes(), l.warnings...),
	}
	now := time.Now()
	for _, ph := range l.phases {
		s.Runs = append(s.Runs, ph.run(c, now))
	}
	return s
}

func notes() []string {
	return []string{
		"Success is the share of all calls that were answered in time, counted from the instant at which each was meant to be made; whoever was refused, too late or gone counts against it. Calls so late in a run that their deadline lies beyond its end are part of the load and not of the figures. Goodput may read a little above capacity: it counts calls by when they were made, and some are answered after the stretch that is scored.",
		"One service, one service time, two classes, one machine that plays clients, proxy and service at once: a demonstration of the mechanism, and not a measurement of yours.",
	}
}

// run is what the page shows of a phase.
func (ph *phase) run(c *Config, now time.Time) web.Run {
	r := web.Run{
		ID: ph.policy.id, Title: ph.policy.title, Summary: ph.policy.about, State: ph.state,
		Duration: c.Duration.Seconds(), Window: c.window().Seconds(),
		Pool:    web.Pool{Slots: slots, WaitingLimit: c.waiting()},
		Refused: ph.refusals(),
	}
	elapsed := ph.elapsed
	if ph.state == web.Running {
		elapsed = min(max(0, now.Sub(ph.start)), c.Duration)
		r.SheddingFor = ph.shedding.seconds(now)
	}
	r.Elapsed = elapsed.Seconds()
	var status plimsoll.PoolStatus
	if ph.status != nil {
		status = ph.status().Pools[0]
		r.Pool.Used, r.Pool.Waiting = status.Used, status.Waiting
		r.Pool.HeadAge = millis(status.HeadAge)
	}
	for i, name := range classNames() {
		k := ph.class(c, i, name, elapsed)
		if i < len(status.Classes) {
			k.Waiting = status.Classes[i].Waiting
		}
		r.Classes = append(r.Classes, k)
	}
	ph.totals(&r, c, elapsed)
	return r
}

// class is what the page shows of one class of a phase.
func (ph *phase) class(c *Config, i int, name string, elapsed time.Duration) web.RunClass {
	score := ph.board.Class(name)
	k := web.RunClass{Name: name, Arrivals: score.Arrivals, OK: score.OK()}
	if score.Arrivals > 0 {
		k.SuccessPct = ref(score.SuccessPct())
	}
	if score.Survivors.Count() > 0 {
		k.P95, k.P99 = ref(float64(score.SurvivorMs(95))), ref(float64(score.SurvivorMs(99)))
	}
	k.Series = curve(c, ph.board.Series(name), elapsed, ph.state == web.Done)
	if ph.predicted != nil {
		k.Predicted = curve(c, ph.predicted.series[i], 0, true)
		k.PredictedPct = ref([]float64{ph.predicted.figures.CriticalSuccessPct, ph.predicted.figures.BackgroundSuccessPct}[i])
	}
	return k
}

// curve is success by window, as far as every call of a window has ended.
func curve(c *Config, points []slo.Point, elapsed time.Duration, over bool) []*float64 {
	var out []*float64
	for _, p := range points {
		if !over && time.Duration(p.Start)+c.window()+c.Deadline > elapsed {
			break
		}
		if p.Arrivals == 0 {
			out = append(out, nil)
			continue
		}
		out = append(out, ref(p.SuccessPct()))
	}
	return out
}

// totals are the figures over all classes.
func (ph *phase) totals(r *web.Run, c *Config, elapsed time.Duration) {
	all := ph.board.All()
	if all.Survivors.Count() > 0 {
		r.SurvivorP99, r.AdmittedPct = ref(float64(all.SurvivorMs(99))), ref(all.AdmittedPct())
	}
	if scored := min(elapsed, c.scoredUntil()); scored >= time.Second || ph.state == web.Done {
		r.Goodput = ref(float64(all.OK()) / max(scored.Seconds(), 0.001))
	}
	if ph.predicted != nil {
		r.PredictedGoodput = ref(ph.predicted.figures.GoodputRPS)
	}
}

// refusals are the counts of a phase, the largest first.
func (ph *phase) refusals() []web.Refused {
	keys := slices.SortedFunc(maps.Keys(ph.refused), func(a, b refusedAs) int {
		if na, nb := ph.refused[a], ph.refused[b]; na != nb {
			return int(int64(nb) - int64(na))
		}
		if a.reason != b.reason {
			return int(a.reason) - int(b.reason)
		}
		return len(a.class) - len(b.class)
	})
	out := []web.Refused{}
	for _, k := range keys {
		out = append(out, web.Refused{Reason: k.reason.String(), Class: k.class, Count: ph.refused[k]})
	}
	return out
}

func ref(v float64) *float64 { return &v }
