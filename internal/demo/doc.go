// Package demo shows what a bound with a decision behind it is worth: a real
// service that can do a hundred calls a second, the proxy of `plimsoll serve`
// before it, three times as many calls as it can do, and three policies one
// after another, measured over sockets beside what the simulator predicts for
// the same arrivals.
package demo
