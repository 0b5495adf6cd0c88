package httpgate

import (
	"bytes"
	"net/url"
	"path"
	"slices"
	"strings"
)

// plainPath says whether every server reads the path of u alike: nothing in it
// is encoded that need not be, and it has no dots, no empty segments, no
// parameters and no backslashes.
func plainPath(u *url.URL) bool {
	if u.RawPath != "" {
		return false
	}
	after := byte(0)
	for i := range len(u.Path) {
		c := u.Path[i]
		if c == ';' || c == '\\' || after == '/' && (c == '/' || c == '.') {
			return false
		}
		after = c
	}
	return true
}

// maxOdd is the longest path, in bytes, that is tried in every reading.
const maxOdd = 2 << 10

// readings are the paths that servers take u's for, the most usual first. They
// differ in what is decoded: everything; each segment by itself, so that an
// encoded slash is a letter like others; nothing that could have been written
// plainly. In what separates segments: a slash; a backslash too. In what a
// semicolon begins: nothing; a parameter, which is no part of the segment. And
// in what is done then: empty segments merged and dots resolved; dots resolved
// alone, as RFC 3986 5.2.4 has it; nothing.
func readings(u *url.URL) []string {
	ways := []string{u.Path}
	if u.RawPath != "" {
		raw := u.EscapedPath()
		ways = append(ways, decode(raw, func(c byte) bool { return c == '/' }),
			decode(raw, func(c byte) bool { return c > ' ' && c < 0x7f }))
	}
	if strings.Contains(u.Path, `\`) {
		for _, p := range ways {
			ways = append(ways, strings.ReplaceAll(p, `\`, "/"))
		}
	}
	if strings.Contains(u.Path, ";") {
		for _, p := range ways {
			ways = append(ways, dropParameters(p))
		}
	}
	var all []string
	for _, p := range ways {
		for _, r := range [...]string{cleanPath(p), removeDots(p), p} {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// decode decodes the well-formed path p, except for the bytes that keep keeps
// as they were written.
func decode(p string, keep func(byte) bool) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] != '%' || i+2 >= len(p) {
			b.WriteByte(p[i])
			continue
		}
		if c := unhex(p[i+1])<<4 | unhex(p[i+2]); !keep(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(p[i : i+3])
		}
		i += 2
	}
	return b.String()
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// cleanPath merges empty segments and resolves dots, and keeps the last slash.
func cleanPath(p string) string {
	c := path.Clean("/" + p)
	if c != "/" && (strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..")) {
		c += "/"
	}
	return c
}

// removeDots resolves dots and leaves empty segments as they are.
func removeDots(p string) string {
	b := make([]byte, 0, len(p))
	for more := true; more; {
		var s string
		s, p, more = strings.Cut(p, "/")
		switch {
		case s == ".":
		case s == "..": // what is there ends with a slash
			if i := bytes.LastIndexByte(b[:max(0, len(b)-1)], '/'); i >= 0 {
				b = b[:i+1]
			}
		case more:
			b = append(append(b, s...), '/')
		default:
			b = append(b, s...)
		}
	}
	return string(b)
}

// dropParameters cuts each segment off at its first semicolon.
func dropParameters(p string) string {
	b := make([]byte, 0, len(p))
	for more := true; more; {
		var s string
		s, p, more = strings.Cut(p, "/")
		s, _, _ = strings.Cut(s, ";")
		b = append(b, s...)
		if more {
			b = append(b, '/')
		}
	}
	return string(b)
}
