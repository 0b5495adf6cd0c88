package httpgate

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// plainPath says whether every server reads the path of u alike: nothing in it
// is encoded that need not be, and it has neither dots nor empty segments.
func plainPath(u *url.URL) bool {
	return u.RawPath == "" && !strings.Contains(u.Path, "//") && !strings.Contains(u.Path, "/.")
}

// readings are the paths that servers take u's for, the most usual first. They
// differ in two ways. Decoding: of everything; of each segment by itself, so
// that an encoded slash is a letter like others; of nothing that could have
// been written plainly. And what is done then: empty segments merged and dots
// resolved; dots resolved alone, as RFC 3986 5.2.4 has it; nothing.
func readings(u *url.URL) []string {
	decodings := []string{u.Path}
	if u.RawPath != "" {
		raw := u.EscapedPath()
		decodings = append(decodings, decode(raw, func(c byte) bool { return c == '/' }),
			decode(raw, func(c byte) bool { return c > ' ' && c < 0x7f }))
	}
	var all []string
	for _, p := range decodings {
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
	var out []string
	segments := strings.Split(p, "/")
	for i, s := range segments {
		dots := s == "." || s == ".."
		switch {
		case !dots:
			out = append(out, s)
		case s == ".." && len(out) > 1: // the first is what precedes the first slash
			out = out[:len(out)-1]
		}
		if dots && i == len(segments)-1 {
			out = append(out, "")
		}
	}
	return strings.Join(out, "/")
}
