package lab

import (
	"math"
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

func TestHistogramReports(t *testing.T) {
	for v, want := range map[int64]int64{
		0: 0, 1: 1, 200: 200, 2047: 2047, 2048: 2049, 2480: 2481, 4095: 4095, 4096: 4099, 4955: 4955,
		8192: 8199, 16384: 16399, 32768: 32799, 49130: 49151, 60000: 60031, 60001: 60031, 1 << 40: 60031, -5: 0,
	} {
		var h Histogram
		h.Record(v)
		if got := h.Percentile(99); got != want {
			t.Errorf("%d is reported as %d, want %d", v, got, want)
		}
	}
}

// The value is the rank, so the answer of a percentile is the rank it took.
func TestHistogramRanks(t *testing.T) {
	for _, c := range []struct{ n, p, want int64 }{
		{500, 99, 495}, {376, 99, 373}, {60, 99, 60}, {51, 99, 51}, {199, 99, 198}, {750, 99, 743},
		{1, 99, 1}, {1, 50, 1}, {2, 50, 1}, {3, 50, 2}, {1000, 50, 500}, {1001, 50, 501}, {10, 0, 1}, {10, 100, 10},
	} {
		var h Histogram
		for v := c.n; v > 0; v-- {
			h.Record(v)
		}
		if got := h.Percentile(float64(c.p)); got != c.want {
			t.Errorf("percentile %d of %d values has rank %d, want %d", c.p, c.n, got, c.want)
		}
	}
	var empty Histogram
	if got := empty.Percentile(99); got != 0 {
		t.Errorf("an empty histogram says %d", got)
	}
}

// Against the definition: v OR (width − 1) of the one of that rank.
func TestHistogramAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 300), rapid.Int64Range(0, 70000)), 1, 400).Draw(t, "values")
		var h Histogram
		for _, v := range values {
			h.Record(v)
		}
		slices.Sort(values)
		n := len(values)
		p := rapid.IntRange(1, 100).Draw(t, "p")
		v := min(values[(p*n+99)/100-1], MaxLatency)
		width := int64(1)
		for v/width >= 2048 {
			width *= 2
		}
		if got, want := h.Percentile(float64(p)), v|(width-1); got != want {
			t.Fatalf("percentile %d of %d values is %d, want %d", p, n, got, want)
		}
	})
}

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]int64{
		"5s": 5000, "5": 5000, "+5s": 5000, "+5": 5000, "250ms": 250, "2m": 120_000, "1h": 3_600_000, "005s": 5000,
		"9223372036854775807ms": math.MaxInt64, "9223372036854775s": 9223372036854775000,
	} {
		if got, err := ParseDuration(s); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "0", "0s", "+0ms", "-5s", "-0", "1.5s", ".5s", "5.s", "5S", "5MS", "5Ms", "s", "ms", "+", "+s", "5 s", " 5s", "5s ", "5d", "5us",
		"5sec", "1m30s", "++5s", "+-5s", "5_000ms", "0x5s", "1e3s", "٥s", "5ſ", "NaN", "Inf",
		"9223372036854775808ms", "9223372036854776s", "99999999999999999999s", "153722867280913m", "2562047788016h", "9223372036854775807",
	} {
		if got, err := ParseDuration(s); err == nil {
			t.Errorf("%q is taken for %d ms", s, got)
		} else if !strings.Contains(err.Error(), "whole number") {
			t.Errorf("%q: %v does not say what is allowed", s, err)
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
	} {
		if got := wrap(c.line, 8); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q) is %q, want %q", c.line, got, c.want)
		}
	}
}
