package demo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/plimsoll-go/plimsoll/load"
	"github.com/plimsoll-go/plimsoll/slo"
	"github.com/plimsoll-go/plimsoll/web"
)

// Run runs the demo once: a probe, then the phases, each with a fresh gate and
// an idle upstream. say is told what happens, one line each. When ctx is done
// it takes everything down and returns the context's cause.
func (l *Live) Run(ctx context.Context, say func(string)) (*Result, error) {
	result, err := l.run(ctx, say)
	l.change(func() {
		l.doing = ""
		if err != nil {
			l.state, l.failure = web.Failed, err.Error()
			return
		}
		l.state, l.verdicts, l.warnings = web.Done, words(result), result.Warnings
	})
	return result, err
}

func (l *Live) run(ctx context.Context, say func(string)) (*Result, error) {
	c := &l.cfg
	l.change(func() {
		l.doing = fmt.Sprintf("Measuring for %v how long messages take on this machine. Nothing is overloaded yet.", c.Probe)
	})
	say(fmt.Sprintf("measuring hops and timers at %d calls a second for %v", probeRate, c.Probe))
	k, err := probe(ctx, c)
	if err != nil {
		return nil, err
	}
	result := &Result{
		Settings: c.settings(), Calibration: k, Verdicts: []string{}, Warnings: []string{},
		Machine: Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0), Go: runtime.Version()},
	}
	for _, ph := range l.phases {
		p, err := predict(c, ph.policy, k)
		if err != nil {
			return nil, err
		}
		l.change(func() { ph.predicted = p })
	}
	l.change(func() { l.state, l.doing = web.Running, "" })
	for i, ph := range l.phases {
		say(fmt.Sprintf("phase %d of %d: %s, %s for %v", i+1, len(l.phases), ph.policy.title, c.offered(), c.Duration))
		p, err := l.phase(ctx, ph)
		if err != nil {
			return nil, err
		}
		say(fmt.Sprintf("  critical %s, background %s (predicted %s and %s)",
			slo.Pct(p.Measured.CriticalSuccessPct), slo.Pct(p.Measured.BackgroundSuccessPct),
			slo.Pct(p.Predicted.CriticalSuccessPct), slo.Pct(p.Predicted.BackgroundSuccessPct)))
		result.Phases = append(result.Phases, p)
	}
	result.Verdicts, result.Warnings = verdicts(c, l.phases, result), warnings(result)
	return result, nil
}

// phase runs one phase.
func (l *Live) phase(ctx context.Context, ph *phase) (Phase, error) {
	a, err := arrange(&l.cfg, ph.policy, time.Now(), nil)
	if err != nil {
		return Phase{}, err
	}
	l.change(func() { ph.state, ph.status, ph.start = web.Running, a.gate.Status, time.Now() })
	p, err := l.fire(ctx, ph, a)
	l.change(func() {
		ph.status, ph.elapsed = nil, min(time.Since(ph.start), l.cfg.Duration)
		ph.state = web.Done
		if err != nil {
			ph.state = web.Failed
		}
	})
	return p, errors.Join(err, a.close())
}

// fire puts the load on an arrangement, waits until all of it has ended
// everywhere, and counts.
func (l *Live) fire(ctx context.Context, ph *phase, a *arrangement) (Phase, error) {
	c := &l.cfg
	source, err := c.source()
	if err != nil {
		return Phase{}, err
	}
	classes, err := c.classes()
	if err != nil {
		return Phase{}, err
	}
	report, err := load.Run(ctx, load.Config{
		URL: a.url, ClassHeader: classHeader, Deadline: c.Deadline,
		Results: func(r load.Result) { l.result(ph, &r) },
		Started: func(time.Duration) { l.change(func() { ph.start = time.Now() }) },
	}, load.Schedule(source, func() string {
		if classes.Next() {
			return classNames()[critical]
		}
		return classNames()[background]
	}))
	if err != nil {
		return Phase{}, err
	}
	if ctx.Err() != nil {
		return Phase{}, context.Cause(ctx)
	}
	if err := a.idle(ctx); err != nil {
		return Phase{}, err
	}
	return l.sum(ph, a, report), nil
}

// sum writes down what a phase has come to.
func (l *Live) sum(ph *phase, a *arrangement, report load.Report) Phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	board, late := ph.board.All(), a.upstream.lateP99()
	p := Phase{
		Policy: ph.policy.id, Door: ph.policy.door.String(), Order: ph.policy.order.String(),
		Measured: figuresOf(ph.board), Predicted: ph.predicted.figures,
		Scored: board.Arrivals, UpstreamCalls: a.upstream.calls.Load(), PredictedUpstreamCalls: ph.predicted.calls,
		LoadLagP50: millis(report.LagP50), LoadLagP99: millis(report.LagP99), LoadLagMax: millis(report.LagMax),
		LoadKept:        report.Kept(),
		UpstreamLateP99: millis(late), UpstreamKept: late <= upstreamTolerance,
		MarginAtEnd: millis(a.gate.Status().Pools[0].Margin),
	}
	p.count(&ph.all)
	return p
}
