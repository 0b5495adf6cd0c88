// Package core is the machine that makes every admission decision of Plimsoll.
//
// The machine never calls out. Each method is one event: it takes the instant
// at which the event happens and appends to the caller's slice everything that
// must now happen. There is no goroutine, lock, clock, context or logger in
// this package, so the live gate, the simulator and a replay of a recorded
// minute run exactly the same code and come to exactly the same decisions.
//
// # The events
//
//   - [Machine.Arrive]: a call knocks. It is put among the waiting, or refused.
//   - [Machine.Release]: a running call has ended and gives back its units.
//   - [Machine.Dispatch]: free units are handed to the waiting.
//   - [Machine.Cancel]: a waiting call goes away by itself.
//   - [Machine.Tick]: time has passed, and that alone may have doomed a waiter.
//   - [Machine.Configure], [Machine.Drain], [Machine.Flush]: parameters change.
//
// [Machine.Pass] is Arrive and Dispatch in one, for a call that meets nobody.
//
// Release and Dispatch are two events on purpose. A live gate does both under
// its lock in one go. A laboratory that must say what happens when a call
// arrives in the very instant in which another one ends lets the arrivals in
// between: they do not see the freed slot's successor started yet. The order
// within one instant is release, arrivals, dispatch.
//
// # Time
//
// An instant is an int64 count of nanoseconds on one monotonic line whose
// origin the caller chooses, at least three hours before [Never]: sums of an
// instant, an expectation and a margin are not looked at for overflow. The
// machine uses it only to compare a call's deadline with now. It never re-orders, merges or rejects events by their
// stamps: the order of the calls is the order.
//
// # Units and bounds
//
// Slots count units, and a call takes Cost of them while it runs (one, for an
// ordinary call). Bounds count calls. A pool holds at most Slots + Waiting
// calls; see [Pool] for every parameter with its unit, its range and what
// happens at it.
package core
