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
	for _, l := range o.Findings.LeftOut {
		fmt.Fprintf(&b, "chart   %s is left out\n%s\n", l.File, indented(l.Why))
	}
	for _, name := range o.Removed {
		fmt.Fprintf(&b, "        %s of an earlier run is removed\n", name)
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

// indented breaks a sentence into lines that stand under a name.
func indented(s string) string {
	const margin = "        "
	lines := wrap(s, boxWidth-len(margin))
	for i, l := range lines {
		lines[i] = margin + strings.TrimLeft(l, " ")
	}
	return strings.Join(lines, "\n")
}

// wrap breaks a line at spaces, and indents what it goes on with. A word that is
// longer than a line, such as a path, stays whole: better a crooked frame than
// a broken path.
func wrap(line string, width int) []string {
	const indent = "  "
	var out []string
	margin := ""
	for utf8.RuneCountInString(line) > width {
		text := strings.TrimPrefix(line, margin)
		head := string([]rune(line)[:width+1])[len(margin):]
		at := strings.LastIndexByte(head, ' ')
		if at <= 0 {
			at = strings.IndexByte(text, ' ') // the long word's end
		}
		if at <= 0 {
			break
		}
		out = append(out, margin+text[:at])
		line, margin = indent+text[at+1:], indent
	}
	return append(out, line)
}
