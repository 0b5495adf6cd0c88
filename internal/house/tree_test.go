package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/plimsoll-go/plimsoll"

// root is the repository, seen from this package.
const root = "../.."

// source is one Go file.
type source struct {
	path string // from the root, with slashes
	dir  string // of the package; "." is the root package
	test bool
	fset *token.FileSet
	ast  *ast.File
}

// at is where a node stands.
func (s *source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return s.path + ":" + strconv.Itoa(p.Line)
}

// files lists what belongs to the project, from the root, with slashes. What
// the Makefile's targets leave behind does not.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "out", "results", "node_modules"}, rel) {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() { // a named pipe would be waited for
			all = append(all, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sources parses the Go files of the main module for every platform: build tags
// do not hide a file from the rules.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, p := range files(t) {
		if path.Ext(p) != ".go" || strings.HasPrefix(p, "bench/") || strings.Contains(p, "/testdata/") {
			continue
		}
		s := source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), fset: token.NewFileSet()}
		var err error
		s.ast, err = parser.ParseFile(s.fset, filepath.Join(root, p), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if len(all) < 10 {
		t.Fatalf("only %d Go files found from %s", len(all), root)
	}
	return all
}

// packages groups the files of the product, without tests, by directory.
func packages(t *testing.T) map[string][]source {
	t.Helper()
	by := make(map[string][]source)
	for _, s := range sources(t) {
		if !s.test {
			by[s.dir] = append(by[s.dir], s)
		}
	}
	return by
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
