package lab

import (
	"fmt"
	"html"
	"strings"
)

// SVG draws the chart for a page. Colours and sizes are the page's: it has to
// style the classes ink-0 … ink-3, dash-0 … dash-2, grid and axis. Text is
// marked up for screen readers by the chart's title.
func (c *Chart) SVG() string {
	const w, h, left, right, top, bottom = 760.0, 300.0, 40.0, 12.0, 10.0, 42.0
	lo, hi := c.span()
	x := func(v float64) float64 { return left + (v-lo)/(hi-lo)*(w-left-right) }
	y := func(v float64) float64 { return h - bottom - v/c.YMax*(h-top-bottom) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, w, h, html.EscapeString(c.Title))
	for _, t := range ticks(0, c.YMax, 6) {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1[3]f"/>`, left, w-right, y(t.Value))
		fmt.Fprintf(&b, `<text class="axis" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, left-8, y(t.Value)+4, t.Label)
	}
	for _, t := range ticks(lo, hi, 10) {
		fmt.Fprintf(&b, `<text class="axis" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x(t.Value), h-bottom+18, t.Label)
	}
	fmt.Fprintf(&b, `<text class="axis" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (left+w-right)/2, h-6, html.EscapeString(c.XLabel))
	for i := range c.Lines {
		c.Lines[i].svg(&b, x, y)
	}
	b.WriteString(`</svg>`)
	return b.String()
}

func (l *Line) svg(b *strings.Builder, x, y func(float64) float64) {
	fmt.Fprintf(b, `<polyline class="ink-%d dash-%d" points="`, l.Ink, l.Dash)
	for i := range l.X {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(b, "%.1f,%.1f", x(l.X[i]), y(l.Y[i]))
	}
	b.WriteString(`"/>`)
	if !l.Markers {
		return
	}
	for i := range l.X {
		fmt.Fprintf(b, `<circle class="ink-%d" cx="%.1f" cy="%.1f" r="3.6"><title>%s: %s at %s</title></circle>`,
			l.Ink, x(l.X[i]), y(l.Y[i]), html.EscapeString(l.Name), one(l.Y[i]), one(l.X[i]))
	}
}
