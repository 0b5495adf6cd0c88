package httpgate

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestTimeoutOf(t *testing.T) {
	const ms = time.Millisecond
	for _, x := range []struct {
		millis, grpc string
		want         time.Duration
		bad          int
	}{
		{"", "", 0, 0},
		{"150", "", 150 * ms, 0},
		{"86400000", "", 24 * time.Hour, 0},
		{"86400001", "", 0, 1},
		{"0", "", 0, 1},
		{"-5", "", 0, 1},
		{"+5", "", 0, 1},
		{" 5", "", 0, 1},
		{"1e3", "", 0, 1},
		{"99999999999999999999", "", 0, 1},
		{"soon", "", 0, 1},
		{strings.Repeat("9", 8<<10), "", 0, 1},
		{"", "100m", 100 * ms, 0},
		{"", "2S", 2 * time.Second, 0},
		{"", "1H", time.Hour, 0},
		{"", "1M", time.Minute, 0},
		{"", "7u", 7 * time.Microsecond, 0},
		{"", "99999999n", 99999999, 0},
		{"", "99999999H", 0, 1},
		{"", "123456789m", 0, 1},
		{"", "0m", 0, 1},
		{"", "-1S", 0, 1},
		{"", "5", 0, 1},
		{"", "S", 0, 1},
		{"", "5x", 0, 1},
		{"150", "100m", 100 * ms, 0},
		{"50", "100m", 50 * ms, 0},
		{"no", "100m", 100 * ms, 1},
		{"50", "no", 50 * ms, 1},
	} {
		h := http.Header{}
		if x.millis != "" {
			h.Set(HeaderTimeout, x.millis)
		}
		if x.grpc != "" {
			h.Set("grpc-timeout", x.grpc)
		}
		if d, bad := timeoutOf(h); d != x.want || bad != x.bad {
			t.Errorf("%.20q, %q: %v, %d bad; want %v, %d", x.millis, x.grpc, d, bad, x.want, x.bad)
		}
	}
	if d, bad := timeoutOf(http.Header{HeaderTimeout: {"5", "6"}}); d != 0 || bad != 1 {
		t.Errorf("two: %v, %d", d, bad)
	}
}

func TestAttemptOf(t *testing.T) {
	for v, want := range map[string]int{"1": 0, "2": 1, "100": 99, "0": 0, "-1": 0, "999": 0, "101": 0, "two": 0, "": 0} {
		if got := attemptOf(http.Header{HeaderAttempt: {v}}); got != want {
			t.Errorf("%q: %d, want %d", v, got, want)
		}
	}
	if attemptOf(http.Header{HeaderAttempt: {"2", "2"}}) != 0 || attemptOf(nil) != 0 {
		t.Error("two or none are not a first try")
	}
}

func TestSfItem(t *testing.T) {
	for in, want := range map[string]string{
		"critical": "critical", "a/b:c-1": "a/b:c-1", "*x": "*x",
		"": `""`, "1st": `"1st"`, "two words": `"two words"`, `a"b\`: `"a\"b\\"`,
		"größe": `%"gr%c3%b6%c3%9fe"`, "a\nb": `%"a%0ab"`, "\xff": `%"%ef%bf%bd"`,
	} {
		if got := sfItem(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// Nothing that a client writes may fail, be negative, or last longer than is
// allowed; and what is written for the next hop must be readable there.
func FuzzHeaders(f *testing.F) {
	f.Add("150", "100m", "2", "critical")
	f.Add("-1", "99999999H", "999", "CRITICAL")
	f.Add("\x00", "1", "0x1", "a\"b")
	f.Fuzz(func(t *testing.T, millis, grpc, attempt, class string) {
		h := http.Header{HeaderTimeout: {millis}, "Grpc-Timeout": {grpc}, HeaderAttempt: {attempt}, "X-Class": {class}}
		d, bad := timeoutOf(h)
		if d < 0 || d > MaxTimeout || bad > 2 || bad == 2 && d != 0 {
			t.Errorf("timeout %v, %d bad", d, bad)
		}
		if d > 0 {
			back, ok := parseGRPC(formatGRPC(d))
			if !ok || back > d || d-back > d/1000 {
				t.Errorf("%v is written as %s and read as %v", d, formatGRPC(d), back)
			}
		}
		if n := attemptOf(h); n < 0 || n >= maxAttempt {
			t.Errorf("attempt %d", n)
		}
		for _, c := range []byte(sfItem(class)) {
			if c < 0x20 || c > 0x7e {
				t.Errorf("%q in a header", c)
			}
		}
		rules, err := CompileRules([]Rule{{When: Match{ClassHeader: "X-Class"}}})
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{RemoteAddr: near, Header: h, URL: mustURL("/")}
		dec := decideFor(rules, r)
		if _, ok := known[class]; ok != (dec.class != "") || ok != (dec.ignored == "") {
			t.Errorf("%q: %+v", class, dec)
		}
	})
}
