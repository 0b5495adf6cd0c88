package lab

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// everyStory are runs of every kind that there is something else to tell of.
var everyStory = []struct {
	set      string // of the experiment
	duration int64  // ms; 0 is 5 s
	headline string
	says     []string // in the report
	never    []string // in the report or at the terminal
}{
	{"share=0.25", 0, "The latency looked the same", []string{"it takes the burst", "200 ms behind either door"}, nil},
	{"service=300ms", 0, "Nothing fits the deadline", []string{"A call runs for 300 ms and its client waits for 200 ms", "There is no survivor"},
		[]string{"survivors do not know", "served in time", " 0 ms", "it takes the burst", "Background pays"}},
	{"service=300ms,deadline=299ms", 0, "Nothing fits the deadline", nil, []string{"survivors do not know", "0 ms behind"}},
	{"service=90ms,deadline=40ms", 0, "Nothing fits the deadline", nil, []string{"survivors do not know"}},
	{"service=200ms,deadline=200ms", 0, "The doors made no difference", []string{"at most 1 request is in it", "none waits whose place could be taken"}, []string{"1 requests", "it takes the burst"}},
	{"rates=0", 0, "Nobody came", []string{"set rates above 0", "it takes the burst"}, []string{"kept the objective"}},
	{"rates=0,spike-rps=0,valley-rps=0", 0, "Nobody came", []string{"no burst", "Nobody came in it"}, []string{"it takes the burst", "in the spikes"}},
	{"rates=20,50", 0, "Nothing had to be lost", nil, []string{"refused or expired", "survivors do not know", "can read above the capacity"}},
	{"rates=0,300", 0, "The latency looked the same", []string{"Nobody critical came at 0.0 rps"}, []string{"objective at 0.0 rps"}},
	{"spike-rps=80", 0, "The latency looked the same", []string{"no burst", "Nothing was lost in any window"}, []string{"in the spikes", "it takes the burst"}},
	{"spike-rps=10,valley-rps=300", 0, "The latency looked the same", []string{"a lull, not a spike"}, []string{"in the spikes"}},
	{"share=0.25", 1000, "The latency looked the same", []string{"ends before the second of the two begins"}, []string{"in the spikes", "it takes the burst"}},
	{"share=0.25", 250, "", []string{"there is no chart of the burst", "table has no row"}, []string{"it takes the burst"}},
	{"share=0.0000001", 0, "Nobody critical came", []string{"Nobody critical came in it", "none of the"}, []string{"critical requests that were served took", "it takes the burst", "e-0"}},
	{"share=0." + strings.Repeat("0", 320) + "1", 0, "Nobody critical came", []string{"above 1000000 rps"}, []string{"Inf"}},
	{"share=0.9999999", 0, "nobody whose place could be taken", []string{"No background call came in it", "none of background came"}, []string{"of the background requests were", "it takes the burst"}},
	{"share=0.999,rates=1000", 0, "The doors made no difference", []string{"more than the server can do"}, []string{"it takes the burst"}},
	{"rates=105,share=0.1", 0, "", nil, nil},
	{"deadline=5s", 60_000, "The latency looked the same", []string{"rounded up", "5000 ms behind either door"}, []string{"5003 ms behind", "5001 ms behind"}},
	{"deadline=10m,service=1s,rates=3", 7_200_000, "", []string{"60 s or more"}, []string{"60031 ms"}},
	{"share=0.02,rates=150", 700, "", nil, []string{"0 ms behind"}},
	{"rates=1000000,valley-rps=1000000,spike-rps=1000000", 500, "", []string{"1000000 rps"}, []string{"e+06"}},
	{"rates=0.05", 5000, "Nothing had to be lost", nil, nil},
}

// Whatever was set, the words are about what happened: no survivors where there
// are none, no spike where there is none, and no number that is none.
func TestEveryStory(t *testing.T) {
	tags := regexp.MustCompile(`(?s)<svg.*?</svg>|<style.*?</style>|<script.*?</script>|<[^>]*>`)
	for _, c := range everyStory {
		name := c.set[:min(len(c.set), 40)]
		set, err := ParseSettings([]string{c.set})
		if err != nil {
			t.Fatal(err)
		}
		o := options(t)
		o.Settings = set
		if c.duration > 0 {
			o.Duration = c.duration
		}
		out := mustRun(t, o)
		if got := out.Findings.Story.Headline; !strings.Contains(got, c.headline) {
			t.Errorf("%s over %d ms: the headline is %q", name, o.Duration, got)
		}
		var terminal bytes.Buffer
		if err := out.Text(&terminal); err != nil {
			t.Fatal(err)
		}
		page := string(read(t, "report.html"))
		words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		report := words(tags.ReplaceAllString(page, " "))
		said := report + " " + words(strings.NewReplacer("│", " ").Replace(terminal.String()))
		for _, s := range c.says {
			if !strings.Contains(report, s) {
				t.Errorf("%s over %d ms: the report lacks %q:\n%s", name, o.Duration, s, report)
			}
		}
		for _, s := range append([]string{"%!", "NaN", "+Inf"}, c.never...) {
			if strings.Contains(said, s) || strings.HasPrefix(s, "%!") && strings.Contains(page, s) {
				t.Errorf("%s over %d ms: it should not say %q:\n%s", name, o.Duration, s, said)
			}
		}
	}
}

func TestPctRoundsNothingAway(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0 %", 0.01: "less than 0.1 %", 0.05: "0.1 %", 32.25: "32.3 %", 99.94: "99.9 %", 99.95: "more than 99.9 %", 99.999: "more than 99.9 %", 100: "100.0 %",
	} {
		if got := pct(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
