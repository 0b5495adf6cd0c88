package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	ok := true
	for i, line := range strings.Split(text, "\n") {
		ok = ok && r.checkLine(line, i+1)
	}
	return text, ok
}

// checkLine refuses what is not text, and what nobody can see: a key with an
// invisible character is not the key that it looks like, and an unusual space
// is none to YAML. In comments whatever is text may stand.
func (r *reader) checkLine(text string, line int) bool {
	column, comment := 0, false
	before := ' '
	for i, c := range text {
		column++
		at := &node{line: line, column: column, width: 1}
		size := utf8.RuneLen(c)
		if c == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case c == utf8.RuneError && size == 1:
			r.fail("", at, "has the byte 0x%02x, which is not UTF-8; save the file as UTF-8", text[i])
			return false
		case c == 0:
			r.fail("", at, "has a NUL character; a configuration is text (is the file UTF-16? save it as UTF-8)")
			return false
		case c == '\t' || c == '\u0085':
		case unicode.IsControl(c):
			r.fail("", at, "has the control character U+%04X; a configuration is text", c)
			return false
		case !comment && !unicode.IsPrint(c):
			r.fail("", at, "has the invisible character U+%04X; a plain space where one is meant, or the escape %s in double quotes, is allowed", c, visibleText(string(c)))
			return false
		case c == '#' && (before == ' ' || before == '\t'):
			comment = true
		}
		before = c
	}
	return true
}

// visibleText is text for a message: what nobody could see, or what a terminal
// would obey, is written as an escape.
func visibleText(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '\t' || unicode.IsPrint(c):
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
