package config

import (
	"net"
	"net/netip"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

// text is a scalar that a function checks and keeps. The function says what is
// wrong, as the predicate of the key: "has no port". "" means nothing.
type text struct {
	what string
	set  func(s string) (wrong string)
	// secret says whether s may hold a secret that no message should repeat.
	secret func(s string) bool
}

func (v text) allowed() string { return v.what }

func (v text) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	if n.kind != scalarNode {
		r.fail(path, n, "%s; %s is allowed", n.describe(), v.what)
		return
	}
	wrong := "is empty"
	if n.text != "" {
		wrong = v.set(n.text)
	}
	if wrong == "" {
		return
	}
	if v.secret != nil && v.secret(n.text) {
		at := *n
		at.secret = true
		n = &at
	}
	r.fail(path, n, "%s; %s is allowed", wrong, v.what)
}

// address is where to listen.
func address(to *string) text {
	const what = "host:port or :port, such as 127.0.0.1:8080, [::1]:8080 or :8080,"
	return text{what: what, set: func(s string) string {
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			if isDigits(s) {
				return "is " + clip(s) + ", a port without its colon (:" + clip(s) + ")"
			}
			if strings.Count(s, ":") > 1 && !strings.HasPrefix(s, "[") {
				return "is " + quote(s) + ", an IPv6 address without brackets or port"
			}
			return "is " + quote(s) + ", which has no port"
		}
		if p, err := strconv.Atoi(port); err != nil || !isDigits(port) || p > 65535 {
			return "has the port " + quote(port) + "; 0 (any free one) to 65535 is a port"
		}
		if host != "" && !isHost(host) {
			return "has the host " + quote(host)
		}
		*to = s
		return ""
	}}
}

// isHost tells whether s can be an IP address or the name of a host.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	if s == "" || len(s) > 253 {
		return false
	}
	for _, label := range strings.Split(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, lettersDigits+"-_") != "" || label[0] == '-' {
			return false
		}
	}
	last := s[strings.LastIndexByte(s, '.')+1:]
	return !isDigits(last) // 1.2.3 and 300.1.1.1 are bad addresses, not names
}

const lettersDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// link is the URL of the upstream.
func link(to **url.URL) text {
	const what = "http://host:port or https://host:port, perhaps with a path,"
	return text{what: what, set: func(s string) string {
		if strings.Contains(s, "@") {
			return "carries a user or a password, which would end in logs"
		}
		if !strings.Contains(s, "://") {
			return "is " + quote(s) + ", which has no scheme (http://" + clip(s) + ")"
		}
		u, err := url.Parse(s)
		switch {
		case err != nil:
			return "is " + quote(s) + ", which is no URL"
		case u.Scheme != "http" && u.Scheme != "https":
			return "has the scheme " + quote(u.Scheme)
		case u.Hostname() == "":
			return "is " + quote(s) + ", which has no host"
		case !isHost(u.Hostname()):
			return "has the host " + quote(u.Hostname())
		case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
			return "has a query or a fragment"
		}
		if p := u.Port(); p != "" {
			if i, err := strconv.Atoi(p); err != nil || i < 1 || i > 65535 {
				return "has the port " + quote(p) + "; 1 to 65535 is a port"
			}
		} else if strings.HasSuffix(u.Host, ":") {
			return "has a colon without a port"
		}
		*to = u
		return ""
	}, secret: func(s string) bool { return strings.Contains(s, "@") }}
}

// network is one entry of trust.
func network(to *[]netip.Prefix) text {
	const what = "a network such as 10.0.0.0/8, an address such as 10.1.2.3, or the word loopback"
	return text{what: what, set: func(s string) string {
		if s == "loopback" {
			*to = append(*to, loopback()...)
			return ""
		}
		if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
			*to = append(*to, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			return ""
		}
		p, err := netip.ParsePrefix(s)
		switch {
		case err != nil:
			return "is " + quote(s) + ", which is no network"
		case p.Addr().Is4In6():
			return "is " + quote(s) + ", an IPv4 network in the clothes of IPv6"
		case p.Masked() != p:
			return "is " + quote(s) + ", which has bits beyond its mask (" + p.Masked().String() + " is the network)"
		}
		*to = append(*to, p)
		return ""
	}}
}

// loopback is whom a server trusts that is told nothing: whoever runs on the
// same host.
func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// name is the name of a pool or a class, given or referred to.
func name(to *string, what string) text {
	return text{what: "the name of a " + what, set: func(s string) string {
		*to = s
		return ""
	}}
}

// badName says what is wrong with the name of a pool or a class. Names stand
// in headers, metrics and log lines, so they are plain.
func badName(s string) string {
	if s == "" || len(s) > 63 || strings.Trim(s, lettersDigits+"_-.") != "" || strings.Contains("_-.", s[:1]) {
		return "is not a name; a letter or digit, then letters, digits, _ - and . (at most 63 in all) are allowed"
	}
	return ""
}

// file is the path of a file, which is not looked at here.
func file(to *string, what string) text {
	return text{what: what, set: func(s string) string {
		*to = s
		return ""
	}}
}

// headerName is a name of an HTTP header, kept in canonical form.
func headerName(to *string) text {
	return text{what: "the name of an HTTP header, such as X-Class,", set: func(s string) string {
		c, wrong := canonicalHeader(s)
		*to = c
		return wrong
	}}
}

func canonicalHeader(s string) (canonical, wrong string) {
	if strings.Trim(s, lettersDigits+"!#$%&'*+-.^_`|~") != "" {
		return "", "is " + quote(s) + ", which is no header name"
	}
	c := textproto.CanonicalMIMEHeaderKey(s)
	if c == "Host" {
		return "", "is Host, which is no header to the rules (match on host)"
	}
	return c, ""
}

// pathPattern is the path of a rule.
func pathPattern(to *string) text {
	return text{what: "a path that begins with / or *, where a * at the end stands for anything and one before it for anything without a slash,", set: func(s string) string {
		if s[0] != '/' && s[0] != '*' {
			return "is " + quote(s)
		}
		if strings.ContainsAny(s, "?#") {
			return "is " + quote(s) + ", but a query is not part of the path"
		}
		*to = s
		return ""
	}}
}

// hostPattern is the host of a rule.
func hostPattern(to *string) text {
	return text{what: "a name without port, or *. and a name,", set: func(s string) string {
		h := strings.ToLower(s)
		plain := strings.TrimPrefix(h, "*.")
		if strings.HasPrefix(plain, "[") && strings.HasSuffix(plain, "]") {
			plain = plain[1 : len(plain)-1]
		}
		if !isHost(plain) || strings.Contains(plain, ":") && !strings.HasPrefix(h, "[") {
			return "is " + quote(s)
		}
		*to = h
		return ""
	}}
}

// method is the method of a rule.
func method(to *string) text {
	return text{what: "a method in capitals, such as GET,", set: func(s string) string {
		if strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
			return "is " + quote(s)
		}
		*to = s
		return ""
	}}
}

func quote(s string) string { return strconv.Quote(clip(s)) }
