package demo

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

const testService = 10 * time.Millisecond

// ask makes one call to the upstream and reads its stamps.
func ask(ctx context.Context, u *upstream) (stamps, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.url(), nil)
	if err != nil {
		return stamps{}, err
	}
	r.Header.Set(stampsHeader, "1")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return stamps{}, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return stamps{}, err
	}
	return parseStamps(answer.Header.Get(stampsHeader))
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u, err := startUpstream(testService, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := u.close(); err != nil {
			t.Error(err)
		}
	})
	return u
}

// What makes the upstream a fair opponent: calls that come together are done one
// after another, exactly one service time apart, whatever the timers do.
func TestUpstreamSerialises(t *testing.T) {
	u := newUpstream(t)
	const calls = 20
	all := make([]stamps, calls)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			s, err := ask(t.Context(), u)
			if err != nil {
				t.Error(err)
			}
			all[i] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	slices.SortFunc(all, func(a, b stamps) int { return int(a.finish - b.finish) })
	if got, want := all[0].finish, all[0].arrived+testService; got != want {
		t.Errorf("an idle worker finished the first call at %v, want %v", got, want)
	}
	for i := 1; i < calls; i++ {
		if got, want := all[i].finish, max(all[i].arrived, all[i-1].finish)+testService; got != want {
			t.Errorf("call %d was due at %v, want %v", i, got, want)
		}
		if all[i].arrived < all[i-1].arrived {
			t.Errorf("call %d overtook the one before it", i)
		}
		if all[i].replied < all[i].finish {
			t.Errorf("call %d was answered %v before it was finished", i, all[i].finish-all[i].replied)
		}
	}
	if got := u.calls.Load(); got != calls {
		t.Errorf("the upstream counted %d calls, want %d", got, calls)
	}
}

// Abandoned work is not free: the call behind one whose client has gone waits
// for it all the same.
func TestUpstreamFinishesWhatItsClientGaveUp(t *testing.T) {
	u := newUpstream(t)
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := ask(gone, u)
		left <- err
	}()
	until(t, "the call to arrive", func() bool { return u.calls.Load() == 1 })
	leave()
	if err := <-left; err == nil {
		t.Fatal("the call that was given up had an answer")
	}
	s, err := ask(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if u.calls.Load() != 2 {
		t.Errorf("the upstream counted %d calls, want 2", u.calls.Load())
	}
	if s.finish < 2*testService {
		t.Errorf("the second call was due at %v: the abandoned one took no time", s.finish)
	}
}

// patience is for a machine on which everything else is tested at once.
const patience = time.Minute

// until polls a condition that another goroutine makes true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
		<-tick.C
	}
}

func TestUpstreamSaysHowLateItWas(t *testing.T) {
	u := &upstream{}
	if got := u.lateP99(); got != 0 {
		t.Errorf("nobody was answered late, and %v is said", got)
	}
	for i := range 200 {
		u.late = append(u.late, time.Duration(200-i)*time.Millisecond)
	}
	if got := u.lateP99(); got != 198*time.Millisecond {
		t.Errorf("the 99th percentile of 1 … 200 ms is %v", got)
	}
}

func TestParseStamps(t *testing.T) {
	want := stamps{1, 22, 333}
	if got, err := parseStamps(want.String()); err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	for _, v := range []string{"", "1 2", "1 2 x", "1 2 3 4"} {
		if _, err := parseStamps(v); err == nil {
			t.Errorf("%q was understood", v)
		}
	}
}
