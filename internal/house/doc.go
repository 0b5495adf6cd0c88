// Package house holds no code: its tests are the rules of this repository that
// a compiler does not know. Which package may import which, what the pure ring
// never does, that everything has documentation, that no link is dead.
//
// A rule that gets in the way is discussed and changed here, in one place, not
// worked around. Sizes are looked at and not enforced: `make house` prints the
// longest functions and files, and whoever adds to one asks whether it is two
// things.
package house
