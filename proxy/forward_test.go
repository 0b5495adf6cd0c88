package proxy

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

func TestForwardsWhole(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo})
	res, text := b.do("PUT", "/a%2Fb?x=1&y=%20", strings.NewReader("body"))
	if res.StatusCode != 200 || text != "/a%2Fb?x=1&y=%20 body" || res.Header.Get("X-Method") != "PUT" {
		t.Fatalf("%v %q", res.Status, text)
	}
	line := b.line("/a/b")
	for key, want := range map[string]any{
		"method": "PUT", "status": 200.0, "class": "background", "outcome": "ok",
		"bytes_in": 4.0, "protocol": "HTTP/1.1", "bytes_out": float64(len(text)),
	} {
		if line[key] != want {
			t.Errorf("the log says %s %v, want %v", key, line[key], want)
		}
	}
	if strings.Contains(b.log.text(), "x=1") {
		t.Error("the log has the query")
	}
}

func TestUpstreamPathIsPutBefore(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) { c.Upstream.Path = "/base" }})
	if _, text := b.do("GET", "/x", nil); text != "/base/x " {
		t.Fatalf("%q", text)
	}
}

func TestHeadersThatAreNotBelieved(t *testing.T) {
	var got http.Header
	var host string
	handler := func(w http.ResponseWriter, r *http.Request) { got, host = r.Header.Clone(), r.Host }
	lies := []string{
		"X-Forwarded-For", "6.6.6.6", "X-Forwarded-For", "7.7.7.7", "Forwarded", "for=6.6.6.6", "X-Real-Ip", "6.6.6.6",
		"X-Forwarded-Host", "evil", "X-Forwarded-Proto", "gopher", "X-Forwarded-Port", "1", "X-Class", "critical",
		"Plimsoll-Attempt", "7", "Plimsoll-Anything", "1", "Grpc-Timeout", "1H", "Plimsoll-Timeout-Ms", "900000",
	}
	t.Run("untrusted", func(t *testing.T) {
		b := newBench(t, setup{gate: roomy(), handler: handler, change: func(c *Config) { c.Trust = nobody }})
		res, _ := b.do("GET", "/", nil, lies...)
		if res.Header.Get("Plimsoll-Ignored") == "" {
			t.Error("nothing says that the class was ignored")
		}
		for name, want := range map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": b.addr, "X-Forwarded-Proto": "http",
			"Forwarded": "", "X-Real-Ip": "", "X-Forwarded-Port": "", "X-Class": "background",
			"Plimsoll-Attempt": "", "Plimsoll-Anything": "", "Grpc-Timeout": "",
		} {
			if v := strings.Join(got[name], "|"); v != want {
				t.Errorf("%s is %q upstream, want %q", name, v, want)
			}
		}
		if ms := got.Get("Plimsoll-Timeout-Ms"); len(ms) != 4 && ms != "10000" {
			t.Errorf("the remaining time upstream is %q ms, want just under 10000", ms)
		}
		if host != b.addr {
			t.Errorf("host %q, want the client's %q", host, b.addr)
		}
	})
	t.Run("trusted", func(t *testing.T) {
		b := newBench(t, setup{gate: roomy(), handler: handler})
		b.do("GET", "/", nil, lies...)
		for name, want := range map[string]string{
			"X-Forwarded-For": "6.6.6.6, 7.7.7.7, 127.0.0.1", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "gopher",
			"Forwarded": "for=6.6.6.6", "X-Class": "critical", "Plimsoll-Attempt": "7", "Plimsoll-Anything": "",
		} {
			if v := strings.Join(got[name], "|"); v != want {
				t.Errorf("%s is %q upstream, want %q", name, v, want)
			}
		}
	})
}

func TestEventsArriveAsTheyAreSent(t *testing.T) {
	next := make(chan string)
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
		for text := range next {
			io.WriteString(w, text)
			http.NewResponseController(w).Flush()
		}
	}})
	res, err := b.client.Get(b.url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for range 3 {
		sent := time.Now()
		next <- "data: x\n\n"
		if line, err := in.ReadString('\n'); err != nil || line != "data: x\n" {
			t.Fatalf("%q, %v", line, err)
		}
		in.ReadString('\n')
		if d := time.Since(sent); d > 100*time.Millisecond {
			t.Errorf("an event took %v", d)
		}
	}
	close(next)
}

// An event stream outlives the deadline and holds no slot of its class.
func TestEventStreamsHoldNoSlot(t *testing.T) {
	for _, announced := range []bool{true, false} {
		keeper := newGatekeeper()
		b := newBench(t, setup{gate: onePool(1, 1, 100*time.Millisecond, 0), handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/events" {
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			http.NewResponseController(w).Flush()
			keeper.enter(r)
			io.WriteString(w, "data: late\n\n")
		}, change: func(c *Config) { c.Streams = 1 }})
		ctx, cancel := context.WithCancel(context.Background())
		r, _ := http.NewRequestWithContext(ctx, "GET", b.url+"/events", nil)
		if announced {
			r.Header.Set("Accept", "text/event-stream")
		}
		res, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		until(t, time.Second, "the slot is given back", func() bool { return b.pool().Running == 0 })
		if n := b.server.Counts().Streams; n != 1 {
			t.Fatalf("%d streams, want 1", n)
		}
		if res, _ := b.do("GET", "/plain", nil); res.StatusCode != 200 {
			t.Errorf("beside a stream a call gets %v", res.Status)
		}
		second, text := b.do("GET", "/second", nil, "Accept", "text/event-stream")
		if second.StatusCode != 429 || !strings.Contains(second.Header.Get("Plimsoll-Refusal"), "reason=streams") {
			t.Errorf("a second stream gets %v %v %q", second.Status, second.Header, text)
		}
		if b.calls.Load() != 2 {
			t.Errorf("%d calls reached the upstream, want 2", b.calls.Load())
		}
		start := time.Now()
		cancel() // the client leaves, and the upstream is silent
		until(t, time.Second, "the stream's place is free", func() bool { return b.server.Counts().Streams == 0 })
		t.Logf("announced %v: free %v after the client left", announced, time.Since(start))
		res.Body.Close()
		close(keeper.leave)
	}
}

func TestTrailersBothWays(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "X-Announced")
		io.WriteString(w, "body")
		w.Header().Set("X-Announced", r.Trailer.Get("X-Up"))
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	}})
	r, _ := http.NewRequest("POST", b.url+"/", io.NopCloser(strings.NewReader("x")))
	r.Trailer = http.Header{"X-Up": {"1"}}
	res, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	if res.Trailer.Get("X-Announced") != "1" || res.Trailer.Get("X-Late") != "2" {
		t.Fatalf("trailers %v", res.Trailer)
	}
}

func TestInformationalAnswersPass(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	}})
	var codes []int
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error { codes = append(codes, code); return nil },
	})
	if res, _, err := b.try(ctx, "GET", "/", nil); err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	if !slices.Equal(codes, []int{103}) {
		t.Fatalf("informational answers %v, want 103", codes)
	}
}

// A call admitted on its header alone streams both ways.
func TestBothDirectionsAtOnce(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			io.WriteString(w, "re: "+line)
			http.NewResponseController(w).Flush()
		}
	}, change: func(c *Config) { c.Protocol = ProtocolH2C }})
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	h2 := &http.Transport{Protocols: p}
	defer h2.CloseIdleConnections()
	body, feed := io.Pipe()
	r, _ := http.NewRequest("POST", b.url+"/", body)
	go io.WriteString(feed, "one\n")
	res, err := h2.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if res.ProtoMajor != 2 {
		t.Errorf("the client got %s", res.Proto)
	}
	in := bufio.NewReader(res.Body)
	for _, want := range []string{"re: one\n", "re: two\n"} {
		if line, err := in.ReadString('\n'); err != nil || line != want {
			t.Fatalf("%q, %v", line, err)
		}
		if want == "re: one\n" {
			go io.WriteString(feed, "two\n")
		}
	}
	feed.Close()
	if _, err := in.ReadByte(); err != io.EOF {
		t.Fatal(err)
	}
	res.Body.Close()
}

func TestTLSSpeaksHTTP2(t *testing.T) {
	cert, pool := selfSigned(t)
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
		c.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	}})
	for _, h2 := range []bool{true, false} {
		p := new(http.Protocols)
		p.SetHTTP1(!h2)
		p.SetHTTP2(h2)
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, Protocols: p}
		b.client.Transport = tr
		res, text := b.do("POST", "/tls", strings.NewReader("x"))
		if res.StatusCode != 200 || text != "/tls x" || (res.ProtoMajor == 2) != h2 {
			t.Errorf("%v %v %q", res.Proto, res.Status, text)
		}
		tr.CloseIdleConnections()
	}
}

func TestUpstreamOverTLS(t *testing.T) {
	cert, pool := selfSigned(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })}
	defer srv.Close()
	go srv.Serve(l)
	for _, protocol := range []string{ProtocolAuto, ProtocolHTTP1} {
		b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
			c.Upstream.Scheme, c.Upstream.Host, c.UpstreamRoots, c.Protocol = "https", l.Addr().String(), pool, protocol
		}})
		want := map[string]string{ProtocolAuto: "HTTP/2.0", ProtocolHTTP1: "HTTP/1.1"}[protocol]
		if res, text := b.do("GET", "/", nil); res.StatusCode != 200 || text != want {
			t.Errorf("%s: %v %q, want %q", protocol, res.Status, text, want)
		}
	}
	// A certificate that nobody vouches for: nothing is sent.
	b := newBench(t, setup{gate: roomy(), handler: echo, change: func(c *Config) {
		c.Upstream.Scheme, c.Upstream.Host = "https", l.Addr().String()
	}})
	if res, _ := b.do("POST", "/", nil); res.StatusCode != 503 || !strings.Contains(res.Header.Get("Plimsoll-Refusal"), "reason=upstream") {
		t.Errorf("%v %v", res.Status, res.Header)
	}
}

// selfSigned makes a certificate for the loopback address.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "plimsoll test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// net/http repeats a call with an Idempotency-Key on its own when a connection
// that it used before breaks. One that may change something must not be.
func TestNoSilentRepeat(t *testing.T) {
	b := newBench(t, setup{gate: roomy(), handler: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			return
		}
		if r.Header.Get("Idempotency-Key") != "k" {
			t.Error("the key did not get there")
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		c.Close()
	}})
	for _, method := range []string{"POST", "DELETE"} {
		b.do("GET", "/warm", nil) // leaves a connection that is used again
		before := b.calls.Load()
		res, _ := b.do(method, "/pay", nil, "Idempotency-Key", "k")
		if n := b.calls.Load() - before; n != 1 {
			t.Errorf("%s reached the upstream %d times", method, n)
		}
		if res.StatusCode != 502 || res.Header.Get("Plimsoll-Effect") != "unknown" || res.Header.Get("Plimsoll-Refusal") != "" {
			t.Errorf("%s: %v %v", method, res.Status, res.Header)
		}
	}
	until(t, time.Second, "two outcomes unknown", func() bool { return b.outcomes(plimsoll.Unknown) == 2 })
}

// A trailer goes on whether its body ends before the request is sent or after.
func TestTrailerOfABodyReadBefore(t *testing.T) {
	for _, before := range []bool{true, false} {
		x := &exchange{}
		r := &http.Request{Body: io.NopCloser(strings.NewReader("")), ContentLength: -1, Trailer: http.Header{"Sum": {"17"}}, Header: http.Header{}, URL: &url.URL{}}
		x.body.init(x, r)
		onward := http.Header{"Sum": nil}
		if !before {
			x.body.passTrailer(onward)
		}
		if _, err := io.ReadAll(&x.body); err != nil {
			t.Fatal(err)
		}
		if before {
			x.body.passTrailer(onward)
		}
		if onward.Get("Sum") != "17" {
			t.Errorf("before %v: %v", before, onward)
		}
	}
}
