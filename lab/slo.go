package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
)

// SLOModel are the constants of the experiment slo-load-control: one server of
// fixed service time behind a bounded queue, two classes, and two doors that
// are compared on the same arrivals. Times are in milliseconds, rates in
// arrivals per second.
type SLOModel struct {
	Service  int64     // how long each call runs, 1 … MaxService
	Deadline int64     // what clients wait for, at least 1 and less than the run
	Share    float64   // of the arrivals that is critical, between 0 and 1
	Rates    []float64 // of the sweep, 1 … MaxRates of them, each 0 … arrival.MaxRate
	// The burst repeats a valley and a spike, each at least 1 ms long.
	ValleyRPS float64
	Valley    int64
	SpikeRPS  float64
	Spike     int64
}

// Bounds of an experiment, which keep it from taking for ever.
const (
	MaxService  = int64(3_600_000) // ms
	MaxRates    = 100              // points of a sweep
	MaxArrivals = 1e9              // of all runs together: a few minutes
	MaxWindow   = int64(86_400_000)
	maxBudget   = core.MaxWaiting
)

const (
	sloSeed    = 23 // of the classes
	sloTarget  = 99.0
	windowSize = 100 // ms, of the burst table
)

// DefaultSLOModel are the constants of the published tables.
func DefaultSLOModel() SLOModel {
	return SLOModel{
		Service: 10, Deadline: 200, Share: 0.25,
		Rates:     []float64{50, 100, 150, 200, 300, 400, 500},
		ValleyRPS: 80, Valley: 1000, SpikeRPS: 360, Spike: 500,
	}
}

// Budget is how many calls one server finishes inside one deadline, and so how
// many may be in the system.
func (m *SLOModel) Budget() int64 {
	perSecond := 1000 / float64(m.Service)
	return int64(math.Floor(float64(perSecond*(float64(m.Deadline)/1000)) + 0.5))
}

// Capacity is how many calls the server finishes in a second.
func (m *SLOModel) Capacity() float64 { return 1000 / float64(m.Service) }

// Ceiling is the offered rate at which critical calls alone fill the server.
func (m *SLOModel) Ceiling() float64 { return m.Capacity() / m.Share }

// Validate says what is wrong with the constants for a run of duration
// milliseconds, naming the setting and what is allowed.
func (m *SLOModel) Validate(duration int64) error {
	switch {
	case m.Service < 1 || m.Service > MaxService:
		return fmt.Errorf("lab: service is %d ms; 1 to %d is allowed", m.Service, MaxService)
	case m.Deadline < 1:
		return fmt.Errorf("lab: deadline is %d ms; 1 or more is allowed", m.Deadline)
	case duration <= m.Deadline:
		return fmt.Errorf("lab: duration is %d ms and deadline %d ms: no arrival would have its full time; a duration of more than the deadline is allowed", duration, m.Deadline)
	case duration > MaxWindow:
		return fmt.Errorf("lab: duration is %d ms; up to %d (24 hours) is allowed", duration, MaxWindow)
	case m.Budget() > maxBudget:
		return fmt.Errorf("lab: deadline is %d times the service; up to %d times is allowed", m.Budget(), maxBudget)
	case !(m.Share > 0 && m.Share < 1):
		return fmt.Errorf("lab: share is %v; above 0 and below 1 is allowed", m.Share)
	}
	return m.validateDemand(duration)
}

func (m *SLOModel) validateDemand(duration int64) error {
	if n := len(m.Rates); n < 1 || n > MaxRates {
		return fmt.Errorf("lab: %d rates; 1 to %d are allowed", n, MaxRates)
	}
	rates := []struct {
		key string
		rps float64
	}{{"valley-rps", m.ValleyRPS}, {"spike-rps", m.SpikeRPS}}
	for _, r := range m.Rates {
		rates = append(rates, struct {
			key string
			rps float64
		}{"rates", r})
	}
	for _, r := range rates {
		if !(r.rps >= 0 && r.rps <= arrival.MaxRate) {
			return fmt.Errorf("lab: %s has %v per second; 0 to %v is allowed", r.key, r.rps, float64(arrival.MaxRate))
		}
	}
	if m.Valley < 1 || m.Spike < 1 {
		return fmt.Errorf("lab: valley is %d ms and spike %d ms; 1 or more is allowed", m.Valley, m.Spike)
	}
	if n := m.work(duration); n > MaxArrivals {
		return fmt.Errorf("lab: these rates make about %.2g arrivals; up to %.0e in all runs together are allowed, so shorten the run or lower the rates", n, MaxArrivals)
	}
	return nil
}

// work estimates the arrivals and the segments of all runs.
func (m *SLOModel) work(duration int64) float64 {
	n := m.burst().Count(duration) + 2*float64(duration)/(float64(m.Valley)+float64(m.Spike))
	for _, r := range m.Rates {
		n += arrival.Constant(r).Count(duration)
	}
	return 2 * n
}

func (m *SLOModel) burst() arrival.Curve {
	return arrival.Bursty(m.ValleyRPS, m.Valley, m.SpikeRPS, m.Spike)
}

// isDefault says that the constants are those of the published tables.
func (m *SLOModel) isDefault() bool {
	d := DefaultSLOModel()
	if len(m.Rates) != len(d.Rates) {
		return false
	}
	for i, r := range m.Rates {
		if r != d.Rates[i] {
			return false
		}
	}
	return m.Service == d.Service && m.Deadline == d.Deadline && m.Share == d.Share &&
		m.ValleyRPS == d.ValleyRPS && m.Valley == d.Valley && m.SpikeRPS == d.SpikeRPS && m.Spike == d.Spike
}

// gate is the bounded system: one slot, as many waiting as the deadline bears,
// in the order of arrival, expired when their turn comes too late.
func (m *SLOModel) gate(door core.Door) core.Config {
	slots := int(min(1, m.Budget()))
	const ns = 1_000_000 // in a millisecond
	class := func(name string, rank int) core.Class {
		return core.Class{Name: name, Rank: rank, Deadline: m.Deadline * ns, Waiting: core.Unbounded}
	}
	return core.Config{
		Pools: []core.Pool{{
			Name: "app", Workers: slots, Slots: slots, Waiting: int(m.Budget()) - slots,
			Order: core.OrderFIFO, Door: door, Expected: m.Service * ns,
		}},
		Classes: []core.Class{critical: class("critical", 0), background: class("background", 1)},
		Default: background,
	}
}

// Classes of the experiment, as indexes.
const (
	critical = iota
	background
)

func sloSettings() []Setting {
	return []Setting{
		{"service", "10ms", "how long each call runs"},
		{"deadline", "200ms", "what clients wait for; it also sets the bound: capacity × deadline"},
		{"share", "0.25", "of the arrivals that is critical, between 0 and 1"},
		{"rates", "50,100,150,200,300,400,500", "offered in the sweep, per second"},
		{"valley-rps", "80", "rate of the burst's valley"},
		{"valley", "1000ms", "its length"},
		{"spike-rps", "360", "rate of the burst's spike"},
		{"spike", "500ms", "its length"},
	}
}

// Set applies settings to the constants.
func (m *SLOModel) Set(set Settings) error {
	for _, a := range set {
		if err := m.set(a); err != nil {
			return err
		}
	}
	return nil
}

func (m *SLOModel) set(a Assignment) (err error) {
	switch a.Key {
	case "service":
		m.Service, err = a.duration()
	case "deadline":
		m.Deadline, err = a.duration()
	case "share":
		m.Share, err = a.number()
	case "rates":
		m.Rates = nil
		for _, v := range a.Values {
			r, err := parseNumber(a.Key, v)
			if err != nil {
				return err
			}
			m.Rates = append(m.Rates, r)
		}
	case "valley-rps":
		m.ValleyRPS, err = a.number()
	case "valley":
		m.Valley, err = a.duration()
	case "spike-rps":
		m.SpikeRPS, err = a.number()
	case "spike":
		m.Spike, err = a.duration()
	default:
		err = fmt.Errorf("lab: no setting %q", a.Key)
	}
	return err
}

func (a *Assignment) duration() (int64, error) {
	v, err := a.single()
	if err != nil {
		return 0, err
	}
	ms, err := ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("lab: %s: %s", a.Key, strings.TrimPrefix(err.Error(), "lab: "))
	}
	return ms, nil
}

func (a *Assignment) number() (float64, error) {
	v, err := a.single()
	if err != nil {
		return 0, err
	}
	return parseNumber(a.Key, v)
}

// parseNumber reads a plain decimal number: no sign, exponent, infinity or hex.
func parseNumber(key, s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.") != "" {
		return 0, fmt.Errorf("lab: %s is %q; allowed is a number of 0 or more, like 300 or 0.25", key, s)
	}
	return v, nil
}
