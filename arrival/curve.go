package arrival

import (
	"errors"
	"fmt"
	"math"
)

const (
	// MaxRate is the highest rate of a segment, in arrivals per second. Together
	// with MaxDuration it makes sure that adding a gap always moves an instant.
	MaxRate = 1e6
	// MaxDuration is the longest run, in milliseconds: about 34 years.
	MaxDuration = int64(1) << 40
	// Forever, as a segment's length, outlasts every run.
	Forever = int64(math.MaxInt64)
)

// Source gives the instants of arrivals, in milliseconds from the start of the
// run, never going back. When it is done it says ok = false, and goes on
// saying so.
type Source interface {
	Next() (ms float64, ok bool)
}

// Segment is a stretch of constant demand.
type Segment struct {
	// Rate is in arrivals per second, 0 … MaxRate; 0 is silence.
	Rate float64
	// Length is in milliseconds, at least 1.
	Length int64
}

// Curve is demand over time: segments one after another, repeated for as long
// as the run lasts.
type Curve []Segment

// Constant is demand that never changes.
func Constant(rate float64) Curve { return Curve{{Rate: rate, Length: Forever}} }

// Bursty is a valley followed by a spike, for ever. Lengths are in milliseconds.
func Bursty(valleyRate float64, valley int64, spikeRate float64, spike int64) Curve {
	return Curve{{Rate: valleyRate, Length: valley}, {Rate: spikeRate, Length: spike}}
}

// Validate says what is wrong with the curve, naming the segment and what is
// allowed.
func (c Curve) Validate() error {
	if len(c) == 0 {
		return errors.New("arrival: a curve without segments; at least one is needed")
	}
	for i, s := range c {
		if err := checkRate(s.Rate); err != nil {
			return fmt.Errorf("%w (segment %d of %d)", err, i+1, len(c))
		}
		if s.Length < 1 {
			return fmt.Errorf("arrival: a length of %d ms; 1 or more is allowed (segment %d of %d)", s.Length, i+1, len(c))
		}
	}
	return nil
}

// Count estimates how many arrivals the tiled recipe makes of the curve in
// duration milliseconds: within one for each segment passed. It costs the same
// however long the run is. The curve must be valid.
func (c Curve) Count(duration int64) float64 {
	var cycle, perCycle float64
	for _, s := range c {
		cycle += float64(s.Length)
		perCycle += s.count(s.Length)
	}
	cycles := math.Floor(float64(duration) / cycle)
	n := float64(cycles * perCycle)
	left := duration - int64(cycles*cycle)
	for _, s := range c {
		if left <= 0 {
			break
		}
		n += s.count(min(s.Length, left))
		left -= min(s.Length, left)
	}
	return n
}

func (s Segment) count(length int64) float64 {
	return math.Ceil(float64(length) * s.Rate / 1000)
}

func checkRate(r float64) error {
	if !(r >= 0 && r <= MaxRate) { // also NaN
		return fmt.Errorf("arrival: a rate of %v per second; 0 to %v is allowed", r, float64(MaxRate))
	}
	return nil
}

func checkDuration(d int64) error {
	if d < 1 || d > MaxDuration {
		return fmt.Errorf("arrival: a duration of %d ms; 1 to %d is allowed", d, MaxDuration)
	}
	return nil
}

// walk goes through the segments of a curve up to the end of the run.
type walk struct {
	curve    Curve
	next     int   // the segment that comes next
	start    int64 // where it starts, ms
	duration int64
}

func newWalk(c Curve, duration int64) (walk, error) {
	if err := c.Validate(); err != nil {
		return walk{}, err
	}
	if err := checkDuration(duration); err != nil {
		return walk{}, err
	}
	return walk{curve: append(Curve(nil), c...), duration: duration}, nil
}

// step gives the next segment's rate and its two ends.
func (w *walk) step() (rate, start, end float64, ok bool) {
	if w.start >= w.duration {
		return 0, 0, 0, false
	}
	s := w.curve[w.next]
	if w.next++; w.next == len(w.curve) {
		w.next = 0
	}
	from := w.start
	w.start += min(s.Length, w.duration-from)
	return s.Rate, float64(from), float64(w.start), true
}
