// Package web is the page: it shows what a gate does to the calls of each class
// while it does it, and answers without a manual whether something is being
// shed, of whom, why, and since when.
//
// It reads snapshots from a [Source] and owns nothing: the same page shows a
// demo, a live gate or a simulation. Everything that a browser needs is in the
// binary; the page fetches nothing from anywhere else.
//
// Watching costs the watched next to nothing: however many look, the source is
// asked a few times a second at most, viewers are bounded, and one that does
// not read is dropped. The page cannot change anything, asks nobody who they
// are, and therefore belongs on the loopback interface or behind something that
// does ask.
package web
