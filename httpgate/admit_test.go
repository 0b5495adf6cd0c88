package httpgate

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// told is what a handler saw of its call.
type told struct {
	Class, Pool, Ignored string
	FromHeader           bool
	Attempt              int
	LeftMS               int64
	HasDeadline          bool
	Forwarded            http.Header
}

func tell(w http.ResponseWriter, r *http.Request) {
	c := FromContext(r.Context())
	left, ok := c.Remaining()
	h := r.Header.Clone()
	c.Forward(h)
	json.NewEncoder(w).Encode(told{c.Class, c.Pool, c.Ignored, c.FromHeader, c.Attempt, left.Milliseconds(), ok, h})
}

func (x *rig) ask(headers ...string) (told, *http.Response) {
	x.t.Helper()
	r, err := http.NewRequest("GET", x.server.URL, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := x.server.Client().Do(r)
	if err != nil {
		x.t.Fatal(err)
	}
	defer res.Body.Close()
	var got told
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		x.t.Fatalf("%d: %v", res.StatusCode, err)
	}
	return got, res
}

func nobody() []netip.Prefix { return []netip.Prefix{} }

// E-01, L-32, L-33, L-34: whose word counts, and what is said of it.
func TestClassOverTheWire(t *testing.T) {
	trusting := newRig(t, "watched", arrangement(4, 4), Options{}, tell)
	wary := newRig(t, "watched", arrangement(4, 4), Options{Trust: nobody()}, tell)
	for _, x := range []struct {
		name    string
		rig     *rig
		headers []string
		class   string
		ignored string // in the answer
	}{
		{"trusted", trusting, []string{"X-Class", "critical"}, "critical", ""},
		{"none", trusting, nil, "background", ""},
		{"upper case", trusting, []string{"X-Class", "CRITICAL"}, "background", "class; why=bad-value"},
		{"huge", trusting, []string{"X-Class", strings.Repeat("c", 8<<10)}, "background", "class; why=bad-value"},
		{"two", trusting, []string{"X-Class", "critical", "X-Class", "critical"}, "background", "class; why=bad-value"},
		{"number", trusting, []string{"X-Class", "-1"}, "background", "class; why=bad-value"},
		{"untrusted", wary, []string{"X-Class", "critical"}, "background", "class; why=untrusted"},
		{"untrusted garbage", wary, []string{"X-Class", "?"}, "background", "class; why=untrusted"},
	} {
		got, res := x.rig.ask(x.headers...)
		if got.Class != x.class || got.Pool != "app" || res.Header.Get(HeaderIgnored) != x.ignored {
			t.Errorf("%s: %+v, %q", x.name, got, res.Header.Get(HeaderIgnored))
		}
		if fromHeader := x.class == "critical"; got.FromHeader != fromHeader {
			t.Errorf("%s: from a header %v", x.name, got.FromHeader)
		}
		want := ""
		if got.FromHeader {
			want = "critical" // goes on to the next hop; all else is taken out
		}
		if f := got.Forwarded.Values("X-Class"); strings.Join(f, ",") != want {
			t.Errorf("%s: %q forwarded", x.name, f)
		}
	}
	if c := trusting.m.Counters(); c.BadClass != 4 || c.UntrustedClass != 0 {
		t.Errorf("%+v", c)
	}
	if c := wary.m.Counters(); c.BadClass != 0 || c.UntrustedClass != 2 {
		t.Errorf("%+v", c)
	}
	// Classes that a client made up are nowhere in what becomes metrics.
	if n := len(trusting.pool().Classes); n != 2 {
		t.Errorf("%d classes", n)
	}
}

// E-05, A-12: a smaller deadline counts, a larger one does not, whoever says it.
func TestDeadlinesOverTheWire(t *testing.T) {
	cfg := plimsoll.Bounded(4, 4, 10*time.Second)
	cfg.Classes = append(cfg.Classes, plimsoll.Class{Name: "endless", Pool: "app", Rank: 2})
	trusting := newRig(t, "watched", cfg, Options{}, tell)
	wary := newRig(t, "watched", cfg, Options{Trust: nobody()}, tell)
	for _, x := range []struct {
		headers []string
		most    int64 // ms
	}{
		{nil, 10000},
		{[]string{HeaderTimeout, "2000"}, 2000},
		{[]string{HeaderTimeout, "60000"}, 10000},
		{[]string{HeaderTimeout, "99999999999999999999"}, 10000},
		{[]string{HeaderTimeout, "0"}, 10000},
		{[]string{HeaderTimeout, "-1"}, 10000},
		{[]string{HeaderTimeout, "soon"}, 10000},
		{[]string{HeaderTimeout, "1", HeaderTimeout, "2"}, 10000},
		{[]string{"Grpc-Timeout", "3S"}, 3000},
		{[]string{"Grpc-Timeout", "3S", HeaderTimeout, "2000"}, 2000},
	} {
		for _, rig := range []*rig{trusting, wary} {
			got, _ := rig.ask(x.headers...)
			if !got.HasDeadline || got.LeftMS > x.most || got.LeftMS < x.most-1000 {
				t.Errorf("%v: %d ms left, at most %d wanted", x.headers, got.LeftMS, x.most)
			}
			var ms int64
			fmt.Sscan(got.Forwarded.Get(HeaderTimeout), &ms)
			if len(got.Forwarded.Values(HeaderTimeout)) != 1 || ms > x.most || ms < x.most-1000 {
				t.Errorf("%v: %q forwarded", x.headers, got.Forwarded.Values(HeaderTimeout))
			}
			if f := got.Forwarded.Values("Grpc-Timeout"); len(f) != 0 {
				t.Errorf("%v: grpc-timeout %q forwarded for a call that is not gRPC", x.headers, f)
			}
		}
	}
	if n := trusting.m.Counters().BadTimeout; n != 5 {
		t.Errorf("%d bad deadlines, want 5", n)
	}
	if got, _ := trusting.ask("X-Class", "endless"); got.HasDeadline || got.Forwarded.Get(HeaderTimeout) != "" {
		t.Errorf("no deadline: %+v", got)
	}
	if got, _ := trusting.ask("X-Class", "endless", "Content-Type", "application/grpc", "Grpc-Timeout", "1M"); got.LeftMS > 60000 || got.Forwarded.Get("Grpc-Timeout") == "" {
		t.Errorf("gRPC: %+v", got)
	}
}

func TestSmallDeadlineShortensWaiting(t *testing.T) {
	b := newBlocker()
	cfg := plimsoll.Bounded(1, 4, time.Minute)
	cfg.Pools[0].Expected, cfg.Pools[0].Margin, cfg.Pools[0].AdmitHopeless = time.Millisecond, -1, true
	x := newRig(t, "watched", cfg, Options{Trust: nobody()}, b.serve)
	first := dial(t, x.server).send(get)
	<-b.in
	start := time.Now()
	r, body := dial(t, x.server).send("GET / HTTP/1.1\r\nHost: h\r\n%s: 50\r\n\r\n", HeaderTimeout).answer()
	if d := time.Since(start); r.StatusCode != 429 || !strings.Contains(body, `"reason":"expired"`) || d < 40*time.Millisecond || d > 5*time.Second {
		t.Errorf("%d %q after %v", r.StatusCode, body, d)
	}
	b.out <- struct{}{}
	first.answer()
}

func TestAttemptIsBelievedFromTrustedPeers(t *testing.T) {
	trusting := newRig(t, "watched", arrangement(4, 4), Options{}, tell)
	wary := newRig(t, "watched", arrangement(4, 4), Options{Trust: nobody()}, tell)
	if got, _ := trusting.ask(HeaderAttempt, "3"); got.Attempt != 2 || got.Forwarded.Get(HeaderAttempt) != "3" {
		t.Errorf("%+v", got)
	}
	for _, v := range []string{"0", "-1", "999", "text"} {
		if got, _ := trusting.ask(HeaderAttempt, v); got.Attempt != 0 || got.Forwarded.Get(HeaderAttempt) != "" {
			t.Errorf("%q: %+v", v, got)
		}
	}
	if got, _ := wary.ask(HeaderAttempt, "3", "Plimsoll-Anything", "x"); got.Attempt != 0 || got.Forwarded.Get(HeaderAttempt) != "" || got.Forwarded.Get("Plimsoll-Anything") != "" {
		t.Errorf("untrusted: %+v", got)
	}
}

// What a peer says of its class in a header that a rule reads goes on only if
// it was believed.
func TestForwardStripsClaims(t *testing.T) {
	rules := compileOrFail(t, Rule{Match{Header: map[string]string{"X-Criticality": "high"}}, "critical"})
	for _, x := range []struct {
		trust []netip.Prefix
		want  string
	}{{nil, "high"}, {nobody(), ""}} {
		rig := newRig(t, "watched", arrangement(4, 4), Options{Classify: rules, Trust: x.trust}, tell)
		if got, _ := rig.ask("X-Criticality", "high"); got.Forwarded.Get("X-Criticality") != x.want {
			t.Errorf("trust %v: %+v", x.trust, got)
		}
	}
}

// That holds also when a rule that comes before has decided.
func TestForwardKeepsClaimsThatNobodyNeeded(t *testing.T) {
	rules := compileOrFail(t, Rule{Match{Path: "/"}, "background"}, Rule{Match{Header: map[string]string{"X-Criticality": "high"}}, "critical"})
	for _, x := range []struct {
		trust []netip.Prefix
		want  string
	}{{nil, "high"}, {nobody(), ""}} {
		rig := newRig(t, "watched", arrangement(4, 4), Options{Classify: rules, Trust: x.trust}, tell)
		if got, _ := rig.ask("X-Criticality", "high"); got.Class != "background" || got.Forwarded.Get("X-Criticality") != x.want {
			t.Errorf("trust %v: %+v", x.trust, got)
		}
	}
}

func TestHold(t *testing.T) {
	release := make(chan func(plimsoll.Outcome), 1)
	x := newRig(t, "watched", arrangement(1, 0), Options{}, func(w http.ResponseWriter, r *http.Request) {
		release <- FromContext(r.Context()).Hold()
		panic(http.ErrAbortHandler)
	})
	dial(t, x.server).send(get)
	end := <-release
	if d := x.last(1); d.Outcome != core.NoOutcome || x.gate.Outstanding() != 1 {
		t.Errorf("%+v, %d tickets out", d, x.gate.Outstanding())
	}
	if r, _ := dial(t, x.server).send(get).answer(); r.StatusCode != 429 {
		t.Errorf("%d while the slot is held", r.StatusCode)
	}
	end(core.Lost)
	end(core.OK)
	st := x.pool()
	if st.Running != 0 || st.Classes[1].Outcomes[core.Lost] != 1 || st.Stale != 0 {
		t.Errorf("%+v", st)
	}
}

func TestOutsideOfACall(t *testing.T) {
	if c := FromContext(t.Context()); c != nil {
		t.Errorf("%+v", c)
	}
}

func TestNewRefuses(t *testing.T) {
	g, err := plimsoll.New(arrangement(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	other, err := plimsoll.New(arrangement(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	m, err := New(Options{Gate: g})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for want, o := range map[string]Options{
		`rule 1: the gate has no class "gold"`:          {Classify: compileOrFail(t, Rule{Match{Path: "/"}, "gold"})},
		"trust 1 is not a network":                      {Trust: make([]netip.Prefix, 1)},
		`statuses: the gate has no pool "db"`:           {Statuses: map[string]map[plimsoll.Reason]int{"db": nil}},
		"full is 200; 400 to 599 is allowed":            {Statuses: map[string]map[plimsoll.Reason]int{"app": {core.Full: 200}}},
		`pool "streams": no such reason`:                {Statuses: map[string]map[plimsoll.Reason]int{"streams": {99: 503}}},
		"another gate; a middleware keeps":              {Gate: other},
		"another gate for streams; a middleware keeps ": {Streams: other},
	} {
		if err := m.Update(o); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "httpgate: ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "Options.Gate is required") {
		t.Error(err)
	}
	if _, err := StreamGate(-1, nil); err == nil || !strings.HasPrefix(err.Error(), "httpgate: streams: ") {
		t.Error(err)
	}
}

// Overrides, and what a refusal says when nothing is alive behind the gate.
func TestStatusesAndUpdate(t *testing.T) {
	b := newBlocker()
	x := newRig(t, "watched", arrangement(1, 0), Options{}, b.serve)
	first := dial(t, x.server).send(get)
	<-b.in
	for _, s := range []struct {
		o    Options
		want int
	}{
		{Options{}, 429},
		{Options{NoUpstream: func() bool { return true }}, 503},
		{Options{NoUpstream: func() bool { return false }}, 429},
		{Options{Statuses: map[string]map[plimsoll.Reason]int{"app": {core.Full: 529}}}, 529},
		{Options{Statuses: map[string]map[plimsoll.Reason]int{"app": {core.Evicted: 529}}}, 429},
	} {
		if err := x.m.Update(s.o); err != nil {
			t.Fatal(err)
		}
		r, body := dial(t, x.server).send(get).answer()
		if r.StatusCode != s.want || !strings.Contains(body, fmt.Sprintf(`"status":%d`, s.want)) {
			t.Errorf("%d %s, want %d", r.StatusCode, body, s.want)
		}
	}
	b.out <- struct{}{}
	first.answer()
}

// Refuse is for reasons that a handler finds.
func TestRefuseFromAHandler(t *testing.T) {
	var m *Middleware
	x := newRig(t, "watched", arrangement(1, 0), Options{}, func(w http.ResponseWriter, r *http.Request) {
		m.Refuse(w, r, plimsoll.Refusal{Reason: core.Upstream, Class: "background", Pool: "app", RetryAfter: time.Second})
	})
	m = x.m
	r, body := dial(t, x.server).send("%s", post+"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n").answer()
	if r.StatusCode != 503 || !strings.Contains(body, `"reason":"upstream"`) || !r.Close || r.Header.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, body)
	}
	x.quiet()
}

func TestDraining(t *testing.T) {
	x := newRig(t, "watched", arrangement(1, 1), Options{}, tell)
	if err := x.gate.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, body := dial(t, x.server).send(get).answer()
	if r.StatusCode != 503 || !strings.Contains(body, `"reason":"draining"`) {
		t.Errorf("%d %s", r.StatusCode, body)
	}
}

// Every kind of end, mixed and many at once, leaves nothing behind.
func TestMixedEndsLeaveNothing(t *testing.T) {
	x := newRig(t, "watched", plimsoll.Bounded(4, 8, 200*time.Millisecond), Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Millisecond):
			}
		case "/read":
			io.Copy(io.Discard, r.Body)
		}
		io.WriteString(w, "ok")
	})
	dial(t, x.server).send(get).answer()
	goroutines, fds := runtime.NumGoroutine(), openFiles(t)
	var wg sync.WaitGroup
	const workers, each = 40, 50
	for i := range workers {
		wg.Go(func() { mixedClient(t, x.server, i, each) })
	}
	wg.Wait()
	x.server.CloseClientConnections()
	eventually(t, "everything is back at the baseline", func() bool {
		st := x.pool()
		return x.gate.Outstanding() == 0 && st.Running == 0 && st.Waiting == 0 &&
			runtime.NumGoroutine() <= goroutines+2 && openFiles(t) <= fds+2
	})
	var arrived, ended uint64
	for _, c := range x.pool().Classes {
		arrived += c.Arrived
		for _, n := range c.Outcomes {
			ended += n
		}
	}
	if arrived != ended || arrived < workers*each/2 {
		t.Errorf("%d arrived, %d ended", arrived, ended)
	}
}

// mixedClient sends requests of every kind and leaves some of them.
func mixedClient(t *testing.T, s *httptest.Server, seed, n int) {
	for j := range n {
		k := seed + j
		c := dial(t, s)
		path := []string{"/ok", "/abort", "/slow", "/read"}[k%4]
		body := ""
		if k%3 == 0 {
			body = strings.Repeat("x", k%5*3000)
		}
		fmt.Fprintf(c.c, "POST %s HTTP/1.1\r\nHost: h\r\nX-Class: %s\r\nContent-Length: %d\r\n\r\n", path, []string{"critical", "none"}[k%2], len(body))
		if k%7 == 0 { // leaves with half of its body sent
			io.WriteString(c.c, body[:len(body)/2])
		} else {
			io.WriteString(c.c, body)
			if k%5 != 0 { // waits for its answer
				if r, err := http.ReadResponse(c.br, nil); err == nil {
					io.Copy(io.Discard, r.Body)
				}
			}
		}
		c.c.Close()
	}
}
