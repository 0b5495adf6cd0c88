// Package bench compares Plimsoll's decision with its peers' in one run, on one
// machine. It is a module of its own, so that nobody who uses Plimsoll
// downloads them.
//
//	go test -bench .            the numbers
//	go run ./cmd/tables         docs/reference/performance.md, from a fresh run
package bench
