package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/load"
)

// probeRate is how many calls a second the probe makes: so few that none meets
// another one, and enough that in defaultProbe the gate has as many samples to
// learn from as it remembers.
const (
	probeRate    = 50
	defaultProbe = 2600 * time.Millisecond
)

// probed is one call of the probe, in nanoseconds: what the client, the gate
// and the upstream each saw of it.
type probed struct {
	there time.Duration // from the client's start to the upstream's queue
	back  time.Duration // from the upstream's answer to the client's end
	gate  time.Duration // that the gate saw it run, less what the upstream took
	late  time.Duration // that the upstream's timer was
}

// watch is the gate's side of the probe.
type watch struct {
	mu  sync.Mutex
	ran []time.Duration
}

// Ended implements plimsoll.Observer.
func (w *watch) Ended(e plimsoll.CallEnded) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, e.Ran)
}

// probe measures the machine with an arrangement of its own, at a load that is
// no load.
func probe(ctx context.Context, c *Config) (Calibration, error) {
	epoch, seen := time.Now(), &watch{}
	a, err := arrange(c, policies()[0], epoch, seen)
	if err != nil {
		return Calibration{}, err
	}
	k, err := probeWith(ctx, c, a, epoch, seen)
	return k, errors.Join(err, a.close())
}

func probeWith(ctx context.Context, c *Config, a *arrangement, epoch time.Time, seen *watch) (Calibration, error) {
	var answers []load.Result
	report, err := load.Run(ctx, load.Config{
		URL: a.url, ClassHeader: classHeader, Epoch: epoch,
		Header:  http.Header{stampsHeader: {"1"}},
		Results: func(r load.Result) { answers = append(answers, r) },
	}, paced(time.Second/probeRate, int(c.Probe.Seconds()*probeRate)))
	if err != nil {
		return Calibration{}, err
	}
	if ctx.Err() != nil {
		return Calibration{}, context.Cause(ctx)
	}
	if err := a.idle(ctx); err != nil {
		return Calibration{}, err
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	calls, err := align(answers, seen.ran)
	switch late := a.upstream.lateP99(); {
	case err == nil:
	case !report.Kept():
		return Calibration{}, fmt.Errorf("%w (%v): %w", errBusy, report, err)
	case late > upstreamTolerance:
		return Calibration{}, fmt.Errorf("%w (the service was %v late at the 99th percentile): %w", errBusy, late, err)
	default:
		return Calibration{}, err
	}
	k := calibrate(calls)
	k.Margin = millis(a.gate.Status().Pools[0].Margin)
	return k, nil
}

// errBusy says that the probe failed where a machine that had time for it would
// probably not have failed it.
var errBusy = errors.New("demo: this machine is too busy to measure anything; close what else is running and try again")

// paced makes n calls, one each gap.
func paced(gap time.Duration, n int) func(func(load.Shot) bool) {
	return func(yield func(load.Shot) bool) {
		for i := range n {
			if !yield(load.Shot{At: time.Duration(i) * gap, Class: classNames()[critical]}) {
				return
			}
		}
	}
}

// align puts the three views of each call together. Calls did not overlap, so
// all views are in the same order.
func align(answers []load.Result, ran []time.Duration) ([]probed, error) {
	if len(answers) == 0 || len(answers) != len(ran) {
		return nil, fmt.Errorf("demo: the probe made %d calls and the gate saw %d end", len(answers), len(ran))
	}
	var calls []probed
	for i, a := range answers {
		if a.Record.Outcome != core.OK {
			return nil, fmt.Errorf("demo: a call of the probe ended %v: %w", a.Record.Outcome, a.Err)
		}
		s, err := parseStamps(a.Header.Get(stampsHeader))
		if err != nil {
			return nil, err
		}
		calls = append(calls, probed{
			there: s.arrived - time.Duration(a.Record.Start),
			back:  time.Duration(a.Record.End()) - s.replied,
			gate:  ran[i] - (s.replied - s.arrived),
			late:  s.replied - s.finish,
		})
	}
	return calls, nil
}

// calibrate takes medians: the first calls open connections, and one timer in a
// hundred may be far off. What lies between client and upstream is shared out
// between the two sides of the gate as the gate saw it: the time that it saw a
// call run, beyond what the upstream took, belongs to the upstream's side.
func calibrate(calls []probed) Calibration {
	at := func(p int, of func(probed) time.Duration) float64 {
		all := make([]time.Duration, len(calls))
		for i, c := range calls {
			all[i] = max(0, of(c))
		}
		slices.Sort(all)
		return millis(all[max(0, (p*len(all)+99)/100-1)])
	}
	there := at(50, func(c probed) time.Duration { return c.there })
	back := at(50, func(c probed) time.Duration { return c.back })
	gate := min(at(50, func(c probed) time.Duration { return c.gate }), there+back)
	late := func(c probed) time.Duration { return c.late }
	k := Calibration{Calls: len(calls), TimerLateP50: at(50, late), TimerLateP99: at(99, late)}
	if there+back > 0 {
		k.HopUp = gate * there / (there + back)
	}
	k.HopIn = there - k.HopUp
	k.HopDown = gate - k.HopUp + k.TimerLateP50
	k.HopOut = back - (gate - k.HopUp)
	return k
}
