package slo

import (
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

const ms = int64(1_000_000)

// call is a record of a call meant for at, with 200 ms to live.
func call(class string, at int64, o core.Outcome, wait, service int64) record.Record {
	return record.Record{
		Intended: at, Start: at, Class: class, Wait: wait, Service: service,
		Deadline: at + 200*ms, Outcome: o,
	}
}

func refused(class string, at int64, why core.Reason) record.Record {
	r := call(class, at, core.Refused, ms, 0)
	r.Reason = why
	return r
}

// Everything that is not ok counts against success, whatever it is called.
func TestSuccessCountsEverybodyWhoAsked(t *testing.T) {
	var s Score
	for o := core.OK; int(o) < core.NumOutcomes; o++ {
		r := call("a", 0, o, 10*ms, 10*ms)
		s.Add(&r)
	}
	if got, want := s.SuccessPct(), 100.0/7; got != want {
		t.Errorf("one of seven is %v %%, want %v", got, want)
	}
	if got, want := s.AdmittedPct(), 100.0/6; got != want {
		t.Errorf("without the refused it is %v %%, want %v", got, want)
	}
	if got := s.Survivors.Count(); got != 2 {
		t.Errorf("%d survivors; ok and late were answered", got)
	}
}

func TestNobodyCame(t *testing.T) {
	var s Score
	if s.SuccessPct() != 100 || s.AdmittedPct() != 100 || s.RefusedPct() != 0 || s.LeftPct() != 0 {
		t.Errorf("got %v, %v, %v, %v", s.SuccessPct(), s.AdmittedPct(), s.RefusedPct(), s.LeftPct())
	}
}

// A client that leaves counts against success, unless it left while waiting and
// before half of its deadline.
func TestWhoLeavesWhen(t *testing.T) {
	endless := call("a", 0, core.Cancelled, 5000*ms, 0)
	endless.Deadline = core.Never
	held := call("a", 0, core.Cancelled, 60*ms, 0)
	held.Start = 50 * ms // 50 ms behind its schedule: 110 ms have passed for the client
	for _, c := range []struct {
		name string
		r    record.Record
		left bool
	}{
		{"just before half", call("a", 0, core.Cancelled, 100*ms-1, 0), true},
		{"at half", call("a", 0, core.Cancelled, 100*ms, 0), false},
		{"at its deadline", call("a", 0, core.Cancelled, 200*ms, 0), false},
		{"while running", call("a", 0, core.Cancelled, 10*ms, 1), false},
		{"without a deadline", endless, true},
		{"counted from the intended instant", held, false},
		{"not left, but failed", call("a", 0, core.Failed, 10*ms, 0), false},
	} {
		var s Score
		s.Add(&c.r)
		if got := s.Left == 1; got != c.left {
			t.Errorf("%s: left early is %v, want %v", c.name, got, c.left)
		}
		if want := map[bool]float64{true: 100, false: 0}[c.left]; s.SuccessPct() != want {
			t.Errorf("%s: success is %v, want %v", c.name, s.SuccessPct(), want)
		}
	}
}

func TestSurvivorsCountFromTheIntendedInstant(t *testing.T) {
	r := call("a", 0, core.OK, 100*ms, 10*ms)
	r.Start = 30 * ms
	var s Score
	s.Add(&r)
	if got := s.SurvivorMs(99); got != 140 {
		t.Errorf("the survivor took %d ms, want 140: it was held up for 30", got)
	}
	r.Intended = record.Unknown
	var gate Score
	gate.Add(&r)
	if got := gate.SurvivorMs(99); got != 110 {
		t.Errorf("seen by a gate the survivor took %d ms, want 110", got)
	}
}

func TestBoardScoresItsWindowOnly(t *testing.T) {
	b, err := NewBoard(Config{Classes: []string{"critical", "background"}, From: 0, To: 800 * ms, Window: 100 * ms})
	if err != nil {
		t.Fatal(err)
	}
	early := call("critical", 350*ms, core.Cancelled, 20*ms, 0)
	for _, r := range []record.Record{
		call("critical", 0, core.OK, 0, 10*ms),
		refused("critical", 99*ms, core.Full),
		call("critical", 300*ms, core.OK, 0, 10*ms),
		early,
		call("critical", 800*ms, core.OK, 0, 10*ms), // the edge belongs to it
		refused("critical", 800*ms+1, core.Full),
		call("critical", -1, core.OK, 0, 10*ms),
		refused("background", 10*ms, core.Evicted),
		call("stranger", 10*ms, core.OK, 0, 10*ms),
	} {
		b.Add(&r)
	}
	critical, background := b.Class("critical"), b.Class("background")
	if critical.Arrivals != 5 || critical.OK() != 3 || critical.Left != 1 || critical.SuccessPct() != 75 {
		t.Errorf("critical: %d arrivals, %d ok, %d left, %v %%", critical.Arrivals, critical.OK(), critical.Left, critical.SuccessPct())
	}
	if background.Refused[core.Evicted] != 1 || background.SuccessPct() != 0 {
		t.Errorf("background: %v, %v %%", background.Refused, background.SuccessPct())
	}
	if b.Outside != 2 || b.Strangers != 1 {
		t.Errorf("outside %d, strangers %d; want 2 and 1", b.Outside, b.Strangers)
	}
	if got := b.GoodputRPS(); got != 3/0.8 {
		t.Errorf("goodput is %v a second, want %v", got, 3/0.8)
	}
	series := b.Series("critical")
	if len(series) != 9 {
		t.Fatalf("%d windows, want 9", len(series))
	}
	for i, want := range map[int]Point{
		0: {0, 2, 1}, 1: {100 * ms, 0, 0}, 3: {300 * ms, 1, 1}, 8: {800 * ms, 1, 1},
	} {
		if series[i] != want {
			t.Errorf("window %d is %+v, want %+v", i, series[i], want)
		}
	}
	if got := series[1].SuccessPct(); got != 100 {
		t.Errorf("a window without arrivals reads %v %%, want 100", got)
	}
	all := b.All()
	if all.Arrivals != 6 {
		t.Errorf("all classes have %d arrivals, want 6", all.Arrivals)
	}
	all.Survivors.AddMs(1)
	if again := b.All(); again.Survivors.Count() == all.Survivors.Count() {
		t.Error("a score that was handed out shares memory with the board")
	}
}

func TestBoardSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "0 classes"},
		{Config{Classes: []string{"a", "a"}}, "twice"},
		{Config{Classes: []string{"a"}, From: 2, To: 1}, "end is before the start"},
		{Config{Classes: []string{"a"}, Window: -1}, "window of -1"},
		{Config{Classes: []string{"a"}, To: 1 << 40, Window: 1}, "more than 65536"},
	} {
		if _, err := NewBoard(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want something about %q", c.cfg, err, c.want)
		}
	}
}

// The trap: two thirds are turned away, those who get in are quick, and only
// the share of everybody shows it.
func TestTheSurvivorTrapIsSaidInWords(t *testing.T) {
	var trap, well, slow Score
	for i := range int64(300) {
		ok := call("critical", i*ms, core.OK, 150*ms, 10*ms)
		no := refused("critical", i*ms, core.Full)
		late := call("critical", i*ms, core.Late, 290*ms, 10*ms)
		well.Add(&ok)
		slow.Add(&late)
		if i%3 == 0 {
			trap.Add(&ok)
		} else {
			trap.Add(&no)
		}
	}
	v := trap.Judge("critical", 99, 200)
	if v.Met || !v.Trap {
		t.Errorf("met %v, trap %v; want false, true", v.Met, v.Trap)
	}
	for _, words := range []string{"Only 33.3 % of critical calls", "99 % is the objective", "p99 is 160 ms", "100.0 % of the admitted", "66.7 % that were refused"} {
		if !strings.Contains(v.Text, words) {
			t.Errorf("the sentence lacks %q: %s", words, v.Text)
		}
	}
	if v := well.Judge("critical", 99, 200); !v.Met || v.Trap || !strings.Contains(v.Text, "meets the objective") {
		t.Errorf("a healthy class: %+v", v)
	}
	if v := slow.Judge("critical", 99, 200); v.Met || v.Trap {
		t.Errorf("a class whose survivors are late is not trapped, it shows: %+v", v)
	}
	if v := trap.Judge("background", 0, 200); !v.Met || v.Trap || !strings.Contains(v.Text, "may be lost") {
		t.Errorf("a class without an objective: %+v", v)
	}
	var none Score
	if v := none.Judge("critical", 99, 200); v.Text != "No critical call was made." {
		t.Errorf("an empty class: %+v", v)
	}
}

func TestAMissIsNeverWrittenAsAHundred(t *testing.T) {
	if got := Pct(99.97); got != "99.9 %" {
		t.Errorf("99.97 is written %q", got)
	}
	if got := Pct(100); got != "100.0 %" {
		t.Errorf("100 is written %q", got)
	}
}
