package core

import "fmt"

// ID names one call. Seq counts arrivals from 1 and is never used twice; Index
// is where the machine keeps the call while it is in the system. A call that
// was refused at the door has a Seq and Index 0. Only Seq is meaningful
// outside the machine that issued the ID: a restored machine may keep the same
// call elsewhere, see [Machine.Lookup].
type ID struct {
	Seq   uint64
	Index uint32
}

// String returns the sequence number in the form #17.
func (id ID) String() string { return fmt.Sprintf("#%d", id.Seq) }

// Request is what an arriving call says of itself.
type Request struct {
	// Class is an index into Config.Classes; any other number gets the default class.
	Class int `json:"class"`
	// Cost is how many units the call takes while it runs; 0 means 1. More
	// than the pool's slots is refused as TooCostly, less than 0 too.
	Cost int `json:"cost,omitempty"`
	// Attempt numbers the tries of one intention from 0.
	Attempt int `json:"attempt,omitempty"`
	// Key groups calls by tenant or user.
	Key uint64 `json:"key,omitempty"`
	// Deadline is the instant after which the answer is worthless; 0 means the
	// class's own, counted from now, and Never means none. (Who begins the line
	// below 0 cannot name the instant 0 here.)
	Deadline int64 `json:"deadline,omitempty"`
	// Expected is how long the call is expected to run, in nanoseconds; 0
	// means the pool's Expected.
	Expected int64 `json:"expected,omitempty"`
}

// Op is the kind of an event.
type Op uint8

const (
	OpArrive Op = iota + 1
	OpRelease
	OpDispatch
	OpCancel
	OpTick
	OpConfigure
	OpDrain
	OpFlush
)

var opNames = [...]string{"", "arrive", "release", "dispatch", "cancel", "tick", "configure", "drain", "flush"}

// String returns the token used in scripts and records.
func (o Op) String() string { return name(opNames[:], int(o), "op") }

// MarshalText writes the token.
func (o Op) MarshalText() ([]byte, error) { return marshal(opNames[:], int(o), "op") }

// UnmarshalText reads the token.
func (o *Op) UnmarshalText(b []byte) error {
	i, err := unmarshal(opNames[:], b, "op")
	*o = Op(i)
	return err
}

// Event is one call into a machine, as a value. [Machine.Step] applies it.
type Event struct {
	Op      Op      `json:"op"`
	Now     int64   `json:"now"`
	Request Request `json:"request,omitzero"`  // OpArrive
	Seq     uint64  `json:"seq,omitempty"`     // OpRelease, OpCancel: which call; OpArrive: the number it got
	Outcome Outcome `json:"outcome,omitempty"` // OpRelease
	Reason  Reason  `json:"reason,omitempty"`  // OpFlush
	On      bool    `json:"on,omitempty"`      // OpDrain
	Config  *Config `json:"config,omitempty"`  // OpConfigure
}

// EffectKind says what must now happen.
type EffectKind uint8

const (
	// Wait: the arrival was let in and waits. Dispatch may start it in the
	// same breath.
	Wait EffectKind = iota + 1
	// Run: the call starts now and holds its units until it is released.
	Run
	// Refuse: the call is not started, for Reason. It may be the newcomer or
	// one that had been waiting.
	Refuse
	// End: a running call has ended, or a waiting one has left, with Outcome.
	End
	// Stale: the event named a call that is not in that state, and nothing
	// changed. It is counted.
	Stale
)

var effectNames = [...]string{"", "wait", "run", "refuse", "end", "stale"}

// String returns the token used in scripts and records.
func (k EffectKind) String() string { return name(effectNames[:], int(k), "effect") }

// MarshalText writes the token.
func (k EffectKind) MarshalText() ([]byte, error) { return marshal(effectNames[:], int(k), "effect") }

// UnmarshalText reads the token.
func (k *EffectKind) UnmarshalText(b []byte) error {
	i, err := unmarshal(effectNames[:], b, "effect")
	*k = EffectKind(i)
	return err
}

// Effect is one thing that must happen because of an event.
type Effect struct {
	Kind    EffectKind `json:"kind"`
	Reason  Reason     `json:"reason,omitempty"`  // Refuse
	Outcome Outcome    `json:"outcome,omitempty"` // End
	Class   int32      `json:"class"`             // the class that decided, after the default was applied
	ID      ID         `json:"-"`
	// Ns is how long: for Run and Refuse the time since the arrival, for End
	// the time the protected thing worked on the call as far as the machine
	// can tell (0 if the call never ran, or never got a worker).
	Ns int64 `json:"ns,omitempty"`
}
