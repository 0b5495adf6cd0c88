package arrival

import (
	"fmt"
	"math"
)

// LCG is the 48-bit linear congruential generator that the Java platform
// documents for java.util.Random. It is here because experiments published
// with it can then be repeated to the byte. It is a value: copy it to branch.
type LCG struct{ s uint64 }

const (
	lcgMultiplier = 0x5DEECE66D
	lcgIncrement  = 0xB
	lcgMask       = 1<<48 - 1
)

// NewLCG starts the generator: s = (seed XOR 0x5DEECE66D) mod 2⁴⁸.
func NewLCG(seed int64) LCG { return LCG{(uint64(seed) ^ lcgMultiplier) & lcgMask} }

// Bits steps the generator, s = (s × 0x5DEECE66D + 11) mod 2⁴⁸, and returns the
// top n bits of s. n is 0 … 48.
func (g *LCG) Bits(n uint) uint64 {
	g.s = (g.s*lcgMultiplier + lcgIncrement) & lcgMask
	return g.s >> (48 - n)
}

// Float64 draws from [0, 1): 26 bits, then 27, over 2⁵³.
func (g *LCG) Float64() float64 {
	hi := g.Bits(26)
	return float64(hi<<27|g.Bits(27)) / (1 << 53)
}

// Classes draws for each arrival, in order of arrival, whether it is critical.
type Classes struct {
	lcg   LCG
	below uint64 // draws of 53 bits that are critical
}

// NewClasses makes a share of the arrivals critical, 0 … 1. The draws depend on
// the seed alone, so that arrival i has the same class at every rate.
func NewClasses(seed int64, share float64) (*Classes, error) {
	if !(share >= 0 && share <= 1) { // also NaN
		return nil, fmt.Errorf("arrival: a critical share of %v; 0 to 1 is allowed", share)
	}
	// A draw is k/2⁵³ with a whole k, and scaling by a power of two is exact,
	// so k/2⁵³ < share is k < share × 2⁵³ rounded up.
	return &Classes{NewLCG(seed), uint64(math.Ceil(share * (1 << 53)))}, nil
}

// Next says whether the next arrival is critical: whether a draw of
// [LCG.Float64] is less than the share. The second of the draw's two steps is
// computed from the state before the first, so that it need not wait for it.
func (c *Classes) Next() bool {
	const (
		twice = lcgMultiplier * lcgMultiplier & lcgMask
		added = (lcgMultiplier + 1) * lcgIncrement & lcgMask
	)
	first := (c.lcg.s*lcgMultiplier + lcgIncrement) & lcgMask
	c.lcg.s = (c.lcg.s*twice + added) & lcgMask
	return first>>22<<27|c.lcg.s>>21 < c.below
}
