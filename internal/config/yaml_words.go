package config

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"
)

// failSyntax says what the parser found, with the key that it belongs to.
func (r *reader) failSyntax(tokens token.Tokens, err error) {
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		r.fail("", &node{}, "is not YAML: %v", err)
		return
	}
	t := syntax.GetToken()
	path, key := pathOf(r, tokens, t)
	at := position(t)
	if r.src.at(at.line, at.column) == '\t' && at.column == 1 {
		path = ""
	}
	if marker(r.src.line(at.line)) {
		r.fail("", &node{line: at.line, column: 1, width: 7}, "is the mark of a merge that was not finished; resolve it")
		return
	}
	if said := syntax.GetMessage(); strings.HasPrefix(said, "could not find '") || strings.HasPrefix(said, "value is not allowed") && t.Value != "" && strings.ContainsAny(t.Value[:1], "}]") {
		r.fail(path, at, "is not YAML: this %s closes nothing that is open, or what stands before it is not finished; a value that begins with & or * needs quotes", t.Value[:1])
		return
	}
	r.fail(path, at, "%s", syntaxText(syntax.GetMessage(), key))
}

// marker tells whether a line is what version control leaves in a conflict.
func marker(line string) bool {
	return strings.HasPrefix(line, "<<<<<<<") || strings.HasPrefix(line, "=======") || strings.HasPrefix(line, ">>>>>>>")
}

// syntaxText says in words for whoever wrote the file what the parser said in
// words for whoever wrote the parser. Words that are not known here are passed
// on as they are.
func syntaxText(said string, key bool) string {
	for _, w := range []struct{ begins, means string }{
		{"found character '\t'", "a tab indents this line; YAML indents with spaces only"},
		{"tab character", "a tab stands where only spaces may; YAML indents with spaces only"},
		{"unexpected scalar value type", "is not YAML: * begins an alias and & an anchor, and a name follows; a value that begins so needs quotes"},
		{"',' or '", "is not YAML: a comma, or the closing bracket, is needed before this"},
		{"could not find flow map content", "is not YAML: a key is needed here (a template's {{ }} must be filled in before)"},
		{"found unknown escape character", `has an escape that YAML does not know; \\ is a backslash, and single quotes take every character as it is`},
		{"found unexpected character after high surrogate", "has an escape that is half a character"},
		{"not enough length for escaped", "has an escape that is cut off"},
		{"could not find end character of double-quoted text", `is not YAML: this " is never closed`},
		{"could not find end character of single-quoted text", "is not YAML: this ' is never closed"},
		{"mapping value is not allowed", "is not YAML: a value that has a colon and a space in it needs quotes"},
		{"value is not allowed in this context. map key-value", "is not YAML: something follows the value; one value is allowed, and # begins a comment"},
		{"block sequence entries are not allowed", "is not YAML: a list that begins with - needs a line of its own"},
		{"found an invalid key for this map", "is not YAML: no key stands before this colon"},
		{"unexpected directive value", "is not YAML: a value that begins with % needs quotes"},
		{"invalid header option", "is not YAML: | and > begin a text of several lines, and only - + or a digit may follow; a value that begins so needs quotes"},
		{"value cannot be placed after document separator", "is not YAML: nothing may follow --- in its line"},
		{"unexpected end content", "is not YAML: nothing may follow the end (...) of the configuration"},
	} {
		if strings.HasPrefix(said, w.begins) {
			return w.means
		}
	}
	switch {
	case strings.HasSuffix(said, "is a reserved character"):
		return "is not YAML: no value may begin with " + strings.TrimSuffix(said, " is a reserved character") + "; quotes are needed"
	case strings.HasPrefix(said, "value is not allowed in this context") && key:
		return "is not YAML: this key is indented neither like its neighbours nor like the value of the key above"
	case strings.HasPrefix(said, "value is not allowed in this context"), strings.HasPrefix(said, "non-map value is specified"):
		return "is not YAML: key: value is needed here, with a space after the colon"
	}
	return "is not YAML: " + said
}
