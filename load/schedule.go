package load

import (
	"iter"
	"math"
	"time"

	"github.com/plimsoll-go/plimsoll/arrival"
)

// Shot is one call of a schedule.
type Shot struct {
	// At is when it is to be made, counted from the start of the run.
	At time.Duration
	// Class is the name of the class it belongs to; empty sends no class.
	Class string
}

// Schedule turns arrivals into shots. class names the class of each, in order
// of arrival; nil names none. Instants are rounded up to whole nanoseconds, so
// that one which lies just after a bound still does. The sequence can be read
// once.
func Schedule(source arrival.Source, class func() string) iter.Seq[Shot] {
	return func(yield func(Shot) bool) {
		for {
			ms, ok := source.Next()
			if !ok {
				return
			}
			shot := Shot{At: time.Duration(math.Ceil(float64(ms * 1e6)))}
			if class != nil {
				shot.Class = class()
			}
			if !yield(shot) {
				return
			}
		}
	}
}
