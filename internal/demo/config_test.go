package demo

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestConfigSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"nothing", func(c *Config) {}, ""},
		{"rate 0", func(c *Config) { c.Rate = 0 }, "--rate is 0; 1 to 2000"},
		{"no number", func(c *Config) { c.Rate = math.NaN() }, "--rate is NaN"},
		{"rate", func(c *Config) { c.Rate = 2001 }, "--rate is 2001"},
		{"arrivals", func(c *Config) { c.Arrivals = "random" }, `--arrivals is "random"; one of constant, poisson, bursty`},
		{"as short as the deadline", func(c *Config) { c.Duration = c.Deadline }, "--duration is 200ms; it must be longer"},
		{"a hair longer", func(c *Config) { c.Duration = c.Deadline + time.Millisecond }, ""},
		{"odd duration", func(c *Config) { c.Duration = time.Second + 1 }, "--duration is 1.000000001s; whole milliseconds"},
		{"a day", func(c *Config) { c.Duration = 24 * time.Hour }, "up to 1h0m0s"},
		{"short deadline", func(c *Config) { c.Deadline = 39 * time.Millisecond }, "--deadline is 39ms; whole milliseconds from 40ms to 2s"},
		{"odd deadline", func(c *Config) { c.Deadline = 100*time.Millisecond + 1 }, "--deadline is 100.000001ms"},
	} {
		cfg := Defaults()
		c.change(&cfg)
		err := cfg.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestTheArrangement(t *testing.T) {
	c := Defaults()
	if got := c.waiting(); got != 17 {
		t.Errorf("%d waiting places; 19 in the system, less two slots, are 17", got)
	}
	c.Deadline = MinDeadline
	if got := c.waiting(); got != 1 {
		t.Errorf("with the shortest deadline %d waiting places, want 1", got)
	}
}

// Each phase and each prediction must see the same calls.
func TestArrivalsRepeat(t *testing.T) {
	for _, pattern := range patterns() {
		c := Defaults()
		c.Arrivals = pattern
		var runs [2][]float64
		for i := range runs {
			source, err := c.source()
			if err != nil {
				t.Fatal(err)
			}
			for ms, ok := source.Next(); ok; ms, ok = source.Next() {
				runs[i] = append(runs[i], ms)
			}
		}
		if len(runs[0]) < 1000 || len(runs[0]) != len(runs[1]) {
			t.Fatalf("%s: %d and %d arrivals", pattern, len(runs[0]), len(runs[1]))
		}
		for i := range runs[0] {
			if runs[0][i] != runs[1][i] {
				t.Fatalf("%s: arrival %d differs", pattern, i)
			}
		}
	}
}
