package proxy

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Stats are the proxy's own counters. They are written with single atomic
// operations and never read back for a decision.
type Stats struct {
	Connections, InFlight, Held                            atomic.Int64
	Accepted, Requests, Abandoned, Lost, Dials, DialErrors atomic.Uint64
	UpstreamErrors, StreamsRefused, TunnelIn, TunnelOut    atomic.Uint64
	LogDropped, Reloads, ReloadErrors                      atomic.Uint64
}

// Counts is a look at the counters of a server: totals since it was made, and
// gauges that say so.
type Counts struct {
	// Connections is a gauge: clients' connections that are open.
	Connections int64
	Accepted    uint64
	// Requests counts requests whose header was read, refused ones included.
	Requests uint64
	// InFlight is a gauge: requests that wait, run or are being answered.
	InFlight int64
	// Held is a gauge: abandoned calls whose upstream work goes on.
	Held int64
	// Abandoned counts calls whose client or deadline went before their answer;
	// Lost those of them that never came back while they were held.
	Abandoned, Lost uint64
	// Dials counts connections made to the upstream, DialErrors those that
	// could not be made.
	Dials, DialErrors uint64
	// UpstreamErrors counts calls that were sent and got no whole answer.
	UpstreamErrors uint64
	// UpstreamRefused counts, by class, calls that were refused as upstream:
	// there was no connection to send them on. The gate, which had admitted
	// them, has them among those that failed. A class without any is not there.
	UpstreamRefused map[string]uint64
	// UpstreamDown says that the last attempt to connect failed.
	UpstreamDown bool
	// Streams is a gauge: upgraded connections and event streams that are open.
	Streams, StreamsLimit int64
	StreamsRefused        uint64
	// TunnelIn and TunnelOut count bytes from and to clients through upgraded
	// connections.
	TunnelIn, TunnelOut uint64
	// LogDropped counts lines of the access log that were lost.
	LogDropped uint64
	// ClassUntrusted counts requests whose peer spoke of its class and is not
	// trusted, ClassUnknown those whose trusted peer named no class that
	// exists, TimeoutInvalid deadline headers that could not be used.
	ClassUntrusted, ClassUnknown, TimeoutInvalid uint64
	// LeftWaiting counts clients that left while their requests waited,
	// Unwatched waiting requests whose client's leaving could not be seen,
	// WatchErrors failures to watch a socket. Watched is a gauge.
	LeftWaiting, Unwatched, WatchErrors uint64
	Watched                             int64
	// AheadBytes is a gauge: of buffers for waiting requests' bodies.
	// AheadDenied counts requests for which there was none.
	AheadBytes            int64
	AheadDenied           uint64
	Reloads, ReloadErrors uint64
	ConfigLoaded          time.Time
}

// Counts takes a look at the counters, each by itself.
func (s *Server) Counts() Counts {
	streams := s.streamsStatus()
	t, m := &s.stats, s.middleware.Counters()
	return Counts{
		Connections: t.Connections.Load(), Accepted: t.Accepted.Load(),
		Requests: t.Requests.Load(), InFlight: t.InFlight.Load(), Held: t.Held.Load(),
		Abandoned: t.Abandoned.Load(), Lost: t.Lost.Load(),
		Dials: t.Dials.Load(), DialErrors: t.DialErrors.Load(),
		UpstreamErrors: t.UpstreamErrors.Load(), UpstreamRefused: s.unsent.counts(), UpstreamDown: s.upstreamDown.Load(),
		Streams: int64(streams.Running), StreamsLimit: int64(streams.Slots),
		StreamsRefused: t.StreamsRefused.Load(),
		TunnelIn:       t.TunnelIn.Load(), TunnelOut: t.TunnelOut.Load(),
		LogDropped:     t.LogDropped.Load(),
		ClassUntrusted: m.UntrustedClass, ClassUnknown: m.BadClass, TimeoutInvalid: m.BadTimeout,
		LeftWaiting: m.Left, Unwatched: m.Unwatched, WatchErrors: m.WatchFailed, Watched: m.Watched,
		AheadBytes: m.AheadBytes, AheadDenied: m.AheadDenied,
		Reloads: t.Reloads.Load(), ReloadErrors: t.ReloadErrors.Load(),
		ConfigLoaded: s.current.Load().loaded,
	}
}

// unsent counts calls by class. There are as many classes as operators have named.
type unsent struct {
	mu      sync.Mutex
	byClass map[string]uint64
}

func (u *unsent) add(class string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byClass == nil {
		u.byClass = make(map[string]uint64)
	}
	u.byClass[class]++
}

func (u *unsent) counts() map[string]uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.byClass)
}
