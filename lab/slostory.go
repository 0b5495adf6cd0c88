package lab

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/slo"
)

func (m *SLOModel) facts(duration int64) []Fact {
	return []Fact{
		{"capacity", fmt.Sprintf("%s rps: one server, %s a call", short(m.Capacity()), human(m.Service))},
		{"deadline", human(m.Deadline)},
		{"bound", fmt.Sprintf("%d in the system: capacity × deadline%s", m.Budget(), m.rounded())},
		{"critical share", decimal(m.Share)},
		{"SLO", fmt.Sprintf("%.0f %% of critical arrivals within the deadline", sloTarget)},
		{"ceiling", m.ceilingText() + ": capacity ÷ critical share"},
		{"window", fmt.Sprintf("%s, the first %s scored", ISODuration(duration), ISODuration(duration-m.Deadline))},
	}
}

// rounded says that the bound is not quite what the server can do in time.
func (m *SLOModel) rounded() string {
	if m.Deadline%m.Service != 0 {
		return ", rounded"
	}
	return ""
}

// ceilingText is the ceiling for people. With a share that is next to nothing
// the number would fill a line and mean nothing.
func (m *SLOModel) ceilingText() string {
	if c := m.Ceiling(); c <= arrival.MaxRate {
		return short(c) + " rps"
	}
	return "above " + decimal(arrival.MaxRate) + " rps"
}

// fits says that a call which is started at once ends within its deadline. If
// not, nothing is ever started, whatever the bound.
func (m *SLOModel) fits() bool { return m.Service <= m.Deadline }

// pair is one offered rate at both doors.
type pair struct{ blind, priority *sloPoint }

// gain is what the priority door adds to critical success, in points.
func (p pair) gain() float64 {
	return p.priority.class[critical].SuccessPct() - p.blind.class[critical].SuccessPct()
}

// saves says that the priority door keeps the objective where blind does not.
func (p pair) saves() bool { return p.priority.met() && !p.blind.met() }

// differs says that the doors differ in what they did for critical calls.
func (p pair) differs() bool { return p.saves() || p.gain() >= 1 }

// lost says that somebody was not served, at either door.
func (p pair) lost() bool {
	return p.blind.served() < p.blind.arrivals() || p.priority.served() < p.priority.arrivals()
}

func (r *sloResult) pairs() []pair {
	all := make([]pair, len(r.points[0]))
	for i := range all {
		all[i] = pair{r.points[0][i], r.points[1][i]}
	}
	return all
}

// exhibit is the rate that shows best what the doors do: one where priority
// keeps the objective and blind does not, if there is one, and the largest gain
// among those. Where the doors make no difference it is the highest rate at
// which anything was lost.
func (r *sloResult) exhibit() pair {
	all := r.pairs()
	best := all[0]
	for _, p := range all[1:] {
		if p.saves() && !best.saves() || p.saves() == best.saves() && p.gain() > best.gain() {
			best = p
		}
	}
	if best.differs() {
		return best
	}
	for _, p := range all {
		if p.lost() && (!best.lost() || p.blind.offered() > best.blind.offered()) {
			best = p
		}
	}
	return best
}

// came is how many scored arrivals of a class the sweep had, at each door.
func (r *sloResult) came(class int) (n uint64) {
	for _, p := range r.points[0] {
		n += p.class[class].Arrivals
	}
	return n
}

// outcome is what a sweep came to, and so what there is to tell of it.
type outcome uint8

const (
	nobodyCame outcome = iota
	nobodyServed
	nothingLost
	nobodyCritical
	nobodyElse   // all are critical: nobody's place can be taken
	noDifference // between the doors
	sameLatency  // they differ, and no survivor's latency shows it
	otherLatency
)

func (r *sloResult) outcome() outcome {
	x := r.exhibit()
	switch {
	case r.came(critical)+r.came(background) == 0:
		return nobodyCame
	case !r.model.fits():
		return nobodyServed
	case !slices.ContainsFunc(r.pairs(), pair.lost):
		return nothingLost
	case r.came(critical) == 0:
		return nobodyCritical
	case r.came(background) == 0:
		return nobodyElse
	case !x.differs():
		return noDifference
	case r.alike(x):
		return sameLatency
	}
	return otherLatency
}

// pct writes one decimal as the tables do, and never rounds a loss, or a
// success, away.
func pct(v float64) string {
	switch {
	case v < 100 && v >= 99.95:
		return "more than 99.9 %"
	case v > 0 && v < 0.05:
		return "less than 0.1 %"
	}
	return one(v) + " %"
}

// p99 is the survivors' p99 in milliseconds. Three digits are kept of it and
// rounded up, so it may read beyond the deadline; but nobody who was served was
// served late.
func (r *sloResult) p99(s *slo.Score) int64 { return min(s.SurvivorMs(99), r.model.Deadline) }

// p99Text is the survivors' p99 for people, also of nobody.
func (r *sloResult) p99Text(s *slo.Score) string {
	switch v := r.p99(s); {
	case s.OK() == 0:
		return "none"
	case v >= slo.MaxLatency:
		return human(slo.MaxLatency) + " or more"
	default:
		return strconv.FormatInt(v, 10) + " ms"
	}
}

// alike says that the survivors of both doors are about as quick.
func (r *sloResult) alike(x pair) bool {
	blind, priority := &x.blind.class[critical], &x.priority.class[critical]
	if blind.OK() == 0 || priority.OK() == 0 {
		return false
	}
	b, q := r.p99(blind), r.p99(priority)
	return math.Abs(float64(b-q)) <= 0.1*float64(max(b, q))
}

// latencies says how the two doors' survivors compare.
func (r *sloResult) latencies(x pair) string {
	b, q := r.p99Text(&x.blind.class[critical]), r.p99Text(&x.priority.class[critical])
	if b == q {
		return b + " behind either door"
	}
	return b + " behind the blind door and " + q + " behind the priority door"
}

// summary is for the terminal.
func (r *sloResult) summary() []string {
	m := &r.model
	x := r.exhibit()
	lines := []string{fmt.Sprintf("Capacity %s rps. Ceiling %s: beyond it critical traffic alone is more than the server can do.", short(m.Capacity()), m.ceilingText())}
	success := fmt.Sprintf("At %s rps critical success is %s blind and %s with priority.",
		one(x.blind.offered()), pct(x.blind.class[critical].SuccessPct()), pct(x.priority.class[critical].SuccessPct()))
	switch r.outcome() {
	case nobodyCame:
		lines = append(lines, "Nobody came in the sweep: set rates above 0.")
	case nobodyServed:
		lines = []string{
			fmt.Sprintf("Nobody was served: a call runs for %s and its client waits for %s.", human(m.Service), human(m.Deadline)),
			"Nothing that is begun could end in time, so nothing is begun, and the doors have nothing to decide.",
		}
	case nothingLost:
		lines = append(lines, "Nothing was lost at any rate of the sweep: offer more to see the doors differ.")
	case nobodyCritical:
		lines = append(lines, "Something was lost, but nobody critical came: set a higher share, or a longer run.")
	case nobodyElse:
		lines = append(lines, success, "Nobody but critical calls came: there was nobody whose place could be taken.")
	case noDifference:
		lines = append(lines, success, "The doors made no difference. "+r.why(x))
	default:
		lines = append(lines, success,
			fmt.Sprintf("The p99 of the critical calls that were served is %s: survivors do not know who is missing.", r.latencies(x)),
			r.paid(x)+" A class is critical only while another may be lost.")
	}
	return append(lines, "A synthetic model: its numbers do not carry over to a service, its mechanism does.")
}

// paid says what background had, if there was any.
func (r *sloResult) paid(x pair) string {
	blind, priority := &x.blind.class[background], &x.priority.class[background]
	switch {
	case priority.Arrivals == 0:
		return "No background call came there to pay."
	case priority.SuccessPct() >= blind.SuccessPct():
		return fmt.Sprintf("Background has %s there, and %s blind.", pct(priority.SuccessPct()), pct(blind.SuccessPct()))
	}
	return fmt.Sprintf("Background pays: %s there.", pct(priority.SuccessPct()))
}

// why says, as far as it can be seen, why the doors made no difference.
func (r *sloResult) why(x pair) string {
	m := &r.model
	switch load := x.blind.offeredOf(critical); {
	case m.Budget() == 1:
		return "The bound is one request: it runs, and none waits whose place could be taken."
	case load > m.Capacity():
		return fmt.Sprintf("Critical requests alone were %s rps there, more than the server can do.", one(load))
	case x.blind.met():
		return "Hardly any critical request was lost to begin with."
	}
	return "At the moments that counted no background request waited whose place could be taken."
}
