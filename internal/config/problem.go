package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	// Line and Column count from 1, columns in characters. Both are 0 when the
	// value came from a flag.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Key is the path of the key, "pools.app.slots", or the flag, "--slots".
	// It is empty when the file as a whole is wrong.
	Key string `json:"key,omitempty"`
	// Text says what is wrong and, after a semicolon, what is allowed.
	Text string `json:"text"`
	// Excerpt is the source line with a caret under the place, in two lines.
	Excerpt string `json:"excerpt,omitempty"`
}

// MaxProblems is how many problems one Error lists; the rest are only counted.
const MaxProblems = 20

// Error is everything that is wrong with one configuration.
type Error struct {
	// File is the name that was given; empty for flags.
	File string
	// Problems are in the order of the file, at most MaxProblems of them.
	Problems []Problem
	// More is how many there are beyond those.
	More int
}

// Error has one paragraph for each problem: file:line:column: key: what is
// wrong; what is allowed. Below it stand the source line and a caret.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.at(e.File))
		b.WriteString(p.Text)
		if p.Excerpt != "" {
			b.WriteByte('\n')
			b.WriteString(p.Excerpt)
		}
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", e.More)
	}
	return b.String()
}

func (p Problem) at(file string) string { return place(file, p.Line, p.Column, p.Key) }

// String is the warning in the form of a Problem, without a file's name.
func (w Warning) String() string { return w.In("") }

// In is the warning as one line: file:line:column: level: key: text.
func (w Warning) In(file string) string {
	at := place(file, w.Line, w.Column, "")
	return fmt.Sprintf("%s%s: %s: %s", at, w.Level, w.Key, w.Text)
}

func place(file string, line, column int, key string) string {
	var b strings.Builder
	if file != "" {
		b.WriteString(file)
		if line > 0 {
			fmt.Fprintf(&b, ":%d:%d", line, column)
		}
		b.WriteString(": ")
	} else if line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", line, column)
	}
	if key != "" {
		b.WriteString(key)
		b.WriteString(": ")
	}
	return b.String()
}

// newError sorts problems by place, drops repetitions and applies the bound.
func newError(file string, problems []Problem) *Error {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	problems = slices.CompactFunc(problems, func(a, b Problem) bool { return a == b })
	e := &Error{File: file, Problems: problems}
	if n := len(problems) - MaxProblems; n > 0 {
		e.Problems, e.More = problems[:MaxProblems], n
	}
	return e
}

// source is the text of a file, for excerpts.
type source struct {
	lines []string
	// The line that was looked at last, as characters: a file may be one line,
	// and is asked about many of its places.
	last int
	text []rune
}

func newSource(text string) *source { return &source{lines: strings.Split(text, "\n")} }

// runes is a line as characters.
func (s *source) runes(n int) []rune {
	if n != s.last {
		s.last, s.text = n, []rune(s.line(n))
	}
	return s.text
}

// line is the text of a line, empty outside of the file.
func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	return s.lines[n-1]
}

// at is the character at a place; what is outside of a line is a space.
func (s *source) at(line, column int) rune {
	text := s.runes(line)
	if column < 1 || column > len(text) {
		return ' '
	}
	return text[column-1]
}

// excerptWidth is how many characters of a line are shown.
const excerptWidth = 96

// excerpt shows one line with a caret under width characters from column on.
// What a terminal would obey is shown as a dot; a long line is cut around the place.
func (s *source) excerpt(line, column, width int) string {
	if s == nil || line < 1 || line > len(s.lines) {
		return ""
	}
	text := s.runes(line)
	column = min(max(column, 1), len(text)+1)
	width = max(1, min(width, len(text)-column+1))
	from, before := 0, ""
	if column > excerptWidth*3/4 {
		from, before = column-excerptWidth/2, "…"
	}
	after := ""
	to := len(text)
	if to > from+excerptWidth {
		to, after = from+excerptWidth, "…"
	}
	width = min(width, max(1, to-column+1))
	margin := fmt.Sprintf("%5d | ", line)
	var b strings.Builder
	b.WriteString(margin + before + visible(text[from:to]) + after + "\n")
	b.WriteString(strings.Repeat(" ", len(margin)-2) + "| " + strings.Repeat(" ", len([]rune(before))))
	for _, c := range text[from : column-1] { // tabs stay tabs, so that the caret stands right
		if c != '\t' {
			c = ' '
		}
		b.WriteRune(c)
	}
	b.WriteString(strings.Repeat("^", width))
	return b.String()
}

func visible(text []rune) string {
	out := make([]rune, len(text))
	for i, c := range text {
		if c != '\t' && !unicode.IsPrint(c) {
			c = '·'
		}
		out[i] = c
	}
	return string(out)
}
