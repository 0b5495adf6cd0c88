// Package config turns a file, or flags, into the settings of a server: the
// gate's Config and everything around it, checked as a whole.
//
// It is strict. A key that is unknown or said twice, a value of the wrong type
// or unit, a number out of range or a name that refers to nothing is an error
// with file, line, column, key and what is allowed; all errors of a file are
// reported together, and nothing is repaired in silence.
//
// It is also honest. A file may be valid and still not deliver what it seems
// to promise: a door that has nothing to evict, a waiting room longer than any
// deadline can bear. Those are [Warning]s, each with the numbers worked out.
//
// The package reads the one file that it is told to read and the files that it
// names, writes nothing and starts nothing.
package config
