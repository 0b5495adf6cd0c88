package proxy

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// frame builds one WebSocket frame with n bytes of payload.
func frame(n int, masked bool) []byte {
	b := []byte{0x82}
	var mask byte
	if masked {
		mask = 0x80
	}
	switch {
	case n < 126:
		b = append(b, mask|byte(n))
	case n < 1<<16:
		b = append(b, mask|126, byte(n>>8), byte(n))
	default:
		b = append(b, mask|127, 0, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	if masked {
		b = append(b, 1, 2, 3, 4)
	}
	return append(b, bytes.Repeat([]byte{0x88}, n)...) // payload that looks like headers
}

// However the bytes are cut into writes, boundaries are found exactly where a
// frame ends.
func TestFramesFindBoundaries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var all []byte
		ends := map[int]bool{0: true}
		for range 1 + rng.IntN(8) {
			size := []int{0, 1, 125, 126, 127, 4000, 65535, 65536, 70000}[rng.IntN(9)]
			all = append(all, frame(size, rng.IntN(2) == 0)...)
			ends[len(all)] = true
		}
		var f frames
		at := 0
		for at < len(all) {
			if got := f.boundary(); got != ends[at] {
				t.Fatalf("round %d, byte %d: boundary %v, want %v", round, at, got, ends[at])
			}
			n := min(len(all)-at, 1+rng.IntN(3000))
			took := f.advance(all[at : at+n])
			if took == 0 || took > n {
				t.Fatalf("round %d: advance took %d of %d", round, took, n)
			}
			if took < n && !ends[at+took] {
				t.Fatalf("round %d: advance stopped at %d, where no frame ends", round, at+took)
			}
			at += took
		}
		if !f.boundary() {
			t.Fatalf("round %d: no boundary at the end", round)
		}
	}
}

func TestGoingAwayIsOneFrame(t *testing.T) {
	var f frames
	if n := f.advance(goingAway[:]); n != len(goingAway) || !f.boundary() {
		t.Fatalf("the close frame is %d bytes, %d of them belong to the frame", len(goingAway), n)
	}
	if code := int(goingAway[2])<<8 | int(goingAway[3]); code != 1001 {
		t.Fatalf("close code %d, want 1001", code)
	}
}
