package plimsoll

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

// Everything at once, for a while: two dozen callers that come, leave and are
// refused; reloads under which pools and classes come, go and move, in all
// modes; recordings that begin and end. Afterwards nothing is left, every count
// adds up, and every recording replays.
func TestSwarm(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { swarm(t, seed) })
	}
}

func swarm(t *testing.T, seed uint64) {
	s := &swarmers{t: t, seed: seed, stop: make(chan struct{})}
	cfg := s.config(s.rand(3))
	cfg.Observer, cfg.Alarm = s, func(err error) { t.Error(err) }
	s.gate = start(t, cfg)
	var all sync.WaitGroup
	for n := range uint64(24) {
		all.Go(func() { s.each(100+n, s.call) })
	}
	all.Go(func() { s.each(9, s.reload) })
	all.Go(func() { s.each(10, s.record) })
	<-time.After(400 * time.Millisecond)
	close(s.stop)
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.gate.Drain(ctx); err != nil {
		t.Errorf("drain: %v", err)
	}
	s.nothingLeft()
}

type swarmers struct {
	t    *testing.T
	seed uint64
	gate *Gate
	stop chan struct{}

	granted, refused, left  atomic.Int64 // as the callers saw it
	seenEnded, seenRefusals atomic.Int64 // as the observer did
}

// Ended is the observer's.
func (s *swarmers) Ended(e CallEnded) {
	s.seenEnded.Add(1)
	if e.Outcome == Refused {
		s.seenRefusals.Add(1)
	}
}

func (s *swarmers) rand(n uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, n)) }

// each does something until the swarm is over.
func (s *swarmers) each(n uint64, do func(*rand.Rand)) {
	for r := s.rand(n); ; {
		select {
		case <-s.stop:
			return
		default:
			do(r)
		}
	}
}

func (s *swarmers) call(r *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(200+r.IntN(5000))*time.Microsecond)
	defer cancel()
	names := []string{"a", "b", "c", "u", "v", "w", "z", "?"}
	q := Request{Class: names[r.IntN(len(names))], Timeout: time.Duration(r.IntN(4)) * time.Millisecond}
	if r.IntN(6) == 0 {
		q.Cost = r.IntN(4)
	}
	k, err := s.gate.Acquire(ctx, q)
	var f Refusal
	switch {
	case err == nil:
		s.granted.Add(1)
		spin(time.Duration(r.IntN(200)) * time.Microsecond)
		k.Release(OK)
	case !errors.As(err, &f):
		s.left.Add(1)
	default:
		s.refused.Add(1)
		if f.RetryAfter < 0 || f.RetryAfter > retryHorizon*time.Second || (f.RetryAfter == 0) != (f.Reason == core.TooCostly) {
			s.t.Errorf("%+v", f)
		}
	}
}

func (s *swarmers) reload(r *rand.Rand) {
	if err := s.gate.Reload(s.config(r)); err != nil {
		s.t.Error(err)
	}
	s.gate.Status()
	s.gate.Outstanding()
	<-time.After(time.Duration(r.IntN(1500)) * time.Microsecond)
}

func (s *swarmers) record(r *rand.Rand) {
	var b bytes.Buffer
	rec, err := s.gate.Record(&b, []record.Encoding{record.JSON, record.Binary}[r.IntN(2)])
	if err != nil {
		s.t.Error(err)
		return
	}
	<-time.After(time.Duration(r.IntN(60)) * time.Millisecond)
	if err := rec.Stop(); err != nil {
		s.t.Error(err)
	}
	if rep, err := record.Replay(&b); err != nil || rep.Difference != nil {
		s.t.Errorf("%v, %v after %d events", err, rep.Difference, rep.Events)
	}
}

// config has up to three pools; classes come, go and move between them.
func (s *swarmers) config(r *rand.Rand) Config {
	cfg := Config{Default: "z"}
	for i, name := range []string{"base", "p0", "p1"} {
		if i > 0 && r.IntN(2) == 0 {
			continue
		}
		p := Pool{
			Name: name, Slots: r.IntN(6), Waiting: r.IntN(8), Order: Order(r.IntN(3)), Door: Door(r.IntN(2)),
			Mode: Mode(r.IntN(3)), LateExpiry: r.IntN(2) == 0, AdmitHopeless: r.IntN(2) == 0,
		}
		cfg.Pools = append(cfg.Pools, p)
		cfg.Classes = append(cfg.Classes, s.class(r, string(rune('a'+i)), p.Name))
		cfg.Classes[len(cfg.Classes)-1].Reserve = min(p.Slots, r.IntN(2))
	}
	for _, name := range []string{"u", "v", "w", "z"} {
		if name == "z" || r.IntN(2) == 0 {
			cfg.Classes = append(cfg.Classes, s.class(r, name, cfg.Pools[r.IntN(len(cfg.Pools))].Name))
		}
	}
	return cfg
}

func (s *swarmers) class(r *rand.Rand, name, pool string) Class {
	return Class{Name: name, Pool: pool, Rank: r.IntN(3), Deadline: time.Duration(r.IntN(3)) * 2 * time.Millisecond, Waiting: r.IntN(3)}
}

func (s *swarmers) nothingLeft() {
	t, g := s.t, s.gate
	if n := g.Outstanding(); n != 0 {
		t.Errorf("%d outstanding", n)
	}
	if s.seenRefusals.Load() != s.refused.Load() || s.seenEnded.Load() < s.granted.Load()+s.refused.Load() {
		t.Errorf("granted %d, refused %d, left %d; the observer saw %d end and %d refused",
			s.granted.Load(), s.refused.Load(), s.left.Load(), s.seenEnded.Load(), s.seenRefusals.Load())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, gr := range g.groups {
		if err := gr.m.Check(); err != nil || gr.broken || gr.stale != 0 || gr.held() != 0 || len(gr.loose) != 0 {
			t.Errorf("%s: %v, broken %v, %d stale, %d held", gr.pool, err, gr.broken, gr.stale, gr.held())
		}
		for i := range gr.seats {
			if gr.seats[i] != (seat{}) {
				t.Errorf("%s: seat %d: %+v", gr.pool, i, gr.seats[i])
			}
		}
		for i := range gr.classes {
			addsUp(t, gr.pool, gr.classStatus(0, i))
		}
	}
}

// addsUp holds that every arrival of a class that is empty has one outcome,
// every refusal one reason, and that whoever ran has waited, if for no time.
func addsUp(t *testing.T, pool string, c ClassStatus) {
	var ended, refused, waits, runs uint64
	for _, n := range c.Outcomes {
		ended += n
	}
	for _, n := range c.Refused {
		refused += n
	}
	for i := range c.Wait.Counts {
		waits += c.Wait.Counts[i]
		runs += c.Run.Counts[i]
	}
	if ended != c.Arrived || refused != c.Outcomes[Refused] || c.Running != 0 || waits != runs {
		t.Errorf("%s/%s: arrived %d, outcomes %v, refused %v, running %d, waits %d, runs %d", pool, c.Name, c.Arrived, c.Outcomes, c.Refused, c.Running, waits, runs)
	}
}
