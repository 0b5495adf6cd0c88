package bench

import (
	"sync/atomic"
	"testing"
)

// Every decision is checked: a benchmark of a peer that does not decide what is
// meant measures nothing.
func TestPeersDecide(t *testing.T) {
	for _, p := range Peers() {
		pair, err := p.Admit(2)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		for range 100 { // a permit that is not given back is missed at the third
			if err := pair(); err != nil {
				t.Fatalf("%s: admit: %v", p.Name, err)
			}
		}
		if p.Refuse == nil {
			continue
		}
		try, err := p.Refuse()
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		for range 3 {
			if err := try(); err != nil {
				t.Fatalf("%s: refuse: %v", p.Name, err)
			}
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	for _, p := range Peers() {
		b.Run(p.Name, func(b *testing.B) {
			pair, err := p.Admit(Slots)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := pair(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Wall time of an operation with as many goroutines as processors over one peer.
func BenchmarkAdmitParallel(b *testing.B) {
	for _, p := range Peers() {
		b.Run(p.Name, func(b *testing.B) {
			pair, err := p.Admit(Slots)
			if err != nil {
				b.Fatal(err)
			}
			var failed atomic.Pointer[error]
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := pair(); err != nil {
						failed.Store(&err)
						return
					}
				}
			})
			if err := failed.Load(); err != nil {
				b.Fatal(*err)
			}
		})
	}
}

func BenchmarkRefuse(b *testing.B) {
	for _, p := range Peers() {
		if p.Refuse == nil {
			continue
		}
		b.Run(p.Name, func(b *testing.B) {
			try, err := p.Refuse()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := try(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
