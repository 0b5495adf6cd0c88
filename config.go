package plimsoll

import (
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
)

// The words of the field are the core's: one meaning everywhere.
type (
	// Reason says why a call was refused; a refused call never ran.
	Reason = core.Reason
	// Outcome says how a call ended.
	Outcome = core.Outcome
	// Door says what happens to an arrival that finds its pool full.
	Door = core.Door
	// Order says which of the waiting runs next.
	Order = core.Order
)

// Outcomes that a caller of [Ticket.Release] chooses from. OK becomes Late by
// itself when the deadline has passed.
const (
	OK        = core.OK
	Late      = core.Late
	Failed    = core.Failed
	Unknown   = core.Unknown
	Cancelled = core.Cancelled
	Lost      = core.Lost
	Refused   = core.Refused
)

// Doors and orders.
const (
	DoorBlind     = core.DoorBlind
	DoorPriority  = core.DoorPriority
	OrderFIFO     = core.OrderFIFO
	OrderPriority = core.OrderPriority
	OrderLIFO     = core.OrderLIFO
)

// Unbounded, as a class's Waiting, means that only the pool's bound holds.
const Unbounded = core.Unbounded

// MaxExpected is the longest that a pool may be told to expect, about 73
// minutes. Single calls may run longer; they are planned as this long.
const MaxExpected = time.Duration(core.MaxExpected)

// Mode says what a pool does with its decisions.
type Mode uint8

const (
	// Enforce lets calls wait and refuses them.
	Enforce Mode = iota
	// Shadow decides and counts, and lets every call through at once, with no
	// deadline but its own. Outcomes and times are what really happened;
	// WouldRefuse is what would have been refused, an estimate: since nothing
	// is held back, the protected thing is as loaded as without a gate.
	Shadow
	// Off lets every call through and decides nothing.
	Off
)

// String returns the token used in configuration files.
func (m Mode) String() string {
	switch m {
	case Enforce:
		return "enforce"
	case Shadow:
		return "shadow"
	case Off:
		return "off"
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// Config describes a gate.
type Config struct {
	// Pools, at least one. Each is decided by a machine and a lock of its own.
	Pools []Pool
	// Classes, at least one for each pool.
	Classes []Class
	// Default names the class of a call that names none, or an unknown one.
	Default string
	// Observer is told of every call that has ended or was refused; nil for none.
	Observer Observer
	// Alarm is told, on a goroutine of its own, when a pool has failed open
	// because of a bug; nil logs it with slog.
	Alarm func(error)
}

// Pool is a bounded place of work: slots, a waiting room, an order and a door.
type Pool struct {
	// Name is unique, and stands in metrics and refusals.
	Name string
	// Slots is how many units of work may be out at once, 0 … 524 288. With
	// 0 everything is refused.
	Slots int
	// Workers is how many units the protected thing really works on at once,
	// when that is less than Slots: the units above it wait at the protected
	// thing and hide the turn-around between an answer and the next call.
	// At most Slots; 0 means as many as Slots.
	Workers int
	// Waiting is how many calls may wait, 0 … 524 288.
	Waiting int
	Order   Order
	Door    Door
	// Expected is how long a call runs, up to MaxExpected. 0 means that it is
	// learnt; until it has been, nothing is refused as hopeless.
	Expected time.Duration
	// Margin is added to predicted finishes, up to MaxExpected. 0 means that it
	// is learnt from how far predictions were off; less than 0 means none.
	Margin time.Duration
	// LateExpiry leaves a doomed call waiting until its turn comes, instead of
	// refusing it at the moment from which it can no longer finish in time.
	LateExpiry bool
	// AdmitHopeless lets in calls that are predicted to finish too late.
	AdmitHopeless bool
	Mode          Mode
}

// Class is a named criticality.
type Class struct {
	// Name is unique, and stands in metrics and refusals.
	Name string
	// Pool names the pool that the class belongs to.
	Pool string
	// Rank orders classes by how much they matter; 0 is the most critical, and
	// 2^31 - 1 the least.
	Rank int
	// Deadline is what a call gets that brings none, counted from its arrival,
	// and the longest that a call may bring. 0 means none.
	Deadline time.Duration
	// Objective is the share of the class's arrivals that should end OK, in
	// (0, 1); 0 means that the class may be lost.
	Objective float64
	// Waiting is the class's own bound on waiting calls, up to 524 288;
	// Unbounded or 0 means that only the pool's bound holds.
	Waiting int
	// NoWaiting refuses a call of the class that cannot start at once.
	NoWaiting bool
	// Reserve is how many units of the pool no other class takes. Those of all
	// classes together are at most the pool's slots.
	Reserve int
}

// Bounded is a configuration of one pool "app" with the classes "critical" and
// "background" (the default), door and order priority: slots calls run at once,
// waiting more wait, and critical work takes the place
// of background work when there is no other. Expected times and margins are
// learnt.
func Bounded(slots, waiting int, deadline time.Duration) Config {
	return Config{
		Pools: []Pool{{Name: "app", Slots: slots, Waiting: waiting, Door: DoorPriority, Order: OrderPriority}},
		Classes: []Class{
			{Name: "critical", Pool: "app", Rank: 0, Deadline: deadline, Objective: 0.99},
			{Name: "background", Pool: "app", Rank: 1, Deadline: deadline},
		},
		Default: "background",
	}
}
