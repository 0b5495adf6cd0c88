package httpgate

import (
	"fmt"
	"net/http"
	"net/netip"
)

// Loopback is whom a gate trusts that is told nothing: whoever runs on the
// same host.
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// checkMapped refuses IPv4 networks in IPv6's notation: addresses are compared
// in their own, so nobody would be in one.
func checkMapped(p netip.Prefix) error {
	if !p.Addr().Is4In6() {
		return nil
	}
	remedy := "an IPv4 network in its own notation is allowed"
	if p.Bits() >= 96 {
		remedy = "write " + netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).String()
	}
	return fmt.Errorf("%v is an IPv4 network in IPv6's notation; %s", p, remedy)
}

// peer answers whether the sender of a request is trusted, and works it out
// only when somebody asks.
type peer struct {
	r    *http.Request
	s    *settings
	done bool
	ok   bool
}

func (p *peer) trusted() bool {
	if !p.done {
		p.done, p.ok = true, p.s.trusts(p.r)
	}
	return p.ok
}

// trusts looks at the address of the connection, never at a header that names
// an address. A peer without an IP address (a unix socket) is not trusted by it.
func (s *settings) trusts(r *http.Request) bool {
	if s.trustTLS && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr := a.Addr().Unmap().WithZone("")
	for _, p := range s.trust {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
