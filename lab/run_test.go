package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/sim"
)

// options are those of the published run, into a directory below the test's own.
func options(t *testing.T) Options {
	t.Helper()
	t.Chdir(t.TempDir())
	return Options{
		Duration: 5000, OutputDir: "out", Deterministic: true, Concurrency: 100, SnapshotInterval: 1000,
		Args: []string{"lab", "slo-load-control", "--output-dir", "</script>&"}, Now: time.Unix(1_700_000_000, 5),
	}
}

func mustRun(t *testing.T, o Options) *Output {
	t.Helper()
	out, err := sloLoadControl().Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("out", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

var sixFiles = []string{
	"bp-post5-protection.csv", "bp-post5-protection.png", "bp-post5-slo-burst.csv", "bp-post5-slo-burst.png", "manifest.json", "report.html",
}

func TestRunWritesSixFilesAndTheSameAgain(t *testing.T) {
	o := options(t)
	out := mustRun(t, o)
	if got := listed(t, "out"); !slices.Equal(got, sixFiles) {
		t.Fatalf("written: %q", got)
	}
	written := slices.Sorted(slices.Values(out.Files))
	if !slices.Equal(written, sixFiles) || out.Files[5] != "manifest.json" {
		t.Errorf("said to be written: %q", out.Files)
	}
	first := map[string][]byte{}
	for _, name := range sixFiles {
		first[name] = read(t, name)
	}
	o.Now = o.Now.Add(time.Hour)
	mustRun(t, o)
	for _, name := range sixFiles {
		if !bytes.Equal(first[name], read(t, name)) {
			t.Errorf("%s differs in the second run", name)
		}
	}
	if out.Departs() {
		t.Error("the published constants do not give the published tables")
	}
	for i, want := range map[int]string{0: "203c11498ab8bb7c7ed9fdba300e977b5d8864341382af6ec9db495cac108ecc", 1: "15ae9d057e9bc224882a461eef3a80cdccaa668a13204b0e0f16f92b5cdcd3be"} {
		a := out.Manifest.CSVArtifacts[i]
		if got := checksum(first[a.File]); got != want || a.SHA256 != want {
			t.Errorf("%s is %s, the manifest says %s, want %s", a.File, got, a.SHA256, want)
		}
	}
}

func TestCharts(t *testing.T) {
	mustRun(t, options(t))
	for _, name := range []string{"bp-post5-protection.png", "bp-post5-slo-burst.png"} {
		img, err := png.Decode(bytes.NewReader(read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); b.Dx() != 800 || b.Dy() != 400 {
			t.Errorf("%s is %d × %d", name, b.Dx(), b.Dy())
		}
		inks := map[Ink]int{}
		for y := range 400 {
			for x := range 800 {
				for _, ink := range []Ink{InkGood, InkBad, InkPaid, InkTarget} {
					if img.At(x, y) == ink.rgba() {
						inks[ink]++
					}
				}
			}
		}
		if inks[InkGood] < 500 || inks[InkBad] < 300 || inks[InkPaid] < 150 {
			t.Errorf("%s: pixels by ink %v; a line is missing", name, inks)
		}
	}
}

func TestManifest(t *testing.T) {
	o := options(t)
	mustRun(t, o)
	text := string(read(t, "manifest.json"))
	at := -1
	for _, key := range []string{
		"post_number", "title", "timestamp", "deterministic", "duration", "concurrency", "snapshot_interval", "output_dir",
		"go_version", "os", "os_arch", "cpu_count", "git_sha", "command_args", "csv_artifacts",
	} {
		next := strings.Index(text, "\n  \""+key+"\": ")
		if next <= at {
			t.Errorf("%s is missing or out of order", key)
		}
		at = next
	}
	for _, line := range []string{
		`"post_number": 5,`, `"timestamp": "1970-01-01T00:00:00Z",`, `"deterministic": true,`, `"duration": "PT5S",`,
		`"snapshot_interval": "PT1S",`, `"output_dir": "out",`, `"go_version": "` + runtime.Version() + `",`,
		`"golden_file": null,`, `"golden_match": true`, `"</script>&"`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	o.Deterministic = false
	o.Duration = 500
	mustRun(t, o)
	text = string(read(t, "manifest.json"))
	for _, line := range []string{`"timestamp": "2023-11-14T22:13:20.000000005Z",`, `"duration": "PT0.5S",`, `"golden_match": false`, `"deterministic": false,`} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	if a := artifact(&Table{Header: []string{"a"}}); a.GoldenMatch != "absent" || a.GoldenSHA256 != nil {
		t.Errorf("a table without a golden one: %+v", a)
	}
}

// block is the JSON that the report carries.
func block(t *testing.T, page string) (data struct {
	Manifest Manifest
	Tables   []struct {
		Name, File string
		LeftOut    int `json:"left_out"`
		Rows       []map[string]any
	}
}) {
	t.Helper()
	const open = `<script type="application/json" id="data">`
	_, rest, ok := strings.Cut(page, open)
	text, _, closed := strings.Cut(rest, "</")
	if !ok || !closed {
		t.Fatal("no block of JSON")
	}
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReportHasTheTables(t *testing.T) {
	out := mustRun(t, options(t))
	data := block(t, string(read(t, "report.html")))
	if data.Manifest.CommandArgs[3] != "</script>&" || data.Manifest.CSVArtifacts[0].SHA256 != out.Manifest.CSVArtifacts[0].SHA256 {
		t.Errorf("the manifest is %+v", data.Manifest)
	}
	for i, table := range out.Findings.Tables {
		got := data.Tables[i]
		if got.File != table.File || got.Name != table.Name || len(got.Rows) != len(table.Rows) || got.LeftOut != 0 {
			t.Fatalf("table %d is %s with %d rows", i, got.File, len(got.Rows))
		}
		for r, row := range table.Rows {
			for k, cell := range row {
				v := got.Rows[r][table.Header[k]]
				if n, ok := v.(float64); ok {
					v = one(n)
					if !strings.Contains(cell, ".") {
						v = fmt.Sprint(n)
					}
				}
				if v != cell {
					t.Errorf("%s, row %d, %s: %v, in the table %s", table.File, r, table.Header[k], v, cell)
				}
			}
		}
	}
	if _, ok := data.Tables[0].Rows[0]["offered_rps"].(float64); !ok {
		t.Error("a number is not carried as one")
	}
}

// The page says in words what the numbers mean, and what they do not.
func TestReportTellsTheStory(t *testing.T) {
	mustRun(t, options(t))
	page := string(read(t, "report.html"))
	for _, words := range []string{
		"Post 5: Bounded Systems &#43; SLO-Driven Load Control", "The latency looked the same. The success did not.",
		"32.3 %", "99.7 %", "12.9 %", "200 ms behind either door", "241 of 356 critical requests", "400 rps offered",
		"scored window of 4.8 s", "no latency is claimed for any window", "A model, not a service",
	} {
		if !strings.Contains(page, words) {
			t.Errorf("the report does not say %q", words)
		}
	}
	if len(page) >= MaxReport {
		t.Errorf("the report has %d bytes", len(page))
	}
	if strings.Contains(page, "%!") {
		t.Error("a number was written with a wrong verb")
	}
	rest := strings.ReplaceAll(page, "http://www.w3.org/2000/svg", "")
	for _, net := range []string{"http:", "https:", "//cdn", "src=", "@import", "url(", "fetch("} {
		if strings.Contains(rest, net) {
			t.Errorf("the report reaches out: %s", net)
		}
	}
}

// However long the run and however many the rates, the page stays small, says
// what it leaves out, and the CSV has everything.
func TestReportStaysSmall(t *testing.T) {
	o := options(t)
	o.Duration = 1_000_000
	rates := make([]string, MaxRates)
	for i := range rates {
		rates[i] = fmt.Sprint(1 + i%7)
	}
	o.Settings = Settings{{"rates", rates}}
	out := mustRun(t, o)
	page := read(t, "report.html")
	if len(page) >= MaxReport {
		t.Errorf("the report has %d bytes", len(page))
	}
	data := block(t, string(page))
	if got := data.Tables[1]; len(got.Rows) != maxReportRows || got.LeftOut != 9998-maxReportRows {
		t.Errorf("%d rows, %d left out", len(got.Rows), got.LeftOut)
	}
	if n := bytes.Count(read(t, "bp-post5-slo-burst.csv"), []byte("\n")); n != 9999 {
		t.Errorf("%d lines of CSV", n)
	}
	full, err := out.Data(-1)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(full, []byte(`"window_start_ms"`)); n != 9998 {
		t.Errorf("all rows are %d", n)
	}
}

// A run without a window says that it has no burst chart, everywhere, and takes
// the one of an earlier run away, which would be taken for its own.
func TestAShortRunHasNoBurstChart(t *testing.T) {
	o := options(t)
	mustRun(t, o)
	if err := os.WriteFile("out/mine.png", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o.Duration = 299
	out := mustRun(t, o)
	if got := listed(t, "out"); !slices.Equal(got, []string{"bp-post5-protection.csv", "bp-post5-protection.png", "bp-post5-slo-burst.csv", "manifest.json", "mine.png", "report.html"}) {
		t.Errorf("after a run of 299 ms there are %q", got)
	}
	if !slices.Equal(out.Removed, []string{burstChartFile}) || slices.Contains(out.Files, burstChartFile) {
		t.Errorf("removed: %q, written: %q", out.Removed, out.Files)
	}
	var text bytes.Buffer
	if err := out.Text(&text); err != nil {
		t.Fatal(err)
	}
	for where, said := range map[string]string{"terminal": text.String(), "report": string(read(t, "report.html")), "manifest": string(read(t, "manifest.json"))} {
		if !strings.Contains(strings.Join(strings.Fields(said), " "), "a duration of 300ms or more has one") {
			t.Errorf("the %s does not say that a chart is left out", where)
		}
	}
	if !strings.Contains(text.String(), "of an earlier run is removed") {
		t.Errorf("nobody is told of the removal:\n%s", text.String())
	}
	o.Duration = 300
	if out := mustRun(t, o); !slices.Contains(out.Files, burstChartFile) || strings.Contains(string(read(t, "manifest.json")), "left_out") {
		t.Errorf("a run of 300 ms has a window; written: %q", out.Files)
	}
	if err := errors.Join(os.Remove("out/"+burstChartFile), os.MkdirAll("out/"+burstChartFile+"/theirs", 0o755)); err != nil {
		t.Fatal(err)
	}
	o.Duration = 201
	if _, err := sloLoadControl().Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a directory in the stale chart's place: %v", err)
	}
}

func TestARunWithoutAWindow(t *testing.T) {
	o := options(t)
	o.Duration = 201
	mustRun(t, o)
	if got := string(read(t, "bp-post5-slo-burst.csv")); strings.Count(got, "\n") != 1 {
		t.Errorf("a burst table without windows is %q", got)
	}
	if _, err := os.Stat("out/bp-post5-slo-burst.png"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a chart without windows was written: %v", err)
	}
}

func TestNothingIsMadeOfWhatIsInvalid(t *testing.T) {
	for what, spoil := range map[string]func(*Options){
		"no duration":     func(o *Options) { o.Duration = 0 },
		"the deadline":    func(o *Options) { o.Duration = 200 },
		"over a day":      func(o *Options) { o.Duration = MaxWindow + 1 },
		"an endless run":  func(o *Options) { o.Duration = math.MaxInt64 },
		"no concurrency":  func(o *Options) { o.Concurrency = 0 },
		"no interval":     func(o *Options) { o.SnapshotInterval = 0 },
		"unknown key":     func(o *Options) { o.Settings = Settings{{"shrae", []string{"0.5"}}} },
		"share 0":         func(o *Options) { o.Settings = Settings{{"share", []string{"0"}}} },
		"share 1":         func(o *Options) { o.Settings = Settings{{"share", []string{"1"}}} },
		"share NaN":       func(o *Options) { o.Settings = Settings{{"share", []string{"NaN"}}} },
		"share below 0":   func(o *Options) { o.Settings = Settings{{"share", []string{"-0.1"}}} },
		"no share":        func(o *Options) { o.Settings = Settings{{"share", []string{""}}} },
		"two shares":      func(o *Options) { o.Settings = Settings{{"share", []string{"0.1", "0.2"}}} },
		"rate below 0":    func(o *Options) { o.Settings = Settings{{"rates", []string{"100", "-1"}}} },
		"rate NaN":        func(o *Options) { o.Settings = Settings{{"rates", []string{"nan"}}} },
		"endless rate":    func(o *Options) { o.Settings = Settings{{"rates", []string{"inf"}}} },
		"no rate":         func(o *Options) { o.Settings = Settings{{"rates", []string{""}}} },
		"many rates":      func(o *Options) { o.Settings = Settings{{"rates", slices.Repeat([]string{"1"}, MaxRates+1)}} },
		"a rate too high": func(o *Options) { o.Settings = Settings{{"rates", []string{"1000001"}}} },
		"absurd work": func(o *Options) {
			o.Duration, o.Settings = MaxWindow, Settings{{"rates", []string{"1000000"}}}
		},
		"absurd silence": func(o *Options) {
			o.Duration = MaxWindow
			o.Settings = Settings{{"valley", []string{"1ms"}}, {"spike", []string{"1ms"}}, {"spike-rps", []string{"1000000"}}}
		},
		"valley 0":       func(o *Options) { o.Settings = Settings{{"valley", []string{"0"}}} },
		"spike below 0":  func(o *Options) { o.Settings = Settings{{"spike", []string{"-5s"}}} },
		"half a service": func(o *Options) { o.Settings = Settings{{"service", []string{"0.5ms"}}} },
		"service 0":      func(o *Options) { o.Settings = Settings{{"service", []string{"0ms"}}} },
		"endless service": func(o *Options) {
			o.Duration, o.Settings = MaxWindow, Settings{{"service", []string{"2h"}}}
		},
		"deadline 0":        func(o *Options) { o.Settings = Settings{{"deadline", []string{"0"}}} },
		"deadline too long": func(o *Options) { o.Settings = Settings{{"deadline", []string{"5s"}}} },
		"absurd bound": func(o *Options) {
			o.Duration, o.Settings = MaxWindow, Settings{{"service", []string{"1ms"}}, {"deadline", []string{"20h"}}, {"rates", []string{"1"}}}
		},
	} {
		o := options(t)
		spoil(&o)
		_, err := sloLoadControl().Run(t.Context(), o)
		if invalid := (InvalidError{}); !errors.As(err, &invalid) {
			t.Errorf("%s: %v", what, err)
		} else if !strings.Contains(err.Error(), "allowed") && !strings.Contains(err.Error(), "there are") {
			t.Errorf("%s: %v does not say what is allowed", what, err)
		}
		if got := listed(t, "."); len(got) != 0 {
			t.Errorf("%s: written: %q", what, got)
		}
	}
	o := options(t)
	o.OutputDir = ""
	if _, err := sloLoadControl().Run(t.Context(), o); !errors.As(err, new(InvalidError)) {
		t.Errorf("no directory: %v", err)
	}
}

// Constants that cannot come from the command line are refused all the same.
func TestValidateRefusesWhatIsNoNumber(t *testing.T) {
	for what, spoil := range map[string]func(*SLOModel){
		"share":      func(m *SLOModel) { m.Share = math.NaN() },
		"rate":       func(m *SLOModel) { m.Rates[3] = math.NaN() },
		"no rates":   func(m *SLOModel) { m.Rates = nil },
		"valley-rps": func(m *SLOModel) { m.ValleyRPS = -1 },
		"spike-rps":  func(m *SLOModel) { m.SpikeRPS = math.Inf(1) },
		"valley":     func(m *SLOModel) { m.Valley = -1 },
		"spike":      func(m *SLOModel) { m.Spike = 0 },
		"deadline":   func(m *SLOModel) { m.Deadline = -1 },
		"service":    func(m *SLOModel) { m.Service = 0 },
	} {
		m := DefaultSLOModel()
		spoil(&m)
		if err := m.Validate(5000); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestCornerCases(t *testing.T) {
	m := DefaultSLOModel()
	m.Service, m.Deadline = 90, 40 // a bound of 0
	r, err := m.measure(t.Context(), 5000, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.protection().Rows {
		if row[3] != "0.0" || row[4] != "0.0" || row[5] != "0.0" || row[8] != "0.0" {
			t.Errorf("a bound of 0 serves somebody: %q", row)
		}
	}
	m = DefaultSLOModel()
	m.Rates, m.ValleyRPS, m.SpikeRPS = []float64{0}, 0, 0
	if r, err = m.measure(t.Context(), 5000, nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.protection().Rows[0], ","); got != "blind,0.0,0.0,100.0,100.0,0.0,0.0,yes,0.0" {
		t.Errorf("a rate of 0: %s", got)
	}
	if got := strings.Join(r.burst().Rows[7], ","); got != "700,100.0,100.0,100.0,100.0" {
		t.Errorf("a silent burst: %s", got)
	}
}

func TestProgressReachesOne(t *testing.T) {
	o := options(t)
	last, calls := 0.0, 0
	o.Progress = func(share float64) {
		calls++
		if share < last || share > 1 {
			t.Errorf("progress goes from %v to %v", last, share)
		}
		last = share
	}
	mustRun(t, o)
	if calls != 16 || last < 0.99 {
		t.Errorf("%d calls, the last with %v", calls, last)
	}
}

// When a file cannot be written, no name holds half a file, and nothing is left
// lying about.
func TestWritingFails(t *testing.T) {
	o := options(t)
	if err := os.WriteFile("out", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := sloLoadControl().Run(t.Context(), o)
	if err == nil || errors.As(err, new(InvalidError)) {
		t.Errorf("a file in the directory's place: %v", err)
	}
	if err := os.Remove("out"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("out/manifest.json/in-the-way", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := sloLoadControl().Run(t.Context(), o); err == nil {
		t.Error("a directory in a file's place: no error")
	}
	for _, name := range listed(t, "out") {
		if strings.HasPrefix(name, ".") {
			t.Errorf("left lying about: %s", name)
		}
	}
	_, err = write("out", []file{{"good.csv", []byte("1")}, {"no/such/dir.csv", []byte("2")}}, nil)
	if err == nil {
		t.Error("a file that cannot be made: no error")
	}
	if _, err := os.Stat("out/good.csv"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file has its final name although another could not be written: %v", err)
	}
}

// What a killed run has left is taken away by the next, and nothing else.
func TestLeftoversAreSweptUp(t *testing.T) {
	o := options(t)
	theirs := []string{".bp-post5-protection.csv-", ".bp-post5-protection.csv-12x", ".gitignore-12", ".manifest.json", "manifest.json-12", ".mine-12"}
	ours := []string{".bp-post5-protection.csv-123", ".bp-post5-slo-burst.png-0", ".manifest.json-4294967295", ".report.html-7"}
	if err := os.Mkdir("out", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(slices.Clone(ours), theirs...) {
		if err := os.WriteFile(filepath.Join("out", name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("out/.report.html-8", 0o755); err != nil { // a directory is none of ours
		t.Fatal(err)
	}
	for _, duration := range []int64{5000, 250} { // also of a file that this run does not make
		o.Duration = duration
		mustRun(t, o)
		got := listed(t, "out")
		for _, name := range ours {
			if slices.Contains(got, name) {
				t.Errorf("left lying about: %s", name)
			}
		}
		for _, name := range append(theirs, ".report.html-8") {
			if !slices.Contains(got, name) {
				t.Errorf("%s is gone, and was not ours", name)
			}
		}
		if err := os.WriteFile("out/"+ours[1], nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A file in the directory's place is found before the work is done.
func TestTheDirectoryIsLookedAtFirst(t *testing.T) {
	o := options(t)
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o.Progress = func(float64) { t.Error("the work has begun") }
	for _, dir := range []string{"file", "file/below", "file/further/below"} {
		o.OutputDir = dir
		if _, err := sloLoadControl().Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "file") || errors.As(err, new(InvalidError)) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := os.Mkdir("closed", 0o555); err != nil {
		t.Fatal(err)
	}
	if w, err := os.Create("closed/try"); err == nil {
		w.Close()
		t.Log("the rest is left out: this user may write anywhere")
		return
	}
	o.OutputDir = "closed"
	if _, err := sloLoadControl().Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a directory that may not be written to: %v", err)
	}
}

// A run that is ended writes nothing, wherever it is.
func TestARunThatIsEnded(t *testing.T) {
	for _, after := range []int{0, 3, 16} {
		o := options(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		steps := 0
		o.Progress = func(float64) {
			if steps++; steps == after {
				cancel(enough)
			}
		}
		if after == 0 {
			cancel(enough)
		}
		if _, err := sloLoadControl().Run(ctx, o); !errors.Is(err, enough) {
			t.Errorf("ended after %d steps: %v", after, err)
		}
		if got := listed(t, "."); len(got) != 0 {
			t.Errorf("ended after %d steps: written: %q", after, got)
		}
		cancel(nil)
	}
}

// One long run ends too, and not only between two of them.
func TestALongRunIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := DefaultSLOModel()
	n := 0
	err := m.run(ctx, core.DoorBlind, arrival.Constant(1e6), MaxWindow, func(*sim.Call, bool) {
		if n++; n == 5000 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || n > 10_000 {
		t.Errorf("%v after %d calls", err, n)
	}
}

func TestFind(t *testing.T) {
	if e, err := Find("slo-load-control"); err != nil || e.Post != 5 {
		t.Errorf("%v, %v", e.Name, err)
	}
	if _, err := Find("load-colapse"); err == nil || !strings.Contains(err.Error(), "slo-load-control") {
		t.Errorf("an unknown experiment: %v", err)
	}
	// What the list says of the defaults is what they are.
	for _, e := range Experiments() {
		var set Settings
		for _, s := range e.Settings {
			set = append(set, Assignment{s.Key, strings.Split(s.Default, ",")})
		}
		p, err := e.Prepare(set, 5000)
		if err != nil || !p.Golden {
			t.Errorf("%s with its own defaults: golden %v, %v", e.Name, p != nil && p.Golden, err)
		}
	}
}

func TestText(t *testing.T) {
	out := mustRun(t, options(t))
	var b bytes.Buffer
	if err := out.Text(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, words := range []string{
		"Post 5: Bounded Systems + SLO-Driven Load Control", "PT5S", "400 rps", "as published", "report.html", "manifest.json",
		"priority  300.0    74.2      99.7      12.9    200.0        yes      103.1\n", "\n\npriority  50.2",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, text)
		}
	}
	out.Manifest.CSVArtifacts[0].GoldenMatch = false
	if !out.Departs() {
		t.Error("a table that departs from the published one goes unnoticed")
	}
}
