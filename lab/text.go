package lab

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Text writes what a person at a terminal wants to know of a run: what was
// run, what was written, the sweep, and what it means.
func (o *Output) Text(w io.Writer) error {
	var b strings.Builder
	e := &o.Experiment
	lines := []string{fmt.Sprintf("Post %d: %s", e.Post, e.Title), ""}
	for _, f := range o.Prepared.Facts {
		lines = append(lines, fmt.Sprintf("%-16s%s", f.Name, f.Value))
	}
	box(&b, append(lines, fmt.Sprintf("%-16s%s", "output", o.Options.OutputDir)))
	b.WriteByte('\n')
	for _, a := range o.Manifest.CSVArtifacts {
		fmt.Fprintf(&b, "table   %s  %s%s\n", a.File, a.SHA256, o.verdict(a))
	}
	b.WriteByte('\n')
	o.Findings.preview(&b)
	b.WriteByte('\n')
	for _, c := range o.Findings.Charts {
		fmt.Fprintf(&b, "chart   %s\n", c.File)
	}
	b.WriteString("report  report.html\nfacts   manifest.json\n\n")
	box(&b, o.Findings.Summary)
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *Output) verdict(a Artifact) string {
	switch {
	case a.GoldenMatch == true:
		return "  as published"
	case o.Prepared.Golden && a.GoldenMatch == false:
		return "  NOT AS PUBLISHED"
	}
	return ""
}

// preview is the first table in fixed width.
func (f *Findings) preview(b *strings.Builder) {
	t := &f.Tables[0]
	width := make([]int, len(f.Preview.Columns))
	for i, h := range f.Preview.Heads {
		width[i] = len(h)
		for _, row := range t.Rows {
			width[i] = max(width[i], len(row[f.Preview.Columns[i]]))
		}
	}
	writeRow := func(cells []string) {
		var row strings.Builder
		for i, c := range cells {
			fmt.Fprintf(&row, "%-*s", width[i]+2, c)
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	writeRow(f.Preview.Heads)
	for r, row := range t.Rows {
		if r > 0 && row[0] != t.Rows[r-1][0] {
			b.WriteByte('\n')
		}
		cells := make([]string, len(width))
		for i, c := range f.Preview.Columns {
			cells[i] = row[c]
		}
		writeRow(cells)
	}
}

const boxWidth = 76

// box draws lines in a frame, breaking the long ones at spaces.
func box(b *strings.Builder, lines []string) {
	rule := strings.Repeat("─", boxWidth+2)
	b.WriteString("┌" + rule + "┐\n")
	for _, l := range lines {
		for _, part := range wrap(l, boxWidth) {
			b.WriteString("│ " + part + strings.Repeat(" ", max(0, boxWidth-utf8.RuneCountInString(part))) + " │\n")
		}
	}
	b.WriteString("└" + rule + "┘\n")
}

func wrap(line string, width int) []string {
	var out []string
	for utf8.RuneCountInString(line) > width {
		at := strings.LastIndexByte(string([]rune(line)[:width+1]), ' ')
		if at <= 0 {
			break // one long word; better a crooked frame than a broken path
		}
		out = append(out, line[:at])
		line = "  " + line[at+1:]
	}
	return append(out, line)
}
