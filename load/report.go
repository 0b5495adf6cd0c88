package load

import (
	"fmt"
	"slices"
	"time"
)

// Report says how well the schedule was kept. It says nothing about the
// answers: those are in the results.
type Report struct {
	// Fired is how many calls were made.
	Fired int
	// Crowded is how many calls of the schedule could not be made because
	// Config.MaxOpen were open. Each has a failed result.
	Crowded int
	// Truncated says that the schedule was longer than Config.MaxCalls or
	// Config.MaxTime, or that the run was ended from outside.
	Truncated bool
	// LagP50, LagP99 and LagMax are how late calls were made.
	LagP50, LagP99, LagMax time.Duration
	// Tardy is how many calls were later than Config.Tolerance.
	Tardy int
	// Tolerance is Config.Tolerance, or its default.
	Tolerance time.Duration
	// Took is from the start of the run to the end of its last call.
	Took time.Duration
}

// Kept says whether the schedule was kept: every call made, and 99 of 100 of
// them within the tolerance. The results of a run that was not kept say more
// about this machine than about the target.
func (r Report) Kept() bool {
	return r.Crowded == 0 && !r.Truncated && r.LagP99 <= r.Tolerance
}

// String is one line for people.
func (r Report) String() string {
	if r.Kept() {
		return fmt.Sprintf("load: %d calls made on schedule (late by %v at the 99th percentile)", r.Fired, round(r.LagP99))
	}
	s := fmt.Sprintf("load: the schedule was not kept: %d calls made, %d of them more than %v late (99th percentile %v, worst %v)",
		r.Fired, r.Tardy, r.Tolerance, round(r.LagP99), round(r.LagMax))
	if r.Crowded > 0 {
		s += fmt.Sprintf("; %d could not be made because too many were open", r.Crowded)
	}
	if r.Truncated {
		s += "; it was cut short"
	}
	return s
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// lags gathers how late the calls of a run were made.
type lags []time.Duration

func (l lags) into(r *Report) {
	if len(l) == 0 {
		return
	}
	slices.Sort(l)
	at := func(p int) time.Duration { return l[max(0, (p*len(l)+99)/100-1)] }
	r.LagP50, r.LagP99, r.LagMax = at(50), at(99), l[len(l)-1]
	for _, d := range l {
		if d > r.Tolerance {
			r.Tardy++
		}
	}
}
