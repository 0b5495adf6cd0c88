package arrival

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func all(t testing.TB, s Source, err error) []float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for {
		ms, ok := s.Next()
		if !ok {
			break
		}
		out = append(out, ms)
	}
	if _, ok := s.Next(); ok {
		t.Fatal("a source that was done went on")
	}
	return out
}

func tiled(t testing.TB, c Curve, duration int64) []float64 {
	t.Helper()
	s, err := NewTiled(c, duration)
	return all(t, s, err)
}

func product(t testing.TB, rate float64, duration int64) []float64 {
	t.Helper()
	s, err := NewProduct(rate, duration)
	return all(t, s, err)
}

func upTo(times []float64, limit float64) (n int) {
	for _, ms := range times {
		if ms <= limit {
			n++
		}
	}
	return n
}

func TestCountsOverFiveSeconds(t *testing.T) {
	for _, c := range []struct {
		rate          float64
		tiled         int
		last          float64
		product, till int
	}{
		{50, 250, 4980, 250, 241},
		{75, 376, 4999.999999999998, 375, 360},
		{90, 450, 4988.888888888938, 450, 432},
		{100, 500, 4990, 500, 481},
		{110, 551, 4999.999999999965, 550, 529},
		{125, 625, 4992, 625, 601},
		{150, 750, 4993.333333333337, 750, 721},
		{200, 1000, 4995, 1000, 961},
		{300, 1501, 4999.999999999992, 1500, 1440},
		{400, 2000, 4997.5, 2000, 1921},
		{500, 2500, 4998, 2500, 2401},
	} {
		got := tiled(t, Constant(c.rate), 5000)
		if len(got) != c.tiled || got[len(got)-1] != c.last {
			t.Errorf("%v rps tiled: %d arrivals, the last at %v; want %d, %v", c.rate, len(got), got[len(got)-1], c.tiled, c.last)
		}
		if n := upTo(got, 4800); n != c.till {
			t.Errorf("%v rps tiled: %d arrivals up to 4800 ms; want %d", c.rate, n, c.till)
		}
		if n := len(product(t, c.rate, 5000)); n != c.product {
			t.Errorf("%v rps by product: %d arrivals; want %d", c.rate, n, c.product)
		}
	}
}

func TestBurstyCurves(t *testing.T) {
	for _, c := range []struct {
		curve  Curve
		n      int
		at100  float64
		called string
	}{
		{Bursty(50, 200, 300, 100), 657, 830.0000000000003, "50/300"},
		{Bursty(20, 1000, 600, 200), 566, 1133.3333333333378, "20/600"},
		{Bursty(80, 1000, 600, 500), 1181, 1033.3333333333333, "80/600"},
		{Bursty(80, 1000, 360, 500), 821, 1055.5555555555566, "80/360"},
	} {
		got := tiled(t, c.curve, 5000)
		if len(got) != c.n || got[100] != c.at100 {
			t.Errorf("%s: %d arrivals, number 100 at %v; want %d, %v", c.called, len(got), got[100], c.n, c.at100)
		}
	}
}

func TestSilentSegmentsAndTinyRates(t *testing.T) {
	if got := tiled(t, Constant(0), 1000); len(got) != 0 {
		t.Errorf("a rate of 0 made %d arrivals", len(got))
	}
	got := tiled(t, Curve{{0, 300}, {10, 100}}, 1000)
	if len(got) != 2 || got[0] != 300 || got[1] != 700 {
		t.Errorf("silence of 300 ms, then 100 ms at 10 rps: %v; want 300 and 700", got)
	}
	// The gap overflows to infinity; the arrival at the start remains.
	tiny := math.SmallestNonzeroFloat64
	if got := tiled(t, Constant(tiny), 1000); len(got) != 1 || got[0] != 0 {
		t.Errorf("the tiniest rate, tiled: %v", got)
	}
	if got := product(t, tiny, 1000); len(got) != 1 || got[0] != 0 {
		t.Errorf("the tiniest rate, by product: %v", got)
	}
	if got := product(t, 0, 1000); len(got) != 0 {
		t.Errorf("a rate of 0 by product made %d arrivals", len(got))
	}
	p, err := NewPoisson(Curve{{0, 300}, {1e5, 100}}, 1000, 1)
	for _, ms := range all(t, p, err) {
		if math.Mod(ms, 400) < 300 {
			t.Fatalf("a Poisson arrival at %v ms, in silence", ms)
		}
	}
}

func TestClassDraws(t *testing.T) {
	g := NewLCG(23)
	for i, want := range []float64{
		0.7321323355141605, 0.03645927000218119, 0.22355095827054938, 0.38079650808600174,
		0.7848071858565456, 0.5855341934158772, 0.8644860611555856, 0.5695314043243701,
	} {
		if got := g.Float64(); got != want {
			t.Errorf("draw %d: %v, want %v", i, got, want)
		}
	}
	const first40 = "bCCbbbbbbbbbCbCbbbbCbbbbbbCbbbbbbbCCbbbC"
	among := map[int]int{240: 59, 501: 125, 960: 237, 1501: 374, 2400: 594, 2500: 628}
	classes, err := NewClasses(23, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	critical := 0
	for i := range 2500 {
		c := byte('b')
		if classes.Next() {
			c = 'C'
			critical++
		}
		if i < len(first40) && c != first40[i] {
			t.Errorf("class %d is %c, want %c", i, c, first40[i])
		}
		if want, ok := among[i+1]; ok && critical != want {
			t.Errorf("%d critical among the first %d, want %d", critical, i+1, want)
		}
	}
}

// The shortcut in Classes is the comparison that it stands for, also where the
// share is itself a draw.
func TestClassesAreDrawsBelowTheShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64().Draw(t, "seed")
		g := NewLCG(seed)
		draws := make([]float64, 50)
		for i := range draws {
			draws[i] = g.Float64()
		}
		share := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom(append(draws, 0, 1, math.SmallestNonzeroFloat64))).Draw(t, "share")
		c, err := NewClasses(seed, share)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range draws {
			if got := c.Next(); got != (d < share) {
				t.Fatalf("draw %d is %v, share %v: critical %v", i, d, share, got)
			}
		}
	})
}

func TestRefusesWhatIsNoDemand(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []Curve{
		nil, {}, {{-1, 10}}, {{nan, 10}}, {{inf, 10}}, {{MaxRate * 1.0001, 10}},
		{{1, 0}}, {{1, -5}}, {{1, 10}, {2, 0}}, Bursty(1, 10, nan, 10),
	} {
		if _, err := NewTiled(c, 1000); err == nil {
			t.Errorf("NewTiled took %v", c)
		}
		if _, err := NewPoisson(c, 1000, 1); err == nil {
			t.Errorf("NewPoisson took %v", c)
		}
	}
	for _, d := range []int64{0, -1, MaxDuration + 1, math.MinInt64, math.MaxInt64} {
		if _, err := NewTiled(Constant(1), d); err == nil {
			t.Errorf("NewTiled took a duration of %d ms", d)
		}
		if _, err := NewProduct(1, d); err == nil {
			t.Errorf("NewProduct took a duration of %d ms", d)
		}
	}
	for _, r := range []float64{-1, nan, inf, MaxRate * 2} {
		if _, err := NewProduct(r, 10); err == nil {
			t.Errorf("NewProduct took a rate of %v", r)
		}
	}
	for _, s := range []float64{-0.1, 1.1, nan, inf} {
		if _, err := NewClasses(1, s); err == nil {
			t.Errorf("NewClasses took a share of %v", s)
		}
	}
}

// The bounds exist for one reason: adding a gap must move the instant.
func TestTheFastestSourceMovesAtTheFarEnd(t *testing.T) {
	gap := 1000 / float64(MaxRate)
	far := float64(MaxDuration)
	for _, at := range []float64{0, 1, far / 2, math.Nextafter(far, 0)} {
		if at+gap <= at {
			t.Errorf("at %v ms a gap of %v ms does not move", at, gap)
		}
	}
}

func TestPoissonHasItsRateAndSpread(t *testing.T) {
	const rate, duration = 200, 2_000_000
	p, err := NewPoisson(Constant(rate), duration, 7)
	got := all(t, p, err)
	want := float64(rate * duration / 1000)
	if d := math.Abs(float64(len(got)) - want); d > 4*math.Sqrt(want) {
		t.Errorf("%d arrivals, want %v ± %v", len(got), want, 4*math.Sqrt(want))
	}
	counts := make([]float64, duration/100)
	for _, ms := range got {
		counts[int(ms/100)]++
	}
	var sum, squares float64
	for _, n := range counts {
		sum += n
		squares += n * n
	}
	mean := sum / float64(len(counts))
	variance := squares/float64(len(counts)) - mean*mean
	if r := variance / mean; r < 0.95 || r > 1.05 {
		t.Errorf("variance ÷ mean of the counts per 100 ms is %v, want about 1", r)
	}
}

func TestPoissonIsItsSeed(t *testing.T) {
	draw := func(seed uint64) []float64 {
		p, err := NewPoisson(Bursty(80, 1000, 360, 500), 5000, seed)
		return all(t, p, err)
	}
	a, b, other := draw(1), draw(1), draw(2)
	if len(a) != len(b) {
		t.Fatalf("one seed, %d and %d arrivals", len(a), len(b))
	}
	same := 0
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("one seed, arrival %d at %v and %v", i, a[i], b[i])
		}
		if i < len(other) && a[i] == other[i] {
			same++
		}
	}
	if same > len(a)/100 {
		t.Errorf("two seeds share %d of %d instants", same, len(a))
	}
}

var curves = rapid.Custom(func(t *rapid.T) Curve {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Segment {
		return Segment{
			Rate:   rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 3000)).Draw(t, "rate"),
			Length: rapid.Int64Range(1, 700).Draw(t, "length"),
		}
	}), 1, 4).Draw(t, "segments")
})

func TestTiledProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, d := curves.Draw(t, "curve"), rapid.Int64Range(1, 3000).Draw(t, "duration")
		got := tiledRapid(t, c, d)
		passed := 0.0 // segments begun
		var cycle int64
		for _, s := range c {
			cycle += s.Length
		}
		passed = float64(len(c)) * (float64(d)/float64(cycle) + 1)
		if diff := math.Abs(c.Count(d) - float64(len(got))); diff > passed {
			t.Fatalf("Count says %v, there are %d", c.Count(d), len(got))
		}
		for i, ms := range got {
			if ms < 0 || ms >= float64(d) || i > 0 && ms <= got[i-1] {
				t.Fatalf("arrival %d at %v after %v, of a run of %d ms", i, ms, got[max(i-1, 0)], d)
			}
		}
		// A shorter run is the beginning of a longer one.
		short := tiledRapid(t, c, (d+1)/2)
		for i, ms := range short {
			if ms != got[i] {
				t.Fatalf("arrival %d of the shorter run is at %v, of the longer at %v", i, ms, got[i])
			}
		}
	})
}

func tiledRapid(t *rapid.T, c Curve, d int64) (out []float64) {
	s, err := NewTiled(c, d)
	if err != nil {
		t.Fatal(err)
	}
	for ms, ok := s.Next(); ok; ms, ok = s.Next() {
		out = append(out, ms)
	}
	return out
}

func TestSourcesDoNotAllocate(t *testing.T) {
	a, _ := NewTiled(Bursty(80, 1000, 360, 500), MaxDuration)
	b, _ := NewPoisson(Bursty(80, 1000, 360, 500), MaxDuration, 1)
	c, _ := NewClasses(23, 0.25)
	for _, s := range []Source{a, b} {
		if n := testing.AllocsPerRun(1000, func() { s.Next(); c.Next() }); n != 0 {
			t.Errorf("%T: %v allocations an arrival", s, n)
		}
	}
}

func BenchmarkTiledAndClass(b *testing.B) {
	s, _ := NewTiled(Constant(300), MaxDuration)
	c, _ := NewClasses(23, 0.25)
	n := 0
	for b.Loop() {
		s.Next()
		if c.Next() {
			n++
		}
	}
}

func BenchmarkPoisson(b *testing.B) {
	s, _ := NewPoisson(Constant(300), MaxDuration, 1)
	for b.Loop() {
		s.Next()
	}
}
