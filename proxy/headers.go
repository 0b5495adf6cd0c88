package proxy

import (
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
)

// rewrite makes the request that is sent of the one that came. Of what a
// client says about where it comes from, only what a trusted peer says is
// passed on; of what it says to the gate, nothing is: the gate's own values are.
func (set *settings) rewrite(p *httputil.ProxyRequest) {
	x := exchangeOf(p.In.Context())
	set.retarget(p)
	h := p.Out.Header
	set.forwarded(p)
	x.call.Forward(h)
	if set.config.ClassHeader != "" {
		h[set.classHeader] = []string{x.call.Class}
	}
	if !x.upgrade {
		// What is left here is an offer to go on in another protocol, which
		// would leave the accounting behind.
		delete(h, "Upgrade")
		delete(h, "Connection")
		delete(h, "Http2-Settings")
	}
	if !x.safe {
		hideKey(h, "Idempotency-Key")
		hideKey(h, "X-Idempotency-Key")
	}
	if len(p.Out.Trailer) > 0 {
		// What a header must not say, a trailer must not either.
		for name := range p.Out.Trailer {
			if isOrigin(name) || strings.HasPrefix(name, "Plimsoll-") || name == set.classHeader {
				delete(p.Out.Trailer, name)
			}
		}
		x.body.passTrailer(p.Out.Trailer)
	}
}

// retarget points the request at the upstream and leaves Host and query as they
// are: the reverse proxy drops what it cannot parse of a query, and here nothing
// is decided by one.
func (set *settings) retarget(p *httputil.ProxyRequest) {
	u := set.config.Upstream
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	if u.Path == "" && u.RawQuery == "" {
		p.Out.URL.Scheme, p.Out.URL.Host = u.Scheme, u.Host
	} else {
		p.SetURL(u)
	}
	p.Out.Host = p.In.Host
	// HTTP/2 carries what would break a line of HTTP/1.
	if strings.IndexByte(p.Out.URL.RawQuery, ' ') >= 0 {
		p.Out.URL.RawQuery = strings.ReplaceAll(p.Out.URL.RawQuery, " ", "%20")
	}
}

// hideKey keeps a header from http.Transport, which takes it for a licence to
// send the request again by itself when a used connection turns out to be
// broken. On the wire header names have no case, so the upstream sees the same.
// What is left for the ledger of attempts: a route that is declared idempotent
// could be repeated, once that repeat is counted and paid for there.
func hideKey(h http.Header, name string) {
	if v, ok := h[name]; ok {
		delete(h, name)
		h[strings.ToLower(name)] = v
	}
}

// forwarded says whom the request comes from. The reverse proxy has already
// removed Forwarded, X-Forwarded-For, -Host and -Proto.
func (set *settings) forwarded(p *httputil.ProxyRequest) {
	in, h := p.In.Header, p.Out.Header
	peer := hostOf(p.In.RemoteAddr)
	v := make([]string, 3) // one allocation for three headers
	v[0], v[1], v[2] = peer, p.In.Host, "http"
	if p.In.TLS != nil {
		v[2] = "https"
	}
	if speaksOfOrigin(in) {
		if set.trusts(p.In.RemoteAddr) {
			if prior := in["X-Forwarded-For"]; len(prior) > 0 {
				v[0] = strings.Join(prior, ", ") + ", " + peer
			}
			if prior := in["X-Forwarded-Host"]; len(prior) > 0 {
				v[1] = prior[0]
			}
			if prior := in["X-Forwarded-Proto"]; len(prior) > 0 {
				v[2] = prior[0]
			}
			if prior := in["Forwarded"]; len(prior) > 0 {
				h["Forwarded"] = prior
			}
		} else {
			dropOrigin(h)
		}
	}
	h["X-Forwarded-For"], h["X-Forwarded-Host"], h["X-Forwarded-Proto"] = v[0:1:1], v[1:2:2], v[2:3:3]
}

// speaksOfOrigin says whether a client says anything about where it comes from.
func speaksOfOrigin(h http.Header) bool {
	for name := range h {
		if isOrigin(name) {
			return true
		}
	}
	return false
}

func isOrigin(name string) bool {
	return strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "X-Real-Ip"
}

func dropOrigin(h http.Header) {
	for name := range h {
		if isOrigin(name) {
			delete(h, name)
		}
	}
}

// trusts says whether a peer, by the address of its connection, is believed.
func (set *settings) trusts(remote string) bool {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	addr := a.Addr().Unmap().WithZone("")
	for _, p := range set.trust {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// hostOf cuts the port and the brackets off an address.
func hostOf(addr string) string {
	i := strings.LastIndexByte(addr, ':')
	if i < 0 {
		return addr
	}
	return strings.TrimSuffix(strings.TrimPrefix(addr[:i], "["), "]")
}
