package plimsoll

import (
	"context"
	"testing"
	"time"
)

// The peers stand in the module bench, and the table in docs/reference.

func BenchmarkAdmit(b *testing.B) {
	g := start(b, Bounded(1000, 100, 200*time.Millisecond))
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		k, err := g.Acquire(ctx, Request{Class: "critical"})
		if err != nil {
			b.Fatal(err)
		}
		k.Release(OK)
	}
}

func BenchmarkAdmitParallel(b *testing.B) {
	g := start(b, Bounded(1000, 100, 200*time.Millisecond))
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			k, err := g.Acquire(ctx, Request{Class: "critical"})
			if err != nil {
				b.Error(err)
				return
			}
			k.Release(OK)
		}
	})
}

func BenchmarkRefuse(b *testing.B) {
	g := start(b, Bounded(1, 0, 200*time.Millisecond))
	ctx := context.Background()
	k, err := g.Acquire(ctx, Request{Class: "critical"})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Release(OK)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Acquire(ctx, Request{Class: "background"}); err == nil {
			b.Fatal("admitted")
		}
	}
}

// BenchmarkClock is the physical limit: an admission reads the clock once, and
// so does a release.
func BenchmarkClock(b *testing.B) {
	epoch := time.Now()
	var d time.Duration
	for b.Loop() {
		d += time.Since(epoch)
	}
	if d < 0 {
		b.Fatal(d)
	}
}
