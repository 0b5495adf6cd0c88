package slo

import (
	"fmt"
	"strconv"
)

// Verdict is what is to be said about one class.
type Verdict struct {
	Class string
	// Objective and SuccessPct are in percent.
	Objective, SuccessPct float64
	// Met says whether the objective holds. A class without one has nothing to meet.
	Met bool
	// Trap says that the survivors look healthy and the class is not: a
	// dashboard of latencies, or of the admitted, would show nothing.
	Trap bool
	// Text says it all in a sentence or two.
	Text string
}

// healthy is the least success of the admitted, in percent, that a dashboard
// would take for good.
const healthy = 95

// Judge compares a class with its objective, in percent, 0 … 100; 0 means that
// it has none. deadline is the class's, in milliseconds, and tells what a
// healthy survivor latency is; 0 means that it has none.
func (s *Score) Judge(class string, objective float64, deadline int64) Verdict {
	v := Verdict{Class: class, Objective: objective, SuccessPct: s.SuccessPct()}
	v.Met = v.SuccessPct >= objective
	p99 := s.SurvivorMs(99)
	v.Trap = !v.Met && s.Survivors.Count() > 0 && s.AdmittedPct() >= healthy && (deadline == 0 || p99 <= deadline)
	switch {
	case s.Counted() == 0:
		v.Text = fmt.Sprintf("No %s call was made.", class)
	case objective == 0:
		v.Text = fmt.Sprintf("%s of %s calls succeeded; the class has no objective and may be lost.", Pct(v.SuccessPct), class)
	case v.Met:
		v.Text = fmt.Sprintf("%s of %s calls succeeded, which meets the objective of %s.", Pct(v.SuccessPct), class, plain(objective))
	case v.Trap:
		v.Text = fmt.Sprintf("Only %s of %s calls succeeded where %s is the objective, and no latency shows it: the survivors' p99 is %d ms and %s of the admitted succeeded. The %s that were refused are in neither figure.",
			Pct(v.SuccessPct), class, plain(objective), p99, Pct(s.AdmittedPct()), Pct(s.RefusedPct()))
	default:
		v.Text = fmt.Sprintf("Only %s of %s calls succeeded where %s is the objective.", Pct(v.SuccessPct), class, plain(objective))
	}
	if s.Left > 0 {
		v.Text += fmt.Sprintf(" %s left early, while waiting, and are not counted.", Pct(s.LeftPct()))
	}
	return v
}

// Pct writes a percentage for people, with one decimal. It never rounds a miss
// to 100: what is above 99.9 and below 100 is 99.9.
func Pct(p float64) string {
	if p < 100 && p > 99.9 {
		p = 99.9
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

func plain(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) + " %" }
