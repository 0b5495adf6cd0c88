package slo

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The reported value is the highest one that the bucket cannot tell apart.
func TestLatencyReportsTheTopOfTheBucket(t *testing.T) {
	for _, c := range []struct{ in, want int64 }{
		{-5, 0}, {0, 0}, {1, 1}, {200, 200}, {2047, 2047},
		{2048, 2049}, {2480, 2481}, {4095, 4095}, {4096, 4099}, {4955, 4955}, {8192, 8199},
		{16384, 16399}, {32768, 32799}, {49130, 49151}, {60000, 60031}, {60001, 60031}, {1 << 40, 60031},
	} {
		var l Latency
		l.AddMs(c.in)
		if got := l.Percentile(50); got != c.want {
			t.Errorf("%d ms is reported as %d, want %d", c.in, got, c.want)
		}
	}
}

// With n values 1, 2, … n the percentile is its own rank.
func TestLatencyRank(t *testing.T) {
	for _, c := range []struct {
		p       float64
		n, want int64
	}{
		{99, 500, 495}, {99, 376, 373}, {99, 60, 60}, {99, 51, 51}, {99, 199, 198}, {99, 750, 743},
		{50, 2, 1}, {50, 3, 2}, {0, 7, 1}, {100, 7, 7}, {95, 20, 19}, {99, 1, 1}, {50, 1000, 500}, {50, 1001, 501},
	} {
		var l Latency
		for v := c.n; v > 0; v-- {
			l.AddMs(v)
		}
		if got := l.Percentile(c.p); got != c.want {
			t.Errorf("p%v of %d values has rank %d, want %d", c.p, c.n, got, c.want)
		}
	}
	var none Latency
	if got := none.Percentile(99); got != 0 {
		t.Errorf("an empty histogram gives %d", got)
	}
}

func TestLatencyRoundsToWholeMilliseconds(t *testing.T) {
	for _, c := range []struct{ ns, want int64 }{
		{-1, 0}, {499_999, 0}, {500_000, 1}, {200_400_000, 200}, {200_500_000, 201},
	} {
		var l Latency
		l.Add(c.ns)
		if got := l.Percentile(100); got != c.want {
			t.Errorf("%d ns is %d ms, want %d", c.ns, got, c.want)
		}
	}
}

// The slow twin sorts, and reports the top of the bucket of the value of that
// rank: v OR (width − 1), where widths double from 2048 on. Merging halves must
// not differ from counting everything in one.
func TestLatencyAgainstSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(1200)
		var one, left, right Latency
		values := make([]int64, n)
		for i := range values {
			values[i] = r.Int64N([]int64{300, 2048, 70_000}[i%3])
			one.AddMs(values[i])
			if i%2 == 0 {
				left.AddMs(values[i])
			} else {
				right.AddMs(values[i])
			}
		}
		left.Merge(&right)
		slices.Sort(values)
		for _, p := range []int{1, 50, 90, 95, 99, 100} {
			rank := max(1, (p*n+99)/100)
			want := min(values[rank-1], MaxLatency)
			width := int64(1)
			for want/width >= 2048 {
				width *= 2
			}
			want |= width - 1
			if got := one.Percentile(float64(p)); got != want {
				t.Fatalf("p%d of %d values is %d, want %d", p, n, got, want)
			}
			if got := left.Percentile(float64(p)); got != want {
				t.Fatalf("p%d of two merged halves is %d, want %d", p, got, want)
			}
		}
	}
}
