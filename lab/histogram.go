package lab

import (
	"math"
	"math/bits"
)

// MaxLatency is the longest latency that a Histogram tells from longer ones,
// in milliseconds.
const MaxLatency = 60_000

// Histogram counts latencies in whole milliseconds. Up to 2047 each value has a
// bucket of its own; from there on a bucket is 2 wide, from 4096 on 4, and so
// on: three significant digits. A bucket is reported as the highest value in
// it. The zero Histogram is empty and ready.
type Histogram struct {
	counts []uint64
	n      uint64
}

const fine = 2048 // values below have a bucket each; every doubling above has half as many

// Record counts one latency; what is outside 0 … MaxLatency counts as the
// nearest of the two.
func (h *Histogram) Record(ms int64) {
	if h.counts == nil {
		h.counts = make([]uint64, bucket(MaxLatency)+1)
	}
	h.counts[bucket(uint64(min(max(ms, 0), MaxLatency)))]++
	h.n++
}

// Percentile is the p-th percentile, 0 … 100: the bucket that holds the value
// of rank ceil(P·n/100), where P is the largest number below p, and at least 1.
// It is 0 if nothing was recorded.
func (h *Histogram) Percentile(p float64) int64 {
	if h.n == 0 {
		return 0
	}
	below := min(max(math.Nextafter(p, math.Inf(-1)), 0), 100)
	rank := max(1, uint64(math.Ceil(float64(below*float64(h.n))/100)))
	for b, k := range h.counts {
		if rank <= k {
			return highest(b)
		}
		rank -= k
	}
	return highest(len(h.counts) - 1)
}

// bucket is the index of the bucket that holds v.
func bucket(v uint64) int {
	shift := max(0, bits.Len64(v)-bits.Len64(fine-1))
	return shift*fine/2 + int(v>>shift)
}

// highest is the largest value in a bucket.
func highest(b int) int64 {
	shift := max(0, b/(fine/2)-1)
	return int64(b-shift*fine/2+1)<<shift - 1
}
