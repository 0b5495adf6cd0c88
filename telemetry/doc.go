// Package telemetry shows a gate to Prometheus.
//
// Nothing is counted here: a scrape takes one look at [plimsoll.Gate.Status]
// (and at the proxy's counters, when there is a proxy) and writes what it sees,
// so admission pays nothing for being observed. Labels are only ever pools,
// classes, reasons, outcomes and modes: all of them closed sets or names from
// the configuration, never a path, a header or a key of a client.
//
// Registration is explicit, on a registry of the caller's.
package telemetry
