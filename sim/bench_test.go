package sim

import (
	"testing"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
)

// BenchmarkSlotsAt300 is the bounded system under its priority door at three
// times its capacity. An iteration is one arrival.
func BenchmarkSlotsAt300(b *testing.B) { slotsAt300(b, false) }

// BenchmarkSlotsAt300Exact is the same the way the laboratory runs it.
func BenchmarkSlotsAt300Exact(b *testing.B) { slotsAt300(b, true) }

func slotsAt300(b *testing.B, exact bool) {
	const rate = 300
	source, err := arrival.NewTiled(arrival.Constant(rate), arrival.MaxDuration)
	if err != nil {
		b.Fatal(err)
	}
	classes, err := arrival.NewClasses(23, 0.25)
	if err != nil {
		b.Fatal(err)
	}
	ok := 0
	run := Slots{
		Gate: bounded(core.DoorPriority), Service: 10, Arrivals: source, Exact: exact,
		Duration: max(1, int64(b.N)*1000/rate),
		Class:    func() int { return background(classes.Next()) },
		Ended: func(c *Call) {
			if c.Outcome == core.OK {
				ok++
			}
		},
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := run.Run(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "arrivals/s")
	if b.N > 1000 && (ok < b.N/4 || ok > b.N/2) {
		b.Fatalf("%d of %d arrivals were served; a third can be", ok, b.N)
	}
}

// BenchmarkWorldAt300 is the live arrangement at the same load.
func BenchmarkWorldAt300(b *testing.B) {
	w := live(core.DoorPriority, core.OrderFIFO, max(1, int64(b.N)*1000/300))
	w.Arrivals, w.Class = demand(b, 300, w.Duration)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := w.Run(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "arrivals/s")
}
