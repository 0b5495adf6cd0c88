package config

import (
	"crypto/tls"
	"net/netip"
	"net/url"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// Config is everything that `plimsoll serve` needs, checked and with every
// default filled in. Nothing in it is shared with the caller's input, so a
// server may keep it while the next one is being read.
type Config struct {
	// Listen is the address that users reach, host:port or :port.
	Listen string
	// Admin is the address of the admin listener; empty means that there is none.
	Admin string
	// TLS, when not nil, is what Listen serves instead of cleartext.
	TLS *TLS
	// Upstream is the protected thing.
	Upstream Upstream
	// Gate is the gate's configuration, without an Observer. Pools and classes
	// are in the order of the file.
	Gate plimsoll.Config
	// Classify are tried in order; the first whose When holds names the class.
	// A call that no rule matches gets Gate.Default.
	Classify []Rule
	// ClassHeader, when not empty, is a header whose value names the class,
	// tried after Classify; it is believed only from a peer in Trust.
	ClassHeader string
	// Trust lists the peers whose class and deadline headers are believed.
	Trust []netip.Prefix
	// Streams bounds the upgraded connections (WebSocket) held at once, which
	// are counted apart from slots; 0 refuses every upgrade.
	Streams int
	// Timeouts bound every read and write at the listeners.
	Timeouts Timeouts
	// Drain is how the server goes down.
	Drain Drain
	// OnAbandon says what happens to a running call whose client has left:
	// "hold" keeps the upstream connection and reads the answer to its end,
	// "cancel" closes it and frees the slot after the expected time.
	OnAbandon string
	// HoldMax is how long "hold" holds before the call counts as lost; 0 means
	// ten times the deadline of the call.
	HoldMax time.Duration
	// AccessLog says where and how ended calls are written.
	AccessLog AccessLog
	// Statuses overrides, per pool and reason, the HTTP status of a refusal;
	// a pool or reason that is not in it has the usual one.
	Statuses map[string]map[plimsoll.Reason]int
	// AheadBytes bounds, over all calls, the bytes of bodies that are read
	// while their calls wait, so that a client that leaves is seen; 0 reads
	// none.
	AheadBytes int64
	// Warnings are what is valid and still cannot deliver what it seems to
	// promise, in the order of the file.
	Warnings []Warning
	// Source says what the configuration was read from.
	Source Source
}

// TLS names a certificate chain and its key, both PEM files.
type TLS struct {
	Cert string
	Key  string
	// Pair is what the files held when the configuration was read; empty after
	// [Parse], which does not read them.
	Pair tls.Certificate
}

// Upstream is the protected thing and how it is spoken to.
type Upstream struct {
	// URL has the scheme http or https, a host, and perhaps a path that is put
	// before each request's.
	URL *url.URL
	// Protocol is "auto" (HTTP/1.1, or HTTP/2 when TLS negotiates it),
	// "http1", or "h2c" (HTTP/2 in cleartext, URL scheme http only).
	Protocol string
	// DialTimeout bounds connecting, TLS included.
	DialTimeout time.Duration
	// HeaderTimeout bounds the wait for an answer's header once the request is
	// sent; 0 means that only the call's deadline bounds it.
	HeaderTimeout time.Duration
	// BodyIdle bounds the time between two reads of an answer's body; 0 means
	// that it may be silent for ever.
	BodyIdle time.Duration
	// IdleTimeout is how long an unused connection to the upstream is kept.
	IdleTimeout time.Duration
	// Connections bounds the idle connections kept; 0 means as many as there
	// are slots.
	Connections int
}

// Rule gives a class to the calls for which When holds.
type Rule struct {
	When  When
	Class string
}

// When is a conjunction: every part that is not empty must hold.
type When struct {
	// Path is compared with the decoded, cleaned path. A "*" at its end stands
	// for anything, one elsewhere for anything without a slash: "/checkout/*"
	// holds for whatever is below /checkout/.
	Path string
	// Method is compared as it stands, in capitals.
	Method string
	// Host is compared without its port and in lower case; "*.example.org"
	// matches any name below example.org.
	Host string
	// Header maps canonical header names to the value that the header must
	// have; "*" as value means that the header is present.
	Header map[string]string
	// Trusted is true when the rule holds only for peers in Config.Trust
	// (from: trusted). It is true by default for rules with a Header.
	Trusted bool
}

// Timeouts are the server's own patience. 0 means none, where it is allowed.
type Timeouts struct {
	// ReadHeader bounds reading a request's header, TLS handshake included.
	ReadHeader time.Duration
	// Idle is how long a connection without a request is kept.
	Idle time.Duration
	// BodyIdle bounds the time between two reads of a request's body.
	BodyIdle time.Duration
	// WriteIdle is how long one write of an answer may be stuck because its
	// client does not read; an answer that has nothing to write is not meant.
	WriteIdle time.Duration
	// Stream is how long an upgraded connection may be silent in both directions.
	Stream time.Duration
}

// Drain is how the server goes down on SIGTERM.
type Drain struct {
	// Accept is how long new calls are still accepted after readiness has
	// turned to no, so that balancers can notice.
	Accept time.Duration
	// Grace is how long, after that, running and waiting calls may still end.
	Grace time.Duration
}

// AccessLog says where and how ended calls are written.
type AccessLog struct {
	// Format is "json", "text" or "off".
	Format string
	// Path is a file that is appended to; "-" is standard output.
	Path string
}

// Source says what a Config was made from.
type Source struct {
	// Path is the file's name as given; empty for flags.
	Path string
	// SHA256 is the hash of the file's bytes in hex; empty for flags.
	SHA256 string
}

// Level says how much a Warning matters.
type Level string

const (
	// Warn: what the configuration seems to promise will not happen.
	Warn Level = "warn"
	// Hint: it will happen, and could be had better or cheaper.
	Hint Level = "hint"
)

// Warning is one thing that a valid configuration cannot deliver.
type Warning struct {
	Level Level `json:"level"`
	// Code names the kind of warning, for scripts: "nothing-expendable".
	Code string `json:"code"`
	// Line and Column count from 1; both are 0 when it comes from flags.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Key is the path of the key, or the flag: "pools.app.waiting", "--waiting".
	Key string `json:"key"`
	// Text has the numbers worked out and says what to change.
	Text string `json:"text"`
}
