package load

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
)

// serve starts a real server on the loopback interface.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// every makes n shots, one each gap.
func every(gap time.Duration, n int) iter.Seq[Shot] {
	return func(yield func(Shot) bool) {
		for i := range n {
			if !yield(Shot{At: time.Duration(i) * gap, Class: "critical"}) {
				return
			}
		}
	}
}

// fire runs the schedule and returns the results by intended instant.
func fire(t *testing.T, ctx context.Context, cfg Config, schedule iter.Seq[Shot]) ([]Result, Report) {
	t.Helper()
	var results []Result
	cfg.Results = func(r Result) { results = append(results, r) }
	report, err := Run(ctx, cfg, schedule)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(results, func(a, b Result) int { return int(a.Record.Intended - b.Record.Intended) })
	return results, report
}

func TestOutcomes(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    core.Outcome
		reason  core.Reason
		status  int
	}{
		{"ok", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "done") }, core.OK, 0, 200},
		{"no content", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }, core.OK, 0, 204},
		{"refused", refuse(429, "reason=full; class=background; executed=?0"), core.Refused, core.Full, 429},
		{"refused, drained", refuse(503, "reason=draining"), core.Refused, core.Draining, 503},
		{"429 of somebody else", refuse(429, ""), core.Failed, 0, 429},
		{"executed after all", refuse(429, "reason=full; executed=?1"), core.Failed, 0, 429},
		{"unknown reason", refuse(429, "reason=mood"), core.Failed, 0, 429},
		{"broken", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, core.Failed, 0, 500},
		{"redirects are not followed", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}, core.Failed, 0, 302},
		{"cut off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, core.Failed, 0, 0},
		{"too long", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", 1001))
		}, core.Failed, 0, 200},
		{"no answer", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, core.Cancelled, 0, 0},
		{"half an answer", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "do")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, core.Cancelled, 0, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{URL: serve(t, c.handler), Deadline: 300 * time.Millisecond, MaxBody: 1000}
			results, report := fire(t, t.Context(), cfg, every(0, 1))
			r := results[0]
			if r.Record.Outcome != c.want || r.Record.Reason != c.reason || r.Status != c.status {
				t.Errorf("got %v %v %d, want %v %v %d (%v)", r.Record.Outcome, r.Record.Reason, r.Status, c.want, c.reason, c.status, r.Err)
			}
			if good := c.want == core.OK || c.want == core.Refused; good != (r.Err == nil) {
				t.Errorf("outcome %v has error %v", r.Record.Outcome, r.Err)
			}
			if waited := r.Record.Wait > 0; waited != (c.want == core.Refused) {
				t.Errorf("%v has a wait of %v", r.Record.Outcome, time.Duration(r.Record.Wait))
			}
			if report.Fired != 1 || report.Crowded != 0 || report.Truncated {
				t.Errorf("report: %+v", report)
			}
		})
	}
}

func refuse(status int, header string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if header != "" {
			w.Header().Set("Plimsoll-Refusal", header)
		}
		w.WriteHeader(status)
	}
}

// The defining property: calls are made on time although not one of those
// before them has been answered, and each gives up at its own deadline.
func TestTheLoopIsOpen(t *testing.T) {
	const calls, gap, deadline = 60, 5 * time.Millisecond, 400 * time.Millisecond
	var open, most atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := open.Add(1)
		defer open.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		<-r.Context().Done()
	})
	results, report := fire(t, t.Context(), Config{URL: url, Deadline: deadline}, every(gap, calls))
	if len(results) != calls {
		t.Fatalf("%d results, want %d", len(results), calls)
	}
	for i, r := range results {
		if got := time.Duration(r.Record.Intended); got != time.Duration(i)*gap {
			t.Errorf("call %d was meant for %v, want %v", i, got, time.Duration(i)*gap)
		}
		if r.Record.Start < r.Record.Intended {
			t.Errorf("call %d was made early", i)
		}
		if r.Record.Outcome != core.Cancelled || !errors.Is(r.Err, errGaveUp) && !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("call %d ended %v: %v", i, r.Record.Outcome, r.Err)
		}
		if left := time.Duration(r.Record.End() - r.Record.Intended); left < deadline {
			t.Errorf("call %d gave up after %v, before its deadline", i, left)
		}
	}
	// A closed loop would have had one call open at a time.
	if most.Load() < calls*9/10 {
		t.Errorf("at most %d of %d calls were open at once", most.Load(), calls)
	}
	if report.Fired != calls || report.Took < deadline {
		t.Errorf("report: %+v", report)
	}
}

func TestShotsBeyondTheMostOpenAreSaid(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	cfg := Config{URL: url, Deadline: 200 * time.Millisecond, MaxOpen: 3}
	results, report := fire(t, t.Context(), cfg, every(time.Millisecond, 10))
	if report.Fired != 3 || report.Crowded != 7 || report.Kept() {
		t.Errorf("report: %+v", report)
	}
	crowded := 0
	for _, r := range results {
		if errors.Is(r.Err, ErrCrowded) {
			crowded++
			if r.Record.Outcome != core.Failed {
				t.Errorf("a call that was not made is %v", r.Record.Outcome)
			}
		}
	}
	if crowded != 7 || len(results) != 10 {
		t.Errorf("%d of %d results are crowded, want 7 of 10", crowded, len(results))
	}
	if !strings.Contains(report.String(), "7 could not be made") {
		t.Errorf("the report does not say so: %s", report)
	}
}

func TestTheRunIsBounded(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	for name, cfg := range map[string]Config{
		"by calls": {URL: url, MaxCalls: 5},
		"by time":  {URL: url, MaxTime: 4 * time.Millisecond},
	} {
		results, report := fire(t, t.Context(), cfg, every(time.Millisecond, 1000))
		if len(results) != 5 || !report.Truncated || report.Kept() {
			t.Errorf("%s: %d results, report %+v", name, len(results), report)
		}
	}
}

func TestEndingTheContextEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var once sync.Once
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		once.Do(cancel)
		<-r.Context().Done()
	})
	results, report := fire(t, ctx, Config{URL: url}, every(50*time.Millisecond, 1_000_000))
	if !report.Truncated || len(results) != report.Fired {
		t.Errorf("%d results, report %+v", len(results), report)
	}
	for _, r := range results {
		if r.Record.Outcome != core.Cancelled {
			t.Errorf("an open call ended %v: %v", r.Record.Outcome, r.Err)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	var method, class, extra atomic.Value
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		method.Store(r.Method)
		class.Store(r.Header.Get("X-Class"))
		extra.Store(r.Header.Get("X-Extra"))
		w.Header().Set("Answer", "yes")
	})
	cfg := Config{
		URL: url, Method: http.MethodPost, ClassHeader: "X-Class",
		Header: http.Header{"X-Extra": {"more"}},
	}
	results, _ := fire(t, t.Context(), cfg, every(0, 1))
	if method.Load() != "POST" || class.Load() != "critical" || extra.Load() != "more" {
		t.Errorf("got %v, %v, %v", method.Load(), class.Load(), extra.Load())
	}
	if results[0].Header.Get("Answer") != "yes" {
		t.Error("the answer's header is not in the result")
	}
	if r := results[0].Record; r.Deadline != core.Never {
		t.Errorf("without a deadline the record has %d", r.Deadline)
	}
}

// What is fired is what the simulator reads: the same source, the same draws.
func TestScheduleIsTheArrivals(t *testing.T) {
	source, err := arrival.NewTiled(arrival.Constant(300), 5000)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := arrival.NewClasses(23, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	word := map[bool]string{true: "C", false: "b"}
	var shots []Shot
	for s := range Schedule(source, func() string { return word[classes.Next()] }) {
		shots = append(shots, s)
	}
	if len(shots) != 1501 {
		t.Fatalf("%d shots, want 1501", len(shots))
	}
	var letters strings.Builder
	for _, s := range shots[:40] {
		letters.WriteString(s.Class)
	}
	if got, want := letters.String(), "bCCbbbbbbbbbCbCbbbbCbbbbbbCbbbbbbbCCbbbC"; got != want {
		t.Errorf("classes %s, want %s", got, want)
	}
	// The arrival that was meant for 4800 ms sits just above it, and stays there.
	scored := 0
	for _, s := range shots {
		if s.At <= 4800*time.Millisecond {
			scored++
		}
	}
	if scored != 1440 {
		t.Errorf("%d shots up to 4800 ms, want 1440", scored)
	}
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	take := func(Result) {}
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{URL: "127.0.0.1:80", Results: take}, "target"},
		{Config{URL: "ftp://a/", Results: take}, "http://HOST/"},
		{Config{URL: "http://a/"}, "nobody to take"},
		{Config{URL: "http://a/", Results: take, Deadline: -1}, "must not be negative"},
		{Config{URL: "http://a/", Results: take, MaxOpen: -1}, "must not be negative"},
	} {
		if _, err := Run(t.Context(), c.cfg, every(0, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want something about %q", c.cfg, err, c.want)
		}
	}
}

func TestReportInWords(t *testing.T) {
	r := Report{Tolerance: 3 * time.Millisecond}
	lags{1e6, 2e6, 9e6}.into(&r)
	r.Fired = 3
	if r.LagP50 != 2e6 || r.LagP99 != 9e6 || r.LagMax != 9e6 || r.Tardy != 1 || r.Kept() {
		t.Errorf("%+v", r)
	}
	if got, want := r.String(), "load: the schedule was not kept: 3 calls made, 1 of them more than 3ms late (99th percentile 9ms, worst 9ms)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Tolerance = 10 * time.Millisecond
	if !r.Kept() || !strings.Contains(r.String(), "on schedule") {
		t.Errorf("within its tolerance: %s", r)
	}
}
