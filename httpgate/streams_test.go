package httpgate

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/plimsoll-go/plimsoll/core"
)

const upgrade = "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

// echo takes connections over and answers what they say.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		io.WriteString(w, "plain")
		return
	}
	c, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	defer c.Close()
	io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	io.Copy(c, rw)
}

// A-16, H-12, incident 43: open streams take no slots, have a limit of their
// own, and free it when their client has gone.
func TestStreamsHaveTheirOwnLimit(t *testing.T) {
	for _, handshakes := range []bool{false, true} {
		g, err := StreamGate(2, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		x := newRig(t, "watched", arrangement(1, 0), Options{Streams: g, GateHandshakes: handshakes}, echo)
		open := func() *client {
			c := dial(t, x.server).send(upgrade)
			if r, err := http.ReadResponse(c.br, nil); err != nil || r.StatusCode != 101 {
				t.Fatalf("%v %v", r, err)
			}
			return c
		}
		a, b := open(), open()
		if r, body := dial(t, x.server).send(get).answer(); r.StatusCode != 200 || body != "plain" {
			t.Errorf("an ordinary request beside streams: %d %q", r.StatusCode, body)
		}
		r, body := dial(t, x.server).send(upgrade).answer()
		if r.StatusCode != 429 || r.Header.Get(HeaderRefusal) != "reason=streams; class=background; executed=?0" || !strings.Contains(body, `"reason":"streams"`) {
			t.Errorf("the third stream: %d %v %s", r.StatusCode, r.Header, body)
		}
		a.send("hello")
		if got, err := io.ReadAll(io.LimitReader(a.br, 5)); string(got) != "hello" || err != nil {
			t.Errorf("%q %v", got, err)
		}
		st := x.m.Streams().Pools[0]
		if st.Running != 2 || st.Classes[0].Refused[core.Streams] != 1 || st.Classes[0].Refused[core.Full] != 0 || x.pool().Running != 0 {
			t.Errorf("%+v", st)
		}
		a.c.Close()
		b.c.Close()
		eventually(t, "streams are freed", func() bool { return g.Outstanding() == 0 })
		open().c.Close()
		eventually(t, "streams are freed", func() bool { return g.Outstanding() == 0 })
	}
}

// With GateHandshakes who only pretends to want an upgrade has not got past the pool.
func TestPretendedUpgrade(t *testing.T) {
	b := newBlocker()
	x := newRig(t, "watched", arrangement(1, 0), Options{GateHandshakes: true}, b.serve)
	first := dial(t, x.server).send(upgrade)
	<-b.in
	if r, body := dial(t, x.server).send(upgrade).answer(); r.StatusCode != 429 || !strings.Contains(body, `"reason":"full"`) {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	b.out <- struct{}{}
	if r, _ := first.answer(); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
	x.ended(2)
	if n := x.m.StreamsGate().Outstanding() + x.gate.Outstanding(); n != 0 {
		t.Errorf("%d tickets out", n)
	}
}

// A WebSocket library finds what it needs in the writer.
func TestWebSocketLibrary(t *testing.T) {
	x := newRig(t, "tls", arrangement(1, 0), Options{}, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		kind, b, err := c.Read(r.Context())
		if err == nil {
			c.Write(r.Context(), kind, b)
			c.Close(websocket.StatusNormalClosure, "")
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, x.server.URL, &websocket.DialOptions{HTTPClient: x.server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, b, err := c.Read(ctx); string(b) != "hello" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	c.Close(websocket.StatusNormalClosure, "")
	if d := x.last(1); d.Pool != "streams" || d.Outcome != core.OK {
		t.Errorf("%+v", d)
	}
}
