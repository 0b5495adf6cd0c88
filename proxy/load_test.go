package proxy

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// A refused request never reached the upstream: counted there.
func TestRefusedNeverReachesTheUpstream(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(2, 3, 10*time.Second, 0), handler: func(w http.ResponseWriter, r *http.Request) { keeper.enter(r) }})
	var refused, served atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			res, _, err := b.try(context.Background(), "POST", "/", strings.NewReader("some body"))
			switch {
			case err != nil:
				t.Error(err)
			case res.StatusCode == 200:
				served.Add(1)
			case res.StatusCode == 429 && strings.Contains(res.Header.Get("Plimsoll-Refusal"), "executed=?0"):
				refused.Add(1)
			default:
				t.Errorf("%v", res.Status)
			}
		})
	}
	until(t, 5*time.Second, "fifteen are refused", func() bool { return refused.Load() == 15 })
	until(t, 5*time.Second, "two run", func() bool { return b.calls.Load() >= 2 })
	if n := b.calls.Load(); n != 2 {
		t.Errorf("%d calls at the upstream of two slots", n)
	}
	close(keeper.leave)
	all.Wait()
	if b.calls.Load() != 5 || served.Load() != 5 {
		t.Errorf("%d reached the upstream, %d were served", b.calls.Load(), served.Load())
	}
}

// While everything is shed, operators are answered as if nothing was.
func TestAdminIsNotSubjectToLoad(t *testing.T) {
	b := newBench(t, setup{gate: onePool(0, 0, time.Second, 0), handler: echo})
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 16 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if res, _, err := b.try(context.Background(), "GET", "/", nil); err != nil || res.StatusCode != 429 {
						t.Errorf("%v %v", res, err)
						return
					}
				}
			}
		})
	}
	until(t, 5*time.Second, "much is shed", func() bool { return b.server.Counts().Requests > 500 })
	slow := 0
	for range 20 {
		start := time.Now()
		if code, _ := b.get(b.admin + "/livez"); code != 200 {
			t.Errorf("livez %d", code)
		}
		if time.Since(start) > 50*time.Millisecond {
			slow++
		}
	}
	close(stop)
	load.Wait()
	if slow > 2 { // the generator takes the same two processors
		t.Errorf("%d of 20 answers took longer than 50ms", slow)
	}
	if b.calls.Load() != 0 {
		t.Error("something reached the upstream")
	}
}

// descriptors counts the open ones, where that can be seen.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// Ten thousand calls that end in every way leave nothing behind.
func TestNothingIsLeftBehind(t *testing.T) {
	calls := 10_000
	if testing.Short() {
		calls = 2_000
	}
	b := newBench(t, setup{gate: onePool(8, 16, 60*time.Millisecond, 0), handler: func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow": // past its deadline
			pause(r, 90*time.Millisecond)
		case "/work":
			pause(r, 3*time.Millisecond)
		case "/drop":
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.Close()
			}
			return
		}
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, strings.Repeat("x", 2000))
	}, change: func(c *Config) { c.HoldMax = time.Second }})
	var kinds [6]atomic.Int64
	settle := func() {
		b.client.CloseIdleConnections()
		until(t, 5*time.Second, "nothing runs", func() bool {
			c, p := b.server.Counts(), b.pool()
			return p.Running == 0 && p.Waiting == 0 && p.Used == 0 && c.InFlight == 0 && c.Held == 0 && c.Connections == 0 && b.gate.Outstanding() == 0
		})
		b.server.current.Load().upstream.close()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%+v\n%+v\n%d goroutines, %d descriptors", b.server.Counts(), b.pool(), runtime.NumGoroutine(), descriptors())
		}
	})
	b.mixed(200, &kinds) // what is started once, is
	settle()
	goroutines, fds := runtime.NumGoroutine(), descriptors()
	b.mixed(calls, &kinds)
	settle()
	t.Logf("ok %d, aborted %d, late %d, refused %d, bad gateway %d, other %d", kinds[0].Load(), kinds[1].Load(),
		kinds[2].Load(), kinds[3].Load(), kinds[4].Load(), kinds[5].Load())
	for i, name := range []string{"ok", "aborted", "late", "refused", "bad gateway"} {
		if kinds[i].Load() == 0 {
			t.Errorf("no call was %s", name)
		}
	}
	if n := kinds[5].Load(); n > 0 {
		t.Errorf("%d calls ended in no known way", n)
	}
	var arrived, ended uint64
	for _, k := range b.pool().Classes {
		arrived += k.Arrived
		for o := range k.Outcomes {
			ended += k.Outcomes[o]
		}
	}
	if arrived != ended {
		t.Errorf("%d arrived, %d ended", arrived, ended)
	}
	until(t, 5*time.Second, "goroutines and descriptors are back", func() bool {
		return runtime.NumGoroutine() <= goroutines && descriptors() <= fds
	})
}

// mixed sends n calls of every kind from a few more clients than there is room for.
func (b *bench) mixed(n int, kinds *[6]atomic.Int64) {
	var all sync.WaitGroup
	jobs := make(chan int)
	for w := range 28 {
		rng := rand.New(rand.NewPCG(uint64(w), uint64(n)))
		all.Go(func() {
			for range jobs {
				b.oneOfAll(rng, kinds)
			}
		})
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	all.Wait()
}

// pause lets time pass at the upstream.
func pause(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

func (b *bench) oneOfAll(rng *rand.Rand, kinds *[6]atomic.Int64) {
	path, method, body := "/work", "GET", io.Reader(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	switch rng.IntN(10) {
	case 0:
		path = "/slow"
	case 1, 2: // leaves by itself
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(8))*time.Millisecond)
		defer cancel()
	case 3:
		method, body = "POST", strings.NewReader(strings.Repeat("b", rng.IntN(20_000)))
	case 4:
		path, method = "/drop", "POST"
	}
	class := []string{"critical", "background"}[rng.IntN(2)]
	res, _, err := b.try(ctx, method, path, body, "X-Class", class)
	switch {
	case err != nil && ctx.Err() != nil:
		kinds[1].Add(1)
	case err != nil:
		kinds[5].Add(1)
		b.t.Log(err)
	case res.StatusCode == 200:
		kinds[0].Add(1)
	case res.StatusCode == 504:
		kinds[2].Add(1)
	case res.StatusCode == 429, res.StatusCode == 503 && res.Header.Get("Plimsoll-Refusal") != "":
		// The latter for want of a connection within the deadline, on a machine
		// that is busy.
		kinds[3].Add(1)
		<-time.After(3 * time.Millisecond) // a client that comes back at once would be refused all day
	case res.StatusCode == 502:
		kinds[4].Add(1)
	default:
		kinds[5].Add(1)
		b.t.Log(res.Status)
	}
}

// Outcomes of a client that leaves while it waits: its place is free at once,
// and the upstream never hears of it.
func TestClientLeavesWhileWaiting(t *testing.T) {
	keeper := newGatekeeper()
	b := newBench(t, setup{gate: onePool(1, 4, 10*time.Second, 0), handler: func(w http.ResponseWriter, r *http.Request) { keeper.enter(r) }})
	first := make(chan error, 1)
	go func() { _, _, err := b.try(context.Background(), "GET", "/first", nil); first <- err }()
	keeper.wait(t)
	c := b.raw("POST /waits HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
	until(t, time.Second, "it waits", func() bool { return b.pool().Waiting == 1 })
	c.Close()
	until(t, time.Second, "its place is free", func() bool { return b.pool().Waiting == 0 })
	close(keeper.leave)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if b.calls.Load() != 1 || b.outcomes(plimsoll.Cancelled) != 1 {
		t.Errorf("%d at the upstream, %+v", b.calls.Load(), b.pool().Classes)
	}
	if line := b.line("/waits"); line["status"] != 499.0 || line["outcome"] != "cancelled" {
		t.Errorf("the log says %v", line)
	}
}
