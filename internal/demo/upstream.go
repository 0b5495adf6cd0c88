package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/punctual"
)

// stampsHeader asks the upstream to say when it did what; see [stamps].
const stampsHeader = "Demo-Stamps"

// upstream is the protected service: an HTTP server whose one worker takes the
// same time for every call, strictly first come first served, with a queue of
// its own that has no bound. Put too much before it and it does what such
// services do: it answers everybody, too late.
//
// While it is busy it works to an absolute schedule: a call is finished at
// max(its arrival, the finish of the call before it) + service, so a timer that
// fires late delays one answer and not the capacity. A call whose client has
// gone takes its time all the same.
type upstream struct {
	service time.Duration
	epoch   time.Time
	calls   atomic.Int64

	mu    sync.Mutex
	queue []*job        // in order of arrival
	more  chan struct{} // of capacity 1: the queue is not empty
	// late is by how much answers were behind the schedule, one for each call:
	// what the load offers within MaxDuration bounds it.
	late []time.Duration

	server http.Server
	addr   string
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// job is one call in the upstream.
type job struct {
	stamps stamps
	ready  chan struct{} // closed when the worker has finished it
}

// stamps are instants of one call, counted from the upstream's epoch.
type stamps struct {
	arrived time.Duration // the call joined the queue
	finish  time.Duration // when the worker was due to finish it
	replied time.Duration // when it really did
}

// String is the form in a header.
func (s stamps) String() string {
	return fmt.Sprintf("%d %d %d", s.arrived, s.finish, s.replied)
}

// parseStamps reads what String wrote.
func parseStamps(v string) (stamps, error) {
	parts := strings.Fields(v)
	if len(parts) != 3 {
		return stamps{}, fmt.Errorf("demo: %s is %q; three numbers of nanoseconds are expected", stampsHeader, v)
	}
	var ns [3]int64
	for i, p := range parts {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return stamps{}, fmt.Errorf("demo: %s: %w", stampsHeader, err)
		}
		ns[i] = n
	}
	return stamps{time.Duration(ns[0]), time.Duration(ns[1]), time.Duration(ns[2])}, nil
}

// startUpstream listens on a free port of the loopback interface. The caller
// must close it.
func startUpstream(service time.Duration, epoch time.Time) (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demo: the upstream cannot listen: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	u := &upstream{
		service: service, epoch: epoch, stop: stop,
		addr: l.Addr().String(),
		more: make(chan struct{}, 1),
	}
	u.server.Handler = u
	u.server.ReadHeaderTimeout = 5 * time.Second
	u.done.Go(func() { u.work(ctx) })
	u.done.Go(func() { _ = u.server.Serve(l) }) // ends by close
	return u, nil
}

// close ends the upstream and everything still in it.
func (u *upstream) close() error {
	err := u.server.Close()
	u.stop()
	u.done.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("demo: the upstream did not close: %w", err)
	}
	return nil
}

// url is where the upstream is reached.
func (u *upstream) url() string { return "http://" + u.addr }

// ServeHTTP queues one call and answers when the worker is done with it, or
// leaves when the client has gone or the server is closed: the worker does not
// notice, and does the work all the same.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.calls.Add(1)
	j := &job{ready: make(chan struct{})}
	u.put(j)
	select {
	case <-j.ready:
	case <-r.Context().Done():
		return
	}
	h := w.Header()
	if r.Header.Get(stampsHeader) != "" {
		h.Set(stampsHeader, j.stamps.String())
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("done\n")) // a client that has gone is the client's affair
}

func (u *upstream) put(j *job) {
	u.mu.Lock()
	j.stamps.arrived = time.Since(u.epoch)
	u.queue = append(u.queue, j)
	u.mu.Unlock()
	select {
	case u.more <- struct{}{}:
	default:
	}
}

// work is the one worker.
func (u *upstream) work(ctx context.Context) {
	clock := punctual.New()
	defer clock.Close()
	var free time.Duration // when the worker is done with what it had
	for {
		j, err := u.next(ctx)
		if err != nil {
			return
		}
		free = max(j.stamps.arrived, free) + u.service
		j.stamps.finish = free
		if clock.Until(ctx, u.epoch.Add(free)) != nil {
			return
		}
		j.stamps.replied = time.Since(u.epoch)
		u.mu.Lock()
		u.late = append(u.late, j.stamps.replied-j.stamps.finish)
		u.mu.Unlock()
		close(j.ready)
	}
}

// lateP99 is how late the upstream's answers were, at the 99th percentile; 0 if
// it gave none.
func (u *upstream) lateP99() time.Duration {
	u.mu.Lock()
	late := slices.Clone(u.late)
	u.mu.Unlock()
	if len(late) == 0 {
		return 0
	}
	slices.Sort(late)
	return late[max(0, (99*len(late)+99)/100-1)]
}

// next takes the oldest call, and waits for one if there is none.
func (u *upstream) next(ctx context.Context) (*job, error) {
	for {
		u.mu.Lock()
		if len(u.queue) > 0 {
			j := u.queue[0]
			u.queue[0] = nil // the slice's tail moves; do not hold what has left
			u.queue = u.queue[1:]
			u.mu.Unlock()
			return j, nil
		}
		u.mu.Unlock()
		select {
		case <-u.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
