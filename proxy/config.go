package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
)

// OnAbandon says what becomes of a running call that nobody waits for any more.
type OnAbandon string

const (
	// Hold keeps the upstream connection, reads the answer to its end and
	// throws it away; the slot is taken until then. The upstream is never given
	// more than its slots, and an effect is not broken off half-way.
	Hold OnAbandon = "hold"
	// Cancel closes the upstream connection. The slot becomes free after the
	// expected service time, since most upstreams do not notice.
	Cancel OnAbandon = "cancel"
)

// Defaults of Config, each with its reason.
const (
	// DefaultReadHeader is long enough for a bad mobile link and short enough
	// that half a header does not hold a connection for ever.
	DefaultReadHeader = 10 * time.Second
	// DefaultIdle is above the 60 s that most balancers use: the side that
	// closes first must be the one that sends, or requests are lost in between.
	DefaultIdle = 75 * time.Second
	// DefaultBodyIdle, DefaultAnswerIdle and DefaultWriteIdle bound the silence
	// of a client that sends, of an upstream that answers, and of a client that
	// does not read; never the length of anything.
	DefaultBodyIdle   = 30 * time.Second
	DefaultAnswerIdle = 5 * time.Minute
	DefaultWriteIdle  = 30 * time.Second
	// DefaultStream is how long a tunnel may be silent in both directions: far
	// longer than the keep-alives of WebSocket libraries.
	DefaultStream = time.Hour
	// DefaultDial bounds connecting, TLS included.
	DefaultDial = 3 * time.Second
	// DefaultUpstreamIdle is how long an unused upstream connection is kept:
	// below the usual idle timeouts of servers.
	DefaultUpstreamIdle = 30 * time.Second
	// DefaultStreams is how many long-lived connections are held at once.
	DefaultStreams = 1000
	// HoldDeadlines is how many deadlines an abandoned call is held by default.
	HoldDeadlines = 10
	// DefaultHoldMax is how long an abandoned call without a deadline is held.
	DefaultHoldMax = time.Minute
)

// Config is what a [Server] is told. Durations of 0 mean the default; less than
// 0 means none, where that is said.
type Config struct {
	// Upstream is where calls go: scheme http or https, a host, and perhaps a
	// path that is put before each request's.
	Upstream *url.URL
	// Protocol is ProtocolAuto (also when empty), ProtocolHTTP1 or ProtocolH2C.
	Protocol string
	// UpstreamRoots verifies an https upstream; nil means the system's.
	UpstreamRoots *x509.CertPool

	// Gate admits the calls; required. A server keeps the gate that it was made
	// with: Reload reconfigures it and never replaces it.
	Gate *plimsoll.Gate
	// GateConfig, when not nil, is what Reload tells the gate. New does not use it.
	GateConfig *plimsoll.Config
	// Classify, Trust, AheadBytes and Statuses are those of [httpgate.Options].
	Classify   *httpgate.Rules
	Trust      []netip.Prefix
	AheadBytes int64
	Statuses   map[string]map[plimsoll.Reason]int
	// ClassHeader, when not empty, carries the class that was decided to the
	// upstream; what the client sent in it does not get there.
	ClassHeader string

	// OnAbandon is Hold when empty.
	OnAbandon OnAbandon
	// HoldMax is how long an abandoned call is held before its connection is
	// closed and it counts as lost. 0 means HoldDeadlines times the deadline of
	// the call.
	HoldMax time.Duration
	// Streams bounds upgraded connections and event streams held at once; less
	// than 0 means that there are none.
	Streams int

	// TLS, when not nil, is what Serve speaks. It may change by Reload, but not
	// come or go.
	TLS *tls.Config

	// ReadHeader bounds reading a request's header, TLS handshake included.
	// Idle is how long a connection without a request is kept. Both are fixed
	// when the server is made.
	ReadHeader, Idle time.Duration
	// BodyIdle bounds the silence within a request's body, AnswerIdle that
	// within an answer (for a gRPC call that in both directions together),
	// WriteIdle how long a client may leave what it is sent unread, and Stream
	// the silence of a tunnel in both directions. Less than 0 means no bound.
	BodyIdle, AnswerIdle, WriteIdle, Stream time.Duration
	// DialTimeout bounds connecting to the upstream, TLS included.
	// HeaderTimeout bounds the wait for an answer's header; 0 means that the
	// call's deadline does. Its end frees the slot, also under Hold, though the
	// upstream may still be at work. UpstreamIdle is how long unused connections are kept.
	DialTimeout, HeaderTimeout, UpstreamIdle time.Duration
	// IdleConnections bounds the unused connections kept to the upstream; 0
	// means 512.
	IdleConnections int

	// DrainAccept is how long Shutdown still accepts calls after readiness has
	// turned to no, so that balancers notice. 0 means not at all.
	DrainAccept time.Duration

	// AccessLog gets one line for each request; nil for none. It is written by
	// one goroutine and may be slow. AccessLogText chooses the form for people.
	// Both are fixed when the server is made.
	AccessLog     io.Writer
	AccessLogText bool

	// Metrics answers /metrics of the admin listener, Page answers / and
	// everything below it that the listener has no other answer for; nil for
	// neither. Profile switches /debug/pprof/ on. All three are fixed when the
	// server is made.
	Metrics, Page http.Handler
	Profile       bool
	// Source and Checksum say in /statusz where this configuration comes from,
	// and Warnings what it cannot deliver.
	Source, Checksum string
	Warnings         []string
	// Notes is told what an operator should know, one line each, prefix and
	// newline not included; nil for nobody. It must not block.
	Notes func(string)
}

// withDefaults fills in what was not said.
func (c Config) withDefaults() Config {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.ReadHeader, DefaultReadHeader)
	set(&c.Idle, DefaultIdle)
	set(&c.BodyIdle, DefaultBodyIdle)
	set(&c.AnswerIdle, DefaultAnswerIdle)
	set(&c.WriteIdle, DefaultWriteIdle)
	set(&c.Stream, DefaultStream)
	set(&c.DialTimeout, DefaultDial)
	set(&c.UpstreamIdle, DefaultUpstreamIdle)
	if c.Protocol == "" {
		c.Protocol = ProtocolAuto
	}
	if c.OnAbandon == "" {
		c.OnAbandon = Hold
	}
	switch {
	case c.Streams == 0:
		c.Streams = DefaultStreams
	case c.Streams < 0:
		c.Streams = 0
	}
	if c.IdleConnections == 0 {
		c.IdleConnections = 512
	}
	if c.Notes == nil {
		c.Notes = func(string) {}
	}
	return c
}

// validate says what is wrong with c, naming the field and what is allowed.
func (c *Config) validate() error {
	switch {
	case c.Gate == nil:
		return errors.New("proxy: no Gate; one is required")
	case c.Upstream == nil || c.Upstream.Host == "":
		return errors.New("proxy: no Upstream; a URL with a host is required")
	case c.Upstream.Scheme != "http" && c.Upstream.Scheme != "https":
		return fmt.Errorf("proxy: Upstream has the scheme %q; http or https is allowed", c.Upstream.Scheme)
	case c.Protocol != ProtocolAuto && c.Protocol != ProtocolHTTP1 && c.Protocol != ProtocolH2C:
		return fmt.Errorf("proxy: Protocol is %q; %q, %q or %q is allowed", c.Protocol, ProtocolAuto, ProtocolHTTP1, ProtocolH2C)
	case c.Protocol == ProtocolH2C && c.Upstream.Scheme != "http":
		return fmt.Errorf("proxy: Protocol is %q, which is without TLS, and Upstream has the scheme %q", c.Protocol, c.Upstream.Scheme)
	case c.OnAbandon != Hold && c.OnAbandon != Cancel:
		return fmt.Errorf("proxy: OnAbandon is %q; %q or %q is allowed", c.OnAbandon, Hold, Cancel)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"ReadHeader", c.ReadHeader}, {"Idle", c.Idle}, {"DialTimeout", c.DialTimeout}, {"UpstreamIdle", c.UpstreamIdle},
		{"HeaderTimeout", c.HeaderTimeout}, {"HoldMax", c.HoldMax}, {"DrainAccept", c.DrainAccept},
	} {
		if d.value < 0 {
			return fmt.Errorf("proxy: %s is %v; 0 or more is allowed", d.name, d.value)
		}
	}
	return nil
}

// upstreamKey is what connections depend on: as long as it stays the same, they do.
func (c *Config) upstreamKey() upstreamKey {
	return upstreamKey{
		scheme: c.Upstream.Scheme, host: c.Upstream.Host, protocol: c.Protocol,
		dial: c.DialTimeout, header: c.HeaderTimeout, idle: c.UpstreamIdle,
		connections: c.IdleConnections, roots: c.UpstreamRoots,
	}
}
