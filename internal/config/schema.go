package config

import (
	"net/netip"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// Bounds that are the configuration's own.
const (
	maxDeadline = 24 * time.Hour
	// Both are below plimsoll.MaxExpected, and a number one can say.
	maxExpected = time.Hour
	maxMargin   = time.Hour
	maxPatience = 24 * time.Hour
	maxPools    = 1024
	maxClasses  = 4096
	maxRules    = 4096
	maxNetworks = 4096
	maxUnits    = 1 << 19 // the bound of the gate on slots, workers and waiting calls
	maxAhead    = 1 << 40
)

// draft is a configuration that is being read. What the defaults of one value
// need to know of another is worked out when everything has been read.
type draft struct {
	cfg     Config
	tls     TLS
	pools   []*poolDraft
	classes []*classDraft
	rules   []*ruleDraft
}

type poolDraft struct {
	plimsoll.Pool
	statuses map[plimsoll.Reason]int
}

type classDraft struct{ plimsoll.Class }

type ruleDraft struct {
	Rule
	from string
}

// fields are the keys of a file. This is the one place that knows them: the
// reader, the reference and the suggestions all take them from here.
func (d *draft) fields() []field {
	c := &d.cfg
	c.Trust = loopback()
	return []field{
		{key: "listen", value: address(&c.Listen), need: true, restart: true, doc: "The address that users reach."},
		{key: "admin", value: section{fields: d.adminFields()}, absent: "no admin listener", doc: "Liveness, readiness, metrics and status, apart from users' load."},
		{key: "tls", value: section{fields: d.tlsFields()}, absent: "cleartext", doc: "Certificate and key of listen. A reload reads both files again; tls itself cannot come or go without a restart, and a reload that tries changes nothing."},
		{key: "upstream", value: section{fields: d.upstreamFields()}, need: true, doc: "The protected thing."},
		{key: "pools", value: named{"pool", maxPools, true, d.pool}, need: true, doc: "The places of bounded work, by names that you choose."},
		{key: "classes", value: named{"class", maxClasses, true, d.class}, need: true, doc: "The criticalities, by names that you choose."},
		{key: "classify", value: list{"rules", maxRules, func() {}, d.rule}, absent: "no rules", doc: "How calls get their classes. The first rule that holds decides."},
		{key: "class_header", value: headerName(&c.ClassHeader), absent: "none", doc: "A header whose value is the name of a class. It is looked at after the rules, and believed only from a peer in trust; a value that is no class is ignored."},
		{key: "default", value: name(&c.Gate.Default, "class"), absent: "the only class, when there is one", doc: "The class of a call that no rule and no header gives one."},
		{key: "trust", value: list{"networks", maxNetworks, func() { c.Trust = []netip.Prefix{} }, func(int) value { return network(&c.Trust) }}, absent: "[loopback]", doc: "The peers whose headers are believed what they say of class, deadline and attempt. Naming any replaces the default; the word loopback stands for 127.0.0.0/8 and ::1/128."},
		{key: "streams", value: count{&c.Streams, 0, maxUnits}, def: "1000", doc: "How many upgraded connections (WebSocket) may be open at once. They do not take slots. 0 refuses every upgrade."},
		{key: "timeouts", value: section{fields: d.timeoutFields()}, absent: "the defaults of its keys", doc: "The server's own patience with clients."},
		{key: "drain", value: section{fields: d.drainFields()}, absent: "the defaults of its keys", doc: "How the server goes down on SIGTERM."},
		{key: "on_abandon", value: oneOf(&c.OnAbandon, "hold", "cancel"), def: "hold", doc: "What happens to a running call whose client has left. hold reads the upstream's answer to its end, so that the slot is free when the work is really done. cancel closes the connection and frees the slot after the expected time."},
		{key: "hold_max", value: duration{&c.HoldMax, 0, maxPatience}, def: "0s", doc: "How long hold holds before the call counts as lost. 0 means ten times the deadline of its class."},
		{key: "access_log", value: section{fields: d.logFields()}, absent: "the defaults of its keys", doc: "One line for each ended call."},
		{key: "ahead_bytes", value: size{&c.AheadBytes, maxAhead}, def: "8MiB", doc: "Bound on the bytes of bodies, of all calls together, that are read while the calls wait, so that a client's leaving is seen. 0 reads none."},
	}
}

func (d *draft) adminFields() []field {
	return []field{
		{key: "listen", value: address(&d.cfg.Admin), need: true, restart: true, doc: "The address of the admin listener. Its port is not that of the top level's listen, unless their hosts differ."},
	}
}

func (d *draft) tlsFields() []field {
	return []field{
		{key: "cert", value: file(&d.tls.Cert, "the path of a PEM file with the certificate chain"), need: true, doc: "The certificate chain. Relative to the working directory."},
		{key: "key", value: file(&d.tls.Key, "the path of a PEM file with the private key"), need: true, doc: "The private key, without a password. Relative to the working directory."},
	}
}

func (d *draft) upstreamFields() []field {
	u := &d.cfg.Upstream
	return []field{
		{key: "url", value: link(&u.URL), need: true, doc: "Where the protected thing is. A path is put before each request's. It must not lead back to listen or admin.listen."},
		{key: "protocol", value: oneOf(&u.Protocol, "auto", "http1", "h2c"), def: "auto", doc: "auto: HTTP/2 when TLS negotiates it, and in cleartext for gRPC calls; else HTTP/1.1. http1: always HTTP/1.1. h2c: always HTTP/2 in cleartext, with http:// only. Upgrades (WebSocket) go in HTTP/1.1 whatever stands here."},
		{key: "dial_timeout", value: duration{&u.DialTimeout, time.Millisecond, maxPatience}, def: "5s", doc: "Bound on connecting, TLS included."},
		{key: "header_timeout", value: duration{&u.HeaderTimeout, 0, maxPatience}, def: "0s", doc: "Bound on the time from sending a request to the header of its answer. 0: only the call's deadline bounds it. At its end the connection is closed and the slot is free, whatever on_abandon says, though the service may still be at work."},
		{key: "body_idle", value: duration{&u.BodyIdle, 0, maxPatience}, def: "5m", doc: "Bound on the time between two reads of an answer's body. 0: it may be silent for ever."},
		{key: "idle_timeout", value: duration{&u.IdleTimeout, time.Millisecond, maxPatience}, def: "50s", doc: "How long an unused connection to the upstream is kept. It should be less than the upstream's own."},
		{key: "connections", value: count{&u.Connections, 0, maxUnits}, def: "0", doc: "Bound on the unused connections kept of each kind: for calls without a body, for others, for gRPC and for upgrades. 0: as many as there are slots."},
	}
}

func (d *draft) pool(name string) value {
	p := &poolDraft{Pool: plimsoll.Pool{Name: name}}
	d.pools = append(d.pools, p)
	return section{fields: p.fields()}
}

func (p *poolDraft) fields() []field {
	return []field{
		{key: "workers", value: count{&p.Workers, 1, maxUnits}, absent: "as many as slots", doc: "How many calls the protected thing really works on at once. At most slots."},
		{key: "slots", value: count{&p.Slots, 0, maxUnits}, absent: "as many as workers", doc: "How many calls may be out at once. One more than workers hides the turn-around between an answer and the next request. 0 refuses everything. Either slots or workers is needed."},
		{key: "waiting", value: count{&p.Waiting, 0, maxUnits}, need: true, doc: "How many calls may wait. The pool holds at most slots + waiting calls."},
		{key: "order", value: orders(&p.Order), def: "fifo", doc: "Who of the waiting runs next: the oldest; the oldest of the most critical rank; the newest."},
		{key: "door", value: doors(&p.Door), def: "blind", doc: "What happens when the pool is full. blind refuses whoever arrives; priority evicts the newest waiting call of the lowest rank below the newcomer's."},
		{key: "expected", value: duration{&p.Expected, time.Microsecond, maxExpected}, absent: "learnt", doc: "How long a call runs. Until it is known, nothing is refused as hopeless."},
		{key: "margin", value: margin{&p.Margin}, def: "learnt", doc: "What is added to predicted finishes: work planned to end exactly at its deadline ends late half of the time. learnt takes it from how far predictions were off."},
		{key: "late_expiry", value: boolean{&p.LateExpiry}, def: "false", doc: "Leaves a doomed call waiting until its turn comes, instead of refusing it at the moment from which it can no longer finish in time."},
		{key: "admit_hopeless", value: boolean{&p.AdmitHopeless}, def: "false", doc: "Lets in calls that are predicted to finish after their deadline."},
		{key: "mode", value: modes(&p.Mode), def: "enforce", doc: "enforce waits and refuses; shadow decides and counts, and lets everything through; off decides nothing."},
		{key: "statuses", value: section{fields: p.statusFields(), noun: "reason"}, absent: "the usual ones", doc: "HTTP statuses of refusals by reason, where the usual ones do not suit."},
	}
}

// statusFields has a key for each reason.
func (p *poolDraft) statusFields() []field {
	var out []field
	for r := core.Reason(1); int(r) < core.NumReasons; r++ {
		out = append(out, field{key: r.String(), value: status{p, r}, absent: "the usual one", doc: "The HTTP status of a refusal for this reason."})
	}
	return out
}

// status is the status of one reason in one pool.
type status struct {
	p      *poolDraft
	reason core.Reason
}

func (status) allowed() string { return count{nil, 400, 599}.allowed() }

func (v status) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	code := 0
	count{&code, 400, 599}.read(r, path, n)
	if code == 0 {
		return
	}
	if v.p.statuses == nil {
		v.p.statuses = map[plimsoll.Reason]int{}
	}
	v.p.statuses[v.reason] = code
}

func orders(to *plimsoll.Order) word {
	all := []plimsoll.Order{plimsoll.OrderFIFO, plimsoll.OrderPriority, plimsoll.OrderLIFO}
	return words(to, all, func(o plimsoll.Order) string { return o.String() })
}

func doors(to *plimsoll.Door) word {
	all := []plimsoll.Door{plimsoll.DoorBlind, plimsoll.DoorPriority}
	return words(to, all, func(d plimsoll.Door) string { return d.String() })
}

func modes(to *plimsoll.Mode) word {
	all := []plimsoll.Mode{plimsoll.Enforce, plimsoll.Shadow, plimsoll.Off}
	return words(to, all, func(m plimsoll.Mode) string { return m.String() })
}

func words[T any](to *T, all []T, name func(T) string) word {
	names := make([]string, len(all))
	for i := range all {
		names[i] = name(all[i])
	}
	return word{names, func(i int) { *to = all[i] }}
}

func (d *draft) class(name string) value {
	c := &classDraft{plimsoll.Class{Name: name, Waiting: plimsoll.Unbounded}}
	d.classes = append(d.classes, c)
	return section{fields: c.fields()}
}

func (c *classDraft) fields() []field {
	return []field{
		{key: "pool", value: name(&c.Pool, "pool"), absent: "the only pool, when there is one", doc: "The pool that the class belongs to."},
		{key: "rank", value: count{&c.Rank, 0, 1<<31 - 1}, need: true, doc: "How little the class matters; 0 is the most critical. Classes may share a rank."},
		{key: "deadline", value: duration{&c.Deadline, time.Millisecond, maxDeadline}, absent: "none", doc: "The time from arrival after which an answer is worthless. It is what a call gets that brings none, and the most that a call may bring."},
		{key: "objective", value: share{&c.Objective}, absent: "the class may be lost", doc: "The share of the class's arrivals, refused ones included, that should be answered in time."},
		{key: "waiting", value: count{&c.Waiting, 0, maxUnits}, absent: "only the pool's bound", doc: "How many calls of the class may wait. 0 refuses a call that cannot start at once."},
		{key: "reserve", value: count{&c.Reserve, 0, maxUnits}, def: "0", doc: "How many of the pool's slots no other class takes. The reserves of a pool's classes are together at most its slots."},
	}
}

func (d *draft) rule(int) value {
	r := &ruleDraft{}
	d.rules = append(d.rules, r)
	return section{fields: []field{
		{key: "when", value: section{fields: r.whenFields()}, need: true, doc: "What must hold: all of its keys, at least one."},
		{key: "class", value: name(&r.Class, "class"), need: true, doc: "The class of calls for which it holds."},
	}}
}

func (r *ruleDraft) whenFields() []field {
	return []field{
		{key: "path", value: pathPattern(&r.When.Path), absent: "any path", doc: "The path, decoded and cleaned of . and .. segments. Where servers may read one differently (encoded slashes, dots or letters, empty segments), every reading is tried, and the call gets the least critical class of those that come out."},
		{key: "method", value: method(&r.When.Method), absent: "any method", doc: "The method."},
		{key: "host", value: hostPattern(&r.When.Host), absent: "any host", doc: "The host, without its port, without a dot at its end and without regard to case."},
		{key: "header", value: pairs{&r.When.Header}, absent: "any headers", doc: "Headers that must be there, each once and with that very value; * means any value. A rule for trusted peers makes them headers that speak of the class, which the service gets from trusted peers only."},
		{key: "from", value: oneOf(&r.from, "trusted", "any"), absent: "trusted when there is a header, else any", doc: "Whose calls the rule holds for: peers in trust, or everybody."},
	}
}

func (d *draft) timeoutFields() []field {
	t := &d.cfg.Timeouts
	return []field{
		{key: "read_header", value: duration{&t.ReadHeader, time.Millisecond, maxPatience}, def: "10s", restart: true, doc: "Bound on reading a request's header, TLS handshake included."},
		{key: "idle", value: duration{&t.Idle, time.Millisecond, maxPatience}, def: "90s", restart: true, doc: "How long a connection without a request is kept. More than the balancer in front keeps it (commonly 60s), or the two close and send at once."},
		{key: "body_idle", value: duration{&t.BodyIdle, time.Millisecond, maxPatience}, def: "30s", doc: "Bound on the time between two reads of a request's body."},
		{key: "write_idle", value: duration{&t.WriteIdle, time.Millisecond, maxPatience}, def: "30s", doc: "How long one write of an answer may be stuck because its client does not read."},
		{key: "stream", value: duration{&t.Stream, 0, maxPatience}, def: "1h", doc: "How long an upgraded connection may be silent in both directions. 0: for ever."},
	}
}

func (d *draft) drainFields() []field {
	return []field{
		{key: "accept", value: duration{&d.cfg.Drain.Accept, 0, time.Hour}, def: "0s", doc: "How long new calls are still accepted after /readyz has turned to no, so that balancers can notice."},
		{key: "grace", value: duration{&d.cfg.Drain.Grace, 0, maxPatience}, def: "25s", doc: "How long, after that, running and waiting calls may still end."},
	}
}

func (d *draft) logFields() []field {
	l := &d.cfg.AccessLog
	return []field{
		{key: "format", value: oneOf(&l.Format, "json", "text", "off"), def: "json", restart: true, doc: "The form of the lines; off writes none."},
		{key: "path", value: file(&l.Path, "the path of a file, or - for standard output,"), def: "-", restart: true, doc: "A file that is appended to, or - for standard output. SIGHUP opens it again, so that it may be moved away before. Relative to the working directory."},
	}
}

// walk visits every key of a section and of those within, with NAME for names
// that users choose and [] for places in lists.
func walk(prefix string, fields []field, visit func(path string, f field)) {
	for _, f := range fields {
		path := join(prefix, f.key)
		visit(path, f)
		switch v := f.value.(type) {
		case section:
			walk(path, v.fields, visit)
		case named:
			walkValue(path+".NAME", v.each("NAME"), visit)
		case list:
			walkValue(path+"[]", v.each(0), visit)
		}
	}
}

func walkValue(prefix string, v value, visit func(path string, f field)) {
	if s, ok := v.(section); ok {
		walk(prefix, s.fields, visit)
	}
}
