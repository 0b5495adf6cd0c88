package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/arrival"
)

// The arrangement: one worker that takes ten milliseconds for each call, before
// it two slots (the second hides the turn-around between an answer and the next
// call) and as many waiting places as the deadline can bear, less one for what
// messages and timers take.
const (
	service = 10 * time.Millisecond
	workers = 1
	slots   = 2
	// share is the critical share of the arrivals.
	share = 0.25
	// objective is what critical calls are promised, in percent.
	objective = 99.0
)

// Bounds of what can be asked for.
const (
	MinRate, MaxRate         = 1, 2000
	MinDeadline, MaxDeadline = 4 * service, 2 * time.Second
	MaxDuration              = time.Hour
)

// Patterns are the kinds of arrivals.
const (
	Constant = "constant"
	Poisson  = "poisson"
	Bursty   = "bursty"
)

// Config is what may be chosen.
type Config struct {
	// Rate is offered, in calls a second, MinRate … MaxRate. With bursty
	// arrivals it is the rate that a spike has 1.2 times.
	Rate float64
	// Duration is that of each phase, in whole milliseconds, longer than
	// Deadline and MaxDuration at most.
	Duration time.Duration
	// Arrivals is Constant, Poisson or Bursty.
	Arrivals string
	// Seed draws the classes, and the Poisson arrivals.
	Seed int64
	// Deadline is the clients' patience, in whole milliseconds, MinDeadline …
	// MaxDeadline.
	Deadline time.Duration
	// Probe is how long the machine is measured before the phases; 0 means 2.6 s.
	Probe time.Duration
}

// Defaults is the demo as it is without a flag.
func Defaults() Config {
	return Config{
		Rate: 300, Duration: 12 * time.Second, Arrivals: Constant, Seed: 23,
		Deadline: 200 * time.Millisecond, Probe: defaultProbe,
	}
}

// Validate says what is wrong with c, naming the flag and what is allowed.
func (c *Config) Validate() error {
	switch {
	case !(c.Rate >= MinRate && c.Rate <= MaxRate): // also no number
		return fmt.Errorf("--rate is %v; %d to %d calls a second are allowed", c.Rate, MinRate, MaxRate)
	case !slices.Contains(patterns(), c.Arrivals):
		return fmt.Errorf("--arrivals is %q; one of %s is allowed", c.Arrivals, strings.Join(patterns(), ", "))
	case c.Deadline < MinDeadline || c.Deadline > MaxDeadline || c.Deadline%time.Millisecond != 0:
		return fmt.Errorf("--deadline is %v; whole milliseconds from %v to %v are allowed", c.Deadline, MinDeadline, MaxDeadline)
	case c.Duration <= c.Deadline:
		return fmt.Errorf("--duration is %v; it must be longer than the deadline of %v, or no call could be scored", c.Duration, c.Deadline)
	case c.Duration > MaxDuration || c.Duration%time.Millisecond != 0:
		return fmt.Errorf("--duration is %v; whole milliseconds up to %v are allowed", c.Duration, MaxDuration)
	}
	return nil
}

func patterns() []string { return []string{Constant, Poisson, Bursty} }

// source makes the arrivals anew: each phase and each prediction reads its own.
func (c *Config) source() (arrival.Source, error) {
	ms := c.Duration.Milliseconds()
	switch c.Arrivals {
	case Poisson:
		return arrival.NewPoisson(arrival.Constant(c.Rate), ms, uint64(c.Seed))
	case Bursty:
		return arrival.NewTiled(arrival.Bursty(c.Rate*80/300, 1000, c.Rate*360/300, 500), ms)
	}
	return arrival.NewTiled(arrival.Constant(c.Rate), ms)
}

// classes draws the class of each arrival anew.
func (c *Config) classes() (*arrival.Classes, error) { return arrival.NewClasses(c.Seed, share) }

// offered says in words what is offered.
func (c *Config) offered() string {
	if c.Arrivals == Bursty {
		return fmt.Sprintf("%.4g calls a second, for half a second of every one and a half %.4g", c.Rate*80/300, c.Rate*360/300)
	}
	return fmt.Sprintf("%.4g calls a second, %s", c.Rate, c.Arrivals)
}

// waiting is how many places there are to wait: what the worker can do within
// the deadline, less one that messages and timers take, less the slots.
func (c *Config) waiting() int {
	return max(0, int(c.Deadline/service)-1-slots)
}

// scoredUntil is the last instant from which a call has its full deadline.
func (c *Config) scoredUntil() time.Duration { return c.Duration - c.Deadline }

// window is the width of the windows that a curve is drawn with: a second, or
// less for short runs and more for long ones.
func (c *Config) window() time.Duration {
	switch {
	case c.Duration <= 5*time.Second:
		return 500 * time.Millisecond
	case c.Duration <= time.Minute:
		return time.Second
	}
	return time.Duration(math.Ceil(c.Duration.Seconds()/60)) * time.Second
}
