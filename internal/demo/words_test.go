package demo

import (
	"encoding/json"
	"strings"
	"testing"
)

func canned() *Result {
	fig := func(c, b, p99 float64) Figures {
		return Figures{CriticalSuccessPct: c, BackgroundSuccessPct: b, AdmittedSuccessPct: 99.5, GoodputRPS: 99.1, SurvivorP99: p99, CriticalP99: p99, CriticalP95: p99 - 10}
	}
	return &Result{
		Phases: []Phase{
			{Policy: "blind", Measured: fig(33.1, 33.9, 189), Predicted: fig(33.3, 34, 188), Arrivals: 10, OK: 3, Refused: map[string]uint64{"full": 5, "hopeless": 1, "expired": 1}, UpstreamCalls: 3, LoadKept: true, UpstreamKept: true},
			{Policy: "priority-door", Measured: fig(99.97, 12.2, 188), Predicted: fig(99.3, 12.5, 188), LoadKept: true, UpstreamKept: true},
			{Policy: "priority", Measured: fig(100, 11.9, 198), Predicted: fig(100, 11.7, 197), LoadKept: true, UpstreamKept: true},
		},
		Settings: Settings{Rate: 300}, Verdicts: []string{"It is so, " + strings.Repeat("and ", 40) + "so on."}, Warnings: []string{"But."},
	}
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := canned().Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"blind    33.1 %      33.9 %     99.1      189 ms    179 ms    189 ms",
		"99.9 %", // never 100.0 for a loss
		"10 calls = 3 ok + 0 late + 0 failed + 0 gave up + 7 refused (5 full, 1 expired, 1 hopeless); the upstream saw 3",
		"- But.",
	} {
		if !strings.Contains(b.String(), words) {
			t.Errorf("it lacks %q:\n%s", words, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if len([]rune(line)) > 121 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}

func TestTrapIsSaid(t *testing.T) {
	r := canned()
	if s := trap(r); !strings.Contains(s, "p99 is 189 ms and 198 ms") || !strings.Contains(s, "33.1 % and 100.0 % of critical calls") {
		t.Errorf("got %q", s)
	}
	r.Phases[2].Measured.SurvivorP99, r.Phases[1].Measured.CriticalSuccessPct = 50, 40
	if s := trap(r); s != "" {
		t.Errorf("survivors tell the policies apart, and still: %q", s)
	}
}

func TestAgreement(t *testing.T) {
	r := canned()
	if s := agrees(r); !strings.Contains(s, "within 0.7 points") {
		t.Errorf("got %q", s)
	}
	r.Phases[1].Predicted.BackgroundSuccessPct = 20
	if s := agrees(r); !strings.Contains(s, "off by up to 7.8 points (background of priority-door)") {
		t.Errorf("got %q", s)
	}
}

func TestWhatLagsIsSaid(t *testing.T) {
	r := canned()
	if got := warnings(r); len(got) != 0 {
		t.Errorf("nothing lagged, and still: %q", got)
	}
	r.Phases[1].LoadKept, r.Phases[1].LoadLagP99 = false, 12.3
	r.Phases[2].UpstreamKept, r.Phases[2].UpstreamLateP99 = false, 45.6
	got := warnings(r)
	if len(got) != 2 || !strings.Contains(got[0], "priority-door the load did not keep its schedule (late by 12.3 ms") ||
		!strings.Contains(got[1], "priority the service did not keep its own (late by 45.6 ms)") {
		t.Errorf("got %q", got)
	}
	for i, want := range []bool{true, false, false} {
		if r.Phases[i].kept() != want {
			t.Errorf("phase %d: kept is %v", i, !want)
		}
	}
}

// The names in the JSON form are a contract with scripts.
func TestJSONNames(t *testing.T) {
	b, err := json.Marshal(canned())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Phases []struct {
			Policy              string
			Measured, Predicted map[string]float64
			Refused             map[string]int
			UpstreamCalls       *int `json:"upstream_calls"`
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"blind", "priority-door", "priority"} {
		p := got.Phases[i]
		if p.Policy != id || p.UpstreamCalls == nil {
			t.Errorf("phase %d: %+v", i, p)
		}
		for _, name := range []string{"critical_success_pct", "background_success_pct", "goodput_rps", "survivor_p99_ms", "critical_p99_ms", "critical_p95_ms"} {
			for side, figures := range map[string]map[string]float64{"measured": p.Measured, "predicted": p.Predicted} {
				if _, there := figures[name]; !there {
					t.Errorf("%s of %s lacks %s", side, id, name)
				}
			}
		}
	}
}
