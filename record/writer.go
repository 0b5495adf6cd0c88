package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/plimsoll-go/plimsoll/core"
)

// Writer writes a stream. It is not safe for concurrent use: whoever writes
// events must bring them in lock order anyway.
type Writer struct {
	w      io.Writer
	json   bool
	limits limits
	enc    encoder
	one    Entry
	buf    []byte
	err    error
}

// NewWriter writes the header and returns a writer of entries. Source says in a
// word what writes, and is at most MaxName bytes long.
//
// Each entry is one Write, so a stream is never cut inside an entry unless the
// destination itself does that; wrap it in a bufio.Writer for volume, and flush
// that at the end. The first error of the destination ends the stream: every
// later call returns it.
func NewWriter(w io.Writer, enc Encoding, source string) (*Writer, error) {
	h := Header{Format: format, Version: version, Encoding: enc, Unit: "ns", Source: source}
	if enc == Binary {
		h.Words = ownWords()
	}
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if err := checkName("source", source); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("record: header: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("record: header: %w", err)
	}
	return &Writer{w: w, json: enc == JSON, limits: ownLimits()}, nil
}

// Snapshot writes the state of a machine. Events of a group may follow only
// after a snapshot of it.
func (w *Writer) Snapshot(group int, s *core.State) error {
	return w.write(Entry{Kind: KindSnapshot, Group: group, State: s})
}

// Event writes one event with its effects. Neither is kept.
func (w *Writer) Event(group int, e core.Event, effects []core.Effect) error {
	return w.write(Entry{Kind: KindEvent, Group: group, Event: e, Effects: effects})
}

// Gap says that events of a group are missing here; a snapshot must follow
// before its next event. Lost is how many, or 0 if nobody counted.
func (w *Writer) Gap(group int, lost uint64) error {
	return w.write(Entry{Kind: KindGap, Group: group, Lost: lost})
}

// Record writes one ended call.
func (w *Writer) Record(r *Record) error {
	return w.write(Entry{Kind: KindRecord, Record: *r})
}

// write keeps the entry off the heap.
func (w *Writer) write(e Entry) error {
	w.one = e
	err := w.Write(&w.one)
	w.one = Entry{}
	return err
}

// Write writes an entry of any kind, and keeps nothing of it. An entry with a
// group, name or word that a stream cannot hold is an error and is not written;
// the stream goes on without it. An entry longer than MaxEntry ends the stream.
func (w *Writer) Write(e *Entry) error {
	if w.err != nil {
		return w.err
	}
	if err := e.check(w.limits); err != nil {
		return fmt.Errorf("record: %v: %w", e.Kind, err)
	}
	var err error
	if w.json {
		w.buf, err = encodeJSON(e)
	} else {
		w.buf, err = w.enc.encode(w.buf[:0], e)
	}
	if err == nil && len(w.buf) > MaxEntry {
		err = fmt.Errorf("an entry of %d bytes; at most %d are allowed", len(w.buf), MaxEntry)
	}
	if err != nil {
		// A binary encoder may have moved its reference instant or learnt a
		// name; a stream that the reader would misread must not go on.
		w.err = fmt.Errorf("record: %v: %w", e.Kind, err)
		return w.err
	}
	if _, err := w.w.Write(w.buf); err != nil {
		w.err = fmt.Errorf("record: %w", err)
	}
	return w.err
}

// limits are how many words of each open-ended kind there are.
type limits struct{ ops, effects int }

func ownLimits() limits {
	w := ownWords()
	return limits{len(w.Ops), len(w.Effects)}
}

// check holds for entries to be written and for entries that have been read.
func (e *Entry) check(l limits) error {
	switch {
	case e.Kind < KindSnapshot || e.Kind > KindRecord:
		return fmt.Errorf("no such kind of entry: %d", e.Kind)
	case e.Group < 0 || e.Group >= MaxGroups:
		return fmt.Errorf("group %d; 0 to %d is allowed", e.Group, MaxGroups-1)
	case e.Kind == KindSnapshot && e.State == nil:
		return errors.New("there is no state in it")
	case e.Kind == KindEvent:
		return e.checkEvent(l)
	case e.Kind == KindRecord:
		return e.Record.check()
	}
	return nil
}

func (e *Entry) checkEvent(l limits) error {
	if e.Event.Op == 0 || int(e.Event.Op) >= l.ops {
		return fmt.Errorf("no such op: %d", e.Event.Op)
	}
	if err := checkEnd(e.Event.Outcome, e.Event.Reason); err != nil {
		return err
	}
	for i := range e.Effects {
		f := &e.Effects[i]
		if f.Kind == 0 || int(f.Kind) >= l.effects {
			return fmt.Errorf("no such effect: %d", f.Kind)
		}
		if err := checkEnd(f.Outcome, f.Reason); err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) check() error {
	if err := checkName("class", r.Class); err != nil {
		return err
	}
	if err := checkName("pool", r.Pool); err != nil {
		return err
	}
	return checkEnd(r.Outcome, r.Reason)
}

func checkName(what, s string) error {
	if len(s) > MaxName {
		return fmt.Errorf("a %s of %d bytes; at most %d are allowed", what, len(s), MaxName)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("the %s %q is not UTF-8", what, s)
	}
	return nil
}

func checkEnd(o core.Outcome, r core.Reason) error {
	if int(o) >= core.NumOutcomes {
		return fmt.Errorf("no such outcome: %d", o)
	}
	if int(r) >= core.NumReasons {
		return fmt.Errorf("no such reason: %d", r)
	}
	return nil
}
