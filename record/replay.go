package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-go/plimsoll/core"
)

// Report says what a replay went through.
type Report struct {
	Snapshots int
	Events    int // replayed, the differing one included
	Effects   int // recorded with those events
	Gaps      int
	Lost      uint64 // events that the gaps say are missing
	Records   int    // passed over: they are derived, not decided
	// Difference is the first entry that came out differently; nil means that
	// every decision was the same.
	Difference *Difference
}

// Difference is one entry that came out differently: an event with other
// effects, or a snapshot, taken without a gap before it, that is not the state
// which the events lead to.
type Difference struct {
	Entry  int   // in the stream, counted from 1
	Offset int64 // where the entry begins, in bytes
	Group  int
	Event  core.Event    // zero if it is a snapshot that differs
	Want   []core.Effect // as recorded
	Got    []core.Effect // as replayed
	// State is where the states part, recorded and replayed, if it is a
	// snapshot that differs.
	State string
}

// String names the place, the event, and the first effect that differs.
func (d *Difference) String() string {
	place := fmt.Sprintf("entry %d at byte %d, group %d", d.Entry, d.Offset, d.Group)
	if d.State != "" {
		return place + ": snapshot: " + d.State
	}
	at := 0
	for at < len(d.Want) && at < len(d.Got) && same(d.Want[at:at+1], d.Got[at:at+1]) {
		at++
	}
	var call string
	if d.Event.Seq > 0 {
		call = fmt.Sprintf(" of #%d", d.Event.Seq)
	}
	return fmt.Sprintf("%s: %v%s at %d ns: effect %d was %s (of %d), now it is %s (of %d)", place,
		d.Event.Op, call, d.Event.Now, at+1, describe(d.Want, at), len(d.Want), describe(d.Got, at), len(d.Got))
}

// same compares effects as a stream would hold them.
func same(a, b []core.Effect) bool {
	return bytes.Equal(appendEffects(nil, 0, a), appendEffects(nil, 0, b))
}

func describe(effects []core.Effect, at int) string {
	if at >= len(effects) {
		return "none"
	}
	f := &effects[at]
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v class=%d", f.Kind, f.ID, f.Class)
	if f.Reason != core.NoReason {
		fmt.Fprintf(&b, " reason=%v", f.Reason)
	}
	if f.Outcome != core.NoOutcome {
		fmt.Fprintf(&b, " outcome=%v", f.Outcome)
	}
	fmt.Fprintf(&b, " ns=%d", f.Ns)
	return b.String()
}

// Replay reads a stream, applies its events to machines restored from its
// snapshots, and compares the effects byte for byte, up to the first
// difference. A snapshot that no gap precedes is compared with the state that
// the events lead to. The machine's place of a call (ID.Index) is not compared: it is
// private to the machine that issued it.
//
// A difference is an answer, not an error; see Report.Difference. The error
// says that the stream cannot be read or does not make sense, and where; the
// report then covers what came before.
func Replay(r io.Reader) (Report, error) {
	var p player
	d, err := NewReader(r)
	if err != nil {
		return p.report, err
	}
	var e Entry
	for p.report.Difference == nil {
		if err := d.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			return p.report, err
		}
		if err := p.play(d, &e); err != nil {
			return p.report, d.corrupt(err)
		}
	}
	return p.report, nil
}

// player holds one machine for each group that has had a snapshot since its
// last gap.
type player struct {
	report    Report
	machines  map[int]*core.Machine
	out       []core.Effect
	want, got []byte
}

func (p *player) play(d *Reader, e *Entry) error {
	switch e.Kind {
	case KindRecord:
		p.report.Records++
	case KindGap:
		p.report.Gaps++
		p.report.Lost += e.Lost
		delete(p.machines, e.Group)
	case KindSnapshot:
		return p.restore(d, e)
	case KindEvent:
		return p.step(d, e)
	}
	return nil
}

func (p *player) restore(d *Reader, e *Entry) error {
	if m := p.machines[e.Group]; m != nil {
		diff, err := parting(e.State, m.Snapshot())
		if err != nil {
			return err
		}
		if diff != "" {
			p.report.Difference = &Difference{Entry: d.Entry(), Offset: d.Offset(), Group: e.Group, State: diff}
			return nil
		}
	}
	m, err := core.Restore(*e.State)
	if err != nil {
		return fmt.Errorf("snapshot of group %d: %w", e.Group, err)
	}
	if p.machines == nil {
		p.machines = make(map[int]*core.Machine)
	}
	p.machines[e.Group] = m
	p.report.Snapshots++
	return nil
}

func (p *player) step(d *Reader, e *Entry) (err error) {
	m := p.machines[e.Group]
	if m == nil {
		return fmt.Errorf("an event of group %d without a snapshot of it before", e.Group)
	}
	if p.out, err = m.Step(e.Event, p.out[:0]); err != nil {
		return fmt.Errorf("%v in group %d: %w", e.Event.Op, e.Group, err)
	}
	p.report.Events++
	p.report.Effects += len(e.Effects)
	p.want, p.got = appendEffects(p.want[:0], 0, e.Effects), appendEffects(p.got[:0], 0, p.out)
	if !bytes.Equal(p.want, p.got) {
		p.report.Difference = &Difference{
			Entry: d.Entry(), Offset: d.Offset(), Group: e.Group, Event: e.Event,
			Want: append([]core.Effect(nil), e.Effects...),
			Got:  append([]core.Effect(nil), p.out...),
		}
	}
	return nil
}

// parting says where two states part, or nothing if they are the same.
func parting(recorded *core.State, replayed core.State) (string, error) {
	a, err := json.Marshal(recorded)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(replayed)
	if err != nil || bytes.Equal(a, b) {
		return "", err
	}
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return fmt.Sprintf("recorded …%s…, replayed …%s…", around(a, at), around(b, at)), nil
}

func around(b []byte, at int) []byte { return b[max(0, at-40):min(len(b), at+20)] }
