package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	scalarNode kind = iota
	mappingNode
	listNode
	emptyNode // nothing after the colon, ~ or null
)

// node is a piece of a configuration, whether it came from a file or from
// flags. It keeps the source text of scalars: what a value means is decided by
// the key that it belongs to, never guessed from its look.
type node struct {
	kind   kind
	text   string
	quoted bool
	line   int // from 1; 0 when it came from flags
	column int // from 1, in characters
	width  int // characters, for the caret
	// reported is true when it has been said that this is no value at all.
	reported bool
	// secret keeps the source line out of messages.
	secret  bool
	entries []entry
	items   []*node
}

// entry is one key of a mapping.
type entry struct {
	key    *node
	value  *node
	merged bool // came in by <<, and an own key of that name wins
}

// scalar makes a node of a value that did not come from a file.
func scalar(text string) *node { return &node{text: text} }

// describe says what n is, to be followed by what is allowed.
func (n *node) describe() string {
	switch n.kind {
	case mappingNode:
		return "is a mapping"
	case listNode:
		return "is a list"
	case emptyNode:
		return "is empty"
	}
	text := clip(n.text)
	switch {
	case n.quoted:
		return "is the text " + strconv.Quote(text)
	case isNumber(n.text):
		return "is " + text
	}
	return "is " + strconv.Quote(text)
}

// clip shortens what is repeated in a message.
func clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// isNumber tells whether s is a decimal number without a unit.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, part, _ := strings.Cut(s, ".")
	return isDigits(whole) && (part == "" || isDigits(part))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// reader turns nodes into values and collects what is wrong with them.
type reader struct {
	src      *source           // nil for flags
	flags    map[string]string // path of a key to the flag it came from; nil for files
	problems []Problem
	wrong    map[string]bool  // paths that have a problem: nothing is concluded from them
	marks    map[string]*node // where each key that was given stands
	look     bool             // at the files that are named
}

func newReader(src *source, flags map[string]string) *reader {
	return &reader{src: src, flags: flags, wrong: map[string]bool{}, marks: map[string]*node{}}
}

// fail notes a problem of the key at path. With n nil it is placed where the
// key stands, or the nearest key around it that does.
func (r *reader) fail(path string, n *node, format string, args ...any) {
	r.wrong[path] = true
	if n == nil {
		n = r.near(path)
	}
	if n.reported {
		return
	}
	p := Problem{Line: n.line, Column: n.column, Key: visibleText(r.name(path)), Text: visibleText(fmt.Sprintf(format, args...))}
	if r.src != nil {
		p.Line, p.Column = max(n.line, 1), max(n.column, 1)
	}
	if r.src != nil && !n.secret {
		p.Excerpt = r.src.excerpt(p.Line, p.Column, n.width)
	}
	r.problems = append(r.problems, p)
}

// given tells whether the key at path was given and nothing is wrong with it.
func (r *reader) given(path string) bool { return r.marks[path] != nil && !r.wrong[path] }

// near is the node of the key at path, or of the closest one that contains it.
func (r *reader) near(path string) *node {
	for {
		if n := r.marks[path]; n != nil {
			return n
		}
		if path == "" {
			return &node{}
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// name is what the user calls the key at path.
func (r *reader) name(path string) string {
	if r.flags != nil {
		path, _, _ = strings.Cut(path, "[") // a flag that is given several times has one name
	}
	if flag, ok := r.flags[path]; ok {
		return flag
	}
	return path
}

// sibling is what the user calls another key of the section that path is in.
func (r *reader) sibling(path, key string) string {
	i := strings.LastIndexByte(path, '.')
	full := path[:i+1] + key
	if flag, ok := r.flags[full]; ok {
		return flag
	}
	return key
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
