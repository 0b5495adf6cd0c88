package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func markdown(t *testing.T) []string {
	t.Helper()
	all := slices.DeleteFunc(files(t), func(p string) bool { return path.Ext(p) != ".md" })
	if len(all) < 5 {
		t.Fatalf("only %d pages found: %q", len(all), all)
	}
	return all
}

func TestNoDeadLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(text(t, page), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if to == "" || strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, path.Dir(page), to)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			}
		}
	}
}

// What belongs to how the project is made, and not to the project, stays out.
// The patterns are spelt so that they do not find themselves.
func TestForeignWords(t *testing.T) {
	words := regexp.MustCompile(strings.Join([]string{
		`/wor[k]/`, `\.\./share[d]/`, `\bshare[d]/[A-Za-z]`, `\b[Ii]ssue #?[0-9]+\b`, `\bbrie[f]\.md\b`,
		`\b[Ss]ub-?agen[t]s?\b`, `\b[Hh]elper agen[t]s?\b`, `\b[Aa]s an A[I]\b`, `\blanguage mode[l]s?\b`,
		`\b([Tt]his|my|previous|earlier|helper) [Ss]essio[n]s?\b`, `\bDESIG[N] §`, `\bSTYL[E] [0-9]`, `\bDESIG[N]\.md`, `\bBASELIN[E]\.md`,
	}, "|"))
	for _, p := range files(t) {
		switch path.Ext(p) {
		case ".go", ".md", ".txt", ".txtar", ".yaml", ".yml", ".html", ".js", ".css", ".sh", ".mod", "":
		default:
			continue
		}
		for i, line := range strings.Split(text(t, p), "\n") {
			if m := words.FindString(line); m != "" {
				t.Errorf("%s:%d: %q does not belong into the project", p, i+1, m)
			}
		}
	}
}

// An example that no page leads to is not found by anybody.
func TestExamplesAreListed(t *testing.T) {
	var pages strings.Builder
	for _, p := range markdown(t) {
		pages.WriteString(text(t, p))
	}
	dirs, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && !strings.Contains(pages.String(), "examples/"+d.Name()) {
			t.Errorf("no page mentions examples/%s", d.Name())
		}
	}
}

func TestChangelogNamesAVersion(t *testing.T) {
	first := regexp.MustCompile(`(?m)^## (.*)$`).FindStringSubmatch(text(t, "CHANGELOG.md"))
	if first == nil || !regexp.MustCompile(`^(Unreleased|v\d+\.\d+\.\d+, \d{4}-\d\d-\d\d)$`).MatchString(first[1]) {
		t.Errorf("CHANGELOG.md begins with %q; `## Unreleased` or `## v1.2.3, 2026-11-30` is expected", first)
	}
}

// The map of the architecture page and the import table name the same rooms.
func TestMapIsTrue(t *testing.T) {
	_, rest, _ := strings.Cut(text(t, "docs/architecture.md"), "```text\n")
	chart, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/architecture.md has no map: a block that begins with ```text")
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^[^a-z\n]*([a-z][a-z/]*[a-z])/? `).FindAllStringSubmatch(chart, -1) {
		got = append(got, m[1])
	}
	for dir := range rooms() {
		if dir = strings.TrimSuffix(dir, "/longest"); strings.HasPrefix(dir, "examples/") {
			dir = "examples"
		}
		if dir == "." {
			dir = "plimsoll"
		}
		if !slices.Contains(got, dir) {
			t.Errorf("the map of docs/architecture.md lacks %s", dir)
		}
	}
	for _, dir := range got {
		if dir == "plimsoll" {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Errorf("the map of docs/architecture.md has %s, which does not exist", dir)
		}
	}
}

// A decision is dated, and says what was decided against.
func TestDecisions(t *testing.T) {
	date := regexp.MustCompile(`(?m)^Decided \d{4}-\d\d-\d\d\.`)
	n := 0
	for _, p := range markdown(t) {
		if path.Dir(p) != "docs/decisions" || path.Base(p) == "README.md" {
			continue
		}
		n++
		page := text(t, p)
		if !date.MatchString(page) {
			t.Errorf("%s: no line begins with `Decided 2026-11-30.`", p)
		}
		if !strings.Contains(page, "\n## What lost\n") {
			t.Errorf("%s: no section `What lost`", p)
		}
		if !strings.Contains(text(t, "docs/decisions/README.md"), "("+path.Base(p)+")") {
			t.Errorf("%s is not in docs/decisions/README.md", p)
		}
	}
	if n == 0 {
		t.Error("no decisions found")
	}
}
