package config

import (
	"strings"
	"unicode/utf8"

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
	if !r.scan(tokens) {
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
		r.failSyntax(tokens, err)
		return nil
	}
	return r.convert(file)
}

// convert makes nodes of the one document that file should have.
func (r *reader) convert(file *ast.File) (root *node) {
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
	merged  int // keys that merges have brought in, of all mappings together
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
		c.anchor(n, out)
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

// anchor gives out a name. A name that is given twice would mean one thing
// above the second place and another below it.
func (c *converter) anchor(n *ast.AnchorNode, out *node) {
	name := n.Name.GetToken().Value
	if first := c.anchors[name]; first != nil {
		at := position(n.Start)
		at.width = utf8.RuneCountInString(name) + 1
		c.r.fail("", at, "&%s is defined twice, first in line %d; once is allowed", name, first.line)
		return
	}
	c.anchors[name] = out
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
	var merge *node
	for i, v := range n.Values {
		key := c.key(v.Key)
		if i == 0 && !n.IsFlowStyle {
			out.line, out.column, out.width = key.line, key.column, key.width
		}
		value := c.node(v.Value)
		if value.line == 0 { // nothing stands there, so the key is the place
			value.line, value.column, value.width = key.line, key.column, key.width
		}
		switch {
		case key.reported:
		case !v.Key.IsMergeKey():
			out.entries = append(out.entries, entry{key: key, value: value})
		case merge != nil:
			c.r.fail("", key, "<< is said twice, first in line %d; once is allowed, with a list of aliases for several", merge.line)
		default:
			merge = key
			c.merge(out, value)
		}
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
	if t := k.GetToken(); t.Type == token.AnchorType || t.Type == token.AliasType {
		at := position(t)
		c.r.fail("", at, "is an anchor or an alias as a key; keys are names, and only values may have anchors")
		at.reported = true
		return at
	}
	return c.scalar(k)
}

// maxMerged bounds the keys that << brings in, of all mappings of a file
// together. Each is a copy, and a small file could ask for billions.
const maxMerged = 1 << 14

// merge puts what << names into out. Own keys win, wherever they stand, and of
// several mappings the first that has a key.
func (c *converter) merge(out, from *node) {
	seen := map[string]bool{}
	switch from.kind {
	case mappingNode:
		c.mergeOne(out, from, seen)
	case listNode:
		for _, item := range from.items {
			switch item.kind {
			case mappingNode:
				c.mergeOne(out, item, seen)
			case emptyNode:
			default:
				c.r.fail("", item, "in the list of << %s; aliases of mappings are allowed", item.describe())
			}
		}
	case emptyNode: // an unknown alias, reported already, or nothing
	default:
		c.r.fail("", from, "<< %s; the alias of a mapping, or a list of such, is allowed", from.describe())
	}
}

func (c *converter) mergeOne(out, from *node, seen map[string]bool) {
	for _, e := range from.entries {
		if seen[e.key.text] {
			continue
		}
		seen[e.key.text] = true
		if c.merged++; c.merged > maxMerged {
			if c.merged == maxMerged+1 {
				c.r.fail("", out, "the merges (<<) up to here bring in more than %d keys; at most so many are allowed in a file", maxMerged)
			}
			return
		}
		e.merged = true
		out.entries = append(out.entries, e)
	}
}
