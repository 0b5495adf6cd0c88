package config

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// endpoint is an address that is listened at or connected to.
type endpoint struct {
	host string // in lower case, without brackets
	port int    // 0: any free one, so it is nobody else's
}

// listener is the endpoint of an address that address has accepted.
func listener(s string) endpoint {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return endpoint{}
	}
	n, _ := strconv.Atoi(port) // digits, as address has seen
	return endpoint{strings.ToLower(strings.TrimSuffix(host, ".")), n}
}

// target is the endpoint that a URL leads to.
func target(u *url.URL) endpoint {
	e := endpoint{host: strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port: 80}
	if u.Scheme == "https" {
		e.port = 443
	}
	if n, err := strconv.Atoi(u.Port()); err == nil {
		e.port = n
	}
	return e
}

// collides tells whether two listeners surely cannot have both addresses.
// Names that only a resolver knows are taken for different ones.
func (e endpoint) collides(other endpoint) bool {
	if e.port == 0 || e.port != other.port {
		return false
	}
	a, b := e.address(), other.address()
	switch {
	case e.everywhere() || other.everywhere():
		return true
	case !a.IsValid() || !b.IsValid():
		return e.host == other.host
	case a == netip.IPv4Unspecified() || b == netip.IPv4Unspecified():
		return a.Is4() && b.Is4()
	}
	return a == b
}

// reaches tells whether whoever connects to e surely ends at the listener l. A
// listener at every address may have e's, and only of loopback that is known.
func (e endpoint) reaches(l endpoint) bool {
	if e.port == 0 || e.port != l.port {
		return false
	}
	if e.address().IsUnspecified() {
		e.host = "localhost" // that is where a connection to no address goes
	}
	a, b := e.address(), l.address()
	if !a.IsValid() {
		return e.host == l.host
	}
	return a == b || a.IsLoopback() && (l.everywhere() || a.Is4() && b == netip.IPv4Unspecified())
}

// everywhere tells whether e is every address of the host, of both families.
func (e endpoint) everywhere() bool { return e.address() == netip.IPv6Unspecified() }

// address is e's host as an address, not valid when it is a name. localhost
// stands for the address that is listened at when it is said.
func (e endpoint) address() netip.Addr {
	switch e.host {
	case "":
		return netip.IPv6Unspecified()
	case "localhost":
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	a, err := netip.ParseAddr(e.host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

func (d *draft) resolveListeners(r *reader) {
	c := &d.cfg
	users, admin := listener(c.Listen), listener(c.Admin)
	known := r.given("listen")
	if known && r.given("admin.listen") && users.collides(admin) {
		off := ""
		if r.flags != nil {
			off = ", or off,"
		}
		r.fail("admin.listen", nil, "is %s, which %s %s takes already; another port%s is needed", c.Admin, r.name("listen"), c.Listen, off)
	}
	u := c.Upstream.URL
	if u == nil {
		return
	}
	if u.Scheme == "https" && c.Upstream.Protocol == "h2c" {
		r.fail("upstream.protocol", nil, "is h2c, which is cleartext, and %s is https; auto or http1 is allowed, auto negotiates HTTP/2", r.name("upstream.url"))
	}
	switch to := target(u); {
	case known && to.reaches(users):
		r.fail("upstream.url", nil, "leads to %s, which is %s: every call would come back here until all places are taken; the address of the service is needed", u.Redacted(), r.name("listen"))
	case r.given("admin.listen") && to.reaches(admin):
		r.fail("upstream.url", nil, "leads to %s, which is %s: users would see what is for operators; the address of the service is needed", u.Redacted(), r.name("admin.listen"))
	}
}
