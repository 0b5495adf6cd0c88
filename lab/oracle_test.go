package lab

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The oracle is the experiment once more, from its description alone: slices,
// no machine, no stream, no histogram. It is slow and should be obvious.

type oracleCall struct {
	arrival  float64
	critical bool
	served   bool
	finish   float64
}

// oracleArrivals tiles segments of (rate, length) over the run.
func oracleArrivals(segments [][2]float64, duration float64) []float64 {
	var out []float64
	start := 0.0
	for i := 0; start < duration; i++ {
		rate, length := segments[i%len(segments)][0], segments[i%len(segments)][1]
		end := math.Min(duration, start+length)
		if rate > 0 {
			for t := start; t < end; t = t + 1000/rate {
				out = append(out, t)
			}
		}
		start = end
	}
	return out
}

// oracleClasses is java.util.Random(23), in big numbers.
func oracleClasses(n int, share float64) []bool {
	mod := new(big.Int).Lsh(big.NewInt(1), 48)
	mul := big.NewInt(0x5DEECE66D)
	s := new(big.Int).Xor(big.NewInt(23), mul)
	next := func(bits int64) int64 {
		s.Mul(s, mul)
		s.Add(s, big.NewInt(11))
		s.Mod(s, mod)
		return new(big.Int).Rsh(s, uint(48-bits)).Int64()
	}
	out := make([]bool, n)
	for i := range out {
		high := next(26)
		low := next(27)
		out[i] = (float64(high)*(1<<27)+float64(low))/(1<<53) < share
	}
	return out
}

func oracleRun(m SLOModel, priority bool, segments [][2]float64, duration float64) []oracleCall {
	service, deadline := float64(m.Service), float64(m.Deadline)
	bound := int(math.Floor((1000/service)*(deadline/1000) + 0.5))
	times := oracleArrivals(segments, duration)
	classes := oracleClasses(len(times), m.Share)
	calls := make([]oracleCall, len(times))
	for i := range calls {
		calls[i] = oracleCall{arrival: times[i], critical: classes[i]}
	}
	var queue []int
	running, next := -1, 0
	for {
		// The next instant at which anything happens.
		now := math.Inf(1)
		if running >= 0 {
			now = calls[running].finish
		}
		if next < len(calls) && calls[next].arrival < now {
			now = calls[next].arrival
		}
		if now >= duration {
			return calls // arrivals are all before; nothing is picked from here on
		}
		if running >= 0 && calls[running].finish == now {
			running = -1
		}
		for ; next < len(calls) && calls[next].arrival == now; next++ {
			inSystem := len(queue)
			if running >= 0 {
				inSystem++
			}
			if inSystem < bound {
				queue = append(queue, next)
				continue
			}
			if !priority || !calls[next].critical {
				continue
			}
			for j := len(queue) - 1; j >= 0; j-- {
				if !calls[queue[j]].critical {
					queue = append(queue[:j], queue[j+1:]...)
					queue = append(queue, next)
					break
				}
			}
		}
		for running < 0 && len(queue) > 0 {
			i := queue[0]
			queue = queue[1:]
			if (now-calls[i].arrival)+service > deadline {
				continue
			}
			running = i
			calls[i].served = true
			calls[i].finish = now + service
		}
	}
}

// oracleText rounds the shortest decimal half up, by exact arithmetic.
func oracleText(v float64) string {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(v, 'f', -1, 64))
	if !ok {
		panic(v)
	}
	tenths := new(big.Rat).Mul(r, big.NewRat(10, 1))
	tenths.Add(tenths, big.NewRat(1, 2))
	n := new(big.Int).Div(tenths.Num(), tenths.Denom())
	return fmt.Sprintf("%d.%d", new(big.Int).Div(n, big.NewInt(10)), new(big.Int).Mod(n, big.NewInt(10)))
}

// oracleP99 is the reported value of the one of rank ceil(99·n/100).
func oracleP99(sojourns []float64) float64 {
	n := len(sojourns)
	if n == 0 {
		return 0
	}
	sort.Float64s(sojourns)
	v := sojourns[(99*n+99)/100-1]
	for width, from := 2.0, 2048.0; width <= 32; width, from = 2*width, 2*from {
		if v >= from && v < 2*from {
			return math.Floor(v/width)*width + width - 1
		}
	}
	return v
}

func oraclePercent(part, whole int) string {
	if whole == 0 {
		return "100.0"
	}
	return oracleText(100.0 * float64(part) / float64(whole))
}

func oracleTables(m SLOModel, duration float64) (protection, burst string) {
	limit := duration - float64(m.Deadline)
	var b strings.Builder
	b.WriteString("policy,offered_rps,critical_offered_rps,critical_success_pct,background_success_pct,critical_p99_ms,background_p99_ms,critical_slo_met,total_goodput_rps\n")
	for _, policy := range []string{"blind", "priority"} {
		for _, rate := range m.Rates {
			var n, ok [2]int
			var sojourns [2][]float64
			for _, c := range oracleRun(m, policy == "priority", [][2]float64{{rate, math.Inf(1)}}, duration) {
				if c.arrival > limit {
					continue
				}
				k := 0
				if !c.critical {
					k = 1
				}
				n[k]++
				if c.served {
					ok[k]++
					sojourns[k] = append(sojourns[k], math.Min(60000, math.Floor(c.finish-c.arrival+0.5)))
				}
			}
			seconds := math.Max(0.001, limit/1000)
			met := "no"
			if n[0] == 0 || 100.0*float64(ok[0])/float64(n[0]) >= 99 {
				met = "yes"
			}
			fmt.Fprintf(&b, "%s,%s,%s,%s,%s,%s,%s,%s,%s\n", policy,
				oracleText(float64(n[0]+n[1])/seconds), oracleText(float64(n[0])/seconds),
				oraclePercent(ok[0], n[0]), oraclePercent(ok[1], n[1]),
				oracleText(oracleP99(sojourns[0])), oracleText(oracleP99(sojourns[1])),
				met, oracleText(float64(ok[0]+ok[1])/seconds))
		}
	}
	protection = b.String()
	b.Reset()
	b.WriteString("window_start_ms,blind_critical_pct,priority_critical_pct,blind_background_pct,priority_background_pct\n")
	curve := [][2]float64{{m.ValleyRPS, float64(m.Valley)}, {m.SpikeRPS, float64(m.Spike)}}
	runs := [][]oracleCall{oracleRun(m, false, curve, duration), oracleRun(m, true, curve, duration)}
	for w := 0.0; w < math.Floor(limit/100); w++ {
		fmt.Fprintf(&b, "%.0f", w*100)
		for _, critical := range []bool{true, false} {
			for _, run := range runs {
				n, ok := 0, 0
				for _, c := range run {
					if c.critical == critical && c.arrival <= limit && math.Floor(c.arrival/100) == w {
						n++
						if c.served {
							ok++
						}
					}
				}
				b.WriteString("," + oraclePercent(ok, n))
			}
		}
		b.WriteString("\n")
	}
	return protection, b.String()
}

// agree compares both tables with the oracle's.
func agree(m SLOModel, duration int64) error {
	if err := m.Validate(duration); err != nil {
		return err
	}
	r, err := m.measure(context.Background(), duration, nil)
	if err != nil {
		return err
	}
	p, b := r.protection(), r.burst()
	wantP, wantB := oracleTables(m, float64(duration))
	for _, c := range []struct{ what, got, want string }{{"protection", string(p.CSV()), wantP}, {"burst", string(b.CSV()), wantB}} {
		got, want := strings.Split(c.got, "\n"), strings.Split(c.want, "\n")
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				return fmt.Errorf("%s of %+v over %d ms, line %d:\n  got %s\n want %s", c.what, m, duration, i+1, got[min(i, len(got)-1)], want[i])
			}
		}
	}
	return nil
}

var anySLOModel = rapid.Custom(func(t *rapid.T) SLOModel {
	rate := rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 700), func(n int) float64 { return float64(n) }),
		rapid.SampledFrom([]float64{50, 75, 90, 100, 110, 125, 150, 300}),
		rapid.Float64Range(0, 700),
	)
	return SLOModel{
		Service:   rapid.OneOf(rapid.SampledFrom([]int64{4, 5, 8, 10, 12, 20}), rapid.Int64Range(1, 60)).Draw(t, "service"),
		Deadline:  rapid.OneOf(rapid.SampledFrom([]int64{100, 150, 200, 240}), rapid.Int64Range(1, 400)).Draw(t, "deadline"),
		Share:     rapid.OneOf(rapid.SampledFrom([]float64{0.1, 0.25, 0.5}), rapid.Float64Range(0.001, 0.999)).Draw(t, "share"),
		Rates:     rapid.SliceOfN(rate, 1, 3).Draw(t, "rates"),
		ValleyRPS: rate.Draw(t, "valley rps"), Valley: rapid.Int64Range(1, 1500).Draw(t, "valley"),
		SpikeRPS: rate.Draw(t, "spike rps"), Spike: rapid.Int64Range(1, 800).Draw(t, "spike"),
	}
})

func TestAgainstTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anySLOModel.Draw(t, "model")
		duration := m.Deadline + rapid.OneOf(rapid.SampledFrom([]int64{1, 99, 100, 2000, 5000}), rapid.Int64Range(1, 4000)).Draw(t, "longer")
		if err := agree(m, duration); err != nil {
			t.Fatal(err)
		}
	})
}

// Constants of the kind that people choose: round, so that finishes, arrivals
// and deadlines meet in one instant, or miss each other by the last bit.
func TestAgainstTheOracleWithRoundConstants(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 5))
	pick := func(from ...int64) int64 { return from[r.IntN(len(from))] }
	rate := func() float64 {
		return float64(pick(30, 60, 75, 90, 100, 110, 120, 125, 130, 150, 200, 240, 270, 300, 330, 350, 360, 400, 500, 600, 800, 1500))
	}
	for range 250 {
		m := SLOModel{
			Service: pick(5, 6, 7, 8, 9, 11, 12, 13, 15, 20, 25, 30, 40), Deadline: pick(50, 80, 100, 120, 150, 200, 250, 300, 350, 400),
			Share: float64(pick(10, 20, 25, 30, 40, 50)) / 100, Rates: []float64{rate(), rate(), rate()},
			ValleyRPS: rate(), Valley: pick(50, 200, 700, 1000), SpikeRPS: rate(), Spike: pick(50, 300, 500),
		}
		if err := agree(m, m.Deadline+100*int64(1+r.IntN(50))); err != nil {
			t.Fatal(err)
		}
	}
}

// These came out differently when the machine was told truncated
// nanoseconds.
func TestAgainstTheOracleWhereTheLastBitDecides(t *testing.T) {
	for _, c := range []struct {
		model    SLOModel
		duration int64
	}{
		{SLOModel{52, 100, 0.1, []float64{75}, 0, 1, 50, 1}, 2100},
		{SLOModel{8, 300, 0.5, []float64{400, 240, 100, 130}, 75, 150, 300, 650}, 3800},
		{SLOModel{13, 100, 0.2, []float64{600, 300, 30, 350}, 60, 750, 75, 650}, 3800},
		{SLOModel{8, 100, 0.25, []float64{120, 600, 270, 1000}, 75, 600, 300, 500}, 4100},
	} {
		if err := agree(c.model, c.duration); err != nil {
			t.Error(err)
		}
	}
}
