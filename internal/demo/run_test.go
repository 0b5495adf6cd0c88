package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/browsertest"
	"github.com/plimsoll-go/plimsoll/web"
)

// go test ./internal/demo -run TestPicture -picture FILE makes the picture of
// the documentation: the page after a whole run.
var picture = flag.String("picture", "", "run the whole demo and save a picture of its page in this file")

func short() Config {
	c := Defaults()
	c.Duration, c.Probe = 1500*time.Millisecond, 500*time.Millisecond
	return c
}

// The whole demo on real sockets, short. On any machine every call is accounted
// for, a refused one never reached the upstream, and the page says what the
// result says. That the policies differ in the way that they are there for is
// held of a machine that had time for the demo: where the load or the upstream
// was held up, which the demo measures of itself, it is run again, and in the
// end left out with the reason. How much the policies differ is printed by the
// demo and depends on the machine.
func TestTheWholeDemo(t *testing.T) {
	const attempts = 4
	var held []string
	for range attempts {
		why := wholeDemo(t)
		if why == "" || t.Failed() {
			return
		}
		held = append(held, why)
		t.Logf("once more: %s", why)
	}
	t.Skipf("left out, %d times: what the policies are worth cannot be told while this machine is so busy: %s", attempts, strings.Join(held, "; "))
}

// wholeDemo runs it once, and says what this machine held up, if anything.
func wholeDemo(t *testing.T) (held string) {
	t.Helper()
	live, err := New(short())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	r, err := live.Run(t.Context(), func(s string) { lines = append(lines, s) })
	switch {
	case errors.Is(err, errBusy):
		return err.Error()
	case err != nil:
		t.Fatal(err)
	}
	if len(r.Phases) != 3 || len(lines) != 7 {
		t.Fatalf("%d phases, %d lines: %q", len(r.Phases), len(lines), lines)
	}
	for i := range r.Phases {
		accounted(t, &r.Phases[i])
	}
	saysTheSame(t, live, r)
	if len(r.Warnings) > 0 {
		return strings.Join(r.Warnings, " ")
	}
	for _, p := range r.Phases {
		if !p.kept() {
			t.Errorf("%s was held up, and there is no warning", p.Policy)
		}
		if len(p.Refused) == 0 {
			t.Errorf("%s: three times the capacity, and nobody was refused", p.Policy)
		}
		if p.Failed > 0 {
			t.Errorf("%s: %d calls failed", p.Policy, p.Failed)
		}
	}
	blind, both := r.Phases[0].Measured, r.Phases[2].Measured
	if both.CriticalSuccessPct < blind.CriticalSuccessPct+20 {
		t.Errorf("critical success is %.1f %% blind and %.1f %% with priority", blind.CriticalSuccessPct, both.CriticalSuccessPct)
	}
	return ""
}

// accounted holds what is true on any machine.
func accounted(t *testing.T, p *Phase) {
	t.Helper()
	sum := p.OK + p.Late + p.Failed + p.Cancelled
	var refused uint64
	for _, n := range p.Refused {
		refused += n
	}
	if p.Arrivals != sum+refused || p.Arrivals < 450 {
		t.Errorf("%s: %d arrivals, %d accounted for", p.Policy, p.Arrivals, sum+refused)
	}
	if calls := uint64(p.UpstreamCalls); calls < p.OK || calls > p.Arrivals-refused {
		t.Errorf("%s: the upstream saw %d calls; %d were ok, and of %d arrivals %d were refused", p.Policy, calls, p.OK, p.Arrivals, refused)
	}
}

// saysTheSame compares the page with the result.
func saysTheSame(t *testing.T, live *Live, r *Result) {
	t.Helper()
	s := live.Snapshot()
	if s.State != web.Done || len(s.Runs) != 3 || len(s.Verdicts) < 4 {
		t.Errorf("the page says %q, %d runs, %d verdicts", s.State, len(s.Runs), len(s.Verdicts))
	}
	for i, run := range s.Runs {
		if got, want := *run.Classes[critical].SuccessPct, r.Phases[i].Measured.CriticalSuccessPct; got != want {
			t.Errorf("%s: the page says %v, the result %v", run.ID, got, want)
		}
		if run.SheddingFor != nil || run.Pool.Used+run.Pool.Waiting != 0 {
			t.Errorf("%s is over, and the page still shows %+v", run.ID, run.Pool)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// In the middle of a phase the page shows what is going on.
func TestThePageInTheMiddle(t *testing.T) {
	c := short()
	c.Duration = 30 * time.Second // it is ended as soon as it has been looked at
	live, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if s := live.Snapshot(); s.State != web.Pending || s.Runs[0].State != web.Pending {
		t.Errorf("before the run: %q, %q", s.State, s.Runs[0].State)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := live.Run(ctx, func(string) {})
		ended <- err
	}()
	var s web.Snapshot
	until(t, "something to be refused", func() bool {
		s = live.Snapshot()
		return s.Runs[0].SheddingFor != nil && s.Runs[0].Pool.Waiting > 0
	})
	r := s.Runs[0]
	if s.State != web.Running || r.State != web.Running || r.Pool.Slots != slots || r.Classes[critical].PredictedPct == nil {
		t.Errorf("in the middle: %q, %+v", s.State, r)
	}
	if w := web.Headline(&s); w.Tone == web.Calm || !strings.Contains(w.Text, "being refused") {
		t.Errorf("the headline is %+v", w)
	}
	cancel() // and that ends it cleanly, wherever it is
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gives %v", err)
	}
	if s := live.Snapshot(); s.State != web.Failed {
		t.Errorf("afterwards the page says %q", s.State)
	}
}

func TestPicture(t *testing.T) {
	if *picture == "" {
		t.Skip("left out: it takes a minute and a browser; give -picture FILE to make the picture of the documentation")
	}
	b := browsertest.Open(t)
	live, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var page sync.WaitGroup
	page.Go(func() {
		if err := web.New(live).Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	defer page.Wait()
	defer cancel()
	if _, err := live.Run(ctx, func(s string) { t.Log(s) }); err != nil {
		t.Fatal(err)
	}
	b.Size(1240, 900, false)
	b.Visit("http://"+l.Addr().String()+"/", `body[data-state="done"]`)
	if err := os.WriteFile(*picture, smaller(t, b.Picture()), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Leave()
}

// smaller writes a picture again with the 256 colours that it has most of: it
// is a drawing, and its repository is fetched by everybody.
func smaller(t *testing.T, raw []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	uses := make(map[color.RGBA]int)
	area := from.Bounds()
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			uses[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(uses), func(a, b color.RGBA) int { return uses[b] - uses[a] })
	var palette color.Palette
	for _, c := range colours[:min(256, len(colours))] {
		palette = append(palette, c)
	}
	to := image.NewPaletted(area, palette)
	draw.Draw(to, area, from, area.Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
