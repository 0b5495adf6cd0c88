package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-go/plimsoll"
)

// Proxy is what a proxy has counted since it started, and what it holds now.
type Proxy struct {
	Connections    int64  // of clients, open now
	Accepted       uint64 // connections of clients
	Requests       uint64 // that reached a handler, refused ones included
	InFlight       int64  // requests whose handler runs, waiting ones included
	Held           int64  // abandoned calls whose upstream work goes on
	Abandoned      uint64 // calls whose client or deadline went before their answer
	Lost           uint64 // held calls that were given up
	Dials          uint64 // connections made to the upstream
	DialErrors     uint64
	UpstreamErrors uint64 // calls that were sent and got no whole answer
	// UpstreamRefused are, by class, calls that failed because there was no
	// connection to send them on.
	UpstreamRefused map[string]uint64
	UpstreamDown    bool  // the last attempt to connect failed
	Streams         int64 // upgraded connections and event streams, open now
	StreamsLimit    int64
	StreamsRefused  uint64
	TunnelIn        uint64 // bytes from clients through upgraded connections
	TunnelOut       uint64
	LogDropped      uint64 // access log lines that found no place or could not be written
	ClassUntrusted  uint64 // requests whose peer spoke of its class and is not trusted
	ClassUnknown    uint64 // requests whose trusted peer named no class that exists
	TimeoutInvalid  uint64 // deadline headers that could not be used
	LeftWaiting     uint64 // clients that left while their requests waited
	Unwatched       uint64 // waiting requests whose client's leaving could not be seen
	WatchErrors     uint64 // failures to watch a client's socket
	Watched         int64  // clients' sockets that are watched now
	AheadBytes      int64  // of buffers for waiting requests' bodies, now
	AheadDenied     uint64 // waiting requests for which there was no such buffer
	Reloads         uint64
	ReloadErrors    uint64
	ConfigLoaded    time.Time
}

type proxyMetrics struct {
	connections, accepted, requests, inFlight, held, abandoned, lost        metric
	dials, dialErrors, upstreamErrors, upstreamRefused, upstreamDown        metric
	streams, streamsLimit, streamsRefused, tunnelBytes, logDropped, reloads metric
	ignored, left, unwatched, watchErrors, watched, aheadBytes, aheadDenied metric
	configLoaded                                                            metric
}

func newProxyMetrics() proxyMetrics {
	return proxyMetrics{
		connections:     define(Gauge, "plimsoll_proxy_connections", "Connections of clients that are open."),
		accepted:        define(Counter, "plimsoll_proxy_accepted_connections_total", "Connections of clients."),
		requests:        define(Counter, "plimsoll_proxy_requests_total", "Requests whose header was read, refused ones included."),
		inFlight:        define(Gauge, "plimsoll_proxy_requests_in_flight", "Requests that wait or run and whose client is still answered."),
		held:            define(Gauge, "plimsoll_proxy_held_calls", "Abandoned calls that go on at the upstream and hold their slots."),
		abandoned:       define(Counter, "plimsoll_proxy_abandoned_calls_total", "Running calls whose client or deadline went before the answer came."),
		lost:            define(Counter, "plimsoll_proxy_lost_calls_total", "Held calls that never came back and were given up."),
		dials:           define(Counter, "plimsoll_upstream_dials_total", "Connections made to the upstream."),
		dialErrors:      define(Counter, "plimsoll_upstream_dial_errors_total", "Connections to the upstream that could not be made."),
		upstreamErrors:  define(Counter, "plimsoll_upstream_errors_total", "Calls that were sent and got no whole answer."),
		upstreamRefused: define(Counter, "plimsoll_upstream_refused_total", "Of the calls that failed, those that were refused as upstream: nothing was sent.", "pool", "class"),
		upstreamDown:    define(Gauge, "plimsoll_upstream_down", "1 while the last attempt to connect to the upstream failed."),
		streams:         define(Gauge, "plimsoll_streams", "Upgraded connections and event streams that are open."),
		streamsLimit:    define(Gauge, "plimsoll_streams_limit", "Upgraded connections and event streams that may be open at once."),
		streamsRefused:  define(Counter, "plimsoll_streams_refused_total", "Upgrades and event streams that were refused because of the limit."),
		tunnelBytes:     define(Counter, "plimsoll_tunnel_bytes_total", "Bytes through upgraded connections; in is from clients.", "direction"),
		logDropped:      define(Counter, "plimsoll_access_log_dropped_total", "Access log lines that found no place or could not be written."),
		ignored:         define(Counter, "plimsoll_ignored_headers_total", "Requests with a header that was not followed: a class from a peer that is not trusted, a class that does not exist, a deadline that is none.", "why"),
		left:            define(Counter, "plimsoll_left_waiting_total", "Clients that left while their requests waited."),
		unwatched:       define(Counter, "plimsoll_unwatched_requests_total", "Waiting requests with an unread body whose client's leaving could not be seen."),
		watchErrors:     define(Counter, "plimsoll_watch_errors_total", "Failures to watch a client's socket, or to set up the watching of any."),
		watched:         define(Gauge, "plimsoll_watched_connections", "Clients' sockets that are watched because their requests wait."),
		aheadBytes:      define(Gauge, "plimsoll_ahead_bytes", "Bytes of the buffers for bodies that are read while their requests wait."),
		aheadDenied:     define(Counter, "plimsoll_ahead_denied_total", "Waiting requests for which there was no such buffer within the bound of all."),
		reloads:         define(Counter, "plimsoll_config_reloads_total", "Attempts to load a new configuration.", "result"),
		configLoaded:    define(Gauge, "plimsoll_config_loaded_timestamp_seconds", "When the configuration in force was loaded."),
	}
}

func (m *proxyMetrics) all() []*metric {
	return []*metric{
		&m.connections, &m.accepted, &m.requests, &m.inFlight, &m.held, &m.abandoned, &m.lost,
		&m.dials, &m.dialErrors, &m.upstreamErrors, &m.upstreamRefused, &m.upstreamDown,
		&m.streams, &m.streamsLimit, &m.streamsRefused, &m.tunnelBytes, &m.logDropped,
		&m.ignored, &m.left, &m.unwatched, &m.watchErrors, &m.watched, &m.aheadBytes, &m.aheadDenied, &m.reloads,
		&m.configLoaded,
	}
}

func (m *proxyMetrics) collect(out chan<- prometheus.Metric, p *Proxy, pools []plimsoll.PoolStatus) {
	for i := range pools { // a class without any too, so that one can be taken from the other
		for j := range pools[i].Classes {
			class := pools[i].Classes[j].Name
			out <- m.upstreamRefused.sample(float64(p.UpstreamRefused[class]), pools[i].Name, class)
		}
	}
	out <- m.connections.sample(float64(p.Connections))
	out <- m.accepted.sample(float64(p.Accepted))
	out <- m.requests.sample(float64(p.Requests))
	out <- m.inFlight.sample(float64(p.InFlight))
	out <- m.held.sample(float64(p.Held))
	out <- m.abandoned.sample(float64(p.Abandoned))
	out <- m.lost.sample(float64(p.Lost))
	out <- m.dials.sample(float64(p.Dials))
	out <- m.dialErrors.sample(float64(p.DialErrors))
	out <- m.upstreamErrors.sample(float64(p.UpstreamErrors))
	out <- m.upstreamDown.sample(truth(p.UpstreamDown))
	out <- m.streams.sample(float64(p.Streams))
	out <- m.streamsLimit.sample(float64(p.StreamsLimit))
	out <- m.streamsRefused.sample(float64(p.StreamsRefused))
	out <- m.tunnelBytes.sample(float64(p.TunnelIn), "in")
	out <- m.tunnelBytes.sample(float64(p.TunnelOut), "out")
	out <- m.logDropped.sample(float64(p.LogDropped))
	out <- m.ignored.sample(float64(p.ClassUntrusted), "class_untrusted")
	out <- m.ignored.sample(float64(p.ClassUnknown), "class_unknown")
	out <- m.ignored.sample(float64(p.TimeoutInvalid), "timeout_invalid")
	out <- m.left.sample(float64(p.LeftWaiting))
	out <- m.unwatched.sample(float64(p.Unwatched))
	out <- m.watchErrors.sample(float64(p.WatchErrors))
	out <- m.watched.sample(float64(p.Watched))
	out <- m.aheadBytes.sample(float64(p.AheadBytes))
	out <- m.aheadDenied.sample(float64(p.AheadDenied))
	out <- m.reloads.sample(float64(p.Reloads-p.ReloadErrors), "ok")
	out <- m.reloads.sample(float64(p.ReloadErrors), "error")
	if !p.ConfigLoaded.IsZero() {
		out <- m.configLoaded.sample(float64(p.ConfigLoaded.UnixNano()) / 1e9)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
