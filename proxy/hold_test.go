package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// A call whose client has left goes on at the upstream and keeps its slot: the
// next one starts when the upstream has done with it, and not before.
func TestHoldKeepsTheSlot(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(1, 4, 10*time.Second, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		if !keeper.enter(r) {
			t.Error("the upstream saw its client leave")
		}
	}})
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { _, _, err := b.try(ctx, "GET", "/left", nil); left <- err }()
	keeper.wait(t)
	cancel()
	<-left
	until(t, time.Second, "the call is held", func() bool { return b.server.Counts().Held == 1 })
	second := make(chan int, 1)
	go func() {
		res, _, err := b.try(context.Background(), "GET", "/second", nil)
		if err != nil {
			second <- 0
			return
		}
		second <- res.StatusCode
	}()
	until(t, time.Second, "the second call waits", func() bool { return b.pool().Waiting == 1 })
	if b.calls.Load() != 1 || b.pool().Running != 1 {
		t.Fatalf("%d calls at the upstream, %d running", b.calls.Load(), b.pool().Running)
	}
	keeper.leave <- struct{}{}
	keeper.wait(t)
	keeper.leave <- struct{}{}
	if status := <-second; status != 200 {
		t.Errorf("the second call got %d", status)
	}
	until(t, time.Second, "nothing is held", func() bool { return b.server.Counts().Held == 0 && b.pool().Running == 0 })
	if b.outcomes(plimsoll.Cancelled) != 1 || b.outcomes(plimsoll.OK) != 1 {
		t.Errorf("outcomes %+v", b.pool().Classes)
	}
	line := b.line("/left")
	if line["status"] != 499.0 || line["outcome"] != "cancelled" || line["held"] != true {
		t.Errorf("the log says %v", line)
	}
}

// What never comes back is given up and counted.
func TestHoldEnds(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(1, 4, 10*time.Second, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		keeper.enter(r)
	}, change: func(c *Config) { c.HoldMax = 50 * time.Millisecond }})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { keeper.wait(t); cancel() }()
	b.try(ctx, "GET", "/", nil)
	until(t, 2*time.Second, "the call is lost", func() bool { return b.outcomes(plimsoll.Lost) == 1 })
	if c := b.server.Counts(); c.Held != 0 || c.Lost != 1 || b.pool().Running != 0 {
		t.Errorf("%+v", c)
	}
}

func TestCancelClosesAndFreesLater(t *testing.T) {
	keeper := newGatekeeper()
	seen := make(chan time.Time, 1)
	const expected = 150 * time.Millisecond
	b := newBench(t, setup{gate: onePool(1, 4, 10*time.Second, expected), handler: func(w http.ResponseWriter, r *http.Request) {
		if !keeper.enter(r) {
			seen <- time.Now()
		}
	}, change: func(c *Config) { c.OnAbandon = Cancel }})
	ctx, cancel := context.WithCancel(context.Background())
	var at time.Time
	go func() { keeper.wait(t); at = time.Now(); cancel() }()
	b.try(ctx, "GET", "/", nil)
	select {
	case when := <-seen:
		if d := when.Sub(at); d > 200*time.Millisecond {
			t.Errorf("the upstream saw it after %v", d)
		}
	case <-time.After(2 * time.Second):
		t.Fatal("the upstream never saw its client leave")
	}
	until(t, 2*time.Second, "the slot is free", func() bool { return b.pool().Running == 0 })
	if d := time.Since(at); d < expected {
		t.Errorf("the slot was free after %v, before the expected time of %v", d, expected)
	}
	if b.outcomes(plimsoll.Cancelled) != 1 {
		t.Errorf("outcomes %+v", b.pool().Classes)
	}
}

// The deadline passes while the upstream works and the client is there: it is
// told that the effect is unknown, at once and on a connection that lives on,
// and the slot stays taken.
func TestDeadlineAnswersUnknown(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(1, 1, 100*time.Millisecond, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		keeper.enter(r)
	}})
	c := b.raw("POST /late HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
	start := time.Now()
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	if d := time.Since(start); d < 90*time.Millisecond || d > 400*time.Millisecond {
		t.Errorf("answered after %v, the deadline is 100ms", d)
	}
	if res.StatusCode != 504 || res.Header.Get("Plimsoll-Effect") != "unknown" || res.Header.Get("Plimsoll-Refusal") != "" || res.Close {
		t.Errorf("%v %v", res.Status, res.Header)
	}
	if b.pool().Running != 1 || b.server.Counts().Held != 1 {
		t.Errorf("running %d, held %d", b.pool().Running, b.server.Counts().Held)
	}
	close(keeper.leave)
	until(t, time.Second, "the slot is free", func() bool { return b.pool().Running == 0 })
	if b.outcomes(plimsoll.Late) != 1 {
		t.Errorf("outcomes %+v", b.pool().Classes)
	}
	io.WriteString(c, "GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
	if res, err = http.ReadResponse(in, nil); err != nil || res.StatusCode != 200 {
		t.Errorf("on the same connection: %v %v", res, err)
	}
	if line := b.line("/late"); line["status"] != 504.0 || line["outcome"] != "unknown" {
		t.Errorf("the log says %v", line)
	}
}

// The deadline bounds the beginning of an answer and never its length.
func TestLongAnswersAreNotCut(t *testing.T) {
	const pieces = 6
	b := newBench(t, setup{gate: onePool(1, 1, 60*time.Millisecond, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(25 * time.Millisecond)
		defer tick.Stop()
		for range pieces {
			io.WriteString(w, "piece ")
			http.NewResponseController(w).Flush()
			<-tick.C
		}
	}})
	_, text := b.do("GET", "/long", nil)
	if n := strings.Count(text, "piece"); n != pieces {
		t.Fatalf("%d of %d pieces: %q", n, pieces, text)
	}
	until(t, time.Second, "one is late", func() bool { return b.outcomes(plimsoll.Late) == 1 })
}

// A ticket ends with the body: while one is read, nobody else runs.
func TestSlotIsHeldToTheEndOfTheBody(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(1, 4, 10*time.Second, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			io.WriteString(w, "begin")
			http.NewResponseController(w).Flush()
			keeper.enter(r)
			io.WriteString(w, "end")
		}
	}})
	res, err := b.client.Get(b.url + "/body")
	if err != nil {
		t.Fatal(err)
	}
	keeper.wait(t)
	second := make(chan string, 1)
	go func() {
		_, text, err := b.try(context.Background(), "GET", "/second", nil)
		second <- fmt.Sprint(text, err)
	}()
	until(t, time.Second, "the second call waits", func() bool { return b.pool().Waiting == 1 })
	if b.calls.Load() != 1 {
		t.Error("the second call reached the upstream")
	}
	close(keeper.leave)
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	<-second
}

// A silent answer is cut, with the slot free and the transfer broken.
func TestSilenceIsCut(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begin")
		http.NewResponseController(w).Flush()
		keeper.enter(r)
	}, change: func(c *Config) { c.AnswerIdle = 80 * time.Millisecond }})
	b.config.Gate = b.gate
	g := b.pool()
	_ = g
	if _, text, err := b.try(context.Background(), "GET", "/silent", nil, "Plimsoll-Timeout-Ms", "50"); err == nil {
		t.Errorf("a clean end: %q", text)
	}
	until(t, time.Second, "the slot is free", func() bool { return b.pool().Running == 0 })
	if b.outcomes(plimsoll.Failed) != 1 || b.server.Counts().UpstreamErrors != 1 {
		t.Errorf("outcomes %+v", b.pool().Classes)
	}
}

// The upstream dies in the middle of a body: the client must not see a clean
// end, in either protocol.
func TestUpstreamDiesMidBody(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		rw.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		rw.Flush()
		c.Close()
	}, change: func(c *Config) {
		c.Notes = func(line string) { t.Errorf("noise: %s", line) }
	}})
	c := b.raw("GET /dies HTTP/1.1\r\nHost: x\r\n\r\n")
	all, _ := io.ReadAll(c)
	if !strings.Contains(string(all), "hello") || strings.Contains(string(all), "0\r\n\r\n") {
		t.Errorf("HTTP/1: %q", all)
	}
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	h2 := &http.Transport{Protocols: p}
	defer h2.CloseIdleConnections()
	b.client.Transport = h2
	if _, text, err := b.try(context.Background(), "GET", "/dies2", nil); err == nil {
		t.Errorf("HTTP/2: a clean end: %q", text)
	}
	until(t, time.Second, "the slots are free", func() bool { return b.pool().Running == 0 })
	if b.outcomes(plimsoll.Failed) != 2 {
		t.Errorf("outcomes %+v", b.pool().Classes)
	}
	if line := b.line("/dies"); line["outcome"] != "failed" {
		t.Errorf("the log says %v", line)
	}
}

// The client leaves in the middle of a body: no upstream error, and the rest
// is read behind its back.
func TestClientLeavesMidBody(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begin")
		http.NewResponseController(w).Flush()
		if keeper.enter(r) {
			io.WriteString(w, strings.Repeat("x", 1<<20))
		}
	}})
	ctx, cancel := context.WithCancel(context.Background())
	r, _ := http.NewRequestWithContext(ctx, "GET", b.url+"/mid", nil)
	res, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	keeper.wait(t)
	cancel()
	res.Body.Close()
	until(t, time.Second, "the call is held", func() bool { return b.server.Counts().Held == 1 })
	close(keeper.leave)
	until(t, time.Second, "the slot is free", func() bool { return b.pool().Running == 0 })
	if b.outcomes(plimsoll.Cancelled) != 1 || b.server.Counts().UpstreamErrors != 0 || b.server.Counts().Held != 0 {
		t.Errorf("outcomes %+v, %+v", b.pool().Classes, b.server.Counts())
	}
	if line := b.line("/mid"); line["outcome"] != "cancelled" {
		t.Errorf("the log says %v", line)
	}
}

// The line of a call that was given up says what the gate says, also when it
// has ended before its handler returned.
func TestOutcomeOfAbandonedCalls(t *testing.T) {
	started := time.Now().Add(-time.Second)
	for want, x := range map[plimsoll.Outcome]*exchange{
		plimsoll.Unknown:   {held: true, deadline: started},
		plimsoll.Cancelled: {held: true, left: true, ended: true, outcome: plimsoll.Cancelled},
		plimsoll.Lost:      {held: true, ended: true, outcome: plimsoll.Lost},
		plimsoll.Late:      {held: true, ended: true, outcome: plimsoll.OK, deadline: started, took: time.Millisecond},
		plimsoll.OK:        {left: true, ended: true, outcome: plimsoll.OK}, // before it left
	} {
		x.started, x.sent = started, started
		if got, _, _ := x.soFar(time.Second); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	x := &exchange{held: true, left: true, started: started, sent: started}
	if got, _, _ := x.soFar(time.Second); got != plimsoll.Cancelled {
		t.Errorf("%v while its upstream is at work, want cancelled", got)
	}
}

// Nothing to send to: a refusal, since nothing was sent.
func TestDeadUpstreamRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	l.Close()
	b := newBench(t, setup{gate: onePool(1, 0, time.Second, 0), handler: echo, change: func(c *Config) { c.Upstream.Host = dead }})
	res, text := b.do("POST", "/", strings.NewReader("x"))
	refusal := res.Header.Get("Plimsoll-Refusal")
	if res.StatusCode != 503 || !strings.Contains(refusal, "reason=upstream") || !strings.Contains(refusal, "executed=?0") ||
		res.Header.Get("Retry-After") == "" || !strings.Contains(text, `"upstream"`) {
		t.Errorf("%v %v %q", res.Status, res.Header, text)
	}
	if !b.server.Counts().UpstreamDown || b.server.Counts().DialErrors != 1 {
		t.Errorf("%+v", b.server.Counts())
	}
	if line := b.line("/"); line["reason"] != "upstream" || line["status"] != 503.0 {
		t.Errorf("the log says %v", line)
	}
}

// A body that stands still is cut, and is not the upstream's fault.
func TestBodyThatStandsStill(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) { c.BodyIdle = 80 * time.Millisecond }})
	c := b.raw("POST /still HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 408 || !res.Close {
		t.Errorf("%v %v", res.Status, res.Header)
	}
	until(t, time.Second, "the slot is free", func() bool { return b.pool().Running == 0 })
	if b.outcomes(plimsoll.Cancelled) != 1 || b.server.Counts().UpstreamErrors != 0 {
		t.Errorf("outcomes %+v", b.pool().Classes)
	}
}

// A client that does not read is cut, and its slot is freed.
func TestClientThatDoesNotRead(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 64<<10)
		for range 400 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}, change: func(c *Config) { c.WriteIdle = 150 * time.Millisecond }})
	b.raw("GET /unread HTTP/1.1\r\nHost: x\r\n\r\n")
	until(t, 3*time.Second, "the call has ended", func() bool { return b.outcomes(plimsoll.Cancelled) == 1 && b.pool().Running == 0 })
}

func TestSlowHeadersAreCut(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) { c.ReadHeader = 150 * time.Millisecond }})
	const n = 50
	for range n {
		b.raw("GET / HTTP/1.1\r\nHo")
	}
	until(t, time.Second, "all are there", func() bool { return b.server.Counts().Accepted == n })
	until(t, 2*time.Second, "all are cut", func() bool { return b.server.Counts().Connections == 0 })
	if b.calls.Load() != 0 || b.pool().Classes[0].Arrived+b.pool().Classes[1].Arrived != 0 {
		t.Error("half a header was taken for a call")
	}
}

// An upstream that gives up when the time that it was told has passed is no
// upstream that broke off, whoever is faster.
func TestUpstreamThatKeepsTheDeadline(t *testing.T) {
	b := newBench(t, setup{gate: onePool(1, 0, 100*time.Millisecond, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		left, err := time.ParseDuration(r.Header.Get("Plimsoll-Timeout-Ms") + "ms")
		if err != nil {
			t.Error(err)
		}
		<-time.After(left - time.Millisecond/2)
		panic(http.ErrAbortHandler)
	}})
	for _, method := range []string{"GET", "POST", "DELETE"} {
		if res, body := b.do(method, "/", nil); res.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%s: %s %s", method, res.Status, body)
		}
		until(t, time.Second, "the slot is free", func() bool { return b.pool().Running == 0 })
	}
}
