// Package lab runs named experiments on the simulator and writes what they
// found: tables as CSV, charts as PNG, a manifest that says how the tables came
// about, and a report that a person reads.
//
// An [Experiment] is a value: name, title, what may be set, and a function that
// checks the settings and returns the work. Everything is computed before
// anything is written, and everything is written beside its final name before
// the first final name appears; see [Experiment.Run].
//
// Tables are the same bytes on every machine. Charts, manifest and report are
// the same bytes for the same command on the same machine, if the experiment is
// asked to be deterministic.
package lab
