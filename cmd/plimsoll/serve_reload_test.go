//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reloaded is a process whose file a test rewrites.
type reloaded struct {
	*process
	file string
	n    int // reloads asked for
}

// page is what tests read of /statusz.
type page struct {
	Config struct {
		Reloads  int      `json:"reloads"`
		Errors   int      `json:"reload_errors"`
		Last     string   `json:"last_error"`
		Warnings []string `json:"warnings"`
	}
	Pools []struct {
		Name    string
		Running int
		Waiting struct{ Limit int }
	}
	Proxy struct {
		Dropped int `json:"access_log_dropped"`
	}
}

// base is a file with places for what tests change.
func base(up string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
admin: {listen: "127.0.0.1:0"}
upstream: {url: %q}
access_log: {format: off}
pools:
  app: {slots: 2, waiting: 3}
classes:
  all: {rank: 0, deadline: 10s, pool: app}
default: all
`, up)
}

func serveFile(t *testing.T, text string) *reloaded {
	t.Helper()
	r := &reloaded{file: filepath.Join(t.TempDir(), "p.yaml")}
	write(t, r.file, text)
	r.process = serve(t, "-c", r.file)
	return r
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reload sends SIGHUP and waits until it has been dealt with.
func (r *reloaded) reload() page {
	r.t.Helper()
	r.n++
	r.signal(syscall.SIGHUP)
	r.until(fmt.Sprintf("%d reloads", r.n), func() bool {
		return r.count("reload: nothing was changed")+r.count(" is in force") >= r.n
	})
	return r.status()
}

func (r *reloaded) status() page {
	r.t.Helper()
	code, text := get(r.admin + "/statusz")
	var p page
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		r.t.Fatalf("%d %q: %v", code, text, err)
	}
	return p
}

// Whatever is wrong, at whatever step, a failed reload is said with its cause,
// counted once, and leaves everything as it was.
func TestFailedReloads(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {})
	good := base(up)
	p := serveFile(t, good)
	cert, key := certificate(t, t.TempDir(), 1)
	for i, c := range []struct{ what, text, says string }{
		{"a word for a number", strings.Replace(good, "waiting: 3", "waiting: a few", 1), p.file + ":6:28: pools.app.waiting"},
		{"half a file", good[:len(good)-70], p.file + ":6:8: pools.app: is not YAML"},
		{"an open bracket", strings.Replace(good, "waiting: 3}", "waiting: 3", 1), p.file + ":6:8: pools.app"},
		{"nothing", "", "the file is empty"},
		{"no certificate", good + "tls: {cert: /does/not/exist, key: " + key + "}\n", p.file + ":10:13: tls.cert"},
		{"TLS comes", good + "tls: {cert: " + cert + ", key: " + key + "}\n", "tls: cannot come or go"},
		{"a log nowhere", strings.Replace(good, "format: off", "path: /does/not/exist/log", 1), p.file + ":4:20: access_log.path"},
		{"a class that is missing", strings.Replace(good, "default: all", "default: none", 1), p.file + ":9:10: default"},
	} {
		write(t, p.file, c.text)
		s := p.reload()
		if s.Config.Reloads != i+1 || s.Config.Errors != i+1 {
			t.Errorf("%s: %d reloads and %d errors are counted, want %d of both", c.what, s.Config.Reloads, s.Config.Errors, i+1)
		}
		if line := p.says(c.says); !strings.Contains(line, "reload: nothing was changed: ") {
			t.Errorf("%s: %q", c.what, line)
		}
		if s.Pools[0].Waiting.Limit != 3 {
			t.Errorf("%s: %+v", c.what, s.Pools)
		}
		if !strings.Contains(s.Config.Last, c.says) {
			t.Errorf("%s: the status says %q", c.what, s.Config.Last)
		}
		if code, text := get(p.users + "/"); code != 200 {
			t.Errorf("%s: a call gets %d %s", c.what, code, text)
		}
	}
	if err := os.Remove(p.file); err != nil {
		t.Fatal(err)
	}
	if s := p.reload(); s.Config.Errors != s.Config.Reloads {
		t.Errorf("a deleted file: %+v", s.Config)
	}
	p.says("no such file")
	write(t, p.file, strings.Replace(good, "waiting: 3", "waiting: 5", 1))
	s := p.reload()
	p.says("is in force")
	if s.Pools[0].Waiting.Limit != 5 || s.Config.Errors != s.Config.Reloads-1 || s.Config.Last != "" {
		t.Errorf("a good file: %+v", s)
	}
	_, text := get(p.admin + "/metrics")
	for _, want := range []string{`plimsoll_config_reloads_total{result="error"} 9`, `plimsoll_config_reloads_total{result="ok"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
	p.signal(syscall.SIGINT)
	if code := p.exits(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// What needs a restart is compared with what was bound at the start, and not
// with the file before: it is said as long as it is so, and no longer.
func TestReloadComparesWithWhatIsBound(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {})
	good := base(up)
	p := serveFile(t, good)
	other := strings.Replace(good, "listen: 127.0.0.1:0", "listen: 127.0.0.1:1", 1) + "timeouts: {idle: 80s}\n"
	for _, c := range []struct {
		text string
		want int
	}{
		{good, 0}, {other, 2}, {other, 2}, {other + "streams: 5\n", 2}, {good, 0},
	} {
		write(t, p.file, c.text)
		s := p.reload()
		if s.Config.Errors != 0 || len(s.Config.Warnings) == 0 {
			t.Fatalf("%+v", s.Config)
		}
		n := 0
		for _, w := range s.Config.Warnings {
			if strings.Contains(w, "until a restart") {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%q: %d keys need a restart, want %d", s.Config.Warnings, n, c.want)
		}
	}
	p.says("listen is 127.0.0.1:1 here; 127.0.0.1:0 stays in force until a restart")
	p.says("timeouts.idle is 1m20s here; 1m30s stays in force until a restart")
	if n := p.count("listen is 127.0.0.1:1 here"); n != 3 {
		t.Errorf("it was said %d times, want once for each of three reloads", n)
	}
}

func (p *process) count(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, line := range p.said {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// A reload reads the certificate again, and a bad one leaves the old.
func TestReloadSwapsCertificates(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {})
	dir := t.TempDir()
	cert, key := certificate(t, dir, 7)
	p := serveFile(t, base(up)+"tls: {cert: "+cert+", key: "+key+"}\n")
	serial := func() int64 {
		t.Helper()
		c, err := tls.Dial("tcp", strings.TrimPrefix(p.users, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 7 {
		t.Errorf("certificate %d", n)
	}
	other, otherKey := certificate(t, t.TempDir(), 8)
	swap(t, other, cert)
	s := p.reload()
	p.says("tls.key: is " + fmt.Sprintf("%q", key) + ", which cannot be used (private key does not match")
	if n := serial(); n != 7 || s.Config.Errors != 1 {
		t.Errorf("half a swap: certificate %d, %+v", n, s.Config)
	}
	swap(t, otherKey, key)
	s = p.reload()
	if n := serial(); n != 8 || s.Config.Errors != 1 {
		t.Errorf("a whole swap: certificate %d, %+v", n, s.Config)
	}
}

func swap(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// certificate makes a pair with a serial number.
func certificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	return cert, key
}

// A pool may go while one of its calls runs; the call ends as it would have.
func TestReloadTakesAPoolAway(t *testing.T) {
	entered, leave := make(chan bool, 1), make(chan bool)
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) { entered <- true; <-leave })
	good := base(up)
	p := serveFile(t, good)
	answer := make(chan int, 1)
	go func() { code, _ := get(p.users + "/"); answer <- code }()
	<-entered
	write(t, p.file, strings.NewReplacer("app:", "new:", "pool: app", "pool: new").Replace(good))
	s := p.reload()
	if s.Config.Errors != 0 {
		t.Fatalf("%+v", s)
	}
	p.says("is in force")
	close(leave)
	if code := <-answer; code != 200 {
		t.Errorf("the running call gets %d", code)
	}
	if code, text := get(p.users + "/"); code != 200 {
		t.Errorf("a call of the new pool gets %d %s", code, text)
	}
	p.until("the old pool is gone", func() bool { s := p.status(); return len(s.Pools) == 1 && s.Pools[0].Name == "new" })
}

// However many reloads are asked for, the signal that ends is not lost among
// them, and a file that never ends keeps nobody from ending.
func TestReloadsDoNotHoldUpTheEnd(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {})
	p := serveFile(t, base(up))
	for range 10 {
		p.signal(syscall.SIGHUP)
	}
	p.says("is in force")
	if err := os.Remove(p.file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(p.file, 0o600); err != nil {
		t.Skipf("left out: no named pipes here: %v", err)
	}
	p.until("says that it still reads", func() bool { p.signal(syscall.SIGHUP); return p.count("still reading") > 0 })
	if code, _ := get(p.users + "/"); code != 200 {
		t.Errorf("while a reload hangs, a call gets %d", code)
	}
	p.signal(syscall.SIGTERM)
	p.says("drained")
	if code := p.exits(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// A log that was moved away is let go with SIGHUP, also when the file is bad.
func TestReloadOpensTheLogAgain(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {})
	log := filepath.Join(t.TempDir(), "access.log")
	good := strings.Replace(base(up), "format: off", "path: "+log, 1)
	p := serveFile(t, good)
	holds := func(path, text string) func() bool {
		return func() bool { b, _ := os.ReadFile(path); return strings.Contains(string(b), text) }
	}
	get(p.users + "/one")
	p.until("the first line", holds(log, `"/one"`))
	swap(t, log, log+".1")
	get(p.users + "/two")
	p.until("a line in the file that was moved", holds(log+".1", `"/two"`))
	write(t, p.file, "broken")
	p.reload()
	get(p.users + "/three")
	p.until("a line in the new file", holds(log, `"/three"`))
	if holds(log+".1", `"/three"`)() {
		t.Error("and in the old one")
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, p.file, good)
	p.reload()
	p.says("access log: open " + log)
	if code, _ := get(p.users + "/four"); code != 200 {
		t.Errorf("without a log a call gets %d", code)
	}
}

// A disk that is full costs lines, which is said once and counted, and nothing else.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("left out: there is no /dev/full here")
	}
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {})
	p := serveFile(t, strings.Replace(base(up), "format: off", "path: /dev/full", 1))
	for i := range 3 {
		if code, _ := get(p.users + "/"); code != 200 {
			t.Errorf("a call gets %d", code)
		}
		p.until("lines are counted as lost", func() bool { return p.status().Proxy.Dropped > i })
	}
	p.says("access log: write /dev/full: no space left on device; lines are lost")
	if n := p.count("no space left"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}
