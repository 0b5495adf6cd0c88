package slo

import (
	"math"
	"math/bits"
)

// MaxLatency is the longest latency that is told apart, in milliseconds; longer
// ones are counted as this long, and reported as the top of its bucket, 60031.
const MaxLatency = 60_000

// subBuckets is how many values are told apart before widths double: three
// significant digits.
const subBuckets = 2048

// Latency is a histogram of whole milliseconds with three significant digits:
// below 2048 every value has its own bucket, and from there widths double with
// the values. The zero value is empty and ready for use.
type Latency struct {
	n      uint64
	counts []uint64 // by bucket; grows to at most 7168, for 60 000 ms
}

// Add counts one latency in nanoseconds, rounded to whole milliseconds, half a
// millisecond upward. Less than nothing counts as nothing.
func (l *Latency) Add(ns int64) { l.AddMs((max(ns, 0) + 500_000) / 1_000_000) }

// AddMs counts one latency in whole milliseconds, 0 … MaxLatency; what is
// outside counts as the nearer end.
func (l *Latency) AddMs(ms int64) {
	i := bucket(min(max(ms, 0), MaxLatency))
	for len(l.counts) <= i {
		l.counts = append(l.counts, make([]uint64, i+1-len(l.counts))...)
	}
	l.counts[i]++
	l.n++
}

// Merge adds everything that was counted in other.
func (l *Latency) Merge(other *Latency) {
	for i, c := range other.counts {
		if c > 0 {
			for len(l.counts) <= i {
				l.counts = append(l.counts, make([]uint64, i+1-len(l.counts))...)
			}
			l.counts[i] += c
		}
	}
	l.n += other.n
}

// Count is how many latencies were counted.
func (l *Latency) Count() uint64 { return l.n }

// Percentile is the latency in milliseconds that p percent of all do not
// exceed, 0 ≤ p ≤ 100: the top of the bucket that holds the value of rank
// ceil(p·n/100), at least 1. An empty histogram gives 0.
//
// The rank is computed with the largest float64 below p, so that 99 percent of
// 500 is the 495th and not, by a rounding upward, the 496th.
func (l *Latency) Percentile(p float64) int64 {
	if l.n == 0 {
		return 0
	}
	p = min(max(math.Nextafter(p, math.Inf(-1)), 0), 100)
	rank := max(1, uint64(math.Ceil(float64(p*float64(l.n))/100)))
	var seen uint64
	for i, c := range l.counts {
		if seen += c; seen >= rank {
			return top(i)
		}
	}
	return top(len(l.counts) - 1)
}

// bucket is the index of the bucket of v: values below subBuckets are their own
// index, and each doubling after that has half as many buckets.
func bucket(v int64) int {
	shift := max(0, bits.Len64(uint64(v))-11) // 2048 = 2¹¹ is the first wide one
	return shift*subBuckets/2 + int(v>>shift)
}

// top is the highest value in the bucket of index i.
func top(i int) int64 {
	if i < subBuckets {
		return int64(i)
	}
	shift := i/(subBuckets/2) - 1
	sub := int64(i - shift*subBuckets/2)
	return (sub+1)<<shift - 1
}
