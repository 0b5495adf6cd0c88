package httpgate

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// DefaultAheadBytes bounds all read-ahead buffers together where
// Options.AheadBytes does not.
const DefaultAheadBytes = 8 << 20

// Options configure a [Middleware].
type Options struct {
	// Gate admits the requests. It is required, and is not closed by the
	// middleware.
	Gate *plimsoll.Gate
	// Classify gives requests their classes; nil leaves all to the gate's
	// default class. Every class it names must exist in Gate.
	Classify *Rules
	// Trust lists the networks of peers that are believed what they say of
	// their class and attempt. nil means loopback; an empty list means nobody.
	// IPv4 peers are in IPv4 networks only, however the system writes them.
	Trust []netip.Prefix
	// TrustTLS also trusts every peer whose client certificate the server has
	// verified, whatever its address.
	TrustTLS bool
	// AheadBytes bounds, over all waiting requests together, the bytes of
	// bodies that are read ahead where sockets cannot be watched. 0 means
	// DefaultAheadBytes, less than 0 none. A request that finds the bound
	// reached waits all the same; its client's leaving is not seen.
	AheadBytes int64
	// Statuses overrides, by pool and reason, the HTTP status of a refusal
	// (400 to 599), whether or not something is alive behind the gate. The
	// pool of refused streams is called "streams".
	Statuses map[string]map[plimsoll.Reason]int
	// Streams admits requests for upgrades and tunnels; nil means
	// StreamGate(DefaultStreams, nil). It is not closed by the middleware.
	Streams *plimsoll.Gate
	// GateHandshakes lets a request for an upgrade pass its class's pool, too,
	// until the upgrade is granted. Without it such a request never waits and
	// never takes a slot; but then a client that only pretends to want an
	// upgrade, and is answered in the ordinary way, has come in past the pool,
	// within the limit of Streams.
	GateHandshakes bool
	// NoUpstream says whether nothing is alive behind the gate; nil means
	// that something is. While it is true, a refusal that says "too many"
	// says "unavailable" instead. It is called for every refusal.
	NoUpstream func() bool
	// OnDone is called once for each request when it has been refused, has
	// been given up by its client, or its handler has returned or panicked; an
	// access log belongs here. It runs on the request's goroutine.
	OnDone func(*http.Request, *Call)
}

// Middleware admits requests to handlers. Its methods may be called concurrently.
type Middleware struct {
	gate       *plimsoll.Gate
	streams    *plimsoll.Gate
	ownStreams bool
	settings   atomic.Pointer[settings]
	quota      quota
	counters   counters

	watchMu    sync.Mutex
	watch      watcher   // nil before it is needed, and where there is none
	watchAfter time.Time // not tried before, because it has failed
	closed     bool
}

// settings are what Update replaces.
type settings struct {
	rules          *Rules
	trust          []netip.Prefix
	trustTLS       bool
	aheadBytes     int64
	gateHandshakes bool
	noUpstream     func() bool
	onDone         func(*http.Request, *Call)
	statuses       map[string]map[plimsoll.Reason]int
	classes        map[string]class
	fallback       string // the default class
	least          string // the least critical one that rules and default can give
	pages          map[pageKey]*page
}

// class is what the middleware has to know of one of the gate's.
type class struct {
	pool string
	rank int
}

type pageKey struct {
	pool, class string
	reason      plimsoll.Reason
	dead        bool
}

// New makes a middleware, or says which option is wrong.
func New(o Options) (*Middleware, error) {
	if o.Gate == nil {
		return nil, errors.New("httpgate: no gate; Options.Gate is required")
	}
	m := &Middleware{gate: o.Gate, streams: o.Streams}
	s, err := newSettings(&o)
	if err != nil {
		return nil, err
	}
	m.settings.Store(s)
	if m.streams == nil {
		if m.streams, err = StreamGate(DefaultStreams, nil); err != nil {
			return nil, err
		}
		m.ownStreams = true
	}
	return m, nil
}

// Update replaces every option but Gate and Streams, which must be those that
// the middleware was made with, or nil. Requests that have begun keep the
// options they began with. When an option is wrong, nothing changes. Update
// belongs after a reload of the gate: it learns the classes from it.
func (m *Middleware) Update(o Options) error {
	if o.Gate != nil && o.Gate != m.gate {
		return errors.New("httpgate: another gate; a middleware keeps the gate it was made with")
	}
	if o.Streams != nil && o.Streams != m.streams {
		return errors.New("httpgate: another gate for streams; a middleware keeps the one it was made with")
	}
	o.Gate = m.gate
	s, err := newSettings(&o)
	if err != nil {
		return err
	}
	m.settings.Store(s)
	return nil
}

// Close ends what the middleware runs beside requests. Requests that are still
// waiting go on, but their clients' leaving is no longer seen.
func (m *Middleware) Close() {
	m.watchMu.Lock()
	w := m.watch
	m.watch, m.closed = nil, true
	m.watchMu.Unlock()
	if w != nil {
		w.close()
	}
	if m.ownStreams {
		m.streams.Close()
	}
}

// watching is the watcher, started when it is first asked for; nil when
// sockets cannot be watched.
func (m *Middleware) watching() watcher {
	m.watchMu.Lock()
	defer m.watchMu.Unlock()
	if m.watch != nil || m.closed || !canWatch || time.Now().Before(m.watchAfter) {
		return m.watch
	}
	w, err := newWatcher()
	if err != nil { // no descriptors left: reading ahead is what remains, for now
		m.counters.watchFailed.Add(1)
		m.watchAfter = time.Now().Add(watchPause)
		return nil
	}
	m.watch = w
	return w
}

// watchPause is how long a watcher that could not be had is not asked for.
const watchPause = time.Second

func newSettings(o *Options) (*settings, error) {
	s := &settings{
		rules: o.Classify, trust: slices.Clone(o.Trust), trustTLS: o.TrustTLS,
		aheadBytes: o.AheadBytes, gateHandshakes: o.GateHandshakes,
		noUpstream: o.NoUpstream, onDone: o.OnDone, statuses: o.Statuses,
		classes: map[string]class{}, pages: map[pageKey]*page{},
	}
	if s.trust == nil {
		s.trust = Loopback()
	}
	if s.aheadBytes == 0 {
		s.aheadBytes = DefaultAheadBytes
	}
	for i := range s.trust {
		if !s.trust[i].IsValid() {
			return nil, fmt.Errorf("httpgate: trust %d is not a network", i+1)
		}
		if err := checkMapped(s.trust[i]); err != nil {
			return nil, fmt.Errorf("httpgate: trust %d: %w", i+1, err)
		}
	}
	s.learn(o.Gate.Config())
	if err := s.checkClasses(); err != nil {
		return nil, err
	}
	if err := s.checkStatuses(); err != nil {
		return nil, err
	}
	s.precompute()
	return s, nil
}

func (s *settings) checkClasses() error {
	s.least = s.fallback
	if s.rules == nil {
		return nil
	}
	for i := range s.rules.list {
		k := &s.rules.list[i]
		if _, ok := s.classes[k.class]; !ok && k.classHeader == "" {
			return fmt.Errorf("httpgate: rule %d: the gate has no class %q", i+1, k.class)
		}
		if k.classHeader == "" && s.rank(k.class) > s.rank(s.least) {
			s.least = k.class
		}
	}
	return nil
}

// rank is that of the class, or of the default class for "".
func (s *settings) rank(name string) int {
	if name == "" {
		name = s.fallback
	}
	return s.classes[name].rank
}

// learn notes which classes and pools there are.
func (s *settings) learn(cfg plimsoll.Config) {
	s.fallback = cfg.Default
	for i := range cfg.Classes {
		k := &cfg.Classes[i]
		s.classes[k.Name] = class{k.Pool, k.Rank}
	}
}

func (s *settings) hasPool(name string) bool {
	for _, k := range s.classes {
		if k.pool == name {
			return true
		}
	}
	return false
}

func (s *settings) checkStatuses() error {
	for pool, by := range s.statuses {
		if pool != streamsPool && !s.hasPool(pool) {
			return fmt.Errorf("httpgate: statuses: the gate has no pool %q", pool)
		}
		for reason, status := range by {
			if reason == core.NoReason || int(reason) >= core.NumReasons {
				return fmt.Errorf("httpgate: statuses: pool %q: no such reason: %v", pool, reason)
			}
			if status < 400 || status > 599 {
				return fmt.Errorf("httpgate: statuses: pool %q: %v is %d; 400 to 599 is allowed", pool, reason, status)
			}
		}
	}
	return nil
}

// precompute writes every refusal that can occur, so that refusing costs
// little when there is much to refuse.
func (s *settings) precompute() {
	for reason := core.NoReason + 1; int(reason) < core.NumReasons; reason++ {
		for class, k := range s.classes {
			pool := k.pool
			if reason == core.Streams {
				pool = streamsPool
			}
			for _, dead := range [...]bool{false, true} {
				s.pages[pageKey{pool, class, reason, dead}] = newPage(reason, class, s.status(pool, reason, dead), dead)
			}
		}
	}
}

func (s *settings) status(pool string, reason plimsoll.Reason, dead bool) int {
	if status, ok := s.statuses[pool][reason]; ok {
		return status
	}
	return Status(reason, dead)
}

// page is what f looks like; one that was not foreseen, because the gate has
// been reloaded since, is made on the spot.
func (s *settings) page(f *plimsoll.Refusal) *page {
	dead := s.noUpstream != nil && s.noUpstream()
	if p, ok := s.pages[pageKey{f.Pool, f.Class, f.Reason, dead}]; ok {
		return p
	}
	return newPage(f.Reason, f.Class, s.status(f.Pool, f.Reason, dead), dead)
}

// counters are what Counters shows.
type counters struct {
	untrusted, badClass, badTimeout, left, watchFailed, unwatched atomic.Uint64
	watched                                                       atomic.Int64
}

// Counters are totals since the middleware was made, and gauges that say so.
type Counters struct {
	// UntrustedClass counts requests in which a peer that is not trusted
	// spoke of its class.
	UntrustedClass uint64
	// BadClass counts requests in which a trusted peer named no class that
	// exists, or more than one.
	BadClass uint64
	// BadTimeout counts deadline headers that could not be used.
	BadTimeout uint64
	// Left counts clients that left while their requests waited.
	Left uint64
	// Unwatched counts waiting requests with an unread body whose client's
	// leaving could not be seen.
	Unwatched uint64
	// WatchFailed counts failures to watch a socket, or to set up the watching
	// of any, which is tried again after a second.
	WatchFailed uint64
	// AheadDenied counts requests of which nothing was read ahead because of
	// Options.AheadBytes.
	AheadDenied uint64
	// AheadBytes is a gauge: the bytes of buffers in use.
	AheadBytes int64
	// Watched is a gauge: the sockets being watched.
	Watched int64
}

// Counters returns the present values, each by itself.
func (m *Middleware) Counters() Counters {
	c := &m.counters
	return Counters{
		UntrustedClass: c.untrusted.Load(), BadClass: c.badClass.Load(), BadTimeout: c.badTimeout.Load(),
		Left: c.left.Load(), Unwatched: c.unwatched.Load(), WatchFailed: c.watchFailed.Load(),
		AheadDenied: m.quota.denied.Load(), AheadBytes: m.quota.used.Load(), Watched: c.watched.Load(),
	}
}
