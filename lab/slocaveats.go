package lab

import (
	"fmt"

	"github.com/plimsoll-go/plimsoll/slo"
)

// caveats are what has to be read beside the numbers.
func (r *sloResult) caveats() []string {
	m := &r.model
	c := []string{
		"A model, not a service: one server with a service time that never varies, arrivals like clockwork, no network, no retries, and clients that never leave early. Its numbers do not carry over to production; its mechanism does.",
		fmt.Sprintf("Rates and goodput are those of the scored window of %s, the run less one deadline. They are not closed-loop throughput.", human(r.duration-m.Deadline)),
		"Percentiles are over the scored requests that were served. They leave out exactly what went wrong, which is the point of this experiment.",
		"The burst is recorded as success per window of arrival; no latency is claimed for any window.",
		fmt.Sprintf("Classes are drawn from a fixed seed (%d), so every rate and both doors see the same ones. Nothing else is random.", sloSeed),
	}
	if nobody, unserved := r.holes(); nobody || unserved {
		text := "In the tables"
		if nobody {
			text += ", a success of 100.0 may be that of a class of which nobody came"
		}
		if unserved {
			text += ", a p99 of 0.0 is that of a class of which nobody was served"
		}
		c = append(c, text+".")
	}
	if m.fits() && m.Deadline >= 2048 {
		c = append(c, fmt.Sprintf("Latencies above 2 s are kept to three digits and rounded up, so a p99 in the tables may read a little beyond the deadline; those above %s count as %s.", human(slo.MaxLatency), human(slo.MaxLatency)))
	}
	if !m.isDefault() || r.duration != 5000 {
		c = append(c, "The published tables belong to other constants or another duration than these; where the manifest says that a checksum differs, that is why.")
	}
	return c
}

// holes says whether there is a point in the sweep at which nobody of a class
// came, and one at which nobody of a class was served.
func (r *sloResult) holes() (nobody, unserved bool) {
	for _, points := range r.points {
		for _, p := range points {
			for k := range p.class {
				nobody = nobody || p.class[k].Arrivals == 0
				unserved = unserved || p.class[k].OK() == 0
			}
		}
	}
	return nobody, unserved
}
