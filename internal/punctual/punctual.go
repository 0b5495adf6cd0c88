// Package punctual waits until an instant, and means it.
//
// A runtime timer may fire more than a millisecond late, which is a tenth of a
// ten-millisecond service time: a load that is late by that much measures
// itself. Here the bulk of a wait is such a timer, so that a context can end
// it, and its last stretch is a timer of the operating system where that is
// precise (Linux), or yielding until the instant has come.
//
// The last stretch never blocks in a system call: on a machine of two cores a
// sleeping thread would take half of the program with it until the runtime
// notices.
package punctual

import (
	"context"
	"runtime"
	"time"
)

// stretch is how long before the instant the runtime's timer is due: more than
// it is usually late, and the longest that an ended context goes unnoticed.
const stretch = 3 * time.Millisecond

// Clock waits for one goroutine at a time.
type Clock struct{ fine fine }

// New makes a clock. The caller must close it.
func New() *Clock { return &Clock{openFine()} }

// Close gives back what the clock holds of the system.
func (c *Clock) Close() { c.fine.close() }

// Until returns at the instant at, usually less than a tenth of a millisecond
// after it and never before, or the context's cause when that is done first. An
// instant that has passed returns at once. On a busy machine it returns late;
// whoever cares measures by how much.
func (c *Clock) Until(ctx context.Context, at time.Time) error {
	if d := time.Until(at) - stretch; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.fine.nap(time.Until(at))
	for time.Until(at) > 0 {
		runtime.Gosched()
	}
	return nil
}
