package proxy

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// shut are the settings of a client that takes nothing of any answer's body.
const shut = "\x00\x04\x00\x00\x00\x00"

// A client that reads its connection and leaves a stream's window shut is cut
// like one that does not read at all.
func TestAWindowThatStaysShut(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 64<<10)
		for range 400 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}, change: func(c *Config) { c.WriteIdle = 100 * time.Millisecond }})
	c := b.dialHTTP2(shut)
	c.get(1, ":method", "GET", ":path", "/", ":scheme", "http", ":authority", "a")
	const reset = 3
	for kind := byte(0); kind != reset; {
		kind, _, _ = c.next()
	}
	until(t, 5*time.Second, "the slot is free", func() bool { return b.gate.Outstanding() == 0 })
	if n := b.outcomes(plimsoll.Cancelled); n != 1 {
		t.Errorf("%+v", b.pool().Classes)
	}
}

// So is one that leaves an answer unread that its handler has written at once,
// be it the upstream's or a refusal.
func TestAWindowThatStaysShutToAShortAnswer(t *testing.T) {
	for _, slots := range []int{1, 0} {
		b := newBench(t, setup{gate: onePool(slots, 0, time.Second, 0), handler: echo, change: func(c *Config) { c.WriteIdle = 100 * time.Millisecond }})
		c := b.dialHTTP2(shut)
		c.get(1, ":method", "GET", ":path", "/", ":scheme", "http", ":authority", "a")
		const reset = 3
		for kind := byte(0); kind != reset; {
			kind, _, _ = c.next()
		}
	}
}

// A stream that is silent for longer than its client may be is not cut: it is
// the upstream that says nothing.
func TestSilenceIsNotTheClients(t *testing.T) {
	const silence = 200 * time.Millisecond
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begin ")
		http.NewResponseController(w).Flush()
		<-time.After(silence)
		io.WriteString(w, "end")
	}, change: func(c *Config) { c.WriteIdle = silence / 4 }})
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	h2 := &http.Transport{Protocols: p}
	defer h2.CloseIdleConnections()
	b.client.Transport = h2
	if _, text := b.do("GET", "/", nil); text != "begin end" {
		t.Errorf("%q", text)
	}
}
