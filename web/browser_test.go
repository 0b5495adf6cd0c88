package web

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-go/plimsoll/internal/browsertest"
)

// go test ./web -run TestGallery -shots DIR saves a picture of each state.
var shots = flag.String("shots", "", "save pictures of the gallery in this directory")

// text is what the first element that matches says.
func text(b *browsertest.Browser, selector string) string {
	js := fmt.Sprintf("document.querySelector(%q)?.textContent ?? 'NOT THERE'", selector)
	return strings.TrimSpace(browsertest.Eval[string](b, js))
}

// Every state of the gallery is drawn, and what is shown equals the snapshot.
func TestGalleryInABrowser(t *testing.T) {
	b := browsertest.Open(t)
	for name, s := range gallery() {
		t.Run(name, func(t *testing.T) {
			b := b.With(t)
			server := httptest.NewServer(New(canned(s)))
			defer server.Close()
			defer b.Leave() // or the open stream holds up the server's end
			b.Size(1280, 1000, false)
			b.Visit(server.URL, "body[data-state]")
			same(t, b, &s)
			saysItWithoutEyes(t, b, &s)
			fits(t, b, name)
		})
	}
}

// same compares what is shown with the snapshot.
func same(t *testing.T, b *browsertest.Browser, s *Snapshot) {
	t.Helper()
	want := map[string]string{"#title": s.Title, "#headline": Headline(s).Text}
	for i := range s.Runs {
		wantOf(want, &s.Runs[i])
	}
	for selector, value := range want {
		if got := strings.ReplaceAll(text(b, selector), "\u202f", ""); got != value {
			t.Errorf("%s shows %q, want %q", selector, got, value)
		}
	}
}

// wantOf adds what must be shown of one run.
func wantOf(want map[string]string, r *Run) {
	var refused uint64
	for _, x := range r.Refused {
		refused += x.Count
	}
	waiting := fmt.Sprintf("%d of %d", r.Pool.Waiting, r.Pool.WaitingLimit)
	if r.Pool.Waiting > 0 {
		waiting += fmt.Sprintf(", oldest %.0f ms", r.Pool.HeadAge)
	}
	want["#run-"+r.ID] = r.Title
	want[fmt.Sprintf("[data-used=%q]", r.ID)] = fmt.Sprintf("%d of %d", r.Pool.Used, r.Pool.Slots)
	want[fmt.Sprintf("[data-waiting=%q]", r.ID)] = waiting
	want[fmt.Sprintf("[data-refused=%q]", r.ID)] = map[bool]string{true: "none", false: fmt.Sprint(refused)}[refused == 0]
	want[fmt.Sprintf("[data-row=%q] td", r.ID)] = dashOr(r.SurvivorP99, "%.0f ms")
	want[fmt.Sprintf("[data-row=%q] td + td", r.ID)] = dashOr(r.AdmittedPct, "%.1f %%")
	for _, k := range r.Classes {
		shown := "–"
		if k.SuccessPct != nil {
			shown = percent(*k.SuccessPct)
		}
		want[fmt.Sprintf("[data-success=%q]", r.ID+"/"+k.Name)] = shown
	}
}

func dashOr(v *float64, format string) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}

// saysItWithoutEyes checks what a screen reader and a keyboard need.
func saysItWithoutEyes(t *testing.T, b *browsertest.Browser, s *Snapshot) {
	t.Helper()
	if n := browsertest.Eval[int](b, `[...document.querySelectorAll('svg[role=img]')].filter(c => !c.getAttribute('aria-label')).length`); n != 0 {
		t.Errorf("%d charts say nothing to whoever cannot see them", n)
	}
	if n := browsertest.Eval[int](b, `document.querySelectorAll('#table tbody tr').length`); n != len(s.Runs) {
		t.Errorf("the table of figures has %d rows, want %d", n, len(s.Runs))
	}
	browsertest.Eval[bool](b, `document.getElementById('pause').focus(), true`)
	b.Press("\r")
	if got := text(b, "#pause"); got != "Go on" {
		t.Errorf("with the keyboard the updates cannot be paused: the button says %q", got)
	}
	b.Press("\r")
}

// fits looks at the page in its sizes and colours: nothing may stick out
// sideways, on a phone either.
func fits(t *testing.T, b *browsertest.Browser, name string) {
	t.Helper()
	for _, look := range []struct {
		name          string
		width, height int64
		dark          bool
	}{{"light", 1280, 1000, false}, {"dark", 1280, 1000, true}, {"phone", 390, 844, true}} {
		b.Size(look.width, look.height, look.dark)
		wide := browsertest.Eval[int](b, "document.documentElement.scrollWidth")
		if view := browsertest.Eval[int](b, "document.documentElement.clientWidth"); wide > view {
			t.Errorf("%s: %d pixels wide in a window of %d", look.name, wide, view)
		}
		if *shots == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(*shots, name+"-"+look.name+".png"), b.Picture(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Names that look like markup stay names.
func TestNothingIsTakenForMarkup(t *testing.T) {
	b := browsertest.Open(t)
	server := httptest.NewServer(New(canned(hostile())))
	defer server.Close()
	defer b.Leave()
	b.Visit(server.URL, "body[data-state]")
	if n := browsertest.Eval[int](b, "document.images.length"); n != 0 {
		t.Errorf("a name has become %d images", n)
	}
	if n := browsertest.Eval[int](b, "document.querySelectorAll('h1').length"); n != 1 {
		t.Errorf("%d headings of first order, want 1", n)
	}
	title, err := json.Marshal(hostile().Title)
	if err != nil {
		t.Fatal(err)
	}
	if !browsertest.Eval[bool](b, "document.title === "+string(title)) {
		t.Error("the title is not the snapshot's")
	}
}
