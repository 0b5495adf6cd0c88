package httpgate

import (
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// From says whose requests a rule holds for.
type From uint8

const (
	// FromAuto is FromTrusted for a rule that reads a header, because anybody
	// can write one, and FromAny for every other rule.
	FromAuto From = iota
	// FromTrusted restricts a rule to trusted peers.
	FromTrusted
	// FromAny lets a rule hold for everybody, also one that reads a header:
	// then every client may choose the class for itself.
	FromAny
)

var fromNames = [...]string{"", "trusted", "any"}

// String returns the token used in configuration files.
func (f From) String() string {
	if int(f) < len(fromNames) {
		return fromNames[f]
	}
	return fmt.Sprintf("from(%d)", uint8(f))
}

// MarshalText writes the token.
func (f From) MarshalText() ([]byte, error) {
	if int(f) < len(fromNames) {
		return []byte(fromNames[f]), nil
	}
	return nil, fmt.Errorf("httpgate: no such from: %d", uint8(f))
}

// UnmarshalText reads the token.
func (f *From) UnmarshalText(b []byte) error {
	i := slices.Index(fromNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("httpgate: no such from: %q; one of %q", b, fromNames[1:])
	}
	*f = From(i)
	return nil
}

// Match is a conjunction: every part that is not empty must hold. An empty
// Match holds for every request.
type Match struct {
	// Path is compared with the decoded path after "." and ".." and empty
	// segments have been resolved. A "*" at the end stands for anything, one
	// elsewhere for anything without a slash. It begins with "/" or "*".
	//
	// Servers do not agree on what such segments mean, nor on encoded slashes,
	// dots and letters, on backslashes and on parameters after a semicolon. A
	// path that has any is tried in every reading, and the request gets the
	// least critical of the classes that come out: neither /checkout/../reports
	// nor /reports/..%2Fcheckout/ can dress as the other. One of more than 2 KiB
	// gets the least critical class that any rule or the default could give it.
	Path string
	// Method is compared as it stands.
	Method string
	// Host is compared without port, without a dot at its end and without
	// regard to case;
	// "*.example.org" holds for any name below example.org.
	Host string
	// Header maps names to values. A header holds when it is there once and
	// has that very value; "*" as value means that it is there at all. What a
	// header says of the class is passed on from trusted peers only, see
	// [Call.Forward]: a rule on one that says other things too, such as
	// Authorization, needs FromAny.
	Header map[string]string
	// ClassHeader names a header whose value is the name of the class. It
	// holds when the header is there once and names a class of the gate. A
	// rule with it has no Class.
	ClassHeader string
	// From restricts the rule to some peers.
	From From
}

// Rule gives a class to the requests for which When holds.
type Rule struct {
	When  Match
	Class string
}

// Rules are compiled rules. They do not change and may be shared.
type Rules struct {
	list []rule
	// claims are the headers in which a trusted peer speaks of a class, by
	// canonical name: nobody else's are passed on.
	claims []string
}

type rule struct {
	class       string
	path        glob
	method      string
	host        string // in lower case; a suffix with its dot when wild
	wildHost    bool
	headers     []header
	classHeader string
	trusted     bool
}

type header struct{ name, value string }

// CompileRules checks rules and compiles them. Of the rules that hold for a
// request the first wins; when none holds, the gate's default class is taken.
// Whether the classes exist is checked by [New].
func CompileRules(rules []Rule) (*Rules, error) {
	c := &Rules{}
	for i, r := range rules {
		k, err := compile(r)
		if err != nil {
			return nil, fmt.Errorf("httpgate: rule %d: %w", i+1, err)
		}
		c.list = append(c.list, k)
		if k.trusted {
			for _, h := range k.headers {
				c.claim(h.name)
			}
			if k.classHeader != "" {
				c.claim(k.classHeader)
			}
		}
	}
	return c, nil
}

// speaks says whether there is anything in h that speaks of a class.
func (c *Rules) speaks(h http.Header) bool {
	if c == nil {
		return false
	}
	for _, name := range c.claims {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

func (c *Rules) claim(name string) {
	if !slices.Contains(c.claims, name) {
		c.claims = append(c.claims, name)
	}
}

func compile(r Rule) (rule, error) {
	m := r.When
	k := rule{class: r.Class, method: m.Method, host: strings.ToLower(strings.TrimSuffix(m.Host, "."))}
	switch {
	case m.ClassHeader == "" && r.Class == "":
		return k, fmt.Errorf("no class; a class, or a class header that names it, is needed")
	case m.ClassHeader != "" && r.Class != "":
		return k, fmt.Errorf("class %q beside class header %q; one of the two is allowed", r.Class, m.ClassHeader)
	case m.From > FromAny:
		return k, fmt.Errorf("%v; one of %q", m.From, fromNames[1:])
	}
	if m.Path != "" {
		if m.Path[0] != '/' && m.Path[0] != '*' {
			return k, fmt.Errorf("path %q; it must begin with / or *", m.Path)
		}
		k.path = compileGlob(m.Path)
	}
	if rest, wild := strings.CutPrefix(k.host, "*"); wild {
		k.host, k.wildHost = rest, true
	}
	if strings.Contains(k.host, "*") || k.wildHost && !strings.HasPrefix(k.host, ".") {
		return k, fmt.Errorf("host %q; a name, or *. and a name, is allowed", m.Host)
	}
	if err := k.compileHeaders(m); err != nil {
		return k, err
	}
	k.trusted = m.From == FromTrusted || m.From == FromAuto && (len(k.headers) > 0 || k.classHeader != "")
	return k, nil
}

func (k *rule) compileHeaders(m Match) error {
	for name, value := range m.Header {
		c, err := headerName(name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(k.headers, func(h header) bool { return h.name == c }) {
			return fmt.Errorf("header %q is there twice", c)
		}
		k.headers = append(k.headers, header{c, value})
	}
	slices.SortFunc(k.headers, func(a, b header) int { return strings.Compare(a.name, b.name) })
	if m.ClassHeader == "" {
		return nil
	}
	var err error
	k.classHeader, err = headerName(m.ClassHeader)
	return err
}

// headerName is the canonical form of name, in which net/http keeps headers.
func headerName(name string) (string, error) {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c == ':' || c == '/' || !isToken(c, false) {
			return "", fmt.Errorf("header %q is no header name", name)
		}
	}
	c := textproto.CanonicalMIMEHeaderKey(name)
	switch c {
	case "":
		return "", fmt.Errorf("empty header name")
	case "Host":
		return "", fmt.Errorf("header Host; match on the host instead")
	}
	return c, nil
}

// Why a claim of a class was ignored.
const (
	// IgnoredUntrusted: the peer is not trusted.
	IgnoredUntrusted = "ignored: untrusted"
	// IgnoredValue: the value names no class, or the header was there twice.
	IgnoredValue = "ignored: bad value"
)

// decision is what the rules made of a request.
type decision struct {
	class   string // "" is the gate's default
	header  string // the class header that named it
	ignored string
}

// decide finds the class of a request. It allocates nothing unless the path
// can be read in more than one way.
func (c *Rules) decide(p *peer) decision {
	if c == nil || len(c.list) == 0 {
		return decision{}
	}
	switch u := p.r.URL; {
	case plainPath(u):
		return c.decideAs(p, u.Path)
	case len(u.Path) > maxOdd || len(u.RawPath) > maxOdd:
		d := c.decideAs(p, cleanPath(u.Path))
		if d.header == "" && p.s.rank(d.class) < p.s.rank(p.s.least) {
			d.class = p.s.least
		}
		return d
	}
	var least decision
	for i, path := range readings(p.r.URL) {
		if d := c.decideAs(p, path); i == 0 || p.s.rank(d.class) > p.s.rank(least.class) {
			least = d
		}
	}
	return least
}

// decideAs finds the class of a request for path.
func (c *Rules) decideAs(p *peer, path string) decision {
	var d decision
	q := query{r: p.r, path: path}
	for i := range c.list {
		k := &c.list[i]
		if !k.holds(&q) {
			continue
		}
		claimed, good, twice := k.claimed(p.r.Header)
		if k.trusted && claimed && !p.trusted() {
			if good || twice { // otherwise it would not have held for anybody
				d.ignored = IgnoredUntrusted
			}
			continue
		}
		if k.classHeader == "" {
			if good && (!k.trusted || p.trusted()) {
				return d.won(k.class, "", claimed)
			}
		} else if good && !twice {
			v := p.r.Header[k.classHeader][0]
			if _, ok := p.s.classes[v]; ok {
				return d.won(v, k.classHeader, true)
			}
		}
		// A header that says something else than the rule asks for is another
		// rule's affair. One that names no class, or says two things, is not.
		if claimed && k.trusted && d.ignored == "" && (twice || good && k.classHeader != "") {
			d.ignored = IgnoredValue
		}
	}
	return d
}

// won ends a decision. A claim that one rule did not know and another did was
// a good one.
func (d decision) won(class, header string, claimed bool) decision {
	d.class, d.header = class, header
	if claimed && d.ignored == IgnoredValue {
		d.ignored = ""
	}
	return d
}

// claimed says whether the headers that the rule reads are all there, whether
// they say what the rule asks for, and whether one whose value matters is there
// more than once, so that it says nothing. A class header's value is not looked at.
func (k *rule) claimed(h http.Header) (there, good, twice bool) {
	good = true
	for _, e := range k.headers {
		v := h[e.name]
		switch {
		case len(v) == 0:
			return false, false, false
		case e.value == "*":
		case len(v) > 1:
			good, twice = false, true
		case v[0] != e.value:
			good = false
		}
	}
	if k.classHeader != "" {
		n := len(h[k.classHeader])
		if n == 0 {
			return false, false, false
		}
		twice = twice || n > 1
	}
	return len(k.headers) > 0 || k.classHeader != "", good, twice
}

// query is what several rules look at and is worked out once.
type query struct {
	r    *http.Request
	path string
	host string
}

// holds compares everything but headers and the peer.
func (k *rule) holds(q *query) bool {
	if k.method != "" && k.method != q.r.Method {
		return false
	}
	if !k.path.match(q.path) {
		return false
	}
	if k.host == "" {
		return true
	}
	if q.host == "" {
		q.host = hostName(q.r.Host)
	}
	if k.wildHost {
		return len(q.host) > len(k.host) && strings.EqualFold(q.host[len(q.host)-len(k.host):], k.host)
	}
	return strings.EqualFold(q.host, k.host)
}

// hostName cuts the port off, leaving an IPv6 address in its brackets, and the
// dot that ends a name which is complete: it names the same host.
func hostName(s string) string {
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		s = s[:i]
	}
	return strings.TrimSuffix(s, ".")
}
