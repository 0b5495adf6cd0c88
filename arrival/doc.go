// Package arrival says when calls arrive and of which class they are, as pure
// functions of a few numbers and a seed. The simulator, the laboratory and the
// load tester read the same sources, so what was predicted is what is fired.
//
// An instant is a float64 count of milliseconds from the start of the run. The
// unit is part of the contract: it decides where rounding happens, and an
// arrival meant for 50 ms that sits at 50 ± 10⁻¹² is before, at or after the
// completion at 50. Sources give instants in order, allocate nothing per
// arrival, and need memory for what they were told, never for what has passed.
//
// Every sum and product rounds once. Products that are added to something are
// written float64(a*b) + c, because a compiler may otherwise fuse the two on
// some architectures. Sources are therefore the same everywhere, bit for bit,
// with one exception: [Poisson] uses math.Log, which may differ in the last bit
// between architectures.
package arrival
