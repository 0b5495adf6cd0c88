// Package slo turns records of ended calls into what was promised about them:
// the share of each class's arrivals that ended well within the deadline,
// counting everybody who asked.
//
// Three figures always stand together. Success counts the refused, evicted,
// expired, late, failed, unknown and lost against it. Success of the admitted
// leaves the refused out. The survivors' latency is measured on those who were
// answered. A system that refuses three calls of four and answers the fourth
// quickly looks healthy in the last two, which is the survivor-latency trap;
// [Score.Judge] says so in words.
//
// A client that leaves counts against success too, unless it left while still
// waiting and before half of its deadline had passed: such calls are counted
// beside, and [Score.LeftPct] is their share. A client that gives up at its own
// deadline is not one of them: leaving it out would build the trap anew.
//
// The package reads no clock and keeps no records. Memory is bounded by the
// number of classes and windows, never by the number of records.
package slo
