package httpgate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// wanted is DESIGN's table, written down a second time.
var wanted = map[plimsoll.Reason]struct {
	status, dead, grpc, grpcDead int
	hint                         string
}{
	core.Full:          {429, 503, 8, 14, "retry"},
	core.Evicted:       {429, 503, 8, 14, "retry"},
	core.Expired:       {429, 503, 8, 14, "retry"},
	core.Hopeless:      {429, 503, 8, 14, "retry"},
	core.Rate:          {429, 503, 8, 14, "retry"},
	core.Quota:         {429, 503, 8, 14, "retry"},
	core.Streams:       {429, 503, 8, 14, "retry"},
	core.Overloaded:    {503, 503, 14, 14, "retry"},
	core.Upstream:      {503, 503, 14, 14, "retry"},
	core.Store:         {503, 503, 14, 14, "retry"},
	core.Draining:      {503, 503, 14, 14, "retry"},
	core.TooCostly:     {413, 413, 11, 11, ""},
	core.Budget:        {429, 429, 8, 8, "never"},
	core.Deadline:      {429, 429, 8, 8, "never"},
	core.UnknownEffect: {409, 409, 10, 10, "query"},
	core.InProgress:    {409, 409, 10, 10, "query"},
	core.Conflict:      {422, 422, 3, 3, ""},
}

func TestWireTable(t *testing.T) {
	for reason := core.NoReason + 1; int(reason) < core.NumReasons; reason++ {
		want, ok := wanted[reason]
		if !ok {
			t.Errorf("%v has no row", reason)
			continue
		}
		for _, dead := range []bool{false, true} {
			f := plimsoll.Refusal{Reason: reason, Class: "background", Pool: "app", RetryAfter: 1500 * time.Millisecond}
			o := Overrides{NoUpstream: dead, Query: "/attempts/7"}
			status, code := want.status, want.grpc
			if dead {
				status, code = want.dead, want.grpcDead
			}
			checkHTTP(t, f, o, status, want.hint)
			checkGRPC(t, f, o, code, want.hint)
		}
	}
}

func checkHTTP(t *testing.T, f plimsoll.Refusal, o Overrides, status int, hint string) {
	t.Helper()
	w := httptest.NewRecorder()
	WriteRefusal(w, httptest.NewRequest("GET", "/", nil), f, o)
	h := w.Header()
	if w.Code != status || h.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%v: %d %s, want %d", f.Reason, w.Code, h.Get("Content-Type"), status)
	}
	if got, want := h.Get("Plimsoll-Refusal"), "reason="+f.Reason.String()+"; class=background; executed=?0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := h.Get("Retry-After"), map[string]string{"retry": "2"}[hint]; got != want {
		t.Errorf("%v: Retry-After %q, want %q", f.Reason, got, want)
	}
	if got, want := h.Get("Plimsoll-Query"), map[string]string{"query": "/attempts/7"}[hint]; got != want {
		t.Errorf("%v: query %q, want %q", f.Reason, got, want)
	}
	var p struct {
		Reason, Class, Title, Detail string
		Status                       int
		Executed                     *bool
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if p.Reason != f.Reason.String() || p.Class != "background" || p.Status != status ||
		p.Title != http.StatusText(status) || p.Detail == "" || p.Executed == nil || *p.Executed {
		t.Errorf("%v: %s", f.Reason, w.Body)
	}
	if strings.Contains(w.Body.String(), "app") {
		t.Errorf("the pool is told: %s", w.Body)
	}
}

func checkGRPC(t *testing.T, f plimsoll.Refusal, o Overrides, code int, hint string) {
	t.Helper()
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Content-Type", "application/grpc+proto")
	w := httptest.NewRecorder()
	WriteRefusal(w, r, f, o)
	h := w.Header()
	if w.Code != 200 || h.Get("Content-Type") != "application/grpc" || h.Get("Grpc-Status") != strconv.Itoa(code) || w.Body.Len() > 0 {
		t.Errorf("%v: %d %v %s", f.Reason, w.Code, h, w.Body)
	}
	if m := h.Get("Grpc-Message"); !strings.HasPrefix(m, f.Reason.String()+": ") || strings.Contains(m, "%") {
		t.Errorf("%v: message %q", f.Reason, m)
	}
	if got, want := h.Get("Grpc-Retry-Pushback-Ms"), map[string]string{"retry": "1500", "never": "-1"}[hint]; got != want {
		t.Errorf("%v: pushback %q, want %q", f.Reason, got, want)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, x := range []struct {
		have string
		d    time.Duration
		want string
	}{
		{"", time.Nanosecond, "1"},
		{"", time.Second, "1"},
		{"", 1001 * time.Millisecond, "2"},
		{"", 0, ""},
		{"30", 2 * time.Second, "30"},
		{"1", 2 * time.Second, "2"},
		{"Fri, 31 Dec 1999 23:59:59 GMT", 2 * time.Second, "Fri, 31 Dec 1999 23:59:59 GMT"},
	} {
		w := httptest.NewRecorder()
		if x.have != "" {
			w.Header().Set("Retry-After", x.have)
		}
		WriteRefusal(w, httptest.NewRequest("GET", "/", nil), plimsoll.Refusal{Reason: core.Full, RetryAfter: x.d}, Overrides{})
		if got := w.Header().Get("Retry-After"); got != x.want {
			t.Errorf("%q and %v: %q, want %q", x.have, x.d, got, x.want)
		}
	}
}

func TestStatusOverride(t *testing.T) {
	w := httptest.NewRecorder()
	WriteRefusal(w, httptest.NewRequest("GET", "/", nil), plimsoll.Refusal{Reason: core.Full}, Overrides{Status: 529})
	if w.Code != 529 || !strings.Contains(w.Body.String(), `"status":529`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestUnforeseenReason(t *testing.T) {
	for _, r := range []plimsoll.Reason{core.NoReason, 200} {
		w := httptest.NewRecorder()
		WriteRefusal(w, httptest.NewRequest("GET", "/", nil), plimsoll.Refusal{Reason: r}, Overrides{})
		if w.Code != 503 || w.Header().Get("Plimsoll-Refusal") != "reason=overloaded; executed=?0" {
			t.Errorf("%d: %d %v", r, w.Code, w.Header())
		}
	}
}

func TestNoAnswer(t *testing.T) {
	w := httptest.NewRecorder()
	WriteNoAnswer(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 504 || w.Header().Get("Plimsoll-Effect") != "unknown" || w.Header().Get("Plimsoll-Refusal") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Content-Type", "application/grpc")
	w = httptest.NewRecorder()
	WriteNoAnswer(w, r)
	if w.Code != 200 || w.Header().Get("Grpc-Status") != "4" {
		t.Errorf("gRPC: %d %v", w.Code, w.Header())
	}
}

func TestGRPCType(t *testing.T) {
	for in, want := range map[string]string{
		"application/grpc": "application/grpc", "application/grpc+json": "application/grpc",
		"application/grpc;charset=x": "application/grpc", "application/grpc-web+proto": "application/grpc-web",
		"application/grpc-web-text": "application/grpc-web-text", "application/grpcish": "", "application/json": "",
	} {
		if got := grpcType(&http.Request{Header: http.Header{"Content-Type": {in}}}); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestIsStream(t *testing.T) {
	for _, x := range []struct {
		method, connection, upgrade string
		want                        bool
	}{
		{"GET", "Upgrade", "websocket", true},
		{"GET", "keep-alive, upgrade", "websocket", true},
		{"POST", "Upgrade", "SPDY/3.1", true},
		{"GET", "keep-alive", "websocket", false},
		{"GET", "Upgrade, HTTP2-Settings", "h2c", false},
		{"GET", "Upgrade", "h2c, websocket", true},
		{"GET", "Upgrade", "", false},
		{"CONNECT", "", "", true},
	} {
		r := &http.Request{Method: x.method, ProtoMajor: 1, Header: http.Header{}}
		if x.connection != "" {
			r.Header.Set("Connection", x.connection)
			r.Header.Set("Upgrade", x.upgrade)
		}
		if got := isStream(r); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
