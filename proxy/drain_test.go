package proxy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/plimsoll-go/plimsoll"
)

func (b *bench) get(url string) (int, string) {
	b.t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	res, err := c.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text)
}

// Drain, in its order: not ready at once and still serving; then refusing as
// draining while what runs may end; then down. Alive all along.
func TestDrain(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			keeper.enter(r)
		}
	}, change: func(c *Config) { c.DrainAccept = 300 * time.Millisecond }})
	if code, _ := b.get(b.admin + "/readyz"); code != 200 {
		t.Fatalf("readyz %d before", code)
	}
	long := make(chan int, 1)
	go func() {
		res, _, err := b.try(context.Background(), "GET", "/long", nil)
		if err != nil {
			long <- 0
			return
		}
		long <- res.StatusCode
	}()
	keeper.wait(t)
	down := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		down <- b.server.Shutdown(ctx)
	}()
	until(t, time.Second, "not ready", func() bool { code, _ := b.get(b.admin + "/readyz"); return code == 503 })
	if code, text := b.get(b.url + "/still"); code != 200 {
		t.Errorf("in the time of grace a call gets %d %q", code, text)
	}
	var refusal string
	until(t, 3*time.Second, "refused as draining", func() bool {
		code, text := b.get(b.url + "/new")
		refusal = text
		return code == 503
	})
	if !strings.Contains(refusal, `"draining"`) {
		t.Errorf("%q", refusal)
	}
	if code, _ := b.get(b.admin + "/livez"); code != 200 {
		t.Errorf("livez %d while draining", code)
	}
	select {
	case err := <-down:
		t.Fatalf("down while a call runs: %v", err)
	default:
	}
	keeper.leave <- struct{}{}
	if code := <-long; code != 200 {
		t.Errorf("the running call got %d", code)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if code, _ := b.get(b.url + "/"); code != 0 {
		t.Errorf("after the end a call gets %d", code)
	}
}

// The end of the grace breaks off what is left, and says so.
func TestDrainThatRunsOutOfTime(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) { keeper.enter(r) }})
	go b.try(context.Background(), "GET", "/", nil)
	keeper.wait(t)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := b.server.Shutdown(ctx); err == nil {
		t.Error("nothing says that work was broken off")
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("it took %v", d)
	}
	close(keeper.leave)
	until(t, 2*time.Second, "the ticket is back", func() bool { return b.gate.Outstanding() == 0 })
}

// A reload changes what it says and nothing else: open sockets live, what waits
// waits on, what runs stays counted.
func TestReloadKeepsWhatIsOpen(t *testing.T) {
	keeper := newGatekeeper()
	codes := make(chan websocket.StatusCode, 4)
	socket := socketEcho(t, codes)
	g := onePool(1, 4, 10*time.Second, 0)
	b := newBench(t, setup{gate: g, handler: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ws" {
			socket(w, r)
			return
		}
		keeper.enter(r)
	}, change: func(c *Config) { c.GateConfig = &g }})
	ws, _, err := b.dial("/ws")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan int, 2)
	for range 2 {
		go func() {
			res, _, err := b.try(context.Background(), "GET", "/work", nil)
			if err != nil {
				t.Error(err)
				answers <- 0
				return
			}
			answers <- res.StatusCode
		}()
	}
	keeper.wait(t)
	until(t, time.Second, "one waits", func() bool { return b.pool().Waiting == 1 })

	next := onePool(1, 9, 10*time.Second, 0)
	c := b.config
	c.GateConfig, c.Streams, c.Checksum = &next, 5, "new"
	if err := b.server.Reload(c); err != nil {
		t.Fatal(err)
	}
	if p := b.pool(); p.WaitingLimit != 9 || p.Waiting != 1 || p.Running != 1 {
		t.Errorf("%+v", p)
	}
	roundTrip(t, ws, 10)
	if n := b.server.Counts().StreamsLimit; n != 5 {
		t.Errorf("the limit of streams is %d", n)
	}

	// What is wrong changes nothing, and the next good one is taken.
	for name, wrong := range map[string]func(*Config){
		"upstream": func(c *Config) { c.Upstream = &url.URL{Scheme: "ftp", Host: "x"} },
		"gate": func(c *Config) {
			bad := onePool(1, 3, 10*time.Second, 0)
			bad.Default = "nobody"
			c.GateConfig = &bad
		},
		"other gate": func(c *Config) { c.Gate = new(plimsoll.Gate) },
	} {
		bad := c
		wrong(&bad)
		if err := b.server.Reload(bad); err == nil {
			t.Errorf("%s: taken", name)
		}
		if p := b.pool(); p.WaitingLimit != 9 || p.Waiting != 1 || p.Running != 1 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	third := onePool(2, 9, 10*time.Second, 0)
	c.GateConfig = &third
	if err := b.server.Reload(c); err != nil {
		t.Fatal(err)
	}
	keeper.wait(t) // a slot more, and what waited runs
	close(keeper.leave)
	for range 2 {
		if status := <-answers; status != 200 {
			t.Errorf("status %d", status)
		}
	}
	roundTrip(t, ws, 10)
	if c := b.server.Counts(); c.Reloads != 5 || c.ReloadErrors != 3 {
		t.Errorf("%+v", c)
	}
}

func TestReloadMovesToAnotherUpstream(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "old") }})
	b.do("GET", "/", nil)
	l := b.listen()
	other := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "new") })}
	go other.Serve(l)
	defer other.Close()
	c := b.config
	c.Upstream = &url.URL{Scheme: "http", Host: l.Addr().String()}
	if err := b.server.Reload(c); err != nil {
		t.Fatal(err)
	}
	if _, text := b.do("GET", "/", nil); text != "new" {
		t.Errorf("%q", text)
	}
}

func TestStatusPage(t *testing.T) {
	b := newBench(t, setup{gate: onePool(2, 3, time.Second, 20*time.Millisecond), handler: echo, change: func(c *Config) {
		c.Source, c.Checksum, c.Warnings = "x.yaml", "abc", []string{"beware"}
	}})
	b.do("GET", "/", nil, "X-Class", "critical")
	until(t, time.Second, "it has ended", func() bool { return b.outcomes(plimsoll.OK) == 1 })
	code, text := b.get(b.admin + "/statusz")
	var page StatusPage
	if err := json.Unmarshal([]byte(text), &page); err != nil || code != 200 {
		t.Fatal(code, err, text)
	}
	p := page.Pools[0]
	if p.Name != "app" || p.Slots != (Use{0, 2}) || p.Waiting != (Use{0, 3}) || p.ExpectedMs != 20 || p.Mode != "enforce" || p.Door != "priority" {
		t.Errorf("%+v", p)
	}
	k := p.Classes[0]
	if k.Name != "critical" || k.Arrived != 1 || k.Outcomes["ok"] != 1 || k.Slots.Limit != 2 || k.DeadlineMs != 1000 {
		t.Errorf("%+v", k)
	}
	if _, ok := k.Refused["full"]; !ok {
		t.Errorf("no count for full: %v", k.Refused)
	}
	if page.Config.Checksum != "abc" || page.Config.Source != "x.yaml" || len(page.Config.Warnings) != 1 {
		t.Errorf("%+v", page.Config)
	}
	if code, text := b.get(b.admin + "/"); code != 200 || !strings.Contains(text, "/statusz") {
		t.Errorf("the list of links: %d %q", code, text)
	}
	if code, _ := b.get(b.admin + "/debug/pprof/"); code != 404 {
		t.Errorf("profiling is on: %d", code)
	}
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	gate, err := plimsoll.New(roomy())
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	good := Config{Gate: gate, Upstream: &url.URL{Scheme: "http", Host: "x"}}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"gate":     {func(c *Config) { c.Gate = nil }, "Gate"},
		"upstream": {func(c *Config) { c.Upstream = nil }, "Upstream"},
		"scheme":   {func(c *Config) { c.Upstream = &url.URL{Scheme: "ftp", Host: "x"} }, "http or https"},
		"protocol": {func(c *Config) { c.Protocol = "http3" }, "Protocol"},
		"h2c":      {func(c *Config) { c.Protocol = ProtocolH2C; c.Upstream = &url.URL{Scheme: "https", Host: "x"} }, "without TLS"},
		"abandon":  {func(c *Config) { c.OnAbandon = "forget" }, `"hold" or "cancel"`},
		"idle":     {func(c *Config) { c.Idle = -1 }, "Idle"},
		"statuses": {func(c *Config) { c.Statuses = map[string]map[plimsoll.Reason]int{"x": {}} }, "no pool"},
	} {
		bad := good
		c.change(&bad)
		if _, err := New(bad); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "proxy: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
