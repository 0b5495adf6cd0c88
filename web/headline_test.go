package web

import (
	"strings"
	"testing"
)

func TestHeadline(t *testing.T) {
	endless := calm()
	endless.Runs[0].SheddingFor = p(125)
	endless.Runs[0].Refused = []Refused{{"draining", "background", 3}}
	for _, c := range []struct {
		name string
		s    Snapshot
		tone Tone
		want []string
	}{
		{"starting", starting(), Calm, []string{"Measuring how long messages take"}},
		{"calm", calm(), Calm, []string{"Not shedding"}},
		{"blind", running("blind", 0), Alarm, []string{
			"For 4 s, critical and background calls are being refused: full 96 %, hopeless 4 %.",
			"Only 32.6 % of critical calls succeed; 99 % were promised."}},
		{"priority", running("priority", 1), Shed, []string{
			"For 4 s, background calls are being refused: full 72 %, evicted 28 %.",
			"99.7 % of critical calls succeed, as promised.", "Nothing else is lost."}},
		{"done", done(), Calm, []string{"Of the critical calls, 32.6 % succeeded with a blind door, in order; 99.7 % succeeded with"}},
		{"failed", failed(), Alarm, []string{"It has failed: the upstream cannot listen"}},
		{"nothing", Snapshot{}, Calm, []string{"Nothing is running yet."}},
		{"for minutes", endless, Shed, []string{"For 2 min 5 s, background calls are being refused: draining 100 %."}},
		{"long", long(), Calm, []string{"Not shedding"}},
	} {
		got := Headline(&c.s)
		if got.Tone != c.tone {
			t.Errorf("%s: tone %q, want %q", c.name, got.Tone, c.tone)
		}
		for _, words := range c.want {
			if !strings.Contains(got.Text, words) {
				t.Errorf("%s: %q lacks %q", c.name, got.Text, words)
			}
		}
	}
}

func TestPercentNeverHidesALoss(t *testing.T) {
	for in, want := range map[float64]string{100: "100.0 %", 99.99: "99.9 %", 99.94: "99.9 %", 0: "0.0 %", 33.33: "33.3 %"} {
		if got := percent(in); got != want {
			t.Errorf("%v is written %q, want %q", in, got, want)
		}
	}
}
