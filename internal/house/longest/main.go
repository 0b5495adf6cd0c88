// Command longest prints the longest functions and files of the product. It is
// a look in the mirror, not a rule.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const shown = 12

type size struct {
	lines int
	what  string
}

func main() {
	functions, files, err := measure(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	show("functions", functions)
	show("files", files)
}

func measure(root string) (functions, files []size, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		line := func(at token.Pos) int { return set.Position(at).Line }
		files = append(files, size{line(f.FileEnd), p})
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				functions = append(functions, size{line(d.End()) - line(d.Pos()) + 1, fmt.Sprintf("%s:%d %s", p, line(d.Pos()), d.Name.Name)})
			}
		}
		return nil
	})
	return functions, files, err
}

func show(what string, all []size) {
	slices.SortFunc(all, func(a, b size) int { return cmp.Or(b.lines-a.lines, cmp.Compare(a.what, b.what)) })
	if len(all) == 0 {
		return
	}
	fmt.Printf("%d %s, median %d lines; the longest:\n", len(all), what, all[len(all)/2].lines)
	for _, s := range all[:min(shown, len(all))] {
		fmt.Printf("  %4d  %s\n", s.lines, s.what)
	}
}
