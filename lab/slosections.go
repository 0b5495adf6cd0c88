package lab

import (
	"fmt"
	"strconv"
	"strings"
)

// story is the report in words. Every sentence of it is about this run: what
// did not happen is not told.
func (r *sloResult) story() Story {
	s := Story{Caveats: r.caveats()}
	x := r.exhibit()
	what := r.outcome()
	s.Headline, s.Lede = r.opening(what, x)
	switch what {
	case nobodyServed: // there is nothing to tell apart
	case nobodyCame:
		s.Sections = []Section{r.throughBurst()}
	case nothingLost, nobodyCritical:
		s.Sections = []Section{r.trap(x), r.ceiling(), r.throughBurst()}
	default:
		s.Panels = r.panels(x)
		s.Sections = []Section{r.trap(x), r.ceiling(), r.throughBurst()}
	}
	return s
}

// opening is the headline, and what stands under it.
func (r *sloResult) opening(what outcome, x pair) (headline, lede string) {
	m := &r.model
	c, q := &x.blind.class[critical], &x.priority.class[critical]
	at := fmt.Sprintf("At %s requests a second, %s what the server can do,", one(x.blind.offered()), r.times(x.blind.offered()))
	both := fmt.Sprintf("%s the blind door served %s of the critical requests that came, and the priority door %s.", at, pct(c.SuccessPct()), pct(q.SuccessPct()))
	switch what {
	case nobodyCame:
		return "Nobody came", "Every rate of this sweep is 0, or the run too short for a call. There is nothing to tell the doors by; set rates above 0."
	case nobodyServed:
		return "Nothing fits the deadline", fmt.Sprintf("A call runs for %s and its client waits for %s. Nothing that is begun could end in time, so nothing was begun: everything that came was refused or expired, behind either door. There is no survivor, and no latency to look at.", human(m.Service), human(m.Deadline))
	case nothingLost:
		return "Nothing had to be lost", "At every rate of this sweep the server kept up, and the doors had nothing to decide. Offer more than it can do to see them differ."
	case nobodyCritical:
		return "Nobody critical came", fmt.Sprintf("With a critical share of %s, none of the %d requests that were scored was critical. Some were lost, and no door had anybody to protect. Set a higher share, or a longer run.", decimal(m.Share), r.came(background))
	case nobodyElse:
		return "There was nobody whose place could be taken", fmt.Sprintf("With a critical share of %s, all of the %d requests that were scored were critical. %s A class is critical only while another may be lost.", decimal(m.Share), r.came(critical), both)
	case noDifference:
		return "The doors made no difference", both + " " + r.why(x)
	case sameLatency:
		return "The latency looked the same. The success did not.", fmt.Sprintf("%s the slowest of a hundred critical requests that were served took %s. A latency panel shows no difference. One door served %s of the critical requests that came, the other %s.",
			at, r.latencies(x), pct(c.SuccessPct()), pct(q.SuccessPct()))
	}
	return "What the survivors’ latency does not say", fmt.Sprintf("%s The latency of those that were served (p99: %s) says nothing about those that were not.", both, r.latencies(x))
}

func (r *sloResult) times(offered float64) string {
	return short(offered/r.model.Capacity()) + " times"
}

func (r *sloResult) panels(x pair) []Panel {
	at := fmt.Sprintf("at %s rps", one(x.blind.offered()))
	values := func(text func(p *sloPoint) string, mood func(p *sloPoint) string) []Value {
		return []Value{{"blind door", text(x.blind), mood(x.blind)}, {"priority door", text(x.priority), mood(x.priority)}}
	}
	of := func(class int) func(p *sloPoint) string {
		return func(p *sloPoint) string {
			if p.class[class].Arrivals == 0 {
				return "none came"
			}
			return pct(p.class[class].SuccessPct())
		}
	}
	plain := func(*sloPoint) string { return "plain" }
	return []Panel{
		{
			Question: "What a latency panel sees",
			Values: values(func(p *sloPoint) string { return r.p99Text(&p.class[critical]) }, func(p *sloPoint) string {
				if p.class[critical].OK() == 0 {
					return "plain"
				}
				return "good" // whoever was served was served in time
			}),
			Note: fmt.Sprintf("p99 of the critical requests that were served, %s; deadline %s", at, human(r.model.Deadline)),
		},
		{
			Question: "What critical clients got",
			Values: values(of(critical), func(p *sloPoint) string {
				if p.met() {
					return "good"
				}
				return "bad"
			}),
			Note: fmt.Sprintf("of all critical requests, served within the deadline, %s; objective %.0f %%", at, sloTarget),
		},
		{
			Question: "Who paid",
			Values:   values(of(background), plain),
			Note:     "of all background requests, served within the deadline, " + at,
		},
	}
}

func (r *sloResult) trap(x pair) Section {
	c, b := &x.blind.class[critical], &x.blind.class[background]
	s := Section{Heading: "The trap: counting only those who got through"}
	p := fmt.Sprintf("The system is bounded: at most %s in it, because that is what the server can finish within the deadline of %s%s, and what can no longer finish in time is dropped before it costs anything. So whatever is served at all is served in time, under any load and behind any door. That is a good property, and it makes the latency of the served useless as a health signal: it cannot be bad.",
		requests(r.model.Budget()), human(r.model.Deadline), r.model.rounded())
	s.Paragraphs = []string{p}
	if c.Arrivals > c.OK() {
		p := fmt.Sprintf("Behind the blind door, at %s rps, %d of %d critical requests were refused or expired, and none of them left a latency. Success has to be counted over everything that arrived: %s of the critical",
			one(x.blind.offered()), c.Arrivals-c.OK(), c.Arrivals, pct(c.SuccessPct()))
		if b.Arrivals == 0 {
			p += " requests were served."
		} else {
			p += fmt.Sprintf(" and %s of the background requests were served.", pct(b.SuccessPct()))
			if b.Arrivals > b.OK() {
				p += " A door that does not ask whose work it is loses both alike."
			}
		}
		s.Paragraphs = append(s.Paragraphs, p)
	}
	s.Paragraphs = append(s.Paragraphs, "The priority door decides beforehand. A critical request that finds the system full takes the place of the background request that came last, and is refused only when no background request waits. Nothing adapts, nothing is learnt; only the victim is another.")
	return s
}

// requests counts with its verb.
func requests(n int64) string {
	if n == 1 {
		return "1 request is"
	}
	return strconv.FormatInt(n, 10) + " requests are"
}

func (r *sloResult) ceiling() Section {
	chart := r.protectionChart()
	m := &r.model
	s := Section{Heading: "The ceiling, and who pays below it", Chart: &chart}
	s.Caveat = fmt.Sprintf("Rates are those of the scored window of %s: arrivals after %s have no full deadline left, take part, and count nowhere. So an offered rate is not the round number it was meant to be",
		human(r.duration-m.Deadline), human(r.duration-m.Deadline))
	if best := r.bestGoodput(); best > m.Capacity() {
		s.Caveat += fmt.Sprintf(", and goodput (up to %s rps here) can read above the capacity of %s rps", one(best), short(m.Capacity()))
	}
	s.Caveat += "."
	s.Paragraphs = append(s.Paragraphs, fmt.Sprintf(
		"Priority makes no capacity. Critical work alone fills the server at capacity ÷ share = %s ÷ %s = %s offered. Below that, its failures can be handed to background work; above it no background work given up makes the server time that is missing. It is a boundary of what is possible, not a promise that everything up to it passes: close to it, timing alone decides.",
		short(m.Capacity()), decimal(m.Share), m.ceilingText()))
	s.Paragraphs = append(s.Paragraphs, r.objective()...)
	s.Paragraphs = append(s.Paragraphs, "What background loses is the price, not a side effect. A critical class exists only where another class is genuinely allowed to fail; without that agreement every request is critical, and there is nothing to evict.")
	return s
}

// objective says at which rates the priority door kept it.
func (r *sloResult) objective() (paragraphs []string) {
	var kept, missed, empty []string
	for _, p := range sorted(r.points[1]) {
		c, b := &p.class[critical], &p.class[background]
		rate := one(p.offered()) + " rps"
		back := "none of background came"
		if b.Arrivals > 0 {
			back = "background " + pct(b.SuccessPct())
		}
		both := fmt.Sprintf("%s (critical %s, %s)", rate, pct(c.SuccessPct()), back)
		switch {
		case c.Arrivals == 0:
			empty = append(empty, rate)
		case p.met():
			kept = append(kept, both)
		default:
			missed = append(missed, both)
		}
	}
	if len(kept) > 0 {
		paragraphs = append(paragraphs, "In this run the priority door kept the objective at "+list(kept)+".")
	}
	if len(missed) > 0 {
		paragraphs = append(paragraphs, "In this run the priority door missed the objective at "+list(missed)+".")
	}
	if len(empty) > 0 {
		paragraphs = append(paragraphs, "Nobody critical came at "+list(empty)+"; there the objective says nothing, and the table's success of 100 % is that of nobody.")
	}
	return paragraphs
}

func (r *sloResult) bestGoodput() (best float64) {
	for _, points := range r.points {
		for _, p := range points {
			best = max(best, p.goodput())
		}
	}
	return best
}

// list joins with commas and an "and", and leaves out the middle of long ones.
func list(items []string) string {
	if n := len(items); n > 6 {
		items = append(append(items[:3:3], "…"), items[n-2:]...)
	}
	if len(items) == 1 {
		return items[0]
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}

func (r *sloResult) throughBurst() Section {
	m := &r.model
	s := Section{Heading: "Through the burst"}
	if m.windows(r.duration) == 0 {
		s.Paragraphs = []string{r.noBurstChart() + " The burst's table has no row."}
		return s
	}
	chart := r.burstChart()
	s.Chart = &chart
	s.Paragraphs = []string{r.burstShape() + " " + r.burstEnds()}
	s.Caveat = fmt.Sprintf("The table and the chart of the burst hold success by window of arrival and no latency; nothing is claimed about latency within a window. A window of %d ms holds few critical requests, so single windows jump; one in which nobody of a class came counts as 100 %%.", windowSize)
	return s
}

// noBurstChart says why there is none.
func (r *sloResult) noBurstChart() string {
	return fmt.Sprintf("The run has no whole window of %d ms whose arrivals have their full deadline, so there is no chart of the burst; a duration of %s or more has one.",
		windowSize, spell(r.model.Deadline+windowSize))
}

// burstShape says what came in the second run, as far as it is scored.
func (r *sloResult) burstShape() string {
	m := &r.model
	p := fmt.Sprintf("The second run alternates %s rps for %s with %s rps for %s", decimal(m.ValleyRPS), human(m.Valley), decimal(m.SpikeRPS), human(m.Spike))
	switch {
	case m.ValleyRPS == m.SpikeRPS:
		return p + "; that is one and the same rate, and no burst."
	case int64(m.windows(r.duration)*windowSize) <= m.Valley:
		return p + "; what is scored of it ends before the second of the two begins."
	case m.SpikeRPS < m.ValleyRPS:
		return p + ": a lull, not a spike."
	}
	return p + fmt.Sprintf("; in the spikes about %s critical requests arrive a second.", short(m.SpikeRPS*m.Share))
}

// burstEnds says what became of those who came in the second run.
func (r *sloResult) burstEnds() string {
	var came, lost [2]bool // by class, at either door
	for _, b := range r.bursts {
		for class, windows := range b.class {
			for _, w := range windows {
				came[class] = came[class] || w.Arrivals > 0
				lost[class] = lost[class] || w.OK < w.Arrivals
			}
		}
	}
	switch {
	case !came[critical] && !came[background]:
		return "Nobody came in it."
	case !lost[critical] && !lost[background]:
		return "Nothing was lost in any window of it."
	}
	var said []string
	if came[critical] {
		said = append(said, fmt.Sprintf("In its worst window the blind door served %s of the critical arrivals, the priority door %s.",
			pct(r.bursts[0].worst(critical)), pct(r.bursts[1].worst(critical))))
	} else {
		said = append(said, "Nobody critical came in it.")
	}
	switch paid := r.bursts[1].worst(background); {
	case !came[background]:
		said = append(said, "No background call came in it.")
	case paid < r.bursts[1].worst(critical) && r.bursts[1].worst(critical) > r.bursts[0].worst(critical):
		said = append(said, fmt.Sprintf("Background went down to %s behind the priority door: it takes the burst.", pct(paid)))
	default:
		said = append(said, fmt.Sprintf("Background went down to %s behind the priority door.", pct(paid)))
	}
	return strings.Join(said, " ")
}

// worst is the lowest success of any window.
func (b *sloBurst) worst(class int) float64 {
	low := 100.0
	for _, w := range b.class[class] {
		low = min(low, w.SuccessPct())
	}
	return low
}
