package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// MaxFile bounds a configuration file, in bytes.
	MaxFile = 256 << 10
	// maxDepth bounds how deep brackets and list dashes nest. The keys that
	// exist need six; the parser recurses and must not be led into the ground.
	maxDepth = 32
)

// readTree makes the tree of one YAML document, or notes why there is none.
func (r *reader) readTree(text string) (root *node) {
	tokens := lexer.Tokenize(text)
	if at := tooDeep(tokens); at != nil {
		r.fail("", position(at), "is nested more than %d deep; the keys that exist need six", maxDepth)
		return nil
	}
	// The parser is not ours. Should it panic on a strange file, that is still
	// a file that cannot be read, and the running configuration stays.
	defer func() {
		if e := recover(); e != nil {
			r.fail("", &node{}, "cannot be read as YAML: the parser stumbled (%v)", e)
			root = nil
		}
	}()
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.failSyntax(err)
		return nil
	}
	c := converter{r: r, anchors: map[string]*node{}}
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil:
		case *ast.DirectiveNode:
			r.fail("", position(body.GetToken()), "is a YAML directive; a configuration has none")
		default:
			n := c.node(body)
			if root != nil {
				r.fail("", n, "is a second document; one file holds one configuration")
				return nil
			}
			root = n
		}
	}
	if root == nil && len(r.problems) == 0 {
		r.fail("", &node{}, "the file is empty; at least listen, upstream, pools and classes are needed")
	}
	return root
}

func (r *reader) failSyntax(err error) {
	var syntax yaml.Error
	if !errors.As(err, &syntax) {
		r.fail("", &node{}, "is not YAML: %v", err)
		return
	}
	text, at := syntax.GetMessage(), position(syntax.GetToken())
	switch {
	case strings.HasPrefix(text, "found character '\t'"):
		text = "a tab indents this line; YAML indents with spaces only"
	case text == "unexpected scalar value type":
		text = "is not YAML: * begins an alias and & an anchor, and a name follows; a value that begins so needs quotes"
	default:
		text = "is not YAML: " + visibleText(text)
	}
	r.fail("", at, "%s", text)
}

// tooDeep returns the token at which brackets or dashes nest too deep.
func tooDeep(tokens token.Tokens) *token.Token {
	depth, run, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			if t.Position.Line != line {
				run, line = 0, t.Position.Line
			}
			run++
		}
		if depth > maxDepth || run > maxDepth {
			return t
		}
	}
	return nil
}

// position makes a node that only says where t stands.
func position(t *token.Token) *node {
	if t == nil || t.Position == nil {
		return &node{}
	}
	shown, _, _ := strings.Cut(strings.TrimSpace(t.Origin), "\n")
	return &node{line: t.Position.Line, column: t.Position.Column, width: utf8.RuneCountInString(shown)}
}

// converter makes nodes of the parser's tree and resolves aliases. A node that
// several aliases name is shared, so no file grows beyond its own size.
type converter struct {
	r       *reader
	anchors map[string]*node
}

func (c *converter) node(n ast.Node) *node {
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.mapping(n)
	case *ast.MappingValueNode:
		return c.mapping(&ast.MappingNode{Start: n.Start, Values: []*ast.MappingValueNode{n}})
	case *ast.SequenceNode:
		out := position(n.Start)
		out.kind, out.width = listNode, 1
		for _, v := range n.Values {
			item := c.node(v)
			if item.line == 0 {
				item.line, item.column, item.width = out.line, out.column, 1
			}
			out.items = append(out.items, item)
		}
		return out
	case *ast.AnchorNode:
		out := c.node(n.Value)
		if out.line == 0 {
			at := position(n.Start)
			out.line, out.column, out.width = at.line, at.column, at.width
		}
		c.anchors[n.Name.GetToken().Value] = out
		return out
	case *ast.AliasNode:
		return c.alias(n)
	case *ast.TagNode:
		c.r.fail("", position(n.Start), "is a YAML tag; a configuration has none, the key decides what a value means")
		return c.node(n.Value)
	case *ast.LiteralNode:
		out := position(n.Start)
		out.text, out.quoted = n.Value.Value, true
		return out
	case *ast.NullNode:
		return &node{kind: emptyNode}
	case nil:
		return &node{kind: emptyNode}
	}
	return c.scalar(n)
}

func (c *converter) scalar(n ast.Node) *node {
	t := n.GetToken()
	out := position(t)
	switch t.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
		out.quoted = true
	}
	out.text = t.Value
	return out
}

func (c *converter) alias(n *ast.AliasNode) *node {
	name := n.Value.GetToken().Value
	if out := c.anchors[name]; out != nil {
		return out
	}
	at := position(n.Start)
	at.width = utf8.RuneCountInString(name) + 1
	c.r.fail("", at, "*%s names an anchor that is not defined before it; &%s defines one", name, name)
	return &node{kind: emptyNode, line: at.line, column: at.column, width: at.width, reported: true}
}

func (c *converter) mapping(n *ast.MappingNode) *node {
	out := position(n.Start)
	out.kind, out.width = mappingNode, 1
	for i, v := range n.Values {
		key := c.key(v.Key)
		if i == 0 && !n.IsFlowStyle {
			out.line, out.column, out.width = key.line, key.column, key.width
		}
		value := c.node(v.Value)
		if value.line == 0 { // nothing stands there, so the key is the place
			value.line, value.column, value.width = key.line, key.column, key.width
		}
		if v.Key.IsMergeKey() {
			c.merge(out, value)
			continue
		}
		out.entries = append(out.entries, entry{key: key, value: value})
	}
	return out
}

func (c *converter) key(k ast.MapKeyNode) *node {
	if explicit, ok := k.(*ast.MappingKeyNode); ok {
		if inner, ok := explicit.Value.(ast.ScalarNode); ok {
			return c.scalar(inner)
		}
		at := position(explicit.Start)
		c.r.fail("", at, "is a key that is not text; keys are names")
		return at
	}
	return c.scalar(k)
}

// merge puts what << names into out. Own keys win, wherever they stand.
func (c *converter) merge(out, from *node) {
	switch from.kind {
	case mappingNode:
		for _, e := range from.entries {
			e.merged = true
			out.entries = append(out.entries, e)
		}
	case listNode:
		for _, item := range from.items {
			c.merge(out, item)
		}
	case emptyNode: // an unknown alias, reported already, or nothing
	default:
		c.r.fail("", from, "<< %s; the alias of a mapping, or a list of such, is allowed", from.describe())
	}
}

// visibleText is text without what a terminal would obey.
func visibleText(text string) string { return visible([]rune(text)) }

// decodeText checks that data is text of a reasonable size and removes a byte
// order mark. The lines of the result end with \n alone.
func (r *reader) decodeText(data []byte) (string, bool) {
	if len(data) > MaxFile {
		r.src = nil
		r.problems = append(r.problems, Problem{Line: 1, Column: 1,
			Text: fmt.Sprintf("the file has more than %d KiB; a configuration has less", MaxFile>>10)})
		return "", false
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	// The parser counts lines wrongly when they end as those of Windows do.
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	r.src = newSource(strings.ToValidUTF8(text, "·"))
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		r.fail("", &node{}, "the file is UTF-16; save it as UTF-8")
		return "", false
	}
	line, column := 1, 1
	for i, c := range text {
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				r.fail("", &node{line: line, column: column, width: 1}, "has the byte 0x%02x, which is not UTF-8; save the file as UTF-8", text[i])
				return "", false
			}
		}
		if c == 0 {
			r.fail("", &node{line: line, column: column, width: 1}, "has a NUL character; a configuration is text")
			return "", false
		}
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return text, true
}
