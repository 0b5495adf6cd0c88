package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// ownBench are benchmarks of the product itself that stand in its own folders:
// they compare with the standard library, or with nothing.
type ownBench struct {
	title, text  string
	dir, pattern string
	units        []string // beside ns/op and allocs/op
}

func own() []ownBench {
	return []ownBench{
		{
			title: "The core",
			text:  "The machine by itself, without lock and clock.",
			dir:   "../core", pattern: ".",
		},
		{
			title: "Simulated arrivals",
			text:  "The bounded system at three times its capacity; an operation is one arrival.",
			dir:   "../sim", pattern: "300", units: []string{"arrivals/s"},
		},
		{
			title: "A request at the gate",
			text:  "What being admitted and being refused cost beside a bare handler that writes the same bytes; Server with a client and sockets around it, Handler without.",
			dir:   "../httpgate", pattern: "Server|Handler",
		},
		{
			title: "The proxy",
			text:  "Against a bare, tuned httputil.ReverseProxy of the standard library.",
			dir:   "../proxy", pattern: ".", units: []string{"req/s", "ratio", "cpu-ns/op"},
		},
		{
			title: "Events and records",
			text:  "Writing and reading one record in either encoding, and replaying a recorded history through the core.",
			dir:   "../record", pattern: ".", units: []string{"ns/record", "ns/event"},
		},
	}
}

func (o *ownBench) write(w *bytes.Buffer, r *results) {
	if len(r.names) == 0 {
		return // nothing of that kind is measured
	}
	fmt.Fprintf(w, "\n## %s\n\n%s (`go test -bench '%s' ./%s`)\n\n", o.title, o.text, o.pattern, strings.TrimPrefix(o.dir, "../"))
	var units []string
	for _, u := range append([]string{"ns/op", "allocs/op"}, o.units...) {
		if slices.ContainsFunc(r.names, func(n string) bool { return len(r.values[n][u]) > 0 }) {
			units = append(units, u)
		}
	}
	fmt.Fprintf(w, "| | %s |\n|---|%s\n", strings.Join(units, " | "), strings.Repeat("---:|", len(units)))
	for _, name := range r.names {
		fmt.Fprintf(w, "| %s |", strings.ReplaceAll(name, "_", " "))
		for _, u := range units {
			fmt.Fprintf(w, " %s |", cell(r, name, u, ""))
		}
		fmt.Fprintln(w)
	}
}
