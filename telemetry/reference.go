package telemetry

import "strings"

// Reference is docs/reference/metrics.md, made of the definitions themselves so
// that the two cannot differ.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Metrics

What ` + "`/metrics`" + ` of the admin listener shows, beside the usual metrics of the Go
runtime and the process. This page is generated from the code
(` + "`go test ./telemetry -run Reference -rewrite`" + `).

Counters start at 0 with the process. Labels come from closed sets or from the
configuration: ` + "`pool`" + ` and ` + "`class`" + ` are names of yours, ` + "`reason`" + ` and ` + "`outcome`" + ` are
words that [before a service](../guide/before-a-service.md) and [operating](../guide/operating.md) explain. A scrape
reads and never counts, so it costs a request nothing.

| metric | kind | labels | meaning |
|---|---|---|---|
`)
	for _, m := range Metrics() {
		labels := "none"
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		b.WriteString("| `" + m.Name + "` | " + string(m.Kind) + " | " + labels + " | " + m.Help + " |\n")
	}
	return b.String()
}
