// Package sim is a virtual-time world around core. It owns the time line and
// the physics: when calls arrive, how long they are worked on, how long a
// message travels. It owns no admission: every decision is the machine's, the
// same that the live gate runs.
//
//   - [Slots] drives one pool whose slots are themselves what works. It is the
//     bounded system in its purest form, and fast: it needs memory for what is in
//     the system, never for what has passed.
//   - [World] is the live arrangement: clients that give up, a gate, an
//     upstream with a queue of its own, and the time that messages take between
//     them. It predicts what a measurement over sockets will show.
//
// An instant is a float64 count of milliseconds, because the published
// experiments that this package repeats are decided by the last bits of such
// numbers. Events are ordered on that line, and every result is computed from
// it. The machine is handed floor(ms × 10⁶) nanoseconds; truncation, not
// rounding, keeps a wait of a hair more than 190 ms longer than 190 ms. Where
// that is not enough there is [Slots].Exact.
//
// Runs are deterministic: the same parameters and sources give the same calls.
package sim

import "math"

// nanos is the instant that the machine is handed.
func nanos(ms float64) int64 { return int64(ms * 1e6) }

// millis is the first instant whose nanos is at least ns.
func millis(ns int64) float64 {
	ms := float64(ns) / 1e6
	for nanos(ms) < ns {
		ms = math.Nextafter(ms, math.Inf(1))
	}
	return ms
}
