package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// socketEcho answers each message, and says with which code its client left.
func socketEcho(t *testing.T, codes chan<- websocket.StatusCode) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			io.WriteString(w, "plain")
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 24)
		for {
			kind, data, err := c.Read(context.Background())
			if err != nil {
				codes <- websocket.CloseStatus(err)
				return
			}
			if err := c.Write(context.Background(), kind, data); err != nil {
				return
			}
		}
	}
}

func (b *bench) dial(path string) (*websocket.Conn, *http.Response, error) {
	c, res, err := websocket.Dial(context.Background(), "ws"+strings.TrimPrefix(b.url, "http")+path, nil)
	if err == nil {
		c.SetReadLimit(1 << 24)
		b.t.Cleanup(func() { c.CloseNow() })
	}
	return c, res, err
}

func roundTrip(t *testing.T, c *websocket.Conn, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageBinary, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if _, data, err := c.Read(ctx); err != nil || len(data) != n {
		t.Fatalf("%d bytes back of %d: %v", len(data), n, err)
	}
}

// An open socket takes a place among the streams, and no slot.
func TestWebSocketHasItsOwnAccounting(t *testing.T) {
	codes := make(chan websocket.StatusCode, 8)
	b := newBench(t, setup{gate: onePool(1, 1, 200*time.Millisecond, 0), handler: socketEcho(t, codes),
		change: func(c *Config) { c.Streams = 2 }})
	first, _, err := b.dial("/one")
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, first, 100_000)
	if _, _, err := b.dial("/two"); err != nil {
		t.Fatal(err)
	}
	if s := b.server.Counts(); s.Streams != 2 || b.pool().Running != 0 {
		t.Errorf("%d streams, %d running", s.Streams, b.pool().Running)
	}
	if res, text := b.do("GET", "/plain", nil); res.StatusCode != 200 || text != "plain" {
		t.Errorf("beside the sockets: %v", res.Status)
	}
	calls := b.calls.Load()
	if _, res, err := b.dial("/three"); err == nil || res.StatusCode != 429 || !strings.Contains(res.Header.Get("Plimsoll-Refusal"), "reason=streams") {
		t.Errorf("a third socket: %v %v", res, err)
	}
	if b.calls.Load() != calls {
		t.Error("a refused socket reached the upstream")
	}
	if n := b.server.Counts().StreamsRefused; n != 1 {
		t.Errorf("%d streams counted as refused", n)
	}
	first.CloseNow() // without a word
	until(t, time.Second, "a killed socket's place is free", func() bool { return b.server.Counts().Streams == 1 })
	line := b.line("/one")
	if line["status"] != 101.0 || line["bytes_in"].(float64) < 100_000 || line["bytes_out"].(float64) < 100_000 {
		t.Errorf("the log says %v", line)
	}
	if c := b.server.Counts(); c.TunnelIn < 100_000 || c.TunnelOut < 100_000 {
		t.Errorf("%+v", c)
	}
}

// Draining tells both ends of a socket, in the way of the protocol.
func TestDrainSaysGoingAway(t *testing.T) {
	codes := make(chan websocket.StatusCode, 8)
	b := newBench(t, setup{gate: roomy(), handler: socketEcho(t, codes)})
	c, _, err := b.dial("/ws")
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, c, 70_000)
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		done <- b.server.Shutdown(ctx)
	}()
	_, _, err = c.Read(context.Background())
	if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway {
		t.Errorf("the client was told %v (%v), want 1001", code, err)
	}
	if code := <-codes; code != websocket.StatusGoingAway {
		t.Errorf("the upstream was told %v, want 1001", code)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The close frame waits for the end of the frame that is on its way.
func TestGoodbyeWaitsForTheFrame(t *testing.T) {
	client, proxySide := net.Pipe()
	s := &Server{epoch: time.Now()}
	tun := &tunnel{Conn: proxySide, server: s, webSocket: true, since: time.Now()}
	got := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(client)
		got <- all
	}()
	one, two := frame(300, false), frame(5, false)
	tun.Write(one[:100])
	tun.leave()
	rest := append(append([]byte{}, one[100:]...), two...)
	if n, err := tun.Write(rest); n != len(rest) || err != nil {
		t.Fatal(n, err)
	}
	tun.Write(two)
	tun.Close()
	if all, want := string(<-got), string(one)+string(goingAway[:]); all != want {
		t.Errorf("the client got %d bytes, want the first frame and the goodbye, %d", len(all), len(want))
	}
}

// What a client sends right behind its request for an upgrade is not lost.
func TestEarlyBytesReachTheUpstream(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
		rw.Flush()
		line, _ := rw.ReadString('\n')
		rw.WriteString("re: " + line)
		rw.Flush()
	}})
	c := b.raw("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\nearly\n")
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != 101 {
		t.Fatal(res, err)
	}
	if line, err := in.ReadString('\n'); line != "re: early\n" {
		t.Errorf("%q %v", line, err)
	}
}

func TestSilentTunnelIsCut(t *testing.T) {
	codes := make(chan websocket.StatusCode, 8)
	b := newBench(t, setup{gate: roomy(), handler: socketEcho(t, codes), change: func(c *Config) { c.Stream = 100 * time.Millisecond }})
	if _, _, err := b.dial("/ws"); err != nil {
		t.Fatal(err)
	}
	until(t, 2*time.Second, "the socket is closed", func() bool { return b.server.Counts().Streams == 0 })
}

// The handshake of an upgrade holds a slot, so the class's deadline bounds it;
// the tunnel it does not.
func TestDeadlineOfAHandshake(t *testing.T) {
	const deadline = 100 * time.Millisecond
	keeper := newGatekeeper()
	left := make(chan string, 2)
	b := newBench(t, setup{gate: onePool(1, 0, deadline, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		left <- r.Header.Get("Plimsoll-Timeout-Ms")
		if r.URL.Path == "/hangs" && !keeper.enter(r) {
			return
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
		rw.Flush()
		<-time.After(2 * deadline)
		rw.WriteString("line\n")
		rw.Flush()
	}})
	ask := func(path string) (*http.Response, *bufio.Reader) {
		in := bufio.NewReader(b.raw("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n"))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res, in
	}
	res, _ := ask("/hangs")
	if res.StatusCode != http.StatusGatewayTimeout || res.Header.Get("Plimsoll-Effect") != "unknown" {
		t.Errorf("%v %v", res.Status, res.Header)
	}
	if ms := <-left; len(ms) == 0 || len(ms) > 3 {
		t.Errorf("the upstream was told that %q ms are left", ms)
	}
	until(t, time.Second, "the slot is free", func() bool { return b.pool().Running == 0 })
	res, in := ask("/lasts")
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res.Status)
	}
	if line, err := in.ReadString('\n'); line != "line\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// A request for an upgrade that gets an ordinary answer is treated like any
// other: the gate's headers stay the answer's, and the rest of a body is not
// waited for.
func TestOrdinaryAnswerToAnUpgrade(t *testing.T) {
	_, b := serveRaw(t, map[string]string{
		"/": "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
	})
	cfg := b.config
	cfg.Trust = nobody
	if err := b.server.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"", "Content-Length: 10\r\n"} {
		c := b.raw("POST / HTTP/1.1\r\nHost: x\r\nX-Class: critical\r\n" + body + "Connection: Upgrade\r\nUpgrade: lines\r\n\r\n")
		c.SetDeadline(time.Now().Add(3 * time.Second))
		in := bufio.NewReader(c)
		for _, want := range []int{http.StatusEarlyHints, http.StatusOK} {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%q: %v", body, err)
			}
			said := res.Header.Get("Plimsoll-Ignored") != ""
			if res.StatusCode != want || said != (want == http.StatusOK) {
				t.Errorf("%q: %d %v", body, res.StatusCode, res.Header)
			}
		}
	}
}

// An upstream that switches before it has the body leaves two readers to the
// client's connection; it gets none.
func TestSwitchBeforeTheBody(t *testing.T) {
	_, b := serveRaw(t, map[string]string{"/": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n"})
	c := b.raw("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\nhalf")
	c.SetDeadline(time.Now().Add(3 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusBadGateway || !res.Close {
		t.Errorf("%v, %v", res, err)
	}
	until(t, time.Second, "the stream's place is free", func() bool { return b.server.Counts().Streams == 0 })
}
