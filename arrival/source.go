package arrival

import "math"

// Tiled tiles a curve with arrivals: in each segment the first one is at the
// segment's start, and each next one a gap of 1000/rate later, by adding the
// gap to the instant before.
//
// The accumulated rounding is part of the recipe: 75 per second over 5 s are
// 376 arrivals, because the 376th lands at 4999.999999999998.
type Tiled struct {
	at, end, gap float64
	walk         walk
}

// NewTiled tiles curve over duration milliseconds, 1 … MaxDuration. Instants
// are less than duration.
func NewTiled(curve Curve, duration int64) (*Tiled, error) {
	w, err := newWalk(curve, duration)
	if err != nil {
		return nil, err
	}
	return &Tiled{walk: w}, nil
}

// Next implements Source.
func (s *Tiled) Next() (ms float64, ok bool) {
	if ms = s.at; ms < s.end {
		s.at += s.gap
		return ms, true
	}
	return s.advance()
}

// advance goes on to the next segment that has an arrival, and gives that.
func (s *Tiled) advance() (ms float64, ok bool) {
	for {
		rate, start, end, ok := s.walk.step()
		if !ok {
			return 0, false
		}
		if rate > 0 {
			s.gap, s.end = 1000/rate, end
			s.at = start + s.gap
			return start, true
		}
	}
}

// Product puts arrival k = 0, 1, 2, … at k × 1000/rate: one multiplication, no
// accumulation, so that the error does not grow.
type Product struct {
	k, gap, duration float64
}

// NewProduct makes arrivals at rate per second, 0 … MaxRate, over duration
// milliseconds, 1 … MaxDuration. Instants are less than duration.
func NewProduct(rate float64, duration int64) (*Product, error) {
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	if err := checkDuration(duration); err != nil {
		return nil, err
	}
	p := &Product{duration: float64(duration)}
	if rate > 0 {
		p.gap = min(1000/rate, math.MaxFloat64) // 0 × infinity is no number
	} else {
		p.duration = 0
	}
	return p, nil
}

// Next implements Source.
func (p *Product) Next() (ms float64, ok bool) {
	ms = p.k * p.gap
	if ms >= p.duration {
		return 0, false
	}
	p.k++
	return ms, true
}
