package config

import (
	"math"
	"math/bits"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// Bears is how many calls a pool may hold so that the last of them still ends
// within its deadline: floor(workers ÷ expected × (deadline − margin)). Each of
// the workers ends a call every expected, and a call that is the n-th in the
// system ends when n have ended. The result is at most MaxInt; a margin of the
// deadline or more leaves 0. Workers and expected must be positive.
func Bears(workers int, expected, deadline, margin time.Duration) int {
	left := deadline - margin
	if left <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(workers), uint64(left))
	if hi >= uint64(expected) {
		return math.MaxInt
	}
	n, _ := bits.Div64(hi, lo, uint64(expected))
	return int(min(n, math.MaxInt))
}

// marginOf is the margin of a pool with these classes, and whether it is assumed.
func marginOf(p *plimsoll.Pool, members []*plimsoll.Class) (m time.Duration, assumed bool) {
	switch {
	case p.Margin > 0:
		return p.Margin, false
	case p.Margin < 0:
		return 0, false
	}
	shortest := time.Duration(math.MaxInt64)
	for _, k := range members {
		if k.Deadline > 0 {
			shortest = min(shortest, k.Deadline)
		}
	}
	return plimsoll.AssumedMargin(shortest), true
}

// workersOf is how many calls a pool's protected thing works on at once.
func workersOf(p *plimsoll.Pool) int {
	if p.Workers == 0 {
		return p.Slots
	}
	return p.Workers
}

// Summary is what a configuration comes to, in numbers.
type Summary struct {
	Pools []PoolSummary `json:"pools"`
}

// PoolSummary is one pool. Times are milliseconds; 0 stands for not known.
type PoolSummary struct {
	Name    string `json:"name"`
	Mode    string `json:"mode"`
	Order   string `json:"order"`
	Door    string `json:"door"`
	Slots   int    `json:"slots"`
	Workers int    `json:"workers"`
	Waiting int    `json:"waiting"`
	// InSystem is slots + waiting.
	InSystem   int     `json:"in_system"`
	ExpectedMS float64 `json:"expected_ms"`
	// CapacityRPS is workers ÷ expected.
	CapacityRPS float64 `json:"capacity_rps"`
	// SharedSlots is what is left of the slots beside all reserves.
	SharedSlots int            `json:"shared_slots"`
	Classes     []ClassSummary `json:"classes"`
}

// ClassSummary is one class.
type ClassSummary struct {
	Name       string  `json:"name"`
	Rank       int     `json:"rank"`
	DeadlineMS float64 `json:"deadline_ms"` // 0: none
	Objective  float64 `json:"objective"`   // 0: may be lost
	Reserve    int     `json:"reserve"`
	// EffectiveSlots is the most that the class can have out at once: the
	// pool's slots without what others reserve.
	EffectiveSlots int `json:"effective_slots"`
	// Waiting is the most that can wait: the smaller of its own bound and the pool's.
	Waiting int `json:"waiting"`
	// Bears is how many calls the deadline bears in the system; -1 when it is
	// not known, because the expected time is learnt or there is no deadline.
	Bears int `json:"bears"`
	// Burst is how many calls of the class an idle pool takes at one instant
	// without a refusal: slots and waiting room, and no more than Bears unless
	// hopeless calls are let in.
	Burst int `json:"burst"`
	// MarginMS is what Bears took off the deadline; MarginAssumed is true when
	// the margin will be learnt.
	MarginMS      float64 `json:"margin_ms"`
	MarginAssumed bool    `json:"margin_assumed"`
	// CeilingRPS is the rate at which the class alone would fill the pool:
	// workers ÷ expected, less what others' reserves keep from it. 0: not known.
	CeilingRPS float64 `json:"ceiling_rps"`
}

// Summarise works out what c comes to.
func Summarise(c *Config) Summary {
	s := Summary{Pools: []PoolSummary{}}
	for i := range c.Gate.Pools {
		s.Pools = append(s.Pools, summarisePool(&c.Gate, &c.Gate.Pools[i]))
	}
	return s
}

func summarisePool(c *plimsoll.Config, p *plimsoll.Pool) PoolSummary {
	s := PoolSummary{
		Name: p.Name, Mode: p.Mode.String(), Order: p.Order.String(), Door: p.Door.String(),
		Slots: p.Slots, Workers: workersOf(p), Waiting: p.Waiting, InSystem: p.Slots + p.Waiting,
		ExpectedMS: milliseconds(p.Expected), CapacityRPS: rate(workersOf(p), p.Expected),
		Classes: []ClassSummary{},
	}
	members := membersOf(c, p.Name)
	s.SharedSlots = p.Slots
	for _, k := range members {
		s.SharedSlots -= k.Reserve
	}
	m, assumed := marginOf(p, members)
	for _, k := range members {
		s.Classes = append(s.Classes, summariseClass(p, k, s.SharedSlots, m, assumed))
	}
	return s
}

func summariseClass(p *plimsoll.Pool, k *plimsoll.Class, shared int, m time.Duration, assumed bool) ClassSummary {
	s := ClassSummary{
		Name: k.Name, Rank: k.Rank, DeadlineMS: milliseconds(k.Deadline), Objective: k.Objective,
		Reserve: k.Reserve, EffectiveSlots: k.Reserve + shared, Waiting: waitingOf(p, k), Bears: -1,
	}
	s.CeilingRPS = rate(min(workersOf(p), s.EffectiveSlots), p.Expected)
	s.Burst = s.EffectiveSlots + s.Waiting
	if k.Deadline == 0 || p.Expected == 0 {
		return s
	}
	s.MarginMS, s.MarginAssumed = milliseconds(m), assumed
	s.Bears = Bears(min(workersOf(p), s.EffectiveSlots), p.Expected, k.Deadline, m)
	if !p.AdmitHopeless {
		s.Burst = min(s.Burst, s.Bears)
	}
	return s
}

// waitingOf is how many calls of a class can wait.
func waitingOf(p *plimsoll.Pool, k *plimsoll.Class) int {
	switch {
	case k.NoWaiting:
		return 0
	case k.Waiting > 0:
		return min(k.Waiting, p.Waiting)
	}
	return p.Waiting
}

func membersOf(c *plimsoll.Config, pool string) []*plimsoll.Class {
	var out []*plimsoll.Class
	for i := range c.Classes {
		if c.Classes[i].Pool == pool {
			out = append(out, &c.Classes[i])
		}
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func rate(workers int, expected time.Duration) float64 {
	if expected == 0 {
		return 0
	}
	return float64(workers) / expected.Seconds()
}
