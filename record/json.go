package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll-go/plimsoll/core"
)

// jsonLine is one line of a JSON stream: exactly one of its fields is there.
type jsonLine struct {
	Snapshot *jsonSnapshot `json:"snapshot,omitempty"`
	Event    *jsonEvent    `json:"event,omitempty"`
	Gap      *jsonGap      `json:"gap,omitempty"`
	Record   *Record       `json:"record,omitempty"`
}

type jsonSnapshot struct {
	Group int         `json:"group"`
	State *core.State `json:"state"`
}

type jsonEvent struct {
	Group int `json:"group"`
	core.Event
	Effects []jsonEffect `json:"effects,omitempty"`
}

type jsonEffect struct {
	Seq uint64 `json:"seq"`
	core.Effect
}

type jsonGap struct {
	Group int    `json:"group"`
	Lost  uint64 `json:"lost"`
}

// jsonRecord leaves out what is not known, rather than write a number that
// stands for nothing.
type jsonRecord struct {
	Intended *int64       `json:"intended,omitempty"`
	Start    int64        `json:"start"`
	Class    string       `json:"class"`
	Pool     string       `json:"pool,omitempty"`
	Wait     int64        `json:"wait"`
	Service  int64        `json:"service"`
	Deadline *int64       `json:"deadline,omitempty"`
	Outcome  core.Outcome `json:"outcome"`
	Reason   core.Reason  `json:"reason,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Key      uint64       `json:"key,omitempty"`
}

// MarshalJSON writes the record as it stands in JSON streams: without
// "intended" when that is Unknown, without "deadline" when there is none.
func (r Record) MarshalJSON() ([]byte, error) {
	j := jsonRecord{
		Start: r.Start, Class: r.Class, Pool: r.Pool, Wait: r.Wait, Service: r.Service,
		Outcome: r.Outcome, Reason: r.Reason, Attempt: r.Attempt, Key: r.Key,
	}
	if r.Intended != Unknown {
		j.Intended = &r.Intended
	}
	if r.Deadline != core.Never {
		j.Deadline = &r.Deadline
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes. An unknown field is an error.
func (r *Record) UnmarshalJSON(b []byte) error {
	var j jsonRecord
	if err := strict(b, &j); err != nil {
		return err
	}
	*r = Record{
		Intended: Unknown, Start: j.Start, Class: j.Class, Pool: j.Pool, Wait: j.Wait, Service: j.Service,
		Deadline: core.Never, Outcome: j.Outcome, Reason: j.Reason, Attempt: j.Attempt, Key: j.Key,
	}
	if j.Intended != nil {
		r.Intended = *j.Intended
	}
	if j.Deadline != nil {
		r.Deadline = *j.Deadline
	}
	return nil
}

func strict(b []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	if rest := bytes.TrimSpace(b[d.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("%q after the end of the object", rest[:min(len(rest), 20)])
	}
	return nil
}

func encodeJSON(e *Entry) ([]byte, error) {
	var l jsonLine
	switch e.Kind {
	case KindSnapshot:
		l.Snapshot = &jsonSnapshot{e.Group, e.State}
	case KindEvent:
		l.Event = &jsonEvent{Group: e.Group, Event: e.Event}
		for _, f := range e.Effects {
			l.Event.Effects = append(l.Event.Effects, jsonEffect{f.ID.Seq, f})
		}
	case KindGap:
		l.Gap = &jsonGap{e.Group, e.Lost}
	case KindRecord:
		l.Record = &e.Record
	}
	b, err := json.Marshal(l)
	return append(b, '\n'), err
}

func decodeJSON(line []byte, e *Entry) error {
	var l jsonLine
	if err := strict(line, &l); err != nil {
		return err
	}
	n := 0
	if l.Snapshot != nil {
		n++
		e.Kind, e.Group, e.State = KindSnapshot, l.Snapshot.Group, l.Snapshot.State
	}
	if l.Event != nil {
		n++
		e.Kind, e.Group, e.Event = KindEvent, l.Event.Group, l.Event.Event
		for _, f := range l.Event.Effects {
			f.Effect.ID = core.ID{Seq: f.Seq}
			e.Effects = append(e.Effects, f.Effect)
		}
	}
	if l.Gap != nil {
		n++
		e.Kind, e.Group, e.Lost = KindGap, l.Gap.Group, l.Gap.Lost
	}
	if l.Record != nil {
		n++
		e.Kind, e.Record = KindRecord, *l.Record
	}
	if n != 1 {
		return fmt.Errorf("%d entries on one line; exactly one of snapshot, event, gap and record is allowed", n)
	}
	return nil
}
