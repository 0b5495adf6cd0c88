package main

import (
	"crypto/tls"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
	"github.com/plimsoll-go/plimsoll/internal/config"
	"github.com/plimsoll-go/plimsoll/proxy"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// assembly is all that serve runs, made of a configuration and listening
// nowhere yet. check makes one too and throws it away: what serve would refuse,
// check refuses, because it is the same attempt.
type assembly struct {
	gate   *plimsoll.Gate
	server *proxy.Server
}

// assemble makes an assembly that logs calls to log, which may be nil.
func assemble(cfg *config.Config, log *accessFile, notes func(string)) (*assembly, error) {
	gate, err := plimsoll.New(cfg.Gate)
	if err != nil {
		return nil, err
	}
	a := &assembly{gate: gate}
	c, err := proxyConfig(cfg, gate)
	if err == nil {
		c.Notes = notes
		if log != nil {
			c.AccessLog, c.AccessLogText = log, cfg.AccessLog.Format == "text"
		}
		collector := telemetry.NewCollector(gate.Status, func() telemetry.Proxy { return telemetry.Proxy(a.server.Counts()) })
		c.Metrics = telemetry.Handler(telemetry.Registry(collector))
		a.server, err = proxy.New(c)
	}
	if err != nil {
		gate.Close()
		return nil, err
	}
	return a, nil
}

// discard ends an assembly that has served nobody.
func (a *assembly) discard() {
	a.server.Close()
	a.gate.Close()
}

// proxyConfig says in the proxy's words what a configuration says.
func proxyConfig(c *config.Config, gate *plimsoll.Gate) (proxy.Config, error) {
	rules, err := classRules(c)
	if err != nil {
		return proxy.Config{}, err
	}
	out := proxy.Config{
		Upstream: c.Upstream.URL, Protocol: c.Upstream.Protocol,
		Gate: gate, GateConfig: &c.Gate, Classify: rules, Trust: c.Trust,
		AheadBytes: orNone(c.AheadBytes), Statuses: c.Statuses, ClassHeader: c.ClassHeader,
		OnAbandon: proxy.OnAbandon(c.OnAbandon), HoldMax: c.HoldMax, Streams: orNone(c.Streams),
		ReadHeader: c.Timeouts.ReadHeader, Idle: c.Timeouts.Idle,
		BodyIdle: orNone(c.Timeouts.BodyIdle), WriteIdle: orNone(c.Timeouts.WriteIdle),
		AnswerIdle: orNone(c.Upstream.BodyIdle), Stream: orNone(c.Timeouts.Stream),
		DialTimeout: c.Upstream.DialTimeout, HeaderTimeout: c.Upstream.HeaderTimeout,
		UpstreamIdle: c.Upstream.IdleTimeout, IdleConnections: idleConnections(c),
		DrainAccept: c.Drain.Accept,
		Source:      c.Source.Path, Checksum: c.Source.SHA256,
	}
	if out.Source == "" {
		out.Source = "flags"
	}
	for _, w := range c.Warnings {
		out.Warnings = append(out.Warnings, w.In(c.Source.Path))
	}
	if c.TLS != nil {
		out.TLS = &tls.Config{Certificates: []tls.Certificate{c.TLS.Pair}, MinVersion: tls.VersionTLS12}
	}
	return out, nil
}

// classRules are the rules of the file, and after them the class header.
func classRules(c *config.Config) (*httpgate.Rules, error) {
	var rules []httpgate.Rule
	for _, r := range c.Classify {
		from := httpgate.FromAny
		if r.When.Trusted {
			from = httpgate.FromTrusted
		}
		rules = append(rules, httpgate.Rule{Class: r.Class, When: httpgate.Match{
			Path: r.When.Path, Method: r.When.Method, Host: r.When.Host, Header: r.When.Header, From: from,
		}})
	}
	if c.ClassHeader != "" {
		rules = append(rules, httpgate.Rule{When: httpgate.Match{ClassHeader: c.ClassHeader}})
	}
	return httpgate.CompileRules(rules)
}

// orNone turns the files' 0 for "none" into the proxy's less than 0: there, 0
// is the default.
func orNone[T int | int64 | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// idleConnections is as many as can be in use at once, and a few for streams.
func idleConnections(c *config.Config) int {
	if c.Upstream.Connections > 0 {
		return c.Upstream.Connections
	}
	n := 16
	for _, p := range c.Gate.Pools {
		n += p.Slots
	}
	return n
}
