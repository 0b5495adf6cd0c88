package record

import (
	"encoding/binary"
	"encoding/json"

	"github.com/plimsoll-go/plimsoll/core"
)

// A binary entry is a frame: its length as a varint, then the kind and the
// fields. Numbers are varints, signed ones in zigzag form. Instants are written
// as the difference from the instant before them in the stream, or from the
// entry's own: they are close together and differences are short. Differences
// wrap around, so that core.Never comes back as what it was.

// Fields of an event that are written only when they are not zero.
const (
	hasClass = 1 << iota
	hasCost
	hasAttempt
	hasKey
	hasDeadline
	hasExpected
	hasSeq
	hasOutcome
	hasReason
	hasOn
	hasConfig
	hasAll = 1<<iota - 1
)

// encoder is the state that a binary writer carries from entry to entry.
type encoder struct {
	last  int64          // the instant that the next difference counts from
	names map[string]int // the dictionary
	frame []byte         // scratch
}

func (c *encoder) encode(out []byte, e *Entry) ([]byte, error) {
	b, err := c.payload(append(c.frame[:0], byte(e.Kind)), e)
	c.frame = b
	if err != nil {
		return out, err
	}
	return append(binary.AppendUvarint(out, uint64(len(b))), b...), nil
}

func (c *encoder) payload(b []byte, e *Entry) ([]byte, error) {
	if e.Kind == KindRecord {
		return c.record(b, &e.Record), nil
	}
	b = binary.AppendUvarint(b, uint64(e.Group))
	switch e.Kind {
	case KindSnapshot:
		state, err := json.Marshal(e.State)
		return append(b, state...), err
	case KindGap:
		return binary.AppendUvarint(b, e.Lost), nil
	}
	b, err := c.event(b, &e.Event)
	return appendEffects(b, e.Event.Seq, e.Effects), err
}

func (c *encoder) event(b []byte, e *core.Event) ([]byte, error) {
	r := &e.Request
	mask := bit(hasClass, r.Class != 0) | bit(hasCost, r.Cost != 0) | bit(hasAttempt, r.Attempt != 0) |
		bit(hasKey, r.Key != 0) | bit(hasDeadline, r.Deadline != 0) | bit(hasExpected, r.Expected != 0) |
		bit(hasSeq, e.Seq != 0) | bit(hasOutcome, e.Outcome != 0) | bit(hasReason, e.Reason != 0) |
		bit(hasOn, e.On) | bit(hasConfig, e.Config != nil)
	b = append(b, byte(e.Op))
	b = binary.AppendVarint(b, e.Now-c.last)
	c.last = e.Now
	b = binary.AppendUvarint(b, mask)
	b = optional(b, int64(r.Class))
	b = optional(b, int64(r.Cost))
	b = optional(b, int64(r.Attempt))
	if r.Key != 0 {
		b = binary.AppendUvarint(b, r.Key)
	}
	if r.Deadline != 0 {
		b = binary.AppendVarint(b, r.Deadline-e.Now)
	}
	b = optional(b, r.Expected)
	if e.Seq != 0 {
		b = binary.AppendUvarint(b, e.Seq)
	}
	if e.Outcome != 0 {
		b = append(b, byte(e.Outcome))
	}
	if e.Reason != 0 {
		b = append(b, byte(e.Reason))
	}
	if e.Config == nil {
		return b, nil
	}
	config, err := json.Marshal(e.Config)
	b = binary.AppendUvarint(b, uint64(len(config)))
	return append(b, config...), err
}

// appendEffects is also what replay compares: two lists of effects are the same
// if these bytes are. Sequence numbers count from the event's own.
func appendEffects(b []byte, seq uint64, effects []core.Effect) []byte {
	b = binary.AppendUvarint(b, uint64(len(effects)))
	for i := range effects {
		f := &effects[i]
		b = append(b, byte(f.Kind), byte(f.Reason), byte(f.Outcome))
		b = binary.AppendVarint(b, int64(f.Class))
		b = binary.AppendVarint(b, int64(f.ID.Seq-seq))
		b = binary.AppendVarint(b, f.Ns)
	}
	return b
}

func (c *encoder) record(b []byte, r *Record) []byte {
	b = append(b, byte(r.Outcome), byte(r.Reason))
	b = binary.AppendVarint(b, r.Start-c.last)
	c.last = r.Start
	known := bit(1, r.Intended != Unknown) | bit(2, r.Deadline != core.Never)
	b = binary.AppendUvarint(b, known)
	if r.Intended != Unknown {
		b = binary.AppendVarint(b, r.Intended-r.Start)
	}
	if r.Deadline != core.Never {
		b = binary.AppendVarint(b, r.Deadline-r.Start)
	}
	b = c.name(b, r.Class)
	b = c.name(b, r.Pool)
	b = binary.AppendVarint(b, r.Wait)
	b = binary.AppendVarint(b, r.Service)
	b = binary.AppendVarint(b, int64(r.Attempt))
	return binary.AppendUvarint(b, r.Key)
}

// name writes the number of a name that the stream has had, or 0 and the name,
// which gets the next number as long as the dictionary has room.
func (c *encoder) name(b []byte, s string) []byte {
	if n := c.names[s]; n > 0 {
		return binary.AppendUvarint(b, uint64(n))
	}
	if len(c.names) < maxNames {
		if c.names == nil {
			c.names = make(map[string]int)
		}
		c.names[s] = len(c.names) + 1
	}
	b = binary.AppendUvarint(b, 0)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func optional(b []byte, v int64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendVarint(b, v)
}

func bit(mask uint64, on bool) uint64 {
	if on {
		return mask
	}
	return 0
}
