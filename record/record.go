package record

import "github.com/plimsoll-go/plimsoll/core"

// Unknown, as a record's Intended, means that the writer saw only the arrival:
// a gate does not know when its clients meant to send.
const Unknown = int64(-1)

// Record is one ended call. Instants and durations are in nanoseconds.
type Record struct {
	// Intended is the instant at which the schedule wanted the call to be
	// made, or Unknown. Scores count from here when it is known: a client that
	// was held up has waited all the same.
	Intended int64
	// Start is the instant at which the call was really made: sent by a load
	// tester, arrived at a gate.
	Start int64
	// Class and Pool are names, up to MaxName bytes each.
	Class string
	Pool  string
	// Wait is how long the call waited before it ran or was refused.
	Wait int64
	// Service is how long it ran; 0 if it never did.
	Service int64
	// Deadline is the instant after which the answer was worthless, or
	// core.Never.
	Deadline int64
	Outcome  core.Outcome
	Reason   core.Reason // when Outcome is Refused
	// Attempt numbers the tries of one intention from 0.
	Attempt int
	// Key groups calls by tenant or user.
	Key uint64
}

// From is the instant from which the call counts: Intended if it is known,
// else Start.
func (r *Record) From() int64 {
	if r.Intended == Unknown {
		return r.Start
	}
	return r.Intended
}

// End is the instant at which the call ended.
func (r *Record) End() int64 { return r.Start + r.Wait + r.Service }

// Kind says what an entry is.
type Kind uint8

const (
	KindSnapshot Kind = iota + 1
	KindEvent
	KindGap
	KindRecord
)

// String returns the word that stands in JSON streams.
func (k Kind) String() string {
	switch k {
	case KindSnapshot:
		return "snapshot"
	case KindEvent:
		return "event"
	case KindGap:
		return "gap"
	case KindRecord:
		return "record"
	}
	return "no kind"
}

// Entry is one entry of a stream. Kind tells which of the other fields mean
// anything.
type Entry struct {
	Kind Kind
	// Group numbers the machines that share the stream from 0, below
	// MaxGroups; records do not have one.
	Group int

	State *core.State // KindSnapshot

	Event   core.Event    // KindEvent
	Effects []core.Effect // KindEvent; only ID.Seq of each ID is kept

	Lost uint64 // KindGap: how many events are missing; 0 if nobody counted

	Record Record // KindRecord
}
