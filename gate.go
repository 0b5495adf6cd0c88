package plimsoll

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
)

// Request is what a call says of itself. The zero value is an ordinary call of
// the default class.
type Request struct {
	// Class is the name of the call's class; an unknown one gets the default.
	Class string
	// Cost is how many units the call takes while it runs; 0 means 1. Less
	// than 0, or more than the class can ever have, is refused as too costly.
	Cost int
	// Attempt numbers the tries of one intention from 0; the lower 32 bits are kept.
	Attempt int
	// Key groups calls by tenant or user.
	Key uint64
	// Timeout is the time the call has left. 0 means the class's deadline,
	// which is also the most that a call gets; less than 0 means that nothing
	// is left.
	Timeout time.Duration
	// Expected is how long the call is expected to run; 0 or less means what
	// the pool expects, and more than MaxExpected counts as that.
	Expected time.Duration
}

// Gate admits calls to pools. Its methods may be called concurrently.
type Gate struct {
	epoch    time.Time
	observer Observer
	alarm    func(error)
	table    atomic.Pointer[table]

	mu       sync.Mutex // one change of configuration, drain or recording at a time
	groups   []*group   // those that have left the configuration included, while they hold calls
	draining atomic.Bool
	made     int           // groups ever made: each has an index of its own in recordings
	wake     chan struct{} // told whenever a group that drains may have become empty
	recorder *Recording
}

// table is what a configuration comes to; it is replaced, never changed.
type table struct {
	cfg     Config
	classes map[string]*seatOf
	standby *seatOf
}

// seatOf says where a class is decided.
type seatOf struct {
	group *group
	index int
	class *Class
}

// New makes a gate, or says what is wrong with the configuration.
func New(cfg Config) (*Gate, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.clone()
	g := &Gate{epoch: time.Now(), observer: cfg.Observer, alarm: cfg.Alarm, wake: make(chan struct{}, 1)}
	if g.alarm == nil {
		g.alarm = func(err error) { slog.Error(err.Error()) }
	}
	if err := g.adopt(cfg); err != nil {
		return nil, err
	}
	return g, nil
}

// now is the gate's own monotonic line. time.Since reads the monotonic clock
// alone, which is cheaper than time.Now.
func (g *Gate) now() int64 { return int64(time.Since(g.epoch)) }

// Acquire asks for the right to run and waits for it if it must. The error is
// a [Refusal], or the context's cause when ctx is done before the call may
// start: a call that left gets no permit, and its place is free at once.
//
// ctx bounds only the waiting. Its deadline is not the call's: say that in
// Request.Timeout, so that the gate can plan with it.
func (g *Gate) Acquire(ctx context.Context, r Request) (t Ticket, err error) {
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	for {
		table := g.table.Load()
		s, ok := table.classes[r.Class]
		if !ok {
			s = table.standby
		}
		if err = s.group.acquire(ctx, s, &r, &t); err != errRetired {
			return t, err
		}
	}
}

// SetMode switches one pool between enforce, shadow and off. Whoever waits when
// a pool stops enforcing is let through.
func (g *Gate) SetMode(pool string, m Mode) error {
	if m > Off {
		return fmt.Errorf("plimsoll: no such mode: %d; enforce, shadow or off", m)
	}
	return g.change(func(cfg *Config) error {
		p, err := cfg.pool(pool)
		if err == nil {
			p.Mode = m
		}
		return err
	})
}

// Resize changes the bounds of one pool, within those of [Pool]; workers may be
// 0, as there. Nothing that runs is stopped, and with more slots the waiting
// start at once. The error says what is wrong; then nothing has changed.
func (g *Gate) Resize(pool string, slots, workers, waiting int) error {
	return g.change(func(cfg *Config) error {
		p, err := cfg.pool(pool)
		if err == nil {
			p.Slots, p.Workers, p.Waiting = slots, workers, waiting
		}
		return err
	})
}

// Reload makes cfg the gate's configuration while it runs, or says what is
// wrong with it and changes nothing. Pools and classes are matched by name;
// running and waiting calls stay counted. A pool that is gone admits nobody new
// and serves out whom it has. Observer and Alarm stay what New was given.
func (g *Gate) Reload(cfg Config) error {
	return g.change(func(c *Config) error {
		*c = cfg.clone()
		return nil
	})
}

func (g *Gate) change(edit func(*Config) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := &g.table.Load().cfg
	cfg := was.clone()
	if err := edit(&cfg); err != nil {
		return err
	}
	cfg.Observer, cfg.Alarm = was.Observer, was.Alarm
	if err := cfg.Validate(); err != nil {
		return err
	}
	return g.adopt(cfg)
}

// Config is the configuration in force.
func (g *Gate) Config() Config { return g.table.Load().cfg.clone() }

// Drain refuses new calls as draining and waits until no call runs or waits,
// or until ctx is done; then those still waiting are refused as draining and
// the context's cause is returned. There is no way back.
func (g *Gate) Drain(ctx context.Context) error {
	groups := g.closeDoors()
	for {
		left := 0
		for _, gr := range groups {
			left += gr.outstanding()
		}
		if left == 0 {
			g.stir() // another Drain may wait for the same news
			return nil
		}
		select {
		case <-g.wake:
		case <-ctx.Done():
			for _, gr := range groups {
				gr.flush()
			}
			return context.Cause(ctx)
		}
	}
}

func (g *Gate) closeDoors() []*group {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draining.Store(true)
	for _, gr := range g.groups {
		gr.drain()
	}
	return g.groups
}

// Outstanding is how many tickets have not been released.
func (g *Gate) Outstanding() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, gr := range g.groups {
		n += gr.tickets()
	}
	return n
}

// Close stops the gate's timers and its recording. New calls, and those that
// wait, are refused as draining; tickets can still be released.
func (g *Gate) Close() {
	for _, gr := range g.closeDoors() {
		gr.flush()
		gr.stop()
	}
	g.mu.Lock()
	r := g.recorder
	g.mu.Unlock()
	if r != nil {
		_ = r.Stop() // it keeps its error for whoever asks
	}
}

// Ticket is the right to run. It ends exactly once, by Release. The zero
// Ticket gives no right, and releasing it does nothing.
type Ticket struct {
	// Waited is how long the call waited for the ticket.
	Waited time.Duration
	// Timeout is what was left of the call's deadline when it was given; less
	// than 0 means that the call has none. A pool in shadow or off does not
	// impose its class's deadline: there it is what the request brought.
	Timeout time.Duration
	// Class is the call's class, after the default was applied.
	Class string

	group *group
	id    core.ID
}

// Release gives the ticket back and says how the call ended. A second release
// is counted, and does nothing else.
func (t Ticket) Release(o Outcome) {
	if t.group != nil {
		t.group.release(t.id, o)
	}
}

// Refusal is the error of a call that was not started. It is a small value;
// get it with errors.As or a type assertion.
type Refusal struct {
	Reason Reason
	Class  string
	Pool   string
	// Waited is how long the call had waited.
	Waited time.Duration
	// RetryAfter is when trying again may make sense, at least a second, spread
	// so that callers do not come back together; 0 means never.
	RetryAfter time.Duration
}

// Error says what was refused and why, and that it had no effect.
func (r Refusal) Error() string {
	if r.Waited > 0 {
		return fmt.Sprintf("plimsoll: refused as %s after waiting %v (class %s, pool %s); it was not started", r.Reason, r.Waited.Round(time.Millisecond), r.Class, r.Pool)
	}
	return fmt.Sprintf("plimsoll: refused as %s (class %s, pool %s); it was not started", r.Reason, r.Class, r.Pool)
}
