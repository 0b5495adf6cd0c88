package record_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

func machine() (*core.Machine, core.Config) {
	cfg := core.Config{
		Pools: []core.Pool{
			{Name: "app", Slots: 4, Workers: 2, Waiting: 9, Order: core.OrderPriority, Door: core.DoorPriority,
				Expected: 10e6, ExpireWaiting: true, RefuseHopeless: true},
			{Name: "jobs", Slots: 3, Waiting: 2, Order: core.OrderFIFO, Door: core.DoorBlind},
		},
		Classes: []core.Class{
			{Name: "critical", Pool: 0, Rank: 0, Deadline: 100e6, Waiting: core.Unbounded, Reserve: 1},
			{Name: "background", Pool: 0, Rank: 1, Deadline: 60e6, Waiting: core.Unbounded},
			{Name: "job", Pool: 1, Waiting: core.Unbounded},
		},
		Default: 1,
	}
	m, err := core.New(cfg)
	if err != nil {
		panic(err)
	}
	return m, cfg
}

// history drives a machine at random and records it.
type history struct {
	t       testing.TB
	rng     *rand.Rand
	m       *core.Machine
	cfg     core.Config
	now     int64
	seq     uint64
	running []uint64
	out     []core.Effect
	entries []record.Entry
}

func newHistory(t testing.TB, seed uint64) *history {
	h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 0))}
	h.m, h.cfg = machine()
	return h
}

func (h *history) snapshot() {
	s := h.m.Snapshot()
	h.entries = append(h.entries, record.Entry{Kind: record.KindSnapshot, State: &s})
}

func (h *history) step(e core.Event) {
	h.t.Helper()
	var err error
	if h.out, err = h.m.Step(e, h.out[:0]); err != nil {
		h.t.Fatal(err)
	}
	for _, f := range h.out {
		if f.Kind == core.Run {
			h.running = append(h.running, f.ID.Seq)
		}
	}
	h.entries = append(h.entries, record.Entry{
		Kind: record.KindEvent, Event: e, Effects: append([]core.Effect(nil), h.out...),
	})
}

// run makes n random events.
func (h *history) run(n int) {
	for range n {
		h.now += h.rng.Int64N(4e6)
		e := core.Event{Now: h.now}
		switch p := h.rng.IntN(100); {
		case p < 50:
			h.seq++
			e.Op, e.Seq = core.OpArrive, h.seq
			e.Request = core.Request{Class: h.rng.IntN(4), Cost: h.rng.IntN(3), Key: h.rng.Uint64N(5)}
		case p < 75 && len(h.running) > 0:
			i := h.rng.IntN(len(h.running))
			e.Op, e.Seq, e.Outcome = core.OpRelease, h.running[i], core.OK
			h.running = append(h.running[:i], h.running[i+1:]...)
		case p < 80:
			e.Op, e.Seq = core.OpCancel, h.seq-h.rng.Uint64N(h.seq+1)
		case p < 83:
			e.Op = core.OpTick
		case p < 85:
			cfg := h.cfg
			cfg.Pools = append([]core.Pool(nil), cfg.Pools...)
			cfg.Pools[0].Slots = 2 + h.rng.IntN(5)
			e.Op, e.Config = core.OpConfigure, &cfg
		case p < 86:
			e.Op, e.On = core.OpDrain, h.rng.IntN(4) == 0
		case p < 87:
			e.Op, e.Reason = core.OpFlush, core.Draining
		default:
			e.Op = core.OpDispatch
		}
		h.step(e)
	}
}

func TestReplayOfRandomHistories(t *testing.T) {
	for seed := range uint64(30) {
		h := newHistory(t, seed)
		h.run(int(seed) * 10) // the recording begins in mid-life
		h.entries = nil
		h.snapshot()
		h.run(1000)
		h.snapshot() // without a gap: it must be where the replay has come to
		h.run(500)
		for _, enc := range encodings {
			got, err := record.Replay(bytes.NewReader(write(t, enc, h.entries...)))
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, enc, err)
			}
			if got.Difference != nil {
				t.Fatalf("seed %d, %s: %v", seed, enc, got.Difference)
			}
			if got.Events != 1500 || got.Snapshots != 2 || got.Effects < 1000 {
				t.Fatalf("seed %d, %s: %+v", seed, enc, got)
			}
		}
	}
}

func TestReplayNamesTheFirstDifference(t *testing.T) {
	h := newHistory(t, 1)
	h.snapshot()
	h.step(core.Event{Op: core.OpArrive, Now: 1, Seq: 1})
	h.step(core.Event{Op: core.OpDispatch, Now: 2})
	h.step(core.Event{Op: core.OpRelease, Now: 3, Seq: 1, Outcome: core.OK})
	for _, c := range []struct {
		name string
		edit func(e []record.Entry)
		want string
	}{
		{"another effect", func(e []record.Entry) { e[2].Effects[0].Ns = 7 },
			": dispatch at 2 ns: effect 1 was run #1 class=0 ns=7 (of 1), now it is run #1 class=0 ns=1 (of 1)"},
		{"one too many", func(e []record.Entry) {
			e[1].Effects = append(e[1].Effects, core.Effect{Kind: core.Refuse, Reason: core.Full, ID: core.ID{Seq: 9}})
		}, ": arrive of #1 at 1 ns: effect 2 was refuse #9 class=0 reason=full ns=0 (of 2), now it is none (of 1)"},
		{"one too few", func(e []record.Entry) { e[3].Effects = nil },
			": release of #1 at 3 ns: effect 1 was none (of 0), now it is end #1 class=0 outcome=ok ns=1 (of 1)"},
		{"another number", func(e []record.Entry) { e[1].Effects[0].ID.Seq = 2 },
			": arrive of #1 at 1 ns: effect 1 was wait #2 class=0 ns=0 (of 1), now it is wait #1 class=0 ns=0 (of 1)"},
	} {
		for _, enc := range encodings {
			edited, err := read(write(t, enc, h.entries...))
			if err != nil {
				t.Fatal(err)
			}
			c.edit(edited)
			got, err := record.Replay(bytes.NewReader(write(t, enc, edited...)))
			if err != nil || got.Difference == nil {
				t.Errorf("%s, %s: %+v, %v; want a difference", c.name, enc, got, err)
				continue
			}
			if s := got.Difference.String(); !strings.HasSuffix(s, c.want) || !strings.HasPrefix(s, "entry ") {
				t.Errorf("%s, %s: %s\nwant %s", c.name, enc, s, c.want)
			}
		}
	}
}

func TestReplayComparesSnapshots(t *testing.T) {
	h := newHistory(t, 1)
	h.snapshot()
	h.step(core.Event{Op: core.OpArrive, Now: 1, Seq: 1})
	h.snapshot()
	last := h.entries[2]
	last.State.Stale = 4
	got, err := record.Replay(bytes.NewReader(write(t, record.JSON, h.entries...)))
	if err != nil || got.Difference == nil || !strings.Contains(got.Difference.String(), `snapshot: recorded …`) || !strings.Contains(got.Difference.String(), `"stale":4`) {
		t.Errorf("%v, %v; want the states to part at stale", got.Difference, err)
	}
	// After a gap there is nothing to compare it with.
	h.entries = []record.Entry{h.entries[0], h.entries[1], {Kind: record.KindGap, Lost: 5}, last}
	got, err = record.Replay(bytes.NewReader(write(t, record.JSON, h.entries...)))
	if err != nil || got.Difference != nil || got.Gaps != 1 || got.Lost != 5 || got.Snapshots != 2 {
		t.Errorf("%+v, %v; want one gap and two snapshots", got, err)
	}
}

func TestReplayRefuses(t *testing.T) {
	h := newHistory(t, 1)
	h.snapshot()
	h.step(core.Event{Op: core.OpDispatch})
	gap := record.Entry{Kind: record.KindGap}
	broken := h.m.Snapshot()
	broken.Classes[0].Arrived++
	other := h.entries[1]
	other.Group = 2
	for _, c := range []struct {
		entries []record.Entry
		want    string
	}{
		{h.entries[1:], "entry 1 at byte 80: an event of group 0 without a snapshot of it before"},
		{[]record.Entry{h.entries[0], gap, h.entries[1]}, "an event of group 0 without a snapshot of it before"},
		{[]record.Entry{h.entries[0], other}, "an event of group 2 without a snapshot of it before"},
		{[]record.Entry{{Kind: record.KindSnapshot, State: &broken}}, "snapshot of group 0: core: state is inconsistent: "},
		{[]record.Entry{h.entries[0], {Kind: record.KindEvent, Event: core.Event{Op: core.OpConfigure}}}, "configure in group 0: core: "},
	} {
		_, err := record.Replay(bytes.NewReader(write(t, record.JSON, c.entries...)))
		var corrupt *record.CorruptError
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}

// Replay of anything never panics: a stream may come from a stranger.
func FuzzReplay(f *testing.F) {
	h := newHistory(f, 7)
	h.run(40)
	h.entries = nil
	h.snapshot()
	h.run(60)
	for _, enc := range encodings {
		f.Add(write(f, enc, h.entries...))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if got, err := record.Replay(bytes.NewReader(stream)); err != nil && got.Difference != nil {
			t.Fatalf("both an error and a difference: %v, %v", err, got.Difference)
		}
	})
}
