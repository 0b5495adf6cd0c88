package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// warner collects what a valid configuration cannot deliver.
type warner struct {
	r   *reader
	c   *Config
	out []Warning
}

// warnings are those of c, in the order of the file.
func (r *reader) warnings(c *Config) []Warning {
	w := &warner{r: r, c: c}
	w.server()
	w.classification()
	for i := range c.Gate.Pools {
		w.pool(&c.Gate.Pools[i])
	}
	slices.SortStableFunc(w.out, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(w.out, func(a, b Warning) bool { return a == b })
}

func (w *warner) add(level Level, code, path, format string, args ...any) {
	n := w.r.near(path)
	x := Warning{Level: level, Code: code, Key: w.r.name(path), Text: fmt.Sprintf(format, args...)}
	if w.r.src != nil {
		x.Line, x.Column = max(n.line, 1), max(n.column, 1)
	}
	w.out = append(w.out, x)
}

// balancerIdle is how long common balancers keep an idle connection.
const balancerIdle = 60 * time.Second

// server is about what is around the gate.
func (w *warner) server() {
	c := w.c
	if c.Admin == "" {
		w.add(Hint, "no-admin", "admin", "there is no admin listener, so no /readyz, /metrics or /statusz; give it an address of its own, such as 127.0.0.1:8081")
	}
	if c.Timeouts.Idle <= balancerIdle {
		w.add(Warn, "idle-timeout", "timeouts.idle", "closes idle connections after %s, and common balancers keep theirs for %s: both may close and send at the same instant, which clients see as a reset; more than the balancer's, such as 90s, is safe", showDuration(c.Timeouts.Idle), showDuration(balancerIdle))
	}
	longest, class := longestDeadline(c)
	if t := c.Upstream.HeaderTimeout; t > 0 && t < longest {
		w.add(Warn, "header-timeout", "upstream.header_timeout", "gives up after %s, but class %s has %s: answers that would be in time are cut off; at least %[3]s, or 0 to leave it to the deadline", showDuration(t), class, showDuration(longest))
	}
	if t := c.Drain.Grace; t < longest {
		w.add(Warn, "drain-grace", "drain.grace", "ends after %s, but a call of class %s may take %s: calls that would be in time are cut off; at least %[3]s", showDuration(t), class, showDuration(longest))
	}
}

func longestDeadline(c *Config) (d time.Duration, class string) {
	for _, k := range c.Gate.Classes {
		if k.Deadline > d {
			d, class = k.Deadline, k.Name
		}
	}
	return d, class
}

// classification is about who gets which class.
func (w *warner) classification() {
	w.trust()
	for i := range w.c.Classify {
		w.rule(i)
	}
	if w.c.ClassHeader != "" {
		return // any class may be named
	}
	for _, k := range w.c.Gate.Classes {
		named := slices.ContainsFunc(w.c.Classify, func(r Rule) bool { return r.Class == k.Name })
		if !named && k.Name != w.c.Gate.Default {
			w.add(Warn, "unreachable", join("classes", k.Name), "no call gets class %s: no rule names it, it is not the default, and %s", k.Name, w.noHeader())
		}
	}
}

func (w *warner) noHeader() string {
	if w.r.flags != nil {
		return "no header is read; --class-header X-Class reads one"
	}
	return "there is no class_header; add a rule to classify, or read a header"
}

func (w *warner) trust() {
	for _, p := range w.c.Trust {
		if p.Bits() == 0 {
			w.add(Warn, "trust-everyone", w.entryOf("trust", p.String()), "trusts everybody (%s): any client may claim any class and deadline; name the networks of the peers that set the headers", p)
		}
	}
	if len(w.c.Trust) > 0 {
		return
	}
	if w.c.ClassHeader != "" {
		w.add(Warn, "nobody-trusted", "class_header", "%s is never believed, because trust is empty; name the peers that set it in trust", w.c.ClassHeader)
	}
	for i, k := range w.c.Classify {
		if k.When.Trusted {
			w.add(Warn, "nobody-trusted", fmt.Sprintf("classify[%d].when", i), "never holds: it is for trusted peers only, and trust is empty; name them in trust")
		}
	}
}

// entryOf is the path of the entry of a list that reads text, or of the list.
func (w *warner) entryOf(list, text string) string {
	for i := 0; ; i++ {
		path := fmt.Sprintf("%s[%d]", list, i)
		if n := w.r.marks[path]; n == nil {
			return list
		} else if n.text == text {
			return path
		}
	}
}

func (w *warner) rule(i int) {
	k := &w.c.Classify[i]
	path := fmt.Sprintf("classify[%d]", i)
	for j := range i {
		if k.When.within(&w.c.Classify[j].When) {
			w.add(Warn, "rule-shadowed", path, "never decides: rule classify[%d] holds whenever it does, comes first and gives class %s; move this one before it, or remove it", j, w.c.Classify[j].Class)
			break
		}
	}
	w.withheld(k, path)
	if len(k.When.Header) > 0 && !k.When.Trusted && w.above(k.Class) {
		w.add(Warn, "claimable", path+".when.from", "lets every client have class %s by sending a header; from: trusted believes only the peers in trust", k.Class)
	}
}

// withheld is about headers that say more than a class. What speaks of a class
// is passed on from trusted peers only, so that the service behind need not ask
// whom to believe; it would miss these.
func (w *warner) withheld(k *Rule, path string) {
	if !k.When.Trusted {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k.When.Header)) {
		if ordinary[strings.ToLower(name)] {
			w.add(Warn, "header-withheld", path+".when.header", "makes %s a header that speaks of the class: it is taken away from requests of everybody who is not in trust, and the service does not get it; from: any leaves it alone and lets every client choose class %s, and a header that says nothing else, such as X-Criticality, needs neither", name, k.Class)
		}
	}
}

// ordinary are the request headers that services commonly read (RFC 9110, 9111,
// 6265, 7239, Fetch, Trace Context), in lower case.
var ordinary = map[string]bool{
	"accept": true, "accept-charset": true, "accept-encoding": true, "accept-language": true,
	"authorization": true, "cache-control": true, "content-encoding": true, "content-language": true,
	"content-length": true, "content-type": true, "cookie": true, "date": true, "dnt": true,
	"forwarded": true, "from": true, "idempotency-key": true, "if-match": true, "if-modified-since": true,
	"if-none-match": true, "if-range": true, "if-unmodified-since": true, "origin": true, "pragma": true,
	"prefer": true, "priority": true, "range": true, "referer": true, "save-data": true,
	"sec-fetch-dest": true, "sec-fetch-mode": true, "sec-fetch-site": true, "sec-fetch-user": true,
	"traceparent": true, "tracestate": true, "user-agent": true, "via": true,
	"x-api-key": true, "x-csrf-token": true, "x-forwarded-for": true, "x-forwarded-host": true,
	"x-forwarded-proto": true, "x-real-ip": true, "x-request-id": true, "x-requested-with": true,
}

// above tells whether a class is more critical than another of its pool.
func (w *warner) above(class string) bool {
	for _, a := range w.c.Gate.Classes {
		if a.Name != class {
			continue
		}
		for _, b := range w.c.Gate.Classes {
			if b.Pool == a.Pool && b.Rank > a.Rank {
				return true
			}
		}
	}
	return false
}

// within tells whether other holds whenever w does. A false may be wrong.
func (w *When) within(other *When) bool {
	if !pathWithin(w.Path, other.Path) || !hostWithin(w.Host, other.Host) ||
		other.Method != "" && other.Method != w.Method || other.Trusted && !w.Trusted {
		return false
	}
	for name, value := range other.Header {
		mine, ok := w.Header[name]
		if !ok || value != "*" && value != mine {
			return false
		}
	}
	return true
}

func pathWithin(inner, outer string) bool {
	if outer == "" || inner == outer {
		return true
	}
	prefix, rest, star := strings.Cut(outer, "*")
	return star && rest == "" && strings.HasPrefix(inner, prefix)
}

func hostWithin(inner, outer string) bool {
	if outer == "" || inner == outer {
		return true
	}
	suffix, star := strings.CutPrefix(outer, "*")
	return star && strings.HasSuffix(inner, suffix) && len(inner) > len(suffix)
}
