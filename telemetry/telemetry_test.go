package telemetry

import (
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

var rewrite = flag.Bool("rewrite", false, "write docs/reference/metrics.md")

// state is a made-up gate in which every number is another one.
func state() plimsoll.Status {
	k := plimsoll.ClassStatus{
		Name: "critical", Deadline: 200 * time.Millisecond, Objective: 0.99, Reserve: 1, Running: 2, Used: 3, Waiting: 4,
		WaitingLimit: -1, HeadAge: 50 * time.Millisecond, Arrived: 1000,
	}
	k.Outcomes[core.OK], k.Outcomes[core.Refused] = 700, 12
	k.Refused[core.Full], k.Refused[core.Hopeless], k.WouldRefuse[core.Full] = 5, 7, 9
	k.Wait.Counts[0], k.Wait.Counts[2], k.Wait.Counts[len(plimsoll.HistogramBounds)] = 3, 4, 2
	k.Wait.Sum = 12 * time.Second
	return plimsoll.Status{Uptime: 90 * time.Second, Pools: []plimsoll.PoolStatus{{
		Name: "app", Mode: plimsoll.Shadow, Slots: 6, Workers: 5, Used: 3, Running: 2, Waiting: 4, WaitingLimit: 17,
		Expected: 10 * time.Millisecond, ExpectedLearnt: true, Stale: 8, Classes: []plimsoll.ClassStatus{k},
	}}}
}

func scrape(c *Collector) string {
	w := httptest.NewRecorder()
	Handler(Registry(c)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestProxyMetrics(t *testing.T) {
	text := scrape(NewCollector(state, func() Proxy {
		return Proxy{Requests: 42, TunnelIn: 7, Reloads: 5, ReloadErrors: 2, UpstreamDown: true, ClassUntrusted: 6, LeftWaiting: 9, AheadBytes: 4096, UpstreamRefused: map[string]uint64{"critical": 3}, ConfigLoaded: time.Unix(1_500_000_000, 0)}
	}))
	for _, want := range []string{
		"plimsoll_proxy_requests_total 42\n", `plimsoll_tunnel_bytes_total{direction="in"} 7`, "plimsoll_upstream_down 1\n",
		`plimsoll_ignored_headers_total{why="class_untrusted"} 6`, `plimsoll_ignored_headers_total{why="timeout_invalid"} 0`,
		"plimsoll_left_waiting_total 9\n", "plimsoll_ahead_bytes 4096\n",
		`plimsoll_upstream_refused_total{class="critical",pool="app"} 3`,
		`plimsoll_config_reloads_total{result="error"} 2`, `plimsoll_config_reloads_total{result="ok"} 3`,
		"plimsoll_config_loaded_timestamp_seconds 1.5e+09\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
}

func TestScrape(t *testing.T) {
	text := scrape(NewCollector(state, nil))
	for _, want := range []string{
		`plimsoll_class_waiting_limit{class="critical",pool="app"} -1`,
		`plimsoll_pool_expected_seconds{pool="app",source="learnt"} 0.01`,
		`plimsoll_pool_mode{mode="enforce",pool="app"} 0`,
		`plimsoll_pool_mode{mode="shadow",pool="app"} 1`,
		`plimsoll_pool_used_slots{pool="app"} 3`,
		`plimsoll_calls_total{class="critical",outcome="ok",pool="app"} 700`,
		`plimsoll_refused_total{class="critical",pool="app",reason="hopeless"} 7`,
		`plimsoll_refused_total{class="critical",pool="app",reason="draining"} 0`,
		`plimsoll_shadow_refused_total{class="critical",pool="app",reason="full"} 9`,
		`plimsoll_wait_seconds_bucket{class="critical",pool="app",le="0.001"} 3`,
		`plimsoll_wait_seconds_bucket{class="critical",pool="app",le="0.005"} 7`,
		`plimsoll_wait_seconds_bucket{class="critical",pool="app",le="300"} 7`,
		`plimsoll_wait_seconds_bucket{class="critical",pool="app",le="+Inf"} 9`,
		`plimsoll_wait_seconds_sum{class="critical",pool="app"} 12`,
		`go_goroutines `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "plimsoll_proxy_") {
		t.Error("a metric that has no value, or no proxy behind it")
	}
}

// What is described is what is collected, and the other way round.
func TestEveryMetricIsCollected(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(NewCollector(state, func() Proxy { return Proxy{ConfigLoaded: time.Now()} }))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range families {
		got[f.GetName()] = true
	}
	for _, m := range Metrics() {
		if !got[m.Name] {
			t.Errorf("%s is never collected", m.Name)
		}
		delete(got, m.Name)
	}
	if len(got) > 0 {
		t.Errorf("not in the reference: %v", got)
	}
}

func TestNamesAndLabels(t *testing.T) {
	name := regexp.MustCompile(`^plimsoll_[a-z_]+$`)
	labels := map[string]bool{"pool": true, "class": true, "reason": true, "outcome": true, "mode": true, "source": true, "direction": true, "result": true, "why": true}
	for _, m := range Metrics() {
		if !name.MatchString(m.Name) || (m.Kind == Counter) != strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%s %s", m.Kind, m.Name)
		}
		for _, l := range m.Labels {
			if !labels[l] {
				t.Errorf("%s has the label %s, which may not be bounded", m.Name, l)
			}
		}
	}
}

func TestReferenceIsTheCode(t *testing.T) {
	path := filepath.Join("..", "docs", "reference", "metrics.md")
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(have), "\r\n", "\n") != Reference() {
		t.Errorf("%s is not what the code says; go test ./telemetry -run Reference -rewrite", path)
	}
}
