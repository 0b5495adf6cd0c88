package httpgate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func request(t testing.TB, method, url, from string, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequest(method, url, nil)
	r.RemoteAddr = from
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func compileOrFail(t testing.TB, rules ...Rule) *Rules {
	t.Helper()
	c, err := CompileRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	near = "127.0.0.1:4711" // trusted by default
	far  = "192.0.2.7:4711"
)

var known = map[string]class{"critical": {"app", 0}, "background": {"app", 1}}

func decideFor(c *Rules, r *http.Request) decision {
	s := &settings{trust: Loopback(), classes: known, fallback: "background", rules: c}
	if err := s.checkClasses(); err != nil {
		panic(err)
	}
	p := peer{r: r, s: s}
	return c.decide(&p)
}

func TestRulesByPathMethodAndHost(t *testing.T) {
	c := compileOrFail(t,
		Rule{Match{Path: "/checkout/*"}, "critical"},
		Rule{Match{Path: "/health"}, "critical"},
		Rule{Match{Path: "/v*/orders/*/pay", Method: "POST"}, "critical"},
		Rule{Match{Host: "pay.example.org"}, "critical"},
		Rule{Match{Host: "*.shop.example"}, "critical"},
		Rule{Match{Path: "/", Host: "[::1]"}, "critical"},
	)
	for _, x := range []struct {
		method, url string
		critical    bool
	}{
		{"GET", "http://h/checkout/", true},
		{"GET", "http://h/checkout/a/b", true},
		{"GET", "http://h/checkout", false},
		{"GET", "http://h/checkoutx/", false},
		{"GET", "http://h//checkout//a", false},        // some would look for it below ""
		{"GET", "http://h/checkout//a", true},          // in /checkout/ for everybody
		{"GET", "http://h/checkout/../reports", false}, // what an upstream would make of it
		{"GET", "http://h/checkout/%2e%2e/reports", false},
		{"GET", "http://h/checkout/a/../b%2Fc", true},
		{"GET", "http://h/x/../checkout/a", false}, // some serve it as /x/
		{"GET", "http://h/reports/..%2Fcheckout%2Fa", false},
		{"GET", "http://h/reports/%2e%2e/checkout/a", false},
		{"GET", "http://h/reports//../checkout/a", false},
		{"GET", "http://h/checkout/a%2Fb/%2e%2e/%2e%2e/reports/x", false},
		{"GET", "http://h/%63heckout/a", false},
		{"GET", "http://h/checkout/a%2Fb%21%c3%a9", true},
		{"GET", "http://h/health", true},
		{"GET", "http://h/health/", false},
		{"POST", "http://h/v1/orders/17/pay", true},
		{"GET", "http://h/v1/orders/17/pay", false},
		{"POST", "http://h/v1/orders/17/18/pay", false}, // a star inside does not cross a slash
		{"POST", "http://h/v1/x/orders/17/pay", false},
		{"GET", "http://PAY.example.org:8080/", true},
		{"GET", "http://a.pay.example.org/", false},
		{"GET", "http://a.shop.example/", true},
		{"GET", "http://a.b.Shop.example:1/", true},
		{"GET", "http://a.shop.example./", true},
		{"GET", "http://pay.example.org.:443/", true},
		{"GET", "http://./", false},
		{"GET", "http://shop.example/", false},
		{"GET", "http://.shop.example/", false},
		{"GET", "http://[::1]:80/", true},
	} {
		d := decideFor(c, request(t, x.method, x.url, far))
		if (d.class == "critical") != x.critical || d.ignored != "" {
			t.Errorf("%s %s: %+v, critical %v wanted", x.method, x.url, d, x.critical)
		}
	}
}

func TestFirstRuleWins(t *testing.T) {
	c := compileOrFail(t,
		Rule{Match{Path: "/a/b/*"}, "background"},
		Rule{Match{Path: "/a/*"}, "critical"},
	)
	if d := decideFor(c, request(t, "GET", "/a/b/c", far)); d.class != "background" {
		t.Errorf("/a/b/c is %q", d.class)
	}
	if d := decideFor(c, request(t, "GET", "/a/c", far)); d.class != "critical" {
		t.Errorf("/a/c is %q", d.class)
	}
}

// A class in a header is believed from trusted peers, and only if it is one.
func TestClassHeader(t *testing.T) {
	c := compileOrFail(t, Rule{When: Match{ClassHeader: "x-class"}})
	long := strings.Repeat("c", 8<<10)
	for _, x := range []struct {
		name, from string
		headers    []string
		want       decision
	}{
		{"trusted", near, []string{"X-Class", "critical"}, decision{class: "critical", header: "X-Class"}},
		{"mapped address", "[::ffff:127.0.0.1]:1", []string{"X-Class", "critical"}, decision{class: "critical", header: "X-Class"}},
		{"IPv6 loopback", "[::1]:1", []string{"X-Class", "background"}, decision{class: "background", header: "X-Class"}},
		{"untrusted", far, []string{"X-Class", "critical"}, decision{ignored: IgnoredUntrusted}},
		{"no address", "@", []string{"X-Class", "critical"}, decision{ignored: IgnoredUntrusted}},
		{"untrusted garbage", far, []string{"X-Class", "?"}, decision{ignored: IgnoredUntrusted}},
		{"upper case", near, []string{"X-Class", "CRITICAL"}, decision{ignored: IgnoredValue}},
		{"number", near, []string{"X-Class", "4294967295"}, decision{ignored: IgnoredValue}},
		{"two", near, []string{"X-Class", "critical", "X-Class", "critical"}, decision{ignored: IgnoredValue}},
		{"empty", near, []string{"X-Class", ""}, decision{ignored: IgnoredValue}},
		{"long", near, []string{"X-Class", long}, decision{ignored: IgnoredValue}},
		{"none", near, nil, decision{}},
		{"forwarded", far, []string{"X-Forwarded-For", "127.0.0.1", "X-Class", "critical"}, decision{ignored: IgnoredUntrusted}},
	} {
		if d := decideFor(c, request(t, "GET", "/", x.from, x.headers...)); d != x.want {
			t.Errorf("%s: %+v, want %+v", x.name, d, x.want)
		}
	}
}

func TestHeaderRules(t *testing.T) {
	c := compileOrFail(t,
		Rule{Match{Header: map[string]string{"x-criticality": "highest"}}, "critical"},
		Rule{Match{Header: map[string]string{"x-criticality": "sheddable"}}, "background"},
		Rule{Match{Header: map[string]string{"x-batch": "*"}, From: FromAny}, "background"},
		Rule{Match{Path: "/internal/*", From: FromTrusted}, "critical"},
	)
	for _, x := range []struct {
		name, url, from string
		headers         []string
		class, ignored  string
	}{
		{"trusted", "/", near, []string{"X-Criticality", "highest"}, "critical", ""},
		{"second rule knows the value", "/", near, []string{"X-Criticality", "sheddable"}, "background", ""},
		{"a value that no rule asks for is no claim", "/", near, []string{"X-Criticality", "HIGHEST"}, "", ""},
		{"two copies", "/", near, []string{"X-Criticality", "highest", "X-Criticality", "highest"}, "", IgnoredValue},
		{"untrusted", "/", far, []string{"X-Criticality", "highest"}, "", IgnoredUntrusted},
		{"untrusted, with a value that no rule asks for", "/", far, []string{"X-Criticality", "HIGHEST"}, "", ""},
		{"untrusted, two copies", "/", far, []string{"X-Criticality", "highest", "X-Criticality", "highest"}, "", IgnoredUntrusted},
		{"anybody may be background", "/", far, []string{"X-Batch", "yes"}, "background", ""},
		{"path for trusted peers", "/internal/x", near, nil, "critical", ""},
		{"path for trusted peers, untrusted", "/internal/x", far, nil, "", ""},
	} {
		d := decideFor(c, request(t, "GET", x.url, x.from, x.headers...))
		if d.class != x.class || d.ignored != x.ignored {
			t.Errorf("%s: %+v, want class %q, %q", x.name, d, x.class, x.ignored)
		}
	}
}

func TestTrust(t *testing.T) {
	c := compileOrFail(t, Rule{When: Match{ClassHeader: "X-Class"}})
	r := request(t, "GET", "/", "10.1.2.3:5", "X-Class", "critical")
	for _, x := range []struct {
		trust []netip.Prefix
		want  string
	}{
		{nil, ""},
		{[]netip.Prefix{}, ""},
		{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "critical"},
	} {
		p := peer{r: r, s: &settings{trust: x.trust, classes: known}}
		if d := c.decide(&p); d.class != x.want {
			t.Errorf("trust %v: %+v", x.trust, d)
		}
	}
}

func TestCompileRulesRefuses(t *testing.T) {
	for want, r := range map[string]Rule{
		"rule 1: no class":             {},
		"one of the two":               {Match{ClassHeader: "X"}, "critical"},
		"must begin with / or *":       {Match{Path: "checkout"}, "critical"},
		"a name, or *. and a name":     {Match{Host: "a.*.b"}, "critical"},
		`host "*"`:                     {Match{Host: "*"}, "critical"},
		"no header name":               {Match{Header: map[string]string{"X Y": "1"}}, "critical"},
		"empty header name":            {Match{Header: map[string]string{"": "1"}}, "critical"},
		"match on the host instead":    {Match{Header: map[string]string{"host": "1"}}, "critical"},
		`header "X-A" is there twice`:  {Match{Header: map[string]string{"X-A": "1", "x-a": "2"}}, "critical"},
		`from(7); one of ["trusted" "`: {Match{From: 7}, "critical"},
	} {
		_, err := CompileRules([]Rule{r})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "httpgate: ") {
			t.Errorf("%+v: %v, want %q in it", r, err, want)
		}
	}
}

// The oracle tries every length for every star.
func slowGlob(p, s string) bool {
	if p == "" {
		return s == ""
	}
	if p[0] != '*' {
		return s != "" && p[0] == s[0] && slowGlob(p[1:], s[1:])
	}
	if p == "*" {
		return true
	}
	for i := 0; ; i++ {
		if slowGlob(p[1:], s[i:]) {
			return true
		}
		if i == len(s) || s[i] == '/' {
			return false
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("/v*/a/*", "/v1/a/b/c")
	f.Add("/*a*b", "/aab/b")
	f.Add("/**", "/")
	f.Fuzz(func(t *testing.T, p, s string) {
		if len(p) > 12 || len(s) > 16 {
			return
		}
		g := compileGlob(p)
		if got, want := g.match(s), slowGlob(p, s); got != want {
			t.Errorf("%q against %q: %v, want %v", p, s, got, want)
		}
	})
}

func TestDecideAllocatesNothing(t *testing.T) {
	c := compileOrFail(t,
		Rule{Match{Path: "/checkout/*"}, "critical"},
		Rule{Match{Host: "*.shop.example"}, "critical"},
		Rule{Match{Header: map[string]string{"X-Criticality": "highest"}}, "critical"},
		Rule{When: Match{ClassHeader: "X-Class"}},
	)
	s := &settings{trust: Loopback(), classes: known}
	r := request(t, "GET", "http://h.example:80/reports/", near, "X-Class", "background")
	if n := testing.AllocsPerRun(100, func() {
		p := peer{r: r, s: s}
		if d := c.decide(&p); d.class != "background" {
			t.Fatalf("%+v", d)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	c := compileOrFail(b,
		Rule{Match{Path: "/checkout/*"}, "critical"},
		Rule{Match{Path: "/login", Method: "POST"}, "critical"},
		Rule{When: Match{ClassHeader: "X-Class"}},
	)
	s := &settings{trust: Loopback(), classes: known}
	r := request(b, "GET", "http://h.example:80/reports/", near, "X-Class", "background")
	b.ReportAllocs()
	for b.Loop() {
		p := peer{r: r, s: s}
		c.decide(&p)
	}
}

func TestFromText(t *testing.T) {
	for _, f := range []From{FromAuto, FromTrusted, FromAny} {
		b, err := f.MarshalText()
		var g From
		if err != nil || g.UnmarshalText(b) != nil || g != f {
			t.Errorf("%v: %q, %v, %v", f, b, err, g)
		}
	}
	var f From
	if err := f.UnmarshalText([]byte("all")); err == nil || !strings.Contains(err.Error(), `["trusted" "any"]`) {
		t.Errorf("all: %v", err)
	}
}

// The other way round, too: nobody escapes a rule that makes its requests less
// critical by writing the path in another way.
func TestOddPathsDoNotEscape(t *testing.T) {
	c := compileOrFail(t,
		Rule{Match{Path: "/reports/*"}, "background"},
		Rule{Match{Path: "/*"}, "critical"},
	)
	for _, url := range []string{
		"/reports/a", "/reports%2Fa", "/%72eports/a", "//reports/a", "/./reports/a", "/x/../reports/a",
		"/x/..;/reports/a", "/;x/reports/a", "/reports;x/a", `/reports\a`, `/x\..\reports\a`, "/reports%5Ca", "/reports%3Bx/a", `/x;y\..;z/reports;/a`,
		"/a/" + strings.Repeat("./", maxOdd), "/x/%2e%2e/reports/a", "/x%2f..%2freports/a", "/x//../../reports/a", "/x/.%2e//reports/a",
	} {
		if d := decideFor(c, request(t, "GET", "http://h"+url, far)); d.class != "background" {
			t.Errorf("%s: %+v", url, d)
		}
	}
	for _, url := range []string{"/", "/a%2Fb", "/a/../b", "/caf%c3%a9/", "/a;session=1/b;x", `/a\b`} {
		if d := decideFor(c, request(t, "GET", "http://h"+url, far)); d.class != "critical" {
			t.Errorf("%s: %+v", url, d)
		}
	}
}

// The oracles are net/url's own: its decoding, and the way in which it
// resolves references.
func FuzzReadings(f *testing.F) {
	f.Add("/a/./b/../c")
	f.Add("/..//a%2F%2e%2E/")
	f.Add("/a//..")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.ParseRequestURI(raw)
		if err != nil || !strings.HasPrefix(raw, "/") || strings.HasPrefix(raw, "//") || strings.ContainsAny(raw, "?#") {
			return
		}
		if got := decode(raw, func(byte) bool { return false }); got != u.Path {
			t.Errorf("%q is decoded to %q, want %q", raw, got, u.Path)
		}
		base := &url.URL{Scheme: "http", Host: "h"}
		want := base.ResolveReference(&url.URL{Path: u.Path}).Path
		got := removeDots(u.Path)
		if single := "/" + strings.TrimLeft(got, "/"); single != "/"+strings.TrimLeft(want, "/") { // net/url keeps one at the beginning
			t.Errorf("%q is %q without dots, want %q", u.Path, got, want)
		}
		if plainPath(u) && (len(readings(u)) != 1 || readings(u)[0] != u.Path) {
			t.Errorf("%q is plain and has the readings %q", raw, readings(u))
		}
	})
}

// What an odd path costs, at its longest.
func BenchmarkDecideOdd(b *testing.B) {
	var rules []Rule
	for i := range 50 {
		rules = append(rules, Rule{Match{Path: fmt.Sprintf("/a*/%d/*", i)}, "critical"})
	}
	c := compileOrFail(b, rules...)
	s := &settings{trust: Loopback(), classes: known, fallback: "background"}
	r := request(b, "GET", "/%61"+strings.Repeat(`/;\..`, maxOdd/8), far)
	b.ReportMetric(float64(len(readings(r.URL))), "readings")
	for b.Loop() {
		c.decide(&peer{r: r, s: s})
	}
}
