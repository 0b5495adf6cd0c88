package core

import "fmt"

// Reason says why a call was refused. A refused call was never started, so it
// has had no effect. The set is closed: dashboards, wire tables and alerts may
// enumerate it.
type Reason uint8

const (
	NoReason      Reason = iota
	Full                 // the pool, or the class's own waiting room, has no place
	Evicted              // gave its waiting place to a call of a more critical rank
	Expired              // waited until it could no longer finish in time
	Hopeless             // could not finish in time, said at the door
	Rate                 // over a configured rate
	Quota                // over its tenant's share
	Streams              // over the limit of long-lived streams
	TooCostly            // needs more units than the pool will ever have
	Overloaded           // the process's own resources are short
	Upstream             // nothing to send to, or a breaker is open
	Budget               // the attempt has no units left
	Deadline             // the attempt has no time left
	UnknownEffect        // an earlier effect must be recovered first
	InProgress           // the same attempt is already running
	Conflict             // same idempotency key, other content
	Store                // the attempt store cannot vouch for this call
	Draining             // the gate is shutting down
	numReasons
)

// NumReasons is one more than the largest Reason: the size of a table by reason.
const NumReasons = int(numReasons)

var reasonNames = [...]string{
	"", "full", "evicted", "expired", "hopeless", "rate", "quota", "streams",
	"too-costly", "overloaded", "upstream", "budget", "deadline",
	"unknown-effect", "in-progress", "conflict", "store", "draining",
}

// String returns the token used on the wire, in metrics and in records.
func (r Reason) String() string { return name(reasonNames[:], int(r), "reason") }

// MarshalText writes the token.
func (r Reason) MarshalText() ([]byte, error) { return marshal(reasonNames[:], int(r), "reason") }

// UnmarshalText reads the token.
func (r *Reason) UnmarshalText(b []byte) error {
	i, err := unmarshal(reasonNames[:], b, "reason")
	*r = Reason(i)
	return err
}

// Outcome says how a call ended. Every arrival has exactly one.
type Outcome uint8

const (
	NoOutcome Outcome = iota // has not ended
	OK                       // answered within its deadline
	Late                     // answered after its deadline
	Failed                   // ran and failed
	Unknown                  // ran, and whether it had its effect is not known
	Cancelled                // the client left
	Lost                     // ran and never came back within the time it was held for
	Refused                  // never ran; a Reason says why
	numOutcomes
)

// NumOutcomes is one more than the largest Outcome: the size of a table by outcome.
const NumOutcomes = int(numOutcomes)

var outcomeNames = [...]string{"", "ok", "late", "failed", "unknown", "cancelled", "lost", "refused"}

// String returns the token used in metrics and records.
func (o Outcome) String() string { return name(outcomeNames[:], int(o), "outcome") }

// MarshalText writes the token.
func (o Outcome) MarshalText() ([]byte, error) { return marshal(outcomeNames[:], int(o), "outcome") }

// UnmarshalText reads the token.
func (o *Outcome) UnmarshalText(b []byte) error {
	i, err := unmarshal(outcomeNames[:], b, "outcome")
	*o = Outcome(i)
	return err
}

// Door says what happens to an arrival that finds its pool full.
type Door uint8

const (
	// DoorBlind refuses whoever arrives.
	DoorBlind Door = iota
	// DoorPriority lets the arrival take the place of the newest waiting call of
	// the least critical rank below its own, and refuses only when none waits.
	DoorPriority
)

var doorNames = [...]string{"blind", "priority"}

// String returns the token used in configuration files.
func (d Door) String() string { return name(doorNames[:], int(d), "door") }

// MarshalText writes the token.
func (d Door) MarshalText() ([]byte, error) { return marshal(doorNames[:], int(d), "door") }

// UnmarshalText reads the token.
func (d *Door) UnmarshalText(b []byte) error {
	i, err := unmarshal(doorNames[:], b, "door")
	*d = Door(i)
	return err
}

// Order says which of the waiting runs next.
type Order uint8

const (
	OrderFIFO     Order = iota // the oldest
	OrderPriority              // the oldest of the most critical rank
	OrderLIFO                  // the newest
)

var orderNames = [...]string{"fifo", "priority", "lifo"}

// String returns the token used in configuration files.
func (o Order) String() string { return name(orderNames[:], int(o), "order") }

// MarshalText writes the token.
func (o Order) MarshalText() ([]byte, error) { return marshal(orderNames[:], int(o), "order") }

// UnmarshalText reads the token.
func (o *Order) UnmarshalText(b []byte) error {
	i, err := unmarshal(orderNames[:], b, "order")
	*o = Order(i)
	return err
}

func name(names []string, i int, what string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}

func marshal(names []string, i int, what string) ([]byte, error) {
	if i < len(names) {
		return []byte(names[i]), nil
	}
	return nil, fmt.Errorf("core: no such %s: %d", what, i)
}

func unmarshal(names []string, b []byte, what string) (int, error) {
	for i, n := range names {
		if n == string(b) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("core: no such %s: %q; one of %q", what, b, names)
}
