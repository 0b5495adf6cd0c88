// Package plimsoll keeps a service alive when it is offered more work than it
// can do. Every place where work can pile up has a bound, every wait has a
// deadline, every refusal is said out loud and has had no effect, and when not
// everything can survive, whose work does has been decided beforehand.
//
// There are three ways in:
//
//   - A backend engineer takes [Bounded] for a two-class configuration, passes
//     it to [New], and puts [Gate.Acquire] and [Ticket.Release] around the work
//     (or package httpgate around an http.Handler).
//   - Whoever knows their classes and pools writes a [Config].
//   - Whoever builds a simulator or a gate of their own takes package core, the
//     deterministic machine that makes every decision here.
//
// What the package promises is a success rate per class that counts the
// refused, never only the latency of those who got through.
//
// Limits are per process: a fleet of n processes admits n times as much.
package plimsoll
