package sim

import (
	"math"
	"slices"

	"github.com/plimsoll-go/plimsoll/core"
)

// Result is what the clients of a World saw.
type Result struct {
	// Window is the length of the scored part of the run, in milliseconds:
	// Duration less the client's Deadline. Calls meant to be sent up to its
	// end, inclusive, are scored: all others could not have their full time.
	Window float64
	// Classes are indexed as in the gate's configuration.
	Classes []ClassResult
	// UpstreamCalls counts what reached the upstream, scored or not.
	UpstreamCalls int
}

// ClassResult counts one class. Arrivals = OK + Late + Cancelled + the sum of
// Refused; and the same holds for Scored.
type ClassResult struct {
	Name string
	Tally
	// Scored are those of the scored part of the run alone.
	Scored Tally
	// Latencies are the sojourns of the scored calls that were OK, from when
	// they were meant to be sent to when the client had the answer, in
	// milliseconds, ascending.
	Latencies []float64
}

// Tally counts arrivals by how they ended for the client.
type Tally struct {
	Arrivals  int
	OK        int                  // answered by the deadline
	Late      int                  // the client gave up on a call that had been sent to the upstream
	Cancelled int                  // the client gave up on a call that had not
	Refused   [core.NumReasons]int // told so before the deadline, by reason
}

// RefusedAll is the number of refusals for whatever reason.
func (t *Tally) RefusedAll() (n int) {
	for _, k := range t.Refused {
		n += k
	}
	return n
}

// Success is the share of arrivals that ended OK, in percent; 100 if there were none.
func (t *Tally) Success() float64 {
	if t.Arrivals == 0 {
		return 100
	}
	return 100 * float64(t.OK) / float64(t.Arrivals)
}

// Goodput is how many scored calls of all classes ended OK, per second of the
// scored window, which is taken to be at least a millisecond long.
func (r *Result) Goodput() float64 {
	n := 0
	for i := range r.Classes {
		n += r.Classes[i].Scored.OK
	}
	return float64(n) / (max(1, r.Window) / 1000)
}

// Percentile is the p-th percentile, 0 < p ≤ 100, of ascending values: the
// one of rank ceil(p·n/100). It is 0 if there are none.
func Percentile(ascending []float64, p float64) float64 {
	n := len(ascending)
	if n == 0 {
		return 0
	}
	rank := int(math.Ceil(p * float64(n) / 100))
	return ascending[min(max(rank, 1), n)-1]
}

func newResult(w *World) *Result {
	r := &Result{Window: float64(w.Duration) - w.Deadline, Classes: make([]ClassResult, len(w.Gate.Classes))}
	for i, c := range w.Gate.Classes {
		r.Classes[i].Name = c.Name
	}
	return r
}

// add counts a call that has ended.
func (r *Result) add(c *Call) {
	k := &r.Classes[c.Class]
	k.count(c)
	if c.Arrived > r.Window {
		return
	}
	k.Scored.count(c)
	if c.Outcome == core.OK {
		k.Latencies = append(k.Latencies, c.Ended-c.Arrived)
	}
}

func (t *Tally) count(c *Call) {
	t.Arrivals++
	switch c.Outcome {
	case core.OK:
		t.OK++
	case core.Late:
		t.Late++
	case core.Cancelled:
		t.Cancelled++
	case core.Refused:
		t.Refused[c.Reason]++
	}
}

func (r *Result) finish() {
	for i := range r.Classes {
		slices.Sort(r.Classes[i].Latencies)
	}
}
