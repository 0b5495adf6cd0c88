package proxy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// newAdmin makes the server for operators. It shares no handler, limit or
// connection with the one for users.
func (s *Server) newAdmin(c *Config) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.livez)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /statusz", s.statusz)
	if c.Metrics != nil {
		mux.Handle("GET /metrics", c.Metrics)
	}
	if c.Page != nil {
		mux.Handle("/", c.Page)
	} else {
		mux.HandleFunc("GET /{$}", links)
	}
	if c.Profile {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       DefaultIdle,
		MaxHeaderBytes:    maxHeader,
	}
}

// livez says that the process answers. It depends on nothing: a process that is
// restarted because it is busy, or because its upstream is away, makes the
// trouble worse.
func (s *Server) livez(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") }

// readyz says whether new work should be sent here. A full gate is ready, since
// refusing is its work, and so is one whose upstream is away: all instances
// would turn away at once, and nobody would be left to say why.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	switch {
	case s.draining.Load():
		say(w, http.StatusServiceUnavailable, "draining\n")
	case s.serving.Load() == 0:
		say(w, http.StatusServiceUnavailable, "starting\n")
	default:
		say(w, http.StatusOK, "ready\n")
	}
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, text)
}

func links(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Plimsoll</title>
<h1>Plimsoll</h1>
<ul>
<li><a href="/statusz">/statusz</a>: pools and classes, as JSON
<li><a href="/metrics">/metrics</a>: for Prometheus
<li><a href="/readyz">/readyz</a>: whether new work should be sent here
<li><a href="/livez">/livez</a>: whether the process answers
</ul>
</html>
`)
}

// StatusPage is what /statusz shows. Times in its fields are in milliseconds.
type StatusPage struct {
	UptimeMs float64      `json:"uptime_ms"`
	Draining bool         `json:"draining"`
	Config   StatusConfig `json:"config"`
	Pools    []StatusPool `json:"pools"`
	Streams  StatusStream `json:"streams"`
	Proxy    StatusProxy  `json:"proxy"`
}

// StatusConfig says which configuration is in force.
type StatusConfig struct {
	Source       string `json:"source,omitempty"`
	Loaded       string `json:"loaded"` // RFC 3339
	Checksum     string `json:"checksum,omitempty"`
	Reloads      uint64 `json:"reloads"`
	ReloadErrors uint64 `json:"reload_errors"`
	// LastError is what was wrong with the last reload; absent if it succeeded.
	LastError string   `json:"last_error,omitempty"`
	Warnings  []string `json:"warnings"`
}

// StatusPool is one pool.
type StatusPool struct {
	Name           string        `json:"name"`
	Mode           string        `json:"mode"`
	Order          string        `json:"order"`
	Door           string        `json:"door"`
	Slots          Use           `json:"slots"`
	Workers        int           `json:"workers"`
	Running        int           `json:"running"`
	Waiting        Use           `json:"waiting"`
	HeadAgeMs      float64       `json:"head_age_ms"`
	ExpectedMs     float64       `json:"expected_ms"`
	ExpectedLearnt bool          `json:"expected_learnt"`
	MarginMs       float64       `json:"margin_ms"`
	MarginLearnt   bool          `json:"margin_learnt"`
	Broken         bool          `json:"broken"`
	Classes        []StatusClass `json:"classes"`
}

// Use is how much of a bound is in use; a limit of -1 is none.
type Use struct {
	Used  int `json:"used"`
	Limit int `json:"limit"`
}

// StatusClass is one class. Slots.Limit is the pool's; Reserve is its own share.
type StatusClass struct {
	Name       string            `json:"name"`
	Rank       int               `json:"rank"`
	DeadlineMs float64           `json:"deadline_ms"`
	Objective  float64           `json:"objective"`
	Slots      Use               `json:"slots"`
	Reserve    int               `json:"reserve"`
	Running    int               `json:"running"`
	Waiting    Use               `json:"waiting"`
	HeadAgeMs  float64           `json:"head_age_ms"`
	Arrived    uint64            `json:"arrived"`
	Outcomes   map[string]uint64 `json:"outcomes"`
	Refused    map[string]uint64 `json:"refused"`
	// UpstreamRefused is how many of the failed were refused as upstream, after
	// the gate had admitted them; see Counts.
	UpstreamRefused uint64            `json:"upstream_refused"`
	WouldRefuse     map[string]uint64 `json:"would_refuse"`
}

// StatusStream is the accounting of upgraded connections and event streams.
type StatusStream struct {
	Use
	Tunnels   int    `json:"tunnels"`
	Refused   uint64 `json:"refused"`
	TunnelIn  uint64 `json:"tunnel_bytes_in"`
	TunnelOut uint64 `json:"tunnel_bytes_out"`
}

// StatusProxy is what the proxy counts beside the gate.
type StatusProxy struct {
	Connections    int64  `json:"connections"`
	Requests       uint64 `json:"requests"`
	InFlight       int64  `json:"in_flight"`
	Held           int64  `json:"held"`
	Abandoned      uint64 `json:"abandoned"`
	Lost           uint64 `json:"lost"`
	UpstreamDown   bool   `json:"upstream_down"`
	UpstreamErrors uint64 `json:"upstream_errors"`
	DialErrors     uint64 `json:"dial_errors"`
	LogDropped     uint64 `json:"access_log_dropped"`
	ClassUntrusted uint64 `json:"class_untrusted"`
	ClassUnknown   uint64 `json:"class_unknown"`
	TimeoutInvalid uint64 `json:"timeout_invalid"`
	LeftWaiting    uint64 `json:"left_waiting"`
}

// Status looks at the server and its gate.
func (s *Server) Status() StatusPage {
	c, g, set := s.Counts(), s.gate.Status(), s.current.Load()
	p := StatusPage{
		UptimeMs: millis(g.Uptime), Draining: s.draining.Load(),
		Config: StatusConfig{
			Source: set.config.Source, Loaded: set.loaded.UTC().Format(time.RFC3339), Checksum: set.config.Checksum,
			Reloads: c.Reloads, ReloadErrors: c.ReloadErrors, LastError: s.lastReloadError(), Warnings: append([]string{}, set.config.Warnings...),
		},
		Streams: StatusStream{
			Use: Use{int(c.Streams), int(c.StreamsLimit)}, Tunnels: s.tunnels.count(),
			Refused: c.StreamsRefused, TunnelIn: c.TunnelIn, TunnelOut: c.TunnelOut,
		},
		Proxy: StatusProxy{
			Connections: c.Connections, Requests: c.Requests, InFlight: c.InFlight, Held: c.Held,
			Abandoned: c.Abandoned, Lost: c.Lost, UpstreamDown: c.UpstreamDown,
			UpstreamErrors: c.UpstreamErrors, DialErrors: c.DialErrors, LogDropped: c.LogDropped,
			ClassUntrusted: c.ClassUntrusted, ClassUnknown: c.ClassUnknown, TimeoutInvalid: c.TimeoutInvalid, LeftWaiting: c.LeftWaiting,
		},
	}
	for i := range g.Pools {
		p.Pools = append(p.Pools, statusPool(&g.Pools[i], c.UpstreamRefused))
	}
	return p
}

func statusPool(p *plimsoll.PoolStatus, unsent map[string]uint64) StatusPool {
	out := StatusPool{
		Name: p.Name, Mode: p.Mode.String(), Order: p.Order.String(), Door: p.Door.String(),
		Slots: Use{p.Used, p.Slots}, Workers: p.Workers, Running: p.Running,
		Waiting: Use{p.Waiting, p.WaitingLimit}, HeadAgeMs: millis(p.HeadAge),
		ExpectedMs: millis(p.Expected), ExpectedLearnt: p.ExpectedLearnt,
		MarginMs: millis(p.Margin), MarginLearnt: p.MarginLearnt, Broken: p.Broken,
	}
	for i := range p.Classes {
		k := &p.Classes[i]
		c := StatusClass{
			Name: k.Name, Rank: k.Rank, DeadlineMs: millis(k.Deadline), Objective: k.Objective,
			Slots: Use{k.Used, p.Slots}, Reserve: k.Reserve, Running: k.Running,
			Waiting: Use{k.Waiting, k.WaitingLimit}, HeadAgeMs: millis(k.HeadAge), Arrived: k.Arrived,
			Outcomes: map[string]uint64{}, Refused: map[string]uint64{}, UpstreamRefused: unsent[k.Name], WouldRefuse: map[string]uint64{},
		}
		for o := core.NoOutcome + 1; int(o) < core.NumOutcomes; o++ {
			c.Outcomes[o.String()] = k.Outcomes[o]
		}
		for r := core.NoReason + 1; int(r) < core.NumReasons; r++ {
			c.Refused[r.String()] = k.Refused[r]
			if k.WouldRefuse[r] > 0 {
				c.WouldRefuse[r.String()] = k.WouldRefuse[r]
			}
		}
		out.Classes = append(out.Classes, c)
	}
	return out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (s *Server) statusz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(s.Status()) // an error is the operator's connection ending
}
