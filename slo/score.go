package slo

import (
	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

// Score counts how the calls of one class, or of several, ended. The zero value
// is empty and ready for use.
type Score struct {
	// Arrivals is every call, however it ended.
	Arrivals uint64
	// Outcomes are the arrivals by outcome; Refused is the sum by reason.
	Outcomes [core.NumOutcomes]uint64
	// Refused are the refused by reason.
	Refused [core.NumReasons]uint64
	// Left are those of the cancelled whose client left while it was waiting
	// and before half its deadline had passed. They count neither for success
	// nor against it.
	Left uint64
	// Survivors are the latencies of the answered (ok or late), counted from
	// the instant at which the call was meant to be made.
	Survivors Latency
}

// Add counts one record.
func (s *Score) Add(r *record.Record) {
	s.Arrivals++
	s.Outcomes[r.Outcome]++
	switch r.Outcome {
	case core.Refused:
		s.Refused[r.Reason]++
	case core.OK, core.Late:
		s.Survivors.Add(r.End() - r.From())
	case core.Cancelled:
		if leftEarly(r) {
			s.Left++
		}
	}
}

// leftEarly tells a client that changed its mind from one that gave up.
func leftEarly(r *record.Record) bool {
	if r.Service > 0 {
		return false // it was running
	}
	if r.Deadline == core.Never {
		return true // no deadline to give up at
	}
	return r.End()-r.From() < (r.Deadline-r.From())/2
}

// Merge adds everything that was counted in other.
func (s *Score) Merge(other *Score) {
	s.Arrivals += other.Arrivals
	s.Left += other.Left
	for i, n := range other.Outcomes {
		s.Outcomes[i] += n
	}
	for i, n := range other.Refused {
		s.Refused[i] += n
	}
	s.Survivors.Merge(&other.Survivors)
}

// OK is how many ended well within their deadline.
func (s *Score) OK() uint64 { return s.Outcomes[core.OK] }

// Counted is how many arrivals success is a share of.
func (s *Score) Counted() uint64 { return s.Arrivals - s.Left }

// SuccessPct is the share of the counted arrivals that ended ok, in percent;
// 100 if there were none. The refused count against it.
func (s *Score) SuccessPct() float64 { return percent(s.OK(), s.Counted()) }

// AdmittedPct is the share of the admitted that ended ok, in percent; 100 if
// there were none. It says nothing about those who were turned away.
func (s *Score) AdmittedPct() float64 {
	return percent(s.OK(), s.Counted()-s.Outcomes[core.Refused])
}

// RefusedPct is the share of the counted arrivals that were refused, in
// percent; 0 if there were none.
func (s *Score) RefusedPct() float64 {
	if s.Counted() == 0 {
		return 0
	}
	return percent(s.Outcomes[core.Refused], s.Counted())
}

// LeftPct is the share of all arrivals that left early, in percent.
func (s *Score) LeftPct() float64 {
	if s.Arrivals == 0 {
		return 0
	}
	return percent(s.Left, s.Arrivals)
}

// SurvivorMs is a percentile of the survivors' latency, in whole milliseconds.
func (s *Score) SurvivorMs(p float64) int64 { return s.Survivors.Percentile(p) }

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 100
	}
	return float64(100*float64(part)) / float64(whole)
}
