package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/priority"
	"golang.org/x/sync/semaphore"

	"github.com/plimsoll-go/plimsoll"
)

// Slots is how many permits each peer has where it is not meant to be full.
const Slots = 64

// errWrong is a peer that did not decide as the benchmark means it to.
var errWrong = errors.New("bench: not the expected decision")

// Peer is one way to bound how much runs at once.
type Peer struct {
	Name string
	// Module is where it comes from; empty for Go itself.
	Module string
	// Knows is what the decision takes into account.
	Knows string
	// Admit makes a fresh one with slots permits, and returns a function that
	// takes and gives back a permit. It may be called concurrently.
	Admit func(slots int) (pair func() error, err error)
	// Refuse makes one that is full, and returns a function that is refused;
	// nil if it has no refusal that is comparable.
	Refuse func() (try func() error, err error)
}

// Peers lists everybody, ourselves first.
func Peers() []Peer {
	const self = "github.com/plimsoll-go/plimsoll"
	const failsafe = "github.com/failsafe-go/failsafe-go"
	return []Peer{
		{"plimsoll.Gate", self, "class, rank, deadline, waiting", gate, gateFull},
		{"channel", "", "a count", channel, channelFull},
		{"x/sync/semaphore", "golang.org/x/sync", "a count", weighted, weightedFull},
		{"failsafe-go bulkhead", failsafe, "a count", bulk, bulkFull},
		{"failsafe-go prioritized limiter", failsafe, "priority, latency", prioritized, nil},
		{"two readings of the clock", "", "nothing", clock, nil},
	}
}

// gate has everything on that a live gate has on: a deadline, refusal of the
// hopeless, expiry by time. It reads the clock at each admission and release.
func gate(slots int) (func() error, error) {
	g, err := plimsoll.New(plimsoll.Bounded(slots, 16, 200*time.Millisecond))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	return func() error {
		t, err := g.Acquire(ctx, plimsoll.Request{Class: "critical"})
		if err == nil {
			t.Release(plimsoll.OK)
		}
		return err
	}, nil
}

func gateFull() (func() error, error) {
	g, err := plimsoll.New(plimsoll.Bounded(1, 0, time.Hour))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if _, err := g.Acquire(ctx, plimsoll.Request{}); err != nil {
		return nil, fmt.Errorf("bench: the first call: %w", err)
	}
	return func() error {
		_, err := g.Acquire(ctx, plimsoll.Request{Class: "critical"})
		if r, ok := err.(plimsoll.Refusal); !ok || r.Reason.String() != "full" {
			return errWrong
		}
		return nil
	}, nil
}

func channel(slots int) (func() error, error) {
	c, done := make(chan struct{}, slots), context.Background().Done()
	return func() error {
		select {
		case c <- struct{}{}:
		case <-done:
		}
		<-c
		return nil
	}, nil
}

func channelFull() (func() error, error) {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	return func() error {
		select {
		case c <- struct{}{}:
			return errWrong
		default:
			return nil
		}
	}, nil
}

func weighted(slots int) (func() error, error) {
	s, ctx := semaphore.NewWeighted(int64(slots)), context.Background()
	return func() error {
		if err := s.Acquire(ctx, 1); err != nil {
			return err
		}
		s.Release(1)
		return nil
	}, nil
}

func weightedFull() (func() error, error) {
	s := semaphore.NewWeighted(1)
	return refused(s.TryAcquire(1), func() bool { return s.TryAcquire(1) })
}

func bulk(slots int) (func() error, error) {
	b, ctx := bulkhead.New[any](uint(slots)), context.Background()
	return func() error {
		if err := b.AcquirePermit(ctx); err != nil {
			return err
		}
		b.ReleasePermit()
		return nil
	}, nil
}

func bulkFull() (func() error, error) {
	b := bulkhead.New[any](1)
	return refused(b.TryAcquirePermit(), b.TryAcquirePermit)
}

// refused turns a function that takes a permit into one that must not get it.
func refused(first bool, take func() bool) (func() error, error) {
	if !first {
		return nil, errWrong
	}
	return func() error {
		if take() {
			return errWrong
		}
		return nil
	}, nil
}

func prioritized(slots int) (func() error, error) {
	l := adaptivelimiter.NewBuilder[any]().
		WithLimits(uint(slots), uint(slots), uint(slots)).
		BuildPrioritized(adaptivelimiter.NewPrioritizer())
	ctx := context.Background()
	return func() error {
		p, err := l.AcquirePermitWithPriority(ctx, priority.High)
		if err == nil {
			p.Record()
		}
		return err
	}, nil
}

func clock(int) (func() error, error) {
	epoch := time.Now()
	return func() error {
		if a, b := time.Since(epoch), time.Since(epoch); b < a {
			return errWrong
		}
		return nil
	}, nil
}
