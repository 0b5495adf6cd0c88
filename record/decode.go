package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/plimsoll-go/plimsoll/core"
)

// decoder is the state that a binary reader carries from entry to entry. The
// first thing that is wrong with an entry stays in err, and everything after it
// reads as zero.
type decoder struct {
	numbers numbers
	last    int64
	names   []string
	b       []byte // what is left of the entry
	err     error
}

var errShort = errors.New("the entry ends in the middle of a field")

func (c *decoder) decode(b []byte, e *Entry) error {
	c.b, c.err = b, nil
	e.Kind = Kind(c.byte())
	if c.err == nil && e.Kind > KindRecord {
		return fmt.Errorf("no such kind of entry: %d", e.Kind)
	}
	if e.Kind != KindRecord {
		e.Group = c.int()
	}
	switch e.Kind {
	case KindSnapshot:
		e.State = new(core.State)
		c.json(len(c.b), e.State)
	case KindEvent:
		c.event(&e.Event)
		e.Effects = c.effects(e.Event.Seq, e.Effects)
	case KindGap:
		e.Lost = c.uvarint()
	case KindRecord:
		c.record(&e.Record)
	}
	if c.err == nil && len(c.b) > 0 {
		c.err = fmt.Errorf("%d bytes are left after the last field", len(c.b))
	}
	return c.err
}

func (c *decoder) event(e *core.Event) {
	e.Op = core.Op(c.word(c.numbers.ops, "op"))
	c.last += c.varint()
	e.Now = c.last
	mask := c.uvarint()
	if mask > hasAll {
		c.fail(fmt.Errorf("an event with unknown fields: mask %#x", mask))
	}
	has := func(bit uint64) bool { return mask&bit != 0 && c.err == nil }
	if has(hasClass) {
		e.Request.Class = c.signed()
	}
	if has(hasCost) {
		e.Request.Cost = c.signed()
	}
	if has(hasAttempt) {
		e.Request.Attempt = c.signed()
	}
	if has(hasKey) {
		e.Request.Key = c.uvarint()
	}
	if has(hasDeadline) {
		e.Request.Deadline = e.Now + c.varint()
	}
	if has(hasExpected) {
		e.Request.Expected = c.varint()
	}
	if has(hasSeq) {
		e.Seq = c.uvarint()
	}
	if has(hasOutcome) {
		e.Outcome = core.Outcome(c.word(c.numbers.outcomes, "outcome"))
	}
	if has(hasReason) {
		e.Reason = core.Reason(c.word(c.numbers.reasons, "reason"))
	}
	e.On = has(hasOn)
	if has(hasConfig) {
		e.Config = new(core.Config)
		c.json(c.int(), e.Config)
	}
}

func (c *decoder) effects(seq uint64, out []core.Effect) []core.Effect {
	for n := c.uvarint(); n > 0 && c.err == nil; n-- {
		f := core.Effect{
			Kind:    core.EffectKind(c.word(c.numbers.effects, "effect")),
			Reason:  core.Reason(c.word(c.numbers.reasons, "reason")),
			Outcome: core.Outcome(c.word(c.numbers.outcomes, "outcome")),
		}
		class := c.varint()
		if class != int64(int32(class)) {
			c.fail(fmt.Errorf("an effect of class %d", class))
		}
		f.Class = int32(class)
		f.ID.Seq = seq + uint64(c.varint())
		f.Ns = c.varint()
		if c.err == nil {
			out = append(out, f)
		}
	}
	return out
}

func (c *decoder) record(r *Record) {
	r.Outcome = core.Outcome(c.word(c.numbers.outcomes, "outcome"))
	r.Reason = core.Reason(c.word(c.numbers.reasons, "reason"))
	c.last += c.varint()
	r.Start, r.Intended, r.Deadline = c.last, Unknown, core.Never
	known := c.uvarint()
	if known > 3 {
		c.fail(fmt.Errorf("a record with unknown fields: mask %#x", known))
	}
	if known&1 != 0 {
		r.Intended = r.Start + c.varint()
	}
	if known&2 != 0 {
		r.Deadline = r.Start + c.varint()
	}
	r.Class, r.Pool = c.name(), c.name()
	r.Wait, r.Service = c.varint(), c.varint()
	r.Attempt = c.signed()
	r.Key = c.uvarint()
}

func (c *decoder) name() string {
	n := c.uvarint()
	if n > uint64(len(c.names)) {
		c.fail(fmt.Errorf("name %d of %d", n, len(c.names)))
	}
	if c.err != nil {
		return ""
	}
	if n > 0 {
		return c.names[n-1]
	}
	s := string(c.bytes(c.int()))
	if len(s) > MaxName {
		c.fail(fmt.Errorf("a name of %d bytes; at most %d are allowed", len(s), MaxName))
		return ""
	}
	if c.err == nil && len(c.names) < maxNames {
		c.names = append(c.names, s)
	}
	return s
}

func (c *decoder) json(n int, to any) {
	if b := c.bytes(n); c.err == nil {
		c.fail(strict(b, to))
	}
}

// word translates the number of a word.
func (c *decoder) word(to []uint8, what string) uint8 {
	n := c.byte()
	if int(n) >= len(to) {
		c.fail(fmt.Errorf("no such %s: %d", what, n))
		return 0
	}
	return to[n]
}

func (c *decoder) byte() byte {
	b := c.bytes(1)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func (c *decoder) bytes(n int) []byte {
	if n > len(c.b) {
		c.fail(errShort)
	}
	if c.err != nil {
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// int reads a count.
func (c *decoder) int() int {
	v := c.uvarint()
	if v > math.MaxInt32 {
		c.fail(fmt.Errorf("a count of %d", v))
		return 0
	}
	return int(v)
}

// signed reads a number that is an int in memory.
func (c *decoder) signed() int {
	v := c.varint()
	if v != int64(int(v)) {
		c.fail(fmt.Errorf("the number %d is too large for this machine", v))
		return 0
	}
	return int(v)
}

func (c *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(c.b)
	return advance(c, v, n)
}

func (c *decoder) varint() int64 {
	v, n := binary.Varint(c.b)
	return advance(c, v, n)
}

func advance[T int64 | uint64](c *decoder, v T, n int) T {
	if n == 0 {
		c.fail(errShort)
	}
	if n < 0 {
		c.fail(errors.New("a number of more than 64 bits"))
	}
	if c.err != nil {
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *decoder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}
