// Package punctual waits until an instant, and means it.
//
// A runtime timer may fire more than a millisecond late, which is a tenth of a
// ten-millisecond service time: a load that is late by that much measures
// itself. Here the bulk of a wait is a timer, so that a context can end it, and
// its last stretch is a sleep of the operating system where that is precise
// (Linux), or yielding until the instant has come.
package punctual

import (
	"context"
	"runtime"
	"time"
)

// stretch is how long before the instant the timer is due: more than a timer is
// usually late, and the longest that an ended context goes unnoticed.
const stretch = 3 * time.Millisecond

// Until returns at the instant at, usually less than a tenth of a millisecond
// after it and never before, or the context's cause when that is done first. An
// instant that has passed returns at once. On a busy machine it returns late;
// whoever cares measures by how much.
func Until(ctx context.Context, at time.Time) error {
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
	nap(time.Until(at))
	for time.Until(at) > 0 {
		runtime.Gosched()
	}
	return nil
}
