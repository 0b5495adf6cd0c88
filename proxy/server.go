package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
)

// Server is a reverse proxy behind a gate. Its methods may be called
// concurrently. It is made by [New] and ended by [Server.Shutdown].
type Server struct {
	gate       *plimsoll.Gate
	streams    *plimsoll.Gate // of upgrades and event streams
	middleware *httpgate.Middleware
	gated      http.Handler // the middleware before forward
	current    atomic.Pointer[settings]
	users      *http.Server
	admin      *http.Server
	log        *accessLog // nil for none
	epoch      time.Time
	// writeIdle is Config.WriteIdle in nanoseconds, where connections find it.
	writeIdle    atomic.Int64
	stats        Stats
	tunnels      tunnels
	held         held
	unsent       unsent
	buffers      buffers
	upstreamDown atomic.Bool
	newsMu       sync.Mutex // upstreamDown's changes, and news
	news         upstreamNews
	draining     atomic.Bool
	serving      atomic.Int32

	reloading   sync.Mutex
	reloadError atomic.Pointer[error] // the last reload's
	shutdown    sync.Once
}

// settings are what one configuration comes to. They do not change; a request
// keeps those that it began with.
type settings struct {
	config      Config
	classHeader string // in canonical form
	trust       []netip.Prefix
	upstream    *upstream
	proxy       *httputil.ReverseProxy
	loaded      time.Time
}

// maxHeader bounds a request's header in bytes.
const maxHeader = 64 << 10

// New makes a server, or says what is wrong with the configuration. It does not
// listen yet.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Server{gate: c.Gate, epoch: time.Now()}
	set := s.settings(&c, nil)
	var err error
	if s.streams, err = httpgate.StreamGate(c.Streams, nil); err != nil {
		return nil, fmt.Errorf("proxy: Streams: %w", err)
	}
	if s.middleware, err = httpgate.New(s.options(&c)); err != nil {
		s.streams.Close()
		return nil, fmt.Errorf("proxy: %w", err)
	}
	s.gated = s.middleware.Wrap(http.HandlerFunc(s.forward))
	s.apply(set)
	if c.AccessLog != nil {
		s.log = newAccessLog(c.AccessLog, c.AccessLogText, &s.stats.LogDropped)
	}
	s.users = s.newUsers(&c)
	s.admin = s.newAdmin(&c)
	return s, nil
}

// options are those of the middleware.
func (s *Server) options(c *Config) httpgate.Options {
	return httpgate.Options{
		Gate: c.Gate, Streams: s.streams, GateHandshakes: true,
		Classify: c.Classify, Trust: c.Trust, AheadBytes: c.AheadBytes, Statuses: c.Statuses,
		NoUpstream: s.upstreamDown.Load, OnDone: s.onDone,
	}
}

// settings makes what serves requests under c; connections of old are taken
// over when they lead to the same place in the same way.
func (s *Server) settings(c *Config, old *settings) *settings {
	set := &settings{
		config: *c, trust: c.Trust, loaded: time.Now(),
		classHeader: textproto.CanonicalMIMEHeaderKey(c.ClassHeader),
	}
	if set.trust == nil {
		set.trust = httpgate.Loopback()
	}
	if old != nil && old.upstream.key == c.upstreamKey() {
		set.upstream = old.upstream
	} else {
		set.upstream = newUpstream(c, &s.stats)
	}
	set.proxy = &httputil.ReverseProxy{
		Rewrite:      set.rewrite,
		Transport:    roundTripper{},
		BufferPool:   &s.buffers,
		ErrorHandler: set.fail,
		ErrorLog:     log.New(io.Discard, "", 0), // what it has to say is in the access log
	}
	return set
}

// apply makes set the one that requests begin with.
func (s *Server) apply(set *settings) {
	s.writeIdle.Store(int64(set.config.WriteIdle))
	s.current.Store(set)
}

// newUsers makes the server for users.
func (s *Server) newUsers(c *Config) *http.Server {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	srv := &http.Server{
		Handler: s,
		// OPTIONS * is a call like any other, and not answered past the gate.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            c.ReadHeader,
		IdleTimeout:                  c.Idle,
		MaxHeaderBytes:               maxHeader,
		ConnContext:                  httpgate.ConnContext,
		Protocols:                    p,
		ErrorLog:                     log.New(noteWriter{c.Notes}, "", 0),
		HTTP2: &http.HTTP2Config{
			// Calls wait here, where it is decided who runs, and not unseen at
			// their client for a stream to become free.
			MaxConcurrentStreams: s.maxStreams(),
			SendPingTimeout:      30 * time.Second,
			PingTimeout:          15 * time.Second,
		},
	}
	if c.TLS != nil {
		srv.TLSConfig = &tls.Config{
			MinVersion: tls.VersionTLS12,
			NextProtos: []string{"h2", "http/1.1"},
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				cfg := s.current.Load().config.TLS.Clone()
				cfg.NextProtos = []string{"h2", "http/1.1"}
				return cfg, nil
			},
		}
	}
	return srv
}

// maxStreams is at least all that one connection could have running and waiting,
// as long as no reload makes the pools larger and waiting has a bound.
func (s *Server) maxStreams() int {
	n := 250
	for _, p := range s.gate.Status().Pools {
		n += p.Slots + p.WaitingLimit
	}
	return min(n, 1<<20)
}

// noteWriter passes on what net/http has to say, except what any client can
// make it say at will.
type noteWriter struct{ note func(string) }

func (w noteWriter) Write(p []byte) (int, error) {
	line, _, _ := strings.Cut(strings.TrimSpace(string(p)), "\n") // the rest is a stack
	if !strings.Contains(line, "TLS handshake error") && !strings.Contains(line, "http2: ") {
		w.note(line)
	}
	return len(p), nil
}

// Serve answers users on l until Shutdown; then it returns nil.
func (s *Server) Serve(l net.Listener) error {
	s.serving.Add(1)
	defer s.serving.Add(-1)
	l = &listener{Listener: l, server: s}
	var err error
	if s.users.TLSConfig != nil {
		err = s.users.ServeTLS(l, "", "")
	} else {
		err = s.users.Serve(l)
	}
	return ended(err)
}

// ServeAdmin answers operators on l until the end of Shutdown; then it returns
// nil. Nothing that users do takes anything from it.
func (s *Server) ServeAdmin(l net.Listener) error { return ended(s.admin.Serve(l)) }

func ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("proxy: %w", err)
}

// Reload makes c the configuration for requests that begin from now on, or says
// what is wrong with it and changes nothing. Running work stays counted; open
// connections, tunnels and waiting requests survive.
func (s *Server) Reload(c Config) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.stats.Reloads.Add(1)
	err := s.reload(c.withDefaults())
	if err != nil {
		s.stats.ReloadErrors.Add(1)
	}
	s.reloadError.Store(&err)
	return err
}

// NoteReloadError counts, and shows, a configuration that was so wrong that
// there was nothing to give to Reload.
func (s *Server) NoteReloadError(err error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.stats.Reloads.Add(1)
	s.stats.ReloadErrors.Add(1)
	s.reloadError.Store(&err)
}

// lastReloadError is empty if there was none, or no reload.
func (s *Server) lastReloadError() string {
	if err := s.reloadError.Load(); err != nil && *err != nil {
		return (*err).Error()
	}
	return ""
}

func (s *Server) reload(c Config) error {
	old := s.current.Load()
	if c.Gate == nil {
		c.Gate = s.gate
	}
	if err := c.validate(); err != nil {
		return err
	}
	switch {
	case c.Gate != s.gate:
		return errors.New("proxy: another Gate; a server keeps the gate it was made with")
	case (c.TLS == nil) != (old.config.TLS == nil):
		return errors.New("proxy: TLS cannot come or go while the server runs; restart it")
	}
	if err := s.reloadGates(&c, old); err != nil {
		return err
	}
	set := s.settings(&c, old)
	s.apply(set)
	if set.upstream != old.upstream {
		s.newUpstream()
		old.upstream.close()
	}
	return nil
}

// reloadGates tells the gates first, since they may still say no; when what
// comes after them says no, they go back.
func (s *Server) reloadGates(c *Config, old *settings) error {
	if c.GateConfig != nil {
		if err := s.gate.Reload(*c.GateConfig); err != nil {
			return fmt.Errorf("proxy: %w", err)
		}
	}
	err := s.middleware.Update(s.options(c))
	if err == nil {
		if err = s.streams.Resize("streams", c.Streams, 0, 0); err == nil {
			return nil
		}
		err = errors.Join(err, s.middleware.Update(s.options(&old.config)))
	}
	if old.config.GateConfig != nil {
		err = errors.Join(err, s.gate.Reload(*old.config.GateConfig))
	}
	return fmt.Errorf("proxy: %w", err)
}

// expected is how long a call of a pool runs, as far as the gate knows.
func (s *Server) expected(pool string) time.Duration {
	for _, p := range s.gate.Status().Pools {
		if p.Name == pool {
			return p.Expected
		}
	}
	return 0
}

// streamsStatus looks at the pool of streams.
func (s *Server) streamsStatus() plimsoll.PoolStatus { return s.middleware.Streams().Pools[0] }

// now is the time on the server's clock, in nanoseconds, never 0.
func (s *Server) now() int64 { return int64(time.Since(s.epoch)) + 1 }

// buffers are what answers are copied through.
type buffers struct{ pool sync.Pool }

// Get takes one.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return new([bufferSize]byte)[:]
}

// Put gives one back.
func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }

const bufferSize = 32 << 10
