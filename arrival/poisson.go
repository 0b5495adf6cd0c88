package arrival

import "math"

// Poisson draws arrivals whose number in any stretch is Poisson distributed
// with the curve's rate: gaps are exponential. It has no memory, so where the
// rate changes it simply draws again from there, which is exact.
//
// The same seed gives the same arrivals on the same architecture. math.Log may
// differ in the last bit between architectures, and so may these instants.
type Poisson struct {
	at, end, mean float64
	walk          walk
	state         uint64
}

// NewPoisson draws arrivals along curve over duration milliseconds,
// 1 … MaxDuration. Every seed is as good as any other.
func NewPoisson(curve Curve, duration int64, seed uint64) (*Poisson, error) {
	w, err := newWalk(curve, duration)
	if err != nil {
		return nil, err
	}
	return &Poisson{walk: w, state: seed}, nil
}

// Next implements Source.
func (p *Poisson) Next() (ms float64, ok bool) {
	for {
		if p.at < p.end {
			p.at += float64(p.exponential() * p.mean)
			if p.at < p.end {
				return p.at, true
			}
		}
		rate, start, end, ok := p.walk.step()
		if !ok {
			return 0, false
		}
		if rate > 0 {
			p.at, p.end, p.mean = start, end, 1000/rate
		}
	}
}

// exponential draws from the exponential distribution of mean 1. A uniform
// draw u of 53 bits is in [0, 1), so 1-u is never 0 and its logarithm finite.
func (p *Poisson) exponential() float64 {
	u := float64(p.bits()>>11) / (1 << 53)
	return -math.Log(1 - u)
}

// bits is SplitMix64: a Weyl sequence through a mixing function.
func (p *Poisson) bits() uint64 {
	p.state += 0x9E3779B97F4A7C15
	z := p.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
