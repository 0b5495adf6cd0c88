package demo

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/plimsoll-go/plimsoll/slo"
	"github.com/plimsoll-go/plimsoll/web"
)

// agreement is how many points measured and predicted success may be apart.
const agreement = 3.0

// verdicts say in words what the figures mean: each policy's promise, the trap
// that a dashboard of latencies would be, and whether the prediction held.
func verdicts(c *Config, phases []*phase, r *Result) []string {
	var out []string
	for i := range r.Phases {
		score := phases[i].board.Class(classNames()[critical])
		v := score.Judge(classNames()[critical], objective, c.Deadline.Milliseconds())
		out = append(out, "With "+phases[i].policy.title+": "+lower(v.Text))
	}
	if s := trap(r); s != "" {
		out = append(out, s)
	}
	return append(out, agrees(r))
}

// trap compares the first phase with the best one: what survivors say of both,
// and what everybody says.
func trap(r *Result) string {
	first, best := &r.Phases[0].Measured, &r.Phases[0].Measured
	for i := range r.Phases {
		if m := &r.Phases[i].Measured; m.CriticalSuccessPct > best.CriticalSuccessPct {
			best = m
		}
	}
	if best.CriticalSuccessPct-first.CriticalSuccessPct < 5 || math.Abs(best.SurvivorP99-first.SurvivorP99) > 0.15*first.SurvivorP99 {
		return ""
	}
	return fmt.Sprintf("Seen by a dashboard of latencies the policies are alike: the survivors' p99 is %.0f ms and %.0f ms, the success of the admitted %s and %s. Counting everybody, %s and %s of critical calls succeeded.",
		first.SurvivorP99, best.SurvivorP99, slo.Pct(first.AdmittedSuccessPct), slo.Pct(best.AdmittedSuccessPct),
		slo.Pct(first.CriticalSuccessPct), slo.Pct(best.CriticalSuccessPct))
}

// agrees says how far the prediction was off.
func agrees(r *Result) string {
	worst, where := -1.0, ""
	for _, p := range r.Phases {
		for i, d := range []float64{
			p.Measured.CriticalSuccessPct - p.Predicted.CriticalSuccessPct,
			p.Measured.BackgroundSuccessPct - p.Predicted.BackgroundSuccessPct,
		} {
			if math.Abs(d) > worst {
				worst, where = math.Abs(d), fmt.Sprintf("%s of %s", classNames()[i], p.Policy)
			}
		}
	}
	switch {
	case worst < 0.05:
		return "The simulator, running the same core on the same arrivals, foretold every success to a tenth of a point."
	case worst <= agreement:
		return fmt.Sprintf("The simulator, running the same core on the same arrivals, foretold every success within %.1f points.", worst)
	}
	return fmt.Sprintf("The simulator was off by up to %.1f points (%s): this machine did something that the model does not have.", worst, where)
}

// warnings say what makes the figures less than they seem.
func warnings(r *Result) []string {
	out := []string{}
	for i := range r.Phases {
		p := &r.Phases[i]
		var late []string
		if !p.LoadKept {
			late = append(late, fmt.Sprintf("the load did not keep its schedule (late by %.1f ms at the 99th percentile)", p.LoadLagP99))
		}
		if !p.UpstreamKept {
			late = append(late, fmt.Sprintf("the service did not keep its own (late by %.1f ms)", p.UpstreamLateP99))
		}
		if len(late) > 0 {
			out = append(out, fmt.Sprintf("In phase %s %s: its figures say more about this machine than about the gate. Close what else is running and try again.", p.Policy, strings.Join(late, " and ")))
		}
	}
	return out
}

// words are the verdicts for the page.
func words(r *Result) []web.Words {
	var out []web.Words
	for i, v := range r.Verdicts {
		tone := web.Calm
		if i < len(r.Phases) && r.Phases[i].Measured.CriticalSuccessPct < objective {
			tone = web.Alarm
		}
		out = append(out, web.Words{Tone: tone, Text: v})
	}
	return out
}

// Print writes the result for people: a table, measured beside predicted, and
// what it means.
func (r *Result) Print(w io.Writer) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tcritical\tbackground\tgoodput\tsurvivors'\tcritical\tcritical\t")
	fmt.Fprintln(t, "\tsuccess\tsuccess\tcalls/s\tp99\tp95\tp99\t")
	for _, p := range r.Phases {
		row(t, p.Policy, &p.Measured)
		row(t, "predicted", &p.Predicted)
	}
	_ = t.Flush() // a Builder takes everything
	b.WriteByte('\n')
	for _, p := range r.Phases {
		fmt.Fprintf(&b, "%s: %d calls = %d ok + %d late + %d failed + %d gave up + %s; the upstream saw %d\n",
			p.Policy, p.Arrivals, p.OK, p.Late, p.Failed, p.Cancelled, reasons(p.Refused), p.UpstreamCalls)
	}
	b.WriteByte('\n')
	for _, v := range append(append([]string{}, r.Verdicts...), r.Warnings...) {
		fmt.Fprintf(&b, "%s\n", wrap("- "+v, 100))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func row(w io.Writer, name string, f *Figures) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%.0f ms\t%.0f ms\t%.0f ms\t\n", name,
		slo.Pct(f.CriticalSuccessPct), slo.Pct(f.BackgroundSuccessPct), f.GoodputRPS, f.SurvivorP99, f.CriticalP95, f.CriticalP99)
}

// reasons are the refusals, the commonest first.
func reasons(by map[string]uint64) string {
	var total uint64
	for _, n := range by {
		total += n
	}
	if total == 0 {
		return "0 refused"
	}
	return fmt.Sprintf("%d refused (%s)", total, strings.Join(counted(by), ", "))
}

func counted(by map[string]uint64) []string {
	keys := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		if by[a] != by[b] {
			return int(int64(by[b]) - int64(by[a]))
		}
		return strings.Compare(a, b)
	})
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = fmt.Sprintf("%d %s", by[k], k)
	}
	return out
}

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// wrap breaks a line at spaces, with an indent of two.
func wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(s, " ") {
		n := len([]rune(word))
		switch {
		case i > 0 && column+1+n > width:
			b.WriteString("\n  ")
			column = 2
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
