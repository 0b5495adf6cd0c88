//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is `plimsoll serve` as its users run it.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	users string // URL
	admin string
	read  sync.WaitGroup

	mu   sync.Mutex
	said []string
}

var listening = regexp.MustCompile(`listening at (https?://\S+), upstream \S+, admin (\S+)$`)

// serve starts the binary and waits until it says its addresses.
func serve(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := exec.LookPath("plimsoll")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(path, append([]string{"serve"}, args...)...)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.read.Go(func() {
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			p.mu.Lock()
			p.said = append(p.said, sc.Text())
			p.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.read.Wait()
		p.cmd.Wait()
	})
	m := listening.FindStringSubmatch(p.says("listening at"))
	if m == nil {
		t.Fatalf("no addresses in %q", p.said)
	}
	p.users, p.admin = m[1], m[2]
	return p
}

// says waits for a line on stderr.
func (p *process) says(text string) string {
	p.t.Helper()
	var found string
	p.until("says "+text, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, line := range p.said {
			if strings.Contains(line, text) {
				found = line
				return true
			}
		}
		return false
	})
	return found
}

func (p *process) until(what string, ok func() bool) {
	p.t.Helper()
	end, tick := time.NewTimer(10*time.Second), time.NewTicker(5*time.Millisecond)
	defer end.Stop()
	defer tick.Stop()
	for !ok() {
		select {
		case <-end.C:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("not in time: %s; it said:\n%s", what, strings.Join(p.said, "\n"))
		case <-tick.C:
		}
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end and gives the status.
func (p *process) exits() int {
	p.read.Wait()
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// get asks on a connection of its own; 0 when there is no answer.
func get(url string, headers ...string) (int, string) {
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return 0, err.Error()
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	res, err := c.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(b)
}

func upstream(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestServeWithFlags(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "class "+r.Header.Get("X-Class")) })
	p := serve(t, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--upstream", up,
		"--workers", "1", "--deadline", "200ms", "--expected", "10ms")
	if line := p.says("--waiting"); !strings.Contains(line, "--slots 2 --waiting 17") {
		t.Errorf("what was worked out: %q", line)
	}
	if code, text := get(p.users+"/", "X-Class", "critical"); code != 200 || text != "class critical" {
		t.Errorf("%d %q", code, text)
	}
	if code, text := get(p.users+"/", "X-Class", "whatever"); code != 200 || text != "class background" {
		t.Errorf("%d %q", code, text)
	}
	if code, text := get(p.admin + "/statusz"); code != 200 || !strings.Contains(text, `"source": "flags"`) {
		t.Errorf("%d %q", code, text)
	}
	if code, text := get(p.admin + "/metrics"); code != 200 ||
		!strings.Contains(text, `plimsoll_calls_total{class="critical",outcome="ok",pool="app"} 1`) || !strings.Contains(text, "plimsoll_proxy_requests_total 2") {
		t.Errorf("%d %q", code, text)
	}
	p.signal(syscall.SIGHUP)
	p.says("there is no file to read again")
	p.signal(syscall.SIGTERM)
	if code := p.exits(); code != 0 {
		t.Errorf("exit %d", code)
	}
	p.says("drained")
}

// A second signal does not wait for what runs.
func TestServeEndsAtOnceWhenToldTwice(t *testing.T) {
	entered, leave := make(chan bool, 1), make(chan bool)
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) { entered <- true; <-leave })
	defer close(leave)
	p := serve(t, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--upstream", up, "--workers", "1", "--deadline", "1m")
	answer := make(chan int, 1)
	go func() { code, _ := get(p.users + "/"); answer <- code }()
	<-entered
	p.signal(syscall.SIGTERM)
	p.says("draining")
	p.signal(syscall.SIGTERM)
	if code := p.exits(); code != exitMachine {
		t.Errorf("exit %d", code)
	}
	p.says("work was broken off")
	<-answer
}

// The admin listener's default address is taken: what, and what to do.
func TestServeSaysWhatToDoAboutATakenAddress(t *testing.T) {
	if l, err := net.Listen("tcp", defaultAdmin); err == nil {
		defer l.Close()
	} // else somebody else has taken it, which serves as well
	var stdout, stderr strings.Builder
	code := run([]string{"serve", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9", "--workers", "1"}, &stdout, &stderr)
	if code != exitMachine || !strings.Contains(stderr.String(), "--admin HOST:PORT") || stdout.Len() != 0 {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
}

func TestExitStatuses(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
	}{
		{"version", exitOK}, {"version --json", exitOK}, {"--help", exitOK}, {"serve --help", exitOK}, {"nonsense", exitUsage},
		{"version extra", exitUsage}, {"version --nonsense", exitUsage}, {"serve", exitUsage}, {"serve -c /does/not/exist.yaml", exitUsage},
	} {
		var stdout, stderr strings.Builder
		if code := run(strings.Fields(c.args), &stdout, &stderr); code != c.code {
			t.Errorf("%s: exit %d, want %d; %s", c.args, code, c.code, stderr.String())
		}
		if c.code != exitOK && (stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "plimsoll: ")) {
			t.Errorf("%s: stdout %q, stderr %q", c.args, stdout.String(), stderr.String())
		}
	}
}
