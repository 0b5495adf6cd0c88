package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func (m *SLOModel) facts(duration int64) []Fact {
	return []Fact{
		{"capacity", fmt.Sprintf("%s rps: one server, %s a call", short(m.Capacity()), human(m.Service))},
		{"deadline", human(m.Deadline)},
		{"bound", fmt.Sprintf("%d in the system: capacity × deadline", m.Budget())},
		{"critical share", strconv.FormatFloat(m.Share, 'g', -1, 64)},
		{"SLO", fmt.Sprintf("%.0f %% of critical arrivals within the deadline", sloTarget)},
		{"ceiling", fmt.Sprintf("%s rps: capacity ÷ critical share", short(m.Ceiling()))},
		{"window", fmt.Sprintf("%s, the first %s scored", ISODuration(duration), ISODuration(duration-m.Deadline))},
	}
}

// pair is one offered rate at both doors.
type pair struct{ blind, priority *sloPoint }

// gain is what the priority door adds to critical success, in points.
func (p pair) gain() float64 {
	return p.priority.class[critical].success() - p.blind.class[critical].success()
}

// saves says that the priority door keeps the objective where blind does not.
func (p pair) saves() bool { return p.priority.met() && !p.blind.met() }

// exhibit is the rate that shows best what the doors do: one where priority
// keeps the objective and blind does not, if there is one; the largest gain
// among those.
func (r *sloResult) exhibit() pair {
	best := pair{r.points[0][0], r.points[1][0]}
	for i := range r.points[0] {
		p := pair{r.points[0][i], r.points[1][i]}
		if p.saves() != best.saves() {
			if p.saves() {
				best = p
			}
		} else if p.gain() > best.gain() {
			best = p
		}
	}
	return best
}

// lost says whether any scored arrival of the sweep was not served.
func (r *sloResult) lost() bool {
	for _, points := range r.points {
		for _, p := range points {
			for k := range p.class {
				if p.class[k].ok < p.class[k].arrivals {
					return true
				}
			}
		}
	}
	return false
}

func pct(v float64) string { return one(v) + " %" }

// latencies says how the two doors' survivors compare.
func (p pair) latencies() (text string, alike bool) {
	b, q := p.blind.class[critical].p99(), p.priority.class[critical].p99()
	if b == q {
		return fmt.Sprintf("%d ms behind either door", b), true
	}
	return fmt.Sprintf("%d ms behind the blind door and %d ms behind the priority door", b, q), math.Abs(float64(b-q)) <= 0.1*float64(max(b, q))
}

func (r *sloResult) summary() []string {
	m := &r.model
	x := r.exhibit()
	lines := []string{
		fmt.Sprintf("Capacity %s rps. Ceiling %s rps: beyond it critical traffic alone is more than the server can do.", short(m.Capacity()), short(m.Ceiling())),
	}
	if !r.lost() {
		lines = append(lines, "Nothing was lost at any of these rates: offer more to see the doors differ.")
	} else {
		text, _ := x.latencies()
		lines = append(lines,
			fmt.Sprintf("At %s rps critical success is %s blind and %s with priority.", one(x.blind.offered()), pct(x.blind.class[critical].success()), pct(x.priority.class[critical].success())),
			fmt.Sprintf("The p99 of what was served is %s: survivors do not know who is missing.", text),
			fmt.Sprintf("Background pays: %s there. A class is critical only while another may be lost.", pct(x.priority.class[background].success())))
	}
	return append(lines, "A synthetic model: its numbers do not carry over to a service, its mechanism does.")
}

func (r *sloResult) story() Story {
	s := Story{Caveats: r.caveats()}
	x := r.exhibit()
	latency, alike := x.latencies()
	c, q := &x.blind.class[critical], &x.priority.class[critical]
	switch {
	case r.model.Budget() == 0:
		s.Headline = "Nothing fits the deadline"
		s.Lede = fmt.Sprintf("A call runs for %s and its client waits for %s: the bound is no request at all, and everything that came was refused.", human(r.model.Service), human(r.model.Deadline))
		return s
	case !r.lost():
		s.Headline = "Nothing had to be lost"
		s.Lede = "At every rate of this sweep the server kept up, and the doors had nothing to decide. Offer more than it can do to see them differ."
	case alike:
		s.Headline = "The latency looked the same. The success did not."
		s.Lede = fmt.Sprintf("At %s requests a second, %s what the server can do, the slowest of a hundred critical requests that were served took %s. A latency panel shows no difference. One door served %s of the critical requests that came, the other %s.",
			one(x.blind.offered()), r.times(x.blind.offered()), latency, pct(c.success()), pct(q.success()))
	default:
		s.Headline = "What the survivors’ latency does not say"
		s.Lede = fmt.Sprintf("At %s requests a second, %s what the server can do, the blind door served %s of the critical requests that came, and the priority door %s. The latency of those that were served (p99: %s) says nothing about those that were not.",
			one(x.blind.offered()), r.times(x.blind.offered()), pct(c.success()), pct(q.success()), latency)
	}
	if r.lost() {
		s.Panels = r.panels(x)
	}
	s.Sections = []Section{r.trap(x), r.ceiling(), r.throughBurst()}
	return s
}

func (r *sloResult) times(offered float64) string {
	return short(offered/r.model.Capacity()) + " times"
}

func (r *sloResult) panels(x pair) []Panel {
	at := fmt.Sprintf("at %s rps", one(x.blind.offered()))
	values := func(text func(p *sloPoint) string, mood func(p *sloPoint) string) []Value {
		return []Value{{"blind door", text(x.blind), mood(x.blind)}, {"priority door", text(x.priority), mood(x.priority)}}
	}
	plain := func(*sloPoint) string { return "plain" }
	return []Panel{
		{
			Question: "What a latency panel sees",
			Values: values(func(p *sloPoint) string { return fmt.Sprintf("%d ms", p.class[critical].p99()) }, func(p *sloPoint) string {
				if p.class[critical].p99() <= r.model.Deadline {
					return "good"
				}
				return "bad"
			}),
			Note: fmt.Sprintf("p99 of the critical requests that were served, %s; deadline %s", at, human(r.model.Deadline)),
		},
		{
			Question: "What critical clients got",
			Values: values(func(p *sloPoint) string { return pct(p.class[critical].success()) }, func(p *sloPoint) string {
				if p.met() {
					return "good"
				}
				return "bad"
			}),
			Note: fmt.Sprintf("of all critical requests, served within the deadline, %s; objective %.0f %%", at, sloTarget),
		},
		{
			Question: "Who paid",
			Values:   values(func(p *sloPoint) string { return pct(p.class[background].success()) }, plain),
			Note:     "of all background requests, served within the deadline, " + at,
		},
	}
}

func (r *sloResult) trap(x pair) Section {
	c, b := &x.blind.class[critical], &x.blind.class[background]
	s := Section{Heading: "The trap: counting only those who got through"}
	p := fmt.Sprintf("The system is bounded: at most %d requests are in it, because that is what the server can finish within the deadline of %s, and what can no longer finish in time is dropped before it costs anything. So whatever is served at all is served in time, under any load and behind any door. That is a good property, and it makes the latency of the served useless as a health signal: it cannot be bad.",
		r.model.Budget(), human(r.model.Deadline))
	s.Paragraphs = []string{p}
	if c.arrivals > c.ok {
		s.Paragraphs = append(s.Paragraphs, fmt.Sprintf(
			"Behind the blind door, at %s rps, %s of %s critical requests were refused or expired, and none of them left a latency. Success has to be counted over everything that arrived: %s of the critical and %s of the background requests were served. A door that does not ask whose work it is loses both alike.",
			one(x.blind.offered()), strconv.FormatInt(c.arrivals-c.ok, 10), strconv.FormatInt(c.arrivals, 10), pct(c.success()), pct(b.success())))
	}
	s.Paragraphs = append(s.Paragraphs, "The priority door decides beforehand. A critical request that finds the system full takes the place of the background request that came last, and is refused only when no background request waits. Nothing adapts, nothing is learnt; only the victim is another.")
	return s
}

func (r *sloResult) ceiling() Section {
	chart := r.protectionChart()
	m := &r.model
	s := Section{Heading: "The ceiling, and who pays below it", Chart: &chart, Caveat: fmt.Sprintf(
		"Rates are those of the scored window of %s: arrivals after %s have no full deadline left, take part, and count nowhere. So an offered rate is not the round number it was meant to be, and goodput (up to %s rps here) can read above the capacity of %s rps.",
		human(r.duration-m.Deadline), human(r.duration-m.Deadline), one(r.bestGoodput()), short(m.Capacity()))}
	s.Paragraphs = append(s.Paragraphs, fmt.Sprintf(
		"Priority makes no capacity. Critical work alone fills the server at capacity ÷ share = %s ÷ %s = %s rps offered. Below that, its failures can be handed to background work; above it no background work given up makes the server time that is missing. It is a boundary of what is possible, not a promise that everything up to it passes: close to it, timing alone decides.",
		short(m.Capacity()), strconv.FormatFloat(m.Share, 'g', -1, 64), short(m.Ceiling())))
	var kept, missed []string
	for _, p := range sorted(r.points[1]) {
		t := fmt.Sprintf("%s rps (critical %s, background %s)", one(p.offered()), pct(p.class[critical].success()), pct(p.class[background].success()))
		if p.met() {
			kept = append(kept, t)
		} else {
			missed = append(missed, t)
		}
	}
	if len(kept) > 0 {
		s.Paragraphs = append(s.Paragraphs, "In this run the priority door kept the objective at "+list(kept)+".")
	}
	if len(missed) > 0 {
		s.Paragraphs = append(s.Paragraphs, "It missed it at "+list(missed)+".")
	}
	s.Paragraphs = append(s.Paragraphs, "What background loses is the price, not a side effect. A critical class exists only where another class is genuinely allowed to fail; without that agreement every request is critical, and there is nothing to evict.")
	return s
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
	n := m.windows(r.duration)
	if n == 0 {
		s.Paragraphs = []string{fmt.Sprintf("The run is too short for a single scored window of %d ms.", windowSize)}
		return s
	}
	chart := r.burstChart()
	s.Chart = &chart
	blind, priority, paid := r.bursts[0].worst(critical), r.bursts[1].worst(critical), r.bursts[1].worst(background)
	s.Paragraphs = append(s.Paragraphs, fmt.Sprintf(
		"The second run alternates %v rps for %s with %v rps for %s; in the spikes about %s critical requests arrive a second. In its worst window the blind door served %s of the critical arrivals, the priority door %s. Background went down to %s behind the priority door: it takes the burst.",
		m.ValleyRPS, human(m.Valley), m.SpikeRPS, human(m.Spike), short(m.SpikeRPS*m.Share), pct(blind), pct(priority), pct(paid)))
	s.Caveat = fmt.Sprintf("The table and the chart of the burst hold success by window of arrival and no latency; nothing is claimed about latency within a window. A window of %d ms holds few critical requests, so single windows jump.", windowSize)
	return s
}

// worst is the lowest success of any window.
func (b *sloBurst) worst(class int) float64 {
	low := 100.0
	for w := range b.class[class].arrivals {
		low = min(low, b.class[class].success(w))
	}
	return low
}

func (r *sloResult) caveats() []string {
	m := &r.model
	c := []string{
		"A model, not a service: one server with a service time that never varies, arrivals like clockwork, no network, no retries, and clients that never leave early. Its numbers do not carry over to production; its mechanism does.",
		fmt.Sprintf("Rates and goodput are those of the scored window of %s, the run less one deadline. They are not closed-loop throughput.", human(r.duration-m.Deadline)),
		"Percentiles are over the scored requests that were served. They leave out exactly what went wrong, which is the point of this experiment.",
		"The burst is recorded as success per window of arrival; no latency is claimed for any window.",
		fmt.Sprintf("Classes are drawn from a fixed seed (%d), so every rate and both doors see the same ones. Nothing else is random.", sloSeed),
	}
	if !m.isDefault() || r.duration != 5000 {
		c = append(c, "The published tables belong to other constants or another duration than these; the manifest says that the checksums differ, as they must.")
	}
	return c
}
