package httpgate

import "strings"

// glob is a compiled path pattern: the text before the first star, and what
// follows it when there is more than a star at the end.
type glob struct {
	set    bool
	prefix string
	rest   string // with its first star; "" when there is none
}

func compileGlob(s string) glob {
	i := strings.IndexByte(s, '*')
	if i < 0 {
		return glob{set: true, prefix: s}
	}
	return glob{set: true, prefix: s[:i], rest: s[i:]}
}

func (g *glob) match(s string) bool {
	switch {
	case !g.set:
		return true
	case g.rest == "":
		return s == g.prefix
	case !strings.HasPrefix(s, g.prefix):
		return false
	case g.rest == "*":
		return true
	}
	return star(g.rest, s[len(g.prefix):])
}

// star matches s with a pattern that has stars in more places than its end. It
// goes back to the last star only, and no star there crosses a slash, so it
// takes at most len(p)·len(s) steps.
func star(p, s string) bool {
	back, from := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(p) && p[i] == '*':
			if i == len(p)-1 {
				return true
			}
			back, from = i, j
			i++
		case i < len(p) && p[i] == s[j]:
			i, j = i+1, j+1
		case back >= 0 && s[from] != '/':
			from++
			i, j = back+1, from
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
