package core

import (
	"fmt"
	"math"
)

// Bounds of the machine's own parameters. They keep every sum in an int64.
const (
	// Unbounded, as a waiting bound, means that there is none. It is meant for
	// simulations of systems without one; memory then grows with the backlog.
	Unbounded = -1
	// Never is the instant that does not come, and the deadline of a call that has none.
	Never = int64(math.MaxInt64)

	MaxPools    = 1 << 16        // pools in one machine
	MaxClasses  = 64             // classes in one pool
	MaxSlots    = 1 << 19        // units in one pool
	MaxWaiting  = 1 << 19        // calls waiting in one pool
	MaxExpected = int64(1) << 42 // ns, about 73 minutes: longer calls are planned as this long
)

// Pool is what a pool is told. The zero value of a field is valid and means
// what its comment says, except that a pool with no slots refuses everything.
type Pool struct {
	Name string `json:"name"`
	// Workers is how many units the protected thing really works on at once,
	// 0 … MaxSlots; 0 means as many as Slots. It is at most Slots: the units
	// above it wait at the protected thing itself and hide the turn-around
	// between an answer and the next call. Only predictions use it.
	Workers int `json:"workers"`
	// Slots is how many units may be out at once, 0 … MaxSlots.
	Slots int `json:"slots"`
	// Waiting bounds the calls that wait, 0 … MaxWaiting, or Unbounded. The
	// pool holds at most Slots + Waiting calls; an arrival beyond that meets
	// the Door.
	Waiting int   `json:"waiting"`
	Order   Order `json:"order"`
	Door    Door  `json:"door"`
	// Expected is how long a call that does not say its own is expected to
	// run, in nanoseconds, 0 … MaxExpected.
	Expected int64 `json:"expected"`
	// Margin is added to every predicted finish before it is compared with a
	// deadline, in nanoseconds, 0 … MaxExpected: work that is planned to end
	// exactly at its deadline ends late half of the time.
	Margin int64 `json:"margin"`
	// ExpireWaiting refuses a waiting call at the instant from which it can no
	// longer finish in time. Without it that is found out when its turn comes.
	ExpireWaiting bool `json:"expire_waiting"`
	// RefuseHopeless refuses at the door a call whose predicted finish is
	// after its deadline.
	RefuseHopeless bool `json:"refuse_hopeless"`
}

// Class is what a class is told.
type Class struct {
	Name string `json:"name"`
	// Pool is the index of the pool that the class belongs to.
	Pool int `json:"pool"`
	// Rank orders classes by how much they matter; 0 is the most critical.
	Rank int `json:"rank"`
	// Deadline is what a call without its own gets, in nanoseconds from its
	// arrival; 0 means none.
	Deadline int64 `json:"deadline"`
	// Waiting is the class's own bound on waiting calls, or Unbounded, when
	// only the pool's bound holds.
	Waiting int `json:"waiting"`
	// Reserve is how many of the pool's units no other class takes.
	Reserve int `json:"reserve"`
	// Retired sends arrivals of this class to the default class. A class that
	// is gone from the configuration is retired, so that indexes stay what they
	// were and its running calls stay counted.
	Retired bool `json:"retired,omitempty"`
}

// Config is one group: pools that one machine decides together.
type Config struct {
	Pools   []Pool  `json:"pools"`
	Classes []Class `json:"classes"`
	// Default is the index of the class of a call that names an unknown one.
	Default int `json:"default"`
}

// Validate says what is wrong with c, naming the place and what is allowed.
func (c *Config) Validate() error {
	if n := len(c.Pools); n == 0 || n > MaxPools {
		return fmt.Errorf("core: %d pools; 1 to %d are allowed", n, MaxPools)
	}
	if c.Default < 0 || c.Default >= len(c.Classes) {
		return fmt.Errorf("core: default class %d does not exist; there are %d classes", c.Default, len(c.Classes))
	}
	for i := range c.Pools {
		if err := c.Pools[i].validate(); err != nil {
			return err
		}
	}
	classes, reserved := make([]int, len(c.Pools)), make([]int, len(c.Pools))
	for i := range c.Classes {
		k := &c.Classes[i]
		if err := k.validate(len(c.Pools)); err != nil {
			return err
		}
		if classes[k.Pool]++; classes[k.Pool] > MaxClasses {
			return fmt.Errorf("core: pool %q has more than %d classes", c.Pools[k.Pool].Name, MaxClasses)
		}
		if reserved[k.Pool] += k.Reserve; reserved[k.Pool] > c.Pools[k.Pool].Slots {
			return fmt.Errorf("core: pool %q: its classes reserve %d units of %d slots", c.Pools[k.Pool].Name, reserved[k.Pool], c.Pools[k.Pool].Slots)
		}
	}
	if c.Classes[c.Default].Retired {
		return fmt.Errorf("core: default class %q is retired", c.Classes[c.Default].Name)
	}
	return nil
}

func (p *Pool) validate() error {
	switch {
	case p.Slots < 0 || p.Slots > MaxSlots:
		return p.wrong("slots", int64(p.Slots), "0", MaxSlots)
	case p.Workers < 0 || p.Workers > p.Slots:
		return p.wrong("workers", int64(p.Workers), "0", int64(p.Slots))
	case p.Waiting < Unbounded || p.Waiting > MaxWaiting:
		return p.wrong("waiting", int64(p.Waiting), "-1 (no bound)", MaxWaiting)
	case p.Expected < 0 || p.Expected > MaxExpected:
		return p.wrong("expected", p.Expected, "0", MaxExpected)
	case p.Margin < 0 || p.Margin > MaxExpected:
		return p.wrong("margin", p.Margin, "0", MaxExpected)
	case p.Order > OrderLIFO:
		return fmt.Errorf("core: pool %q: %v; one of %q", p.Name, p.Order, orderNames)
	case p.Door > DoorPriority:
		return fmt.Errorf("core: pool %q: %v; one of %q", p.Name, p.Door, doorNames)
	}
	return nil
}

func (p *Pool) wrong(key string, got int64, from string, to int64) error {
	return fmt.Errorf("core: pool %q: %s is %d; %s to %d is allowed", p.Name, key, got, from, to)
}

func (k *Class) validate(pools int) error {
	switch {
	case k.Pool < 0 || k.Pool >= pools:
		return fmt.Errorf("core: class %q is in pool %d; there are %d pools", k.Name, k.Pool, pools)
	case k.Rank < 0 || k.Rank > math.MaxInt32:
		return fmt.Errorf("core: class %q: rank is %d; 0 (the most critical) to %d is allowed", k.Name, k.Rank, math.MaxInt32)
	case k.Deadline < 0:
		return fmt.Errorf("core: class %q: deadline is %d ns; 0 (none) or more is allowed", k.Name, k.Deadline)
	case k.Waiting < Unbounded || k.Waiting > MaxWaiting:
		return fmt.Errorf("core: class %q: waiting is %d; -1 (only the pool's bound) to %d is allowed", k.Name, k.Waiting, MaxWaiting)
	case k.Reserve < 0 || k.Reserve > MaxSlots:
		return fmt.Errorf("core: class %q: reserve is %d; 0 to %d is allowed", k.Name, k.Reserve, MaxSlots)
	}
	return nil
}

// workers is the number that predictions use.
func (p *Pool) workers() int {
	if p.Workers == 0 {
		return p.Slots
	}
	return p.Workers
}
