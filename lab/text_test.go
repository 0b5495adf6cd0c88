package lab

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{0.25, 1, "0.3"}, {0.15, 1, "0.2"}, {0.35, 1, "0.4"}, {31.25, 1, "31.3"}, {90.05, 1, "90.1"},
		{0, 1, "0.0"}, {100, 1, "100.0"}, {99.95, 1, "100.0"}, {99.949999999, 1, "99.9"}, {9.96, 1, "10.0"}, {0.96, 1, "1.0"},
		{0.04, 1, "0.0"}, {0.05, 1, "0.1"}, {1e21, 1, "1000000000000000000000.0"}, {1e-9, 1, "0.0"},
		{1.005, 2, "1.01"}, {2.5, 2, "2.50"}, {0.999, 2, "1.00"}, {-0.25, 1, "-0.3"}, {-9.95, 1, "-10.0"}, {-1.5, 2, "-1.50"},
	} {
		if got := Number(c.v, c.decimals); got != c.want {
			t.Errorf("Number(%v, %d) is %s, want %s", c.v, c.decimals, got, c.want)
		}
	}
}

func TestNumberAgainstExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(
			rapid.Float64Range(0, 1e6),
			rapid.Map(rapid.IntRange(0, 1e6), func(n int) float64 { return float64(n) / 20 }),
			rapid.Map(rapid.IntRange(0, 1e6), func(n int) float64 { return 100 * float64(n) / 777 }),
		).Draw(t, "v")
		if got, want := Number(v, 1), oracleText(v); got != want {
			t.Fatalf("%v becomes %s, want %s", v, got, want)
		}
		if back, ok := new(big.Float).SetString(Number(v, 1)); !ok {
			t.Fatalf("%s is no number", back)
		}
	})
}

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]int64{
		"5s": 5000, "5": 5000, "+5s": 5000, "+5": 5000, "250ms": 250, "2m": 120_000, "1h": 3_600_000, "005s": 5000,
		"86400000ms": MaxWindow, "24h": MaxWindow, "86400": MaxWindow,
	} {
		if got, err := ParseDuration(s); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "0", "0s", "+0ms", "-5s", "-0", "1.5s", ".5s", "5.s", "5S", "5MS", "5Ms", "s", "ms", "+", "+s", "5 s", " 5s", "5s ", "5d", "5us",
		"5sec", "1m30s", "++5s", "+-5s", "5_000ms", "0x5s", "1e3s", "٥s", "5ſ", "NaN", "Inf",
		"86400001ms", "1441m", "25h", "86401", "9223372036854775807ms", "9223372036854775808ms", "99999999999999999999ms", "2562047788016h",
	} {
		if got, err := ParseDuration(s); err == nil {
			t.Errorf("%q is taken for %d ms", s, got)
		} else if !strings.Contains(err.Error(), "whole number with ms, s, m or h, from 1ms to 24h") {
			t.Errorf("%q: %v does not say what is allowed", s, err)
		}
	}
}

// What is spelt reads back.
func TestSpell(t *testing.T) {
	for ms, want := range map[int64]string{1: "1ms", 200: "200ms", 1500: "1500ms", 5000: "5s", 90_000: "90s", 120_000: "2m", MaxWindow: "24h", 0: "0ms"} {
		if got := spell(ms); got != want {
			t.Errorf("%d ms is %s, want %s", ms, got, want)
		}
		if got, err := ParseDuration(want); ms != 0 && (err != nil || got != ms) {
			t.Errorf("%s reads back as %d, %v", want, got, err)
		}
	}
}

func TestISODuration(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "PT0S", 1: "PT0.001S", 500: "PT0.5S", 5000: "PT5S", 90_000: "PT1M30S", 60_000: "PT1M", 3_600_000: "PT1H",
		3_661_001: "PT1H1M1.001S", 86_400_000: "PT24H", 4800: "PT4.8S", 90: "PT0.09S",
	} {
		if got := ISODuration(ms); got != want {
			t.Errorf("%d ms is %s, want %s", ms, got, want)
		}
	}
}

func TestParseSettings(t *testing.T) {
	got, err := ParseSettings([]string{"service=7ms,rates=90,130,1500,share=0.4", "valley=700ms"})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{{"service", []string{"7ms"}}, {"rates", []string{"90", "130", "1500"}}, {"share", []string{"0.4"}}, {"valley", []string{"700ms"}}}
	if !slices.EqualFunc(got, want, func(a, b Assignment) bool { return a.Key == b.Key && slices.Equal(a.Values, b.Values) }) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, words := range [][]string{{""}, {"share"}, {"=4"}, {"130,share=0.4"}, {"share=0.4", "share=0.5"}, {"share=0.4,=5"}, {","}} {
		if got, err := ParseSettings(words); err == nil {
			t.Errorf("%q is taken for %v", words, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"short", []string{"short"}}, {"", []string{""}},
		{"one two three", []string{"one two", "  three"}},
		{"unbreakableword", []string{"unbreakableword"}},
		{"äöü äöü äöü", []string{"äöü äöü", "  äöü"}},
		{"dir  /long/path/to/somewhere", []string{"dir ", "  /long/path/to/somewhere"}},
		{"a /long/path/to/somewhere and on", []string{"a", "  /long/path/to/somewhere", "  and on"}},
		{"/long/path/to/somewhere and", []string{"/long/path/to/somewhere", "  and"}},
	} {
		if got := wrap(c.line, 8); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q) is %q, want %q", c.line, got, c.want)
		}
	}
}
