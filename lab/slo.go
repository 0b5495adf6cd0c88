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
	Deadline int64     // what clients wait for, 1 … MaxWindow and less than the run
	Share    float64   // of the arrivals that is critical, between 0 and 1
	Rates    []float64 // of the sweep, 1 … MaxRates of them, each 0 … arrival.MaxRate
	// The burst repeats a valley and a spike, each 1 … MaxWindow ms long.
	ValleyRPS float64
	Valley    int64
	SpikeRPS  float64
	Spike     int64
}

// Bounds of an experiment, which keep it from taking for ever.
const (
	MaxService  = int64(3_600_000)  // ms
	MaxRates    = 100               // points of a sweep
	MaxArrivals = 1e9               // of all runs together: a few minutes
	MaxWindow   = int64(86_400_000) // ms, the longest run, and any length of time that may be set
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
		return fmt.Errorf("lab: service is %s; 1ms to %s is allowed", spell(m.Service), spell(MaxService))
	case duration < 1 || duration > MaxWindow:
		return fmt.Errorf("lab: duration is %s; 1ms to %s is allowed", spell(duration), spell(MaxWindow))
	case m.Deadline < 1 || m.Deadline > MaxWindow:
		return fmt.Errorf("lab: deadline is %s; 1ms to %s is allowed", spell(m.Deadline), spell(MaxWindow))
	case duration <= m.Deadline:
		return fmt.Errorf("lab: duration is %s and deadline %s: no arrival would have its full time; a duration of more than the deadline is allowed", spell(duration), spell(m.Deadline))
	case m.Budget() > maxBudget:
		return fmt.Errorf("lab: deadline is %d times the service; up to %d times is allowed", m.Budget(), maxBudget)
	case !(m.Share > 0 && m.Share < 1): // also no number
		return fmt.Errorf("lab: share is %v; allowed is %s", m.Share, allowedShare)
	}
	return m.validateDemand(duration)
}

func (m *SLOModel) validateDemand(duration int64) error {
	if n := len(m.Rates); n < 1 || n > MaxRates {
		return fmt.Errorf("lab: %d rates; 1 to %d are allowed", n, MaxRates)
	}
	for _, r := range m.Rates {
		if err := validRate("rates", r); err != nil {
			return err
		}
	}
	if err := validRate("valley-rps", m.ValleyRPS); err != nil {
		return err
	}
	if err := validRate("spike-rps", m.SpikeRPS); err != nil {
		return err
	}
	for _, t := range []struct {
		key string
		ms  int64
	}{{"valley", m.Valley}, {"spike", m.Spike}} {
		if t.ms < 1 || t.ms > MaxWindow {
			return fmt.Errorf("lab: %s is %s; 1ms to %s is allowed", t.key, spell(t.ms), spell(MaxWindow))
		}
	}
	if n := m.work(duration); n > MaxArrivals {
		return fmt.Errorf("lab: these rates make about %.0f arrivals in all runs together; up to %.0f are allowed, so shorten the run or lower the rates", n, MaxArrivals)
	}
	return nil
}

func validRate(key string, rps float64) error {
	if !(rps >= 0 && rps <= arrival.MaxRate) { // also no number
		return fmt.Errorf("lab: %s has %s per second; allowed is %s", key, decimal(rps), allowedRate())
	}
	return nil
}

// allowedShare and allowedRate say what may be set, in every message about it.
const allowedShare = "a plain number above 0 and below 1, such as 0.25"

func allowedRate() string {
	return fmt.Sprintf("a plain number from 0 to %s, such as 300", decimal(arrival.MaxRate))
}

// decimal writes a number with all its digits and no exponent.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

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
		{"service", "10ms", "how long each call runs, 1ms to 1h; one server, so 10ms is a capacity of 100 a second"},
		{"deadline", "200ms", "how long clients wait, shorter than the run; the bound is capacity × deadline"},
		{"share", "0.25", "which part of the calls is critical, above 0 and below 1"},
		{"rates", "50,100,150,200,300,400,500", "the offered loads of the sweep, calls per second: 1 to 100 of them, each 0 to 1000000"},
		{"valley-rps", "80", "the burst's rate between spikes, calls per second"},
		{"valley", "1000ms", "how long it lasts"},
		{"spike-rps", "360", "the burst's rate in a spike, calls per second"},
		{"spike", "500ms", "how long it lasts"},
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
		m.Share, err = a.number(allowedShare)
	case "rates":
		m.Rates = nil
		for _, v := range a.Values {
			r, err := parseNumber(a.Key, v, allowedRate())
			if err != nil {
				return err
			}
			m.Rates = append(m.Rates, r)
		}
	case "valley-rps":
		m.ValleyRPS, err = a.number(allowedRate())
	case "valley":
		m.Valley, err = a.duration()
	case "spike-rps":
		m.SpikeRPS, err = a.number(allowedRate())
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
	ms, wrong := parseDuration(v)
	if wrong != "" {
		return 0, fmt.Errorf("lab: %s is %q, which %s; %w", a.Key, v, wrong, errDuration)
	}
	return ms, nil
}

func (a *Assignment) number(allowed string) (float64, error) {
	v, err := a.single()
	if err != nil {
		return 0, err
	}
	return parseNumber(a.Key, v, allowed)
}

// parseNumber reads a plain decimal number: no sign, exponent, infinity or hex.
// What is allowed of its size is for Validate to hold, and for both to say.
func parseNumber(key, s, allowed string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.") != "" {
		return 0, fmt.Errorf("lab: %s is %q; allowed is %s", key, s, allowed)
	}
	return v, nil
}
