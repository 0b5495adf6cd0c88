// Package load is an open-loop load tester: it makes each call at the instant
// the schedule says, whatever has become of the calls before it.
//
// That is the whole difference to a closed loop, whose clients wait for an
// answer before they ask again: a closed loop slows down with the service that
// it tests, and so asks least when the service is worst. Real crowds do not.
//
// A schedule is a pure function of package arrival, so what the simulator
// predicts is what is fired here. Latencies and deadlines count from the
// instant at which a call was meant to be made; when the machine cannot keep
// up, the calls are late, the [Report] says by how much, and whoever reads the
// result can throw it away.
package load
