package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// scanner goes through the tokens before the parser does. It knows which key
// each of them belongs to, so that what is wrong has a name, and refuses what
// the parser would take in silence.
type scanner struct {
	blocks   []block   // keys by indentation, each within the one before
	brackets []bracket // open ones
	last     *token.Token
}

// block is a key outside of brackets.
type block struct {
	column int
	path   string
	item   int // place in the list that is its value, -1 before the first
}

// bracket is a { or [ that has been opened.
type bracket struct {
	open *token.Token
	path string // of what is within it
	key  string // the last within {
	item int    // the place within [
}

// scan notes the first thing that is wrong with the tokens. What the lexer gave
// up on is the parser's to report.
func (r *reader) scan(tokens token.Tokens) bool {
	var s scanner
	broken := false
	for i, t := range tokens {
		if t.Type == token.CommentType {
			continue
		}
		broken = broken || t.Type == token.InvalidType
		wrong, at := s.step(t, following(tokens, i)), position(t)
		if wrong == "" && (t.Type == token.DoubleQuoteType || t.Type == token.InvalidType) {
			wrong, at = r.badEscape(at)
		}
		if wrong != "" {
			if r.src.at(at.line, at.column) == ' ' { // some tokens begin with the space before them
				at.column++
			}
			r.fail(s.path(), at, "%s", wrong)
			return false
		}
		s.last = t
	}
	if broken || len(s.brackets) == 0 {
		return true
	}
	b := s.brackets[0]
	closing := map[token.Type]string{token.MappingStartType: "}", token.SequenceStartType: "]"}[b.open.Type]
	r.fail(b.path, position(b.open), "is not YAML: this %s is never closed; a %s is needed, or the file has been cut off", b.open.Value, closing)
	return false
}

// following is the token after i that is no comment, or nil.
func following(tokens token.Tokens, i int) *token.Token {
	for _, t := range tokens[i+1:] {
		if t.Type != token.CommentType {
			return t
		}
	}
	return nil
}

// step takes in a token, and says what is wrong with it.
func (s *scanner) step(t, next *token.Token) (wrong string) {
	key := next != nil && next.Type == token.MappingValueType
	// After a colon a value stands; that it is none in this line is the parser's to say.
	value := s.last != nil && s.last.Type == token.MappingValueType && s.last.Position.Line == t.Position.Line
	switch {
	case len(s.brackets) > 0:
		wrong = s.flow(t, next, key)
	case value && t.Type != token.MappingEndType && t.Type != token.SequenceEndType:
	case t.Type == token.SequenceEntryType:
		s.leave(t.Position.Column + 1)
		if n := len(s.blocks); n > 0 {
			s.blocks[n-1].item++
		}
	case t.Type == token.MappingEndType || t.Type == token.SequenceEndType:
		return "is not YAML: this " + t.Value + " closes nothing that was opened"
	case key:
		s.leave(t.Position.Column)
		s.blocks = append(s.blocks, block{t.Position.Column, join(s.path(), t.Value), -1})
	}
	if wrong == "" && (t.Type == token.MappingStartType || t.Type == token.SequenceStartType) {
		s.brackets = append(s.brackets, bracket{open: t, path: s.path()})
	}
	return wrong
}

// leave ends the keys that what stands at column is not within.
func (s *scanner) leave(column int) {
	for n := len(s.blocks); n > 0 && s.blocks[n-1].column >= column; n-- {
		s.blocks = s.blocks[:n-1]
	}
}

// flow is a token within brackets.
func (s *scanner) flow(t, next *token.Token, key bool) (wrong string) {
	b := &s.brackets[len(s.brackets)-1]
	list := b.open.Type == token.SequenceStartType
	switch t.Type {
	case token.MappingEndType, token.SequenceEndType:
		if list != (t.Type == token.SequenceEndType) {
			return fmt.Sprintf("is not YAML: this %s closes the %s of line %d", t.Value, b.open.Value, b.open.Position.Line)
		}
		s.brackets = s.brackets[:len(s.brackets)-1]
	case token.CollectEntryType:
		if s.last == b.open || s.last.Type == token.CollectEntryType {
			return "is not YAML: nothing stands before this comma"
		}
		b.key = ""
		b.item++
	case token.MappingValueType:
		quoted := s.last.Type == token.SingleQuoteType || s.last.Type == token.DoubleQuoteType
		if !quoted && next != nil && attached(t, next) {
			return "is not YAML: a space is needed after this colon"
		}
	case token.StringType:
		if before, after, colon := strings.Cut(t.Value, ": "); colon {
			return fmt.Sprintf("is not YAML: %s and %s stand without a comma between them; a comma, or quotes around it all, is needed", quote(before), quote(after))
		}
		fallthrough
	default:
		if key && !list {
			b.key = t.Value
		}
	}
	return ""
}

// attached tells whether a value follows its colon without a space.
func attached(colon, value *token.Token) bool {
	switch value.Type {
	case token.MappingEndType, token.SequenceEndType, token.CollectEntryType:
		return false
	}
	return strings.TrimRight(colon.Origin, " \t\n") == colon.Origin && strings.TrimLeft(value.Origin, " \t\n") == value.Origin
}

// path is that of the key that the next token belongs to.
func (s *scanner) path() string {
	if n := len(s.brackets); n > 0 {
		b := &s.brackets[n-1]
		if b.open.Type == token.SequenceStartType {
			return fmt.Sprintf("%s[%d]", b.path, b.item)
		}
		if b.key == "" {
			return b.path
		}
		return join(b.path, b.key)
	}
	if len(s.blocks) == 0 {
		return ""
	}
	b := s.blocks[len(s.blocks)-1]
	if b.item >= 0 {
		return fmt.Sprintf("%s[%d]", b.path, b.item)
	}
	return b.path
}

// pathOf is the path of the key that the token at t's place belongs to, and
// whether it is a key itself.
func pathOf(r *reader, tokens token.Tokens, t *token.Token) (path string, key bool) {
	var s scanner
	for i, x := range tokens {
		if x.Type == token.CommentType {
			continue
		}
		next := following(tokens, i)
		s.step(x, next)
		if x.Position.Line > t.Position.Line || x.Position.Line == t.Position.Line && x.Position.Column >= t.Position.Column {
			key = next != nil && next.Type == token.MappingValueType
			if !key {
				s.leave(x.Position.Column)
			}
			return s.path(), key
		}
		s.last = x
	}
	return s.path(), false
}

// badEscape looks at a text in double quotes as it stands in the file, because
// the lexer makes some character of every escape.
func (r *reader) badEscape(from *node) (wrong string, at *node) {
	if r.src.at(from.line, from.column) != '"' {
		return "", from
	}
	column := from.column + 1
	for line := from.line; line <= len(r.src.lines); line, column = line+1, 1 {
		text := r.src.runes(line)
		for i := column - 1; i < len(text); i++ {
			if text[i] == '"' {
				return "", from
			}
			if text[i] != '\\' {
				continue
			}
			n, bad := escape(text[i+1:])
			if bad != "" {
				return bad, &node{line: line, column: i + 1, width: 1 + n}
			}
			i += n
		}
	}
	return "", from
}

// escape is how long what follows a backslash is, and what is wrong with it.
func escape(text []rune) (n int, wrong string) {
	if len(text) == 0 { // the line goes on in the next
		return 0, ""
	}
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[text[0]]
	if digits == 0 {
		if strings.ContainsRune("0abt\tnvfre \"/\\N_LP", text[0]) {
			return 1, ""
		}
		return 1, fmt.Sprintf(`has the escape \%c, which YAML does not know; \\ is a backslash, and single quotes take every character as it is`, text[0])
	}
	code, n := hexDigits(text[1:], digits)
	shown := `\` + string(text[:1+n])
	switch {
	case n < digits:
		return 1 + n, fmt.Sprintf(`has the escape %s with %d hexadecimal digits; \%c needs %d`, shown, n, text[0], digits)
	case code > 0x10ffff || 0xdc00 <= code && code < 0xe000:
		return 1 + n, fmt.Sprintf("has the escape %s, which is no character", shown)
	case code < 0xd800 || code >= 0xe000:
		return 1 + n, ""
	}
	// The first half of a pair, as JSON writes what is beyond U+FFFF.
	if rest := text[1+n:]; len(rest) > 1 && rest[0] == '\\' && rest[1] == 'u' {
		if low, m := hexDigits(rest[2:], 4); m == 4 && 0xdc00 <= low && low < 0xe000 {
			return 1 + n + 6, ""
		}
	}
	return 1 + n, fmt.Sprintf("has the escape %s, which is half a character", shown)
}

// hexDigits reads up to most hexadecimal digits.
func hexDigits(text []rune, most int) (code, n int) {
	for n < most && n < len(text) {
		d := strings.IndexRune("0123456789abcdef", text[n]|0x20)
		if d < 0 || text[n] < '0' {
			break
		}
		code, n = code<<4|d, n+1
	}
	return code, n
}
