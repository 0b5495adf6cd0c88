package web

import (
	"fmt"
	"strings"
)

// Headline says in a sentence or two what a snapshot shows: whether something
// is being shed, of whom, why, and since when.
func Headline(s *Snapshot) Words {
	switch s.State {
	case Failed:
		return Words{Alarm, "It has failed: " + s.Error}
	case Done:
		return closing(s)
	}
	for i := range s.Runs {
		if s.Runs[i].State == Running {
			return live(s, &s.Runs[i])
		}
	}
	if s.Doing != "" {
		return Words{Calm, s.Doing}
	}
	return Words{Calm, "Nothing is running yet."}
}

// live is the headline of a run under way.
func live(s *Snapshot, r *Run) Words {
	if r.SheddingFor == nil {
		return Words{Calm, "Not shedding: every call gets in."}
	}
	whom, expendable := sheddees(s, r)
	text := fmt.Sprintf("%s, %s are being refused: %s.", since(*r.SheddingFor), whom, reasons(r))
	tone := Shed
	for i, c := range s.Classes {
		if c.Objective == 0 || i >= len(r.Classes) || r.Classes[i].SuccessPct == nil {
			continue
		}
		got := *r.Classes[i].SuccessPct
		if got >= c.Objective {
			text += fmt.Sprintf(" %s of %s calls succeed, as promised.", percent(got), c.Name)
			continue
		}
		tone = Alarm
		text += fmt.Sprintf(" Only %s of %s calls succeed; %s were promised.", percent(got), c.Name, plain(c.Objective))
	}
	if tone == Shed && expendable {
		text += " Nothing else is lost."
	}
	return Words{tone, text}
}

// sheddees names the classes that make up the refusals, and says whether all of
// them may be lost. A class with less than one refusal in fifty is not named.
func sheddees(s *Snapshot, r *Run) (whom string, expendable bool) {
	var total uint64
	by := make(map[string]uint64)
	for _, x := range r.Refused {
		by[x.Class] += x.Count
		total += x.Count
	}
	var names []string
	expendable = true
	for _, c := range s.Classes {
		if n := by[c.Name]; n > 0 && n*50 >= total {
			names = append(names, c.Name)
		}
		if by[c.Name] > 0 && c.Objective > 0 {
			expendable = false
		}
	}
	if len(names) == 0 {
		return "calls", false
	}
	return strings.Join(names, " and ") + " calls", expendable
}

// reasons lists the reasons, the commonest first, with their share.
func reasons(r *Run) string {
	var total uint64
	by := make(map[string]uint64)
	var order []string
	for _, x := range r.Refused {
		if by[x.Reason] == 0 {
			order = append(order, x.Reason)
		}
		by[x.Reason] += x.Count
		total += x.Count
	}
	var parts []string
	for _, reason := range order {
		if by[reason]*100 >= total {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", reason, 100*float64(by[reason])/float64(total)))
		}
	}
	if len(parts) == 0 {
		return "nobody yet"
	}
	return strings.Join(parts, ", ")
}

func since(seconds float64) string {
	if seconds < 1 {
		return "Just now"
	}
	whole := int(seconds)
	if whole < 60 {
		return fmt.Sprintf("For %d s", whole)
	}
	return fmt.Sprintf("For %d min %d s", whole/60, whole%60)
}

// closing is the headline when all is over: what the first class got in each run.
func closing(s *Snapshot) Words {
	if len(s.Classes) == 0 {
		return Words{Calm, "It is over."}
	}
	var parts []string
	for _, r := range s.Runs {
		if len(r.Classes) > 0 && r.Classes[0].SuccessPct != nil {
			parts = append(parts, fmt.Sprintf("%s succeeded with %s", percent(*r.Classes[0].SuccessPct), r.Title))
		}
	}
	if len(parts) == 0 {
		return Words{Calm, "It is over."}
	}
	return Words{Calm, fmt.Sprintf("Of the %s calls, %s.", s.Classes[0].Name, strings.Join(parts, "; "))}
}

// percent writes one decimal and never rounds a loss away.
func percent(p float64) string {
	if p < 100 && p > 99.9 {
		p = 99.9
	}
	return fmt.Sprintf("%.1f %%", p)
}

func plain(p float64) string { return fmt.Sprintf("%g %%", p) }
