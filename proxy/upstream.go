package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Protocols that the upstream is spoken to in.
const (
	// ProtocolAuto is HTTP/1.1, over TLS HTTP/2 when the upstream offers it,
	// and HTTP/2 in cleartext for gRPC calls, which need it.
	ProtocolAuto = "auto"
	// ProtocolHTTP1 is HTTP/1.1 whatever the call is.
	ProtocolHTTP1 = "http1"
	// ProtocolH2C is HTTP/2 in cleartext with prior knowledge, whatever the call is.
	ProtocolH2C = "h2c"
)

// dialError says that no connection to the upstream could be made: not one
// byte of the request has been sent, so the call has had no effect.
type dialError struct{ err error }

func (e *dialError) Error() string { return "proxy: connecting to the upstream: " + e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

func isDialError(err error) bool { return errors.As(err, new(*dialError)) }

// upstream holds the connections to the protected thing. It survives a reload
// that does not change how the upstream is reached.
type upstream struct {
	key  upstreamKey
	main *http.Transport
	// grpc carries gRPC calls when main cannot: HTTP/2 in cleartext. Nil when
	// main carries them.
	grpc *http.Transport
	// upgrades carries requests for an upgrade when main may speak HTTP/2, which
	// has none. Nil when main carries them.
	upgrades *http.Transport
	// short carries calls that change nothing and have no body; nil when it cannot.
	short *h1pool
}

// upstreamKey is what the connections depend on.
type upstreamKey struct {
	scheme, host, protocol string
	dial, header, idle     time.Duration
	connections            int
	roots                  *x509.CertPool
}

// newUpstream makes the transports; nothing is dialled yet.
func newUpstream(c *Config, stats *Stats) *upstream {
	u := &upstream{key: c.upstreamKey()}
	switch {
	case c.Upstream.Scheme == "https":
		u.main = newTransport(c, stats, func(p *http.Protocols) {
			p.SetHTTP1(true)
			p.SetHTTP2(c.Protocol != ProtocolHTTP1)
		})
		if c.Protocol != ProtocolHTTP1 {
			u.upgrades = newTransport(c, stats, func(p *http.Protocols) { p.SetHTTP1(true) })
		}
	case c.Protocol == ProtocolH2C:
		u.main = newTransport(c, stats, func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })
		u.upgrades = newTransport(c, stats, func(p *http.Protocols) { p.SetHTTP1(true) })
	default:
		u.main = newTransport(c, stats, func(p *http.Protocols) { p.SetHTTP1(true) })
		if c.HeaderTimeout == 0 { // which is http.Transport's to keep
			d := newDialer(c, stats)
			u.short = &h1pool{dial: d.dial, addr: hostPort(c.Upstream), max: max(c.IdleConnections, 1), patience: c.UpstreamIdle}
		}
		if c.Protocol == ProtocolAuto {
			u.grpc = newTransport(c, stats, func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })
		}
	}
	return u
}

// pick chooses the connections for a call.
func (u *upstream) pick(x *exchange) *http.Transport {
	switch {
	case x.upgrade && u.upgrades != nil:
		return u.upgrades
	case x.grpc && u.grpc != nil:
		return u.grpc
	}
	return u.main
}

// close lets connections go that no call uses.
func (u *upstream) close() {
	u.main.CloseIdleConnections()
	if u.short != nil {
		u.short.close()
	}
	if u.grpc != nil {
		u.grpc.CloseIdleConnections()
	}
	if u.upgrades != nil {
		u.upgrades.CloseIdleConnections()
	}
}

// newTransport makes one transport. It never adds a header, never unpacks an
// answer and follows no proxy of the environment: what the client and the
// upstream say to each other passes unchanged.
func newTransport(c *Config, stats *Stats, protocols func(*http.Protocols)) *http.Transport {
	d := newDialer(c, stats)
	t := &http.Transport{
		DialContext:            d.dial,
		DisableCompression:     true,
		MaxIdleConns:           0, // the per-host bound is the bound: there is one host
		MaxIdleConnsPerHost:    max(c.IdleConnections, 1),
		IdleConnTimeout:        c.UpstreamIdle,
		ResponseHeaderTimeout:  c.HeaderTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		Protocols:              new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			// A connection on which nothing comes is asked whether it lives, so
			// that streams on a dead one do not hang until their own end.
			SendPingTimeout: 30 * time.Second,
			PingTimeout:     15 * time.Second,
		},
	}
	protocols(t.Protocols)
	if c.Upstream.Scheme == "https" {
		d.tls = &tls.Config{RootCAs: c.UpstreamRoots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
		if t.Protocols.HTTP2() {
			d.tls.NextProtos = []string{"h2", "http/1.1"}
		}
		t.DialTLSContext = d.dialTLS
	}
	return t
}

// dialer makes connections whose failures are recognised as such, TLS included.
type dialer struct {
	net   net.Dialer
	limit time.Duration
	tls   *tls.Config
	stats *Stats
}

func newDialer(c *Config, stats *Stats) *dialer {
	return &dialer{net: net.Dialer{Timeout: c.DialTimeout, KeepAlive: 15 * time.Second}, limit: c.DialTimeout, stats: stats}
}

// hostPort is the address of an upstream in cleartext.
func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return u.Host
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.net.DialContext(ctx, network, addr)
	if err != nil {
		return nil, d.failed(ctx, err)
	}
	d.stats.Dials.Add(1)
	return c, nil
}

// dialTLS bounds connecting and the handshake together.
func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.limit)
		defer cancel()
	}
	c, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg := d.tls.Clone()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		cfg.ServerName = host
	}
	tc := tls.Client(c, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, d.failed(ctx, err)
	}
	return tc, nil
}

// failed counts what failed by itself, and not because nobody wanted it any more.
func (d *dialer) failed(ctx context.Context, err error) error {
	if !errors.Is(ctx.Err(), context.Canceled) {
		d.stats.DialErrors.Add(1)
	}
	return &dialError{err}
}
