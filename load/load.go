package load

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/internal/punctual"
	"github.com/plimsoll-go/plimsoll/record"
)

// Config describes a run.
type Config struct {
	// URL is what is called, with scheme http or https.
	URL string
	// Method is the HTTP method; empty means GET.
	Method string
	// Header is sent with every call. It is not changed.
	Header http.Header
	// ClassHeader is the header that names a shot's class; empty sends none.
	ClassHeader string
	// Deadline is how long a client waits, from the instant at which its call
	// was meant to be made; then it closes the connection. 0 means for ever.
	Deadline time.Duration
	// Epoch is the origin of the instants in the results; the zero value means
	// the start of the run. It must have a monotonic reading.
	Epoch time.Time
	// Lead is how long before its first instant the run is entered, so that
	// connections and goroutines exist before they are timed. 0 means 10 ms.
	Lead time.Duration
	// MaxOpen bounds the calls that are open at once; a shot beyond it is a
	// failed result that is never sent. 0 means 10 000.
	MaxOpen int
	// MaxCalls and MaxTime bound the run: the schedule is cut off there. 0
	// means 10 000 000 calls and 24 hours.
	MaxCalls int
	MaxTime  time.Duration
	// MaxBody bounds an answer's body in bytes; a longer one has failed. 0
	// means 1 MiB.
	MaxBody int64
	// Tolerance is how late the 99th percentile of the calls may be made for
	// the schedule to count as kept. 0 means 3 ms.
	Tolerance time.Duration
	// Results is given each result once it is there, one at a time, from any
	// goroutine. It must be quick, for it holds up other results, never shots.
	Results func(Result)
	// Started is told the instant, counted from Epoch, that the schedule's zero
	// stands for, just before the run begins. nil for nobody.
	Started func(zero time.Duration)
}

// Result is what became of one shot.
type Result struct {
	// Record has the instants from Config.Epoch. A refused call has waited
	// (Wait), every other one counts as served (Service): a client cannot tell
	// how its time was spent. A client that gave up is cancelled.
	Record record.Record
	// Status is the answer's HTTP status; 0 if there was none.
	Status int
	// Header is the answer's header; nil if there was none.
	Header http.Header
	// Err says why there was no usable answer; nil for ok, late and refused.
	Err error
}

// ErrCrowded is the error of a shot that was not fired because too many calls
// were open.
var ErrCrowded = errors.New("load: too many calls are open")

// errGaveUp is the cause of a call's end when its client's deadline passes.
var errGaveUp = errors.New("load: the client gave up at its deadline")

func (c *Config) withDefaults() (Config, error) {
	d := *c
	target, err := url.Parse(d.URL)
	switch {
	case err != nil:
		return d, fmt.Errorf("load: target: %w", err)
	case target.Scheme != "http" && target.Scheme != "https" || target.Host == "":
		return d, fmt.Errorf("load: target %q; http://HOST/ or https://HOST/ is expected", d.URL)
	case d.Deadline < 0 || d.Lead < 0 || d.MaxTime < 0 || d.Tolerance < 0:
		return d, errors.New("load: deadline, lead, longest time and tolerance must not be negative")
	case d.MaxOpen < 0 || d.MaxCalls < 0 || d.MaxBody < 0:
		return d, errors.New("load: the most open calls, calls and body bytes must not be negative")
	case d.Results == nil:
		return d, errors.New("load: there is nobody to take the results")
	}
	orElse(&d.Method, http.MethodGet)
	orElse(&d.Lead, 10*time.Millisecond)
	orElse(&d.MaxOpen, 10_000)
	orElse(&d.MaxCalls, 10_000_000)
	orElse(&d.MaxTime, 24*time.Hour)
	orElse(&d.MaxBody, 1<<20)
	orElse(&d.Tolerance, 3*time.Millisecond)
	return d, nil
}

func orElse[T comparable](v *T, other T) {
	var zero T
	if *v == zero {
		*v = other
	}
}

// Run makes the calls of the schedule and returns when the last of them has
// ended. The error is about the configuration; a target that fails is in the
// results, and a schedule that could not be kept in the report. When ctx is
// done no more calls are made and the open ones are given up.
func Run(ctx context.Context, cfg Config, schedule iter.Seq[Shot]) (Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Report{}, err
	}
	start := time.Now().Add(cfg.Lead)
	if cfg.Epoch.IsZero() {
		cfg.Epoch = start
	}
	r := &run{
		cfg:    cfg,
		client: newClient(cfg),
		start:  start,
		zero:   start.Sub(cfg.Epoch),
		open:   make(chan struct{}, cfg.MaxOpen),
	}
	defer r.client.close()
	if cfg.Started != nil {
		cfg.Started(r.zero)
	}
	r.fire(ctx, schedule)
	r.calls.Wait()
	r.report.Took = time.Since(start)
	r.report.Tolerance = cfg.Tolerance
	r.lags.into(&r.report)
	return r.report, nil
}

// run is one run. The dispatcher alone touches report until calls are over.
type run struct {
	cfg    Config
	client *client
	start  time.Time     // the schedule's zero
	zero   time.Duration // the same from the epoch
	open   chan struct{} // one token for each open call
	calls  sync.WaitGroup
	report Report

	mu   sync.Mutex
	lags lags
}

// fire is the dispatcher: it never waits for anything but time.
func (r *run) fire(ctx context.Context, schedule iter.Seq[Shot]) {
	clock := punctual.New()
	defer clock.Close()
	for shot := range schedule {
		if r.report.Fired+r.report.Crowded >= r.cfg.MaxCalls || shot.At > r.cfg.MaxTime {
			r.report.Truncated = true
			return
		}
		if clock.Until(ctx, r.start.Add(shot.At)) != nil {
			r.report.Truncated = true
			return
		}
		select {
		case r.open <- struct{}{}:
			r.report.Fired++
			r.calls.Go(func() { r.call(ctx, shot) })
		default:
			r.report.Crowded++
			r.deliver(r.crowded(shot))
		}
	}
}

// call makes one call.
func (r *run) call(ctx context.Context, shot Shot) {
	rec := r.record(shot)
	if r.cfg.Deadline > 0 {
		var leave context.CancelFunc
		ctx, leave = context.WithDeadlineCause(ctx, r.start.Add(shot.At+r.cfg.Deadline), errGaveUp)
		defer leave()
	}
	rec.Start = int64(time.Since(r.cfg.Epoch))
	answer := r.client.do(ctx, shot.Class)
	took := int64(time.Since(r.cfg.Epoch)) - rec.Start
	<-r.open
	r.deliver(answer.judge(ctx, rec, took))
}

// record begins the record of a shot.
func (r *run) record(shot Shot) record.Record {
	rec := record.Record{
		Intended: int64(r.zero + shot.At),
		Class:    shot.Class,
		Deadline: core.Never,
	}
	if r.cfg.Deadline > 0 {
		rec.Deadline = rec.Intended + int64(r.cfg.Deadline)
	}
	return rec
}

func (r *run) crowded(shot Shot) Result {
	rec := r.record(shot)
	rec.Start = int64(time.Since(r.cfg.Epoch))
	rec.Outcome = core.Failed
	return Result{Record: rec, Err: ErrCrowded}
}

func (r *run) deliver(res Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !errors.Is(res.Err, ErrCrowded) {
		r.lags = append(r.lags, time.Duration(res.Record.Start-res.Record.Intended))
	}
	r.cfg.Results(res)
}
