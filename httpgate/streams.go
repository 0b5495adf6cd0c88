package httpgate

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// DefaultStreams is how many upgraded connections and tunnels may be open at
// once where Options.Streams does not say otherwise.
const DefaultStreams = 1024

const streamsPool = "streams"

// StreamGate makes a gate for Options.Streams: up to limit connections at
// once, 0 for none, and no waiting. Its one pool and its one class are called
// "streams". Resize("streams", limit, 0, 0) changes the limit while it runs.
// A connection counts while its handler runs, or until the release of a
// [Call.Hold] is called.
func StreamGate(limit int, o plimsoll.Observer) (*plimsoll.Gate, error) {
	g, err := plimsoll.New(plimsoll.Config{
		// Nothing is expected of a connection that lives as long as it likes,
		// so nothing may be learnt from one either.
		Pools:    []plimsoll.Pool{{Name: streamsPool, Slots: limit, Margin: -1, LateExpiry: true, AdmitHopeless: true}},
		Classes:  []plimsoll.Class{{Name: streamsPool, Pool: streamsPool}},
		Default:  streamsPool,
		Observer: o,
	})
	if err != nil {
		return nil, fmt.Errorf("httpgate: streams: %w", err)
	}
	return g, nil
}

// Streams is what the gate for streams looks like. A stream beyond the limit
// is counted under the reason that its client was told, which is streams.
func (m *Middleware) Streams() plimsoll.Status {
	st := m.streams.Status()
	for i := range st.Pools {
		for j := range st.Pools[i].Classes {
			c := &st.Pools[i].Classes[j]
			c.Refused[core.Streams] += c.Refused[core.Full]
			c.Refused[core.Full] = 0
		}
	}
	return st
}

// StreamsGate is the gate for streams, for whoever resizes or drains it.
func (m *Middleware) StreamsGate() *plimsoll.Gate { return m.streams }

// isStream says whether r asks for a connection that lives long: an upgrade in
// HTTP/1, or a tunnel, which HTTP/2 uses for WebSocket too. An upgrade to
// HTTP/2 is none: it is an ordinary request with an offer that no Go server takes.
func isStream(r *http.Request) bool {
	if r.Method == http.MethodConnect {
		return true
	}
	up := r.Header["Upgrade"]
	if len(up) == 0 || r.ProtoMajor != 1 || !hasToken(r.Header["Connection"], "upgrade") {
		return false
	}
	for _, v := range up {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name != "" && !strings.EqualFold(name, "h2c") {
				return true
			}
		}
	}
	return false
}

// hasToken looks for token in a comma-separated header.
func hasToken(values []string, token string) bool {
	for _, v := range values {
		for t := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}
