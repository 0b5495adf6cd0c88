package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-go/plimsoll/internal/spelling"
)

// field is one key of a section, with all that the reference says of it.
type field struct {
	key   string
	value value
	// def is the default as one would write it, and is read as if one had.
	// absent says in words what the absence of a key without a default means.
	def, absent string
	need        bool
	// restart is true when a reload does not change it; [Restart] compares it.
	restart bool
	doc     string
}

// section is a mapping with known keys.
type section struct {
	fields []field
	noun   string // what a key is called; "key" when empty
}

func (v section) allowed() string {
	keys := make([]string, len(v.fields))
	for i, f := range v.fields {
		keys[i] = f.key
	}
	if len(keys) == 1 {
		return "a mapping with the key " + keys[0]
	}
	return "a mapping with the keys " + strings.Join(keys, ", ")
}

func (v section) read(r *reader, path string, n *node) {
	for _, f := range v.fields {
		if f.def != "" {
			f.value.read(r, join(path, f.key), scalar(f.def))
		}
	}
	if n != nil && n.kind != mappingNode {
		r.fail(path, n, "%s; %s is allowed", n.describe(), v.allowed())
		n = nil
	} else if n != nil {
		v.readEntries(r, path, n)
	}
	for _, f := range v.fields {
		full := join(path, f.key)
		if r.marks[full] != nil || r.wrong[full] {
			continue
		}
		if n != nil && f.need {
			r.missing(full, f.value)
		}
		if f.def == "" && !f.need {
			f.value.read(r, full, nil)
		}
	}
}

// missing says that a key that is needed was not given.
func (r *reader) missing(path string, v value) {
	n := *r.near(path)
	if n.kind == mappingNode {
		n.width = 1
	}
	r.fail(path, &n, "is missing; %s is needed", v.allowed())
}

func (v section) readEntries(r *reader, path string, n *node) {
	r.entries(path, n, func(e entry) {
		for _, f := range v.fields {
			if f.key == e.key.text {
				f.value.read(r, join(path, f.key), e.value)
				return
			}
		}
		v.unknown(r, path, e)
	})
}

// unknown says that e is no key here, and which is meant, if that can be seen.
func (v section) unknown(r *reader, path string, e entry) {
	noun := v.noun
	if noun == "" {
		noun = "key"
	}
	var keys []string
	for _, f := range v.fields {
		keys = append(keys, f.key)
	}
	slices.Sort(keys)
	hint := meant(e.key.text, keys)
	if hint == "" {
		hint = r.elsewhere(e.key.text)
	} else {
		r.wrong[join(path, spelling.Nearest(e.key.text, keys))] = true // it is not missing, but misspelt
	}
	shown := clip(e.key.text)
	if shown == "" {
		shown = `""`
	}
	r.fail(join(path, shown), e.key, "is not a known %s; %s are allowed%s", noun, strings.Join(keys, ", "), hint)
}

// elsewhere says where in a configuration key would be known.
func (r *reader) elsewhere(key string) string {
	var found []string
	walk("", (&draft{}).fields(), func(path string, f field) {
		if f.key != key || strings.Contains(path, ".statuses.") { // reasons are no keys to look for
			return
		}
		if i := strings.LastIndexByte(path, '.'); i > 0 {
			found = append(found, path[:i])
		} else {
			found = append(found, "the top level")
		}
	})
	if len(found) == 0 || len(found) > 3 {
		return ""
	}
	return "; such a key belongs to " + either(found)
}

// entries visits the keys of a mapping, marks where they stand and reports
// those that are said twice. Of a key that was merged and is said as well, the
// one that is said wins.
func (r *reader) entries(path string, n *node, visit func(entry)) {
	own := map[string]*node{}
	for _, e := range n.entries {
		if first := own[e.key.text]; first != nil && !e.merged {
			r.fail(join(path, clip(e.key.text)), e.key, "is said twice, first in line %d; once is allowed", first.line)
		} else if !e.merged {
			own[e.key.text] = e.key
		}
	}
	seen := map[string]bool{}
	for _, e := range n.entries {
		k := e.key.text
		if seen[k] || e.merged && own[k] != nil {
			continue
		}
		seen[k] = true
		mark := e.value
		if mark.kind != scalarNode {
			mark = &node{kind: mark.kind, line: e.key.line, column: e.key.column, width: e.key.width}
		}
		if k != "" { // or it would stand for the section
			r.marks[join(path, k)] = mark
		}
		visit(e)
	}
}

// named is a mapping from names that the user chooses to values that are alike.
type named struct {
	what string // "pool"
	max  int
	need bool // at least one
	each func(name string) value
}

func (v named) allowed() string {
	return fmt.Sprintf("a mapping from the name of each %s to its settings", v.what)
}

func (v named) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	if n.kind != mappingNode {
		r.fail(path, n, "%s; %s is allowed", n.describe(), v.allowed())
		return
	}
	if v.need && len(n.entries) == 0 {
		r.fail(path, n, "is empty; at least one %s is needed", v.what)
	}
	if len(n.entries) > v.max {
		r.fail(path, n, "has %d entries; at most %d are allowed", len(n.entries), v.max)
		return
	}
	r.entries(path, n, func(e entry) {
		full := join(path, e.key.text)
		if wrong := badName(e.key.text); wrong != "" {
			r.fail(join(path, clip(e.key.text)), e.key, "%s", wrong)
		}
		v.each(e.key.text).read(r, full, e.value)
	})
}

// list is a sequence of values that are alike.
type list struct {
	what  string
	max   int
	reset func()            // before the first; replaces the default
	each  func(i int) value // called in order
}

func (v list) allowed() string { return "a list of " + v.what }

func (v list) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	if n.kind != listNode {
		r.fail(path, n, "%s; %s is allowed", n.describe(), v.allowed())
		return
	}
	if len(n.items) > v.max {
		r.fail(path, n, "has %d entries; at most %d are allowed", len(n.items), v.max)
		return
	}
	v.reset()
	for i, item := range n.items {
		full := fmt.Sprintf("%s[%d]", path, i)
		r.marks[full] = item
		v.each(i).read(r, full, item)
	}
}

// pairs is a mapping from header names to the values that they must have.
type pairs struct{ to *map[string]string }

func (pairs) allowed() string {
	return "a mapping from header names to the value that each must have, or * for any,"
}

func (v pairs) read(r *reader, path string, n *node) {
	if n == nil {
		return
	}
	if n.kind != mappingNode || len(n.entries) == 0 {
		r.fail(path, n, "%s; %s is allowed", describeEntries(n), v.allowed())
		return
	}
	out := map[string]string{}
	r.entries(path, n, func(e entry) {
		full := join(path, clip(e.key.text))
		c, wrong := canonicalHeader(e.key.text)
		_, twice := out[c]
		switch {
		case e.key.text == "" || wrong != "":
			r.fail(full, e.key, "%s; the name of an HTTP header is allowed", orEmpty(wrong))
		case twice:
			r.fail(full, e.key, "is %s again; each header once is allowed", c)
		case e.value.kind != scalarNode || e.value.text == "":
			r.fail(full, e.value, "%s; the value that the header must have, or \"*\" for any, is allowed", e.value.describe())
		default:
			out[c] = e.value.text
		}
	})
	*v.to = out
}

func describeEntries(n *node) string {
	if n.kind == mappingNode {
		return "is empty"
	}
	return n.describe()
}

func orEmpty(s string) string {
	if s == "" {
		return "is empty"
	}
	return s
}

// meant proposes the word that s is a slip of the keyboard away from.
func meant(s string, words []string) string { return spelling.Meant(s, words) }
