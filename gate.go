package plimsoll

import (
	"context"
	"time"
)

// Request is what a call says of itself. The zero value is an ordinary call of
// the default class.
type Request struct {
	// Class is the name of the call's class; an unknown one gets the default.
	Class string
	// Cost is how many units the call takes while it runs; 0 means 1.
	Cost int
	// Attempt numbers the tries of one intention from 0.
	Attempt int
	// Key groups calls by tenant or user.
	Key uint64
	// Timeout is the time the call has left. 0 means the class's deadline,
	// which is also the most that a call gets.
	Timeout time.Duration
	// Expected is how long the call is expected to run; 0 means what the pool
	// expects.
	Expected time.Duration
}

// Gate admits calls to pools. Its methods may be called concurrently.
type Gate struct{}

// New makes a gate, or says what is wrong with the configuration.
func New(cfg Config) (*Gate, error) { panic("being built") }

// Acquire asks for the right to run and waits for it if it must. The error is
// a [Refusal], or the context's cause when ctx is done before the call may
// start: a call that left gets no permit, and its place is free at once.
func (g *Gate) Acquire(ctx context.Context, r Request) (Ticket, error) { panic("being built") }

// Reload makes cfg the gate's configuration while it runs, or says what is
// wrong with it and changes nothing. Pools and classes are matched by name;
// running and waiting calls stay counted. Modes are taken from cfg too.
func (g *Gate) Reload(cfg Config) error { panic("being built") }

// Resize changes the bounds of one pool. Nothing that runs is stopped.
func (g *Gate) Resize(pool string, slots, workers, waiting int) error { panic("being built") }

// SetMode switches one pool between enforce, shadow and off.
func (g *Gate) SetMode(pool string, m Mode) error { panic("being built") }

// Drain refuses new calls as draining and waits until no call runs or waits,
// or until ctx is done; then those still waiting are refused as draining and
// the context's cause is returned.
func (g *Gate) Drain(ctx context.Context) error { panic("being built") }

// Outstanding is how many tickets have not been released.
func (g *Gate) Outstanding() int { panic("being built") }

// Close stops the gate's timers. Calls that wait are refused as draining.
func (g *Gate) Close() { panic("being built") }

// Ticket is the right to run. It ends exactly once, by Release.
type Ticket struct {
	// Waited is how long the call waited for the ticket.
	Waited time.Duration
	// Timeout is what was left of the call's deadline when it was given; less
	// than 0 means that the call has none.
	Timeout time.Duration
}

// Release gives the ticket back and says how the call ended. A second release
// is counted, and does nothing else.
func (t Ticket) Release(o Outcome) { panic("being built") }

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
func (r Refusal) Error() string { panic("being built") }
