package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPackageDocs(t *testing.T) {
	for dir, files := range packages(t) {
		docs := 0
		for _, s := range files {
			want := "Package " + s.ast.Name.Name + " "
			if s.ast.Name.Name == "main" {
				want = "Command " + dir[strings.LastIndex(dir, "/")+1:] + " "
			}
			if doc := s.ast.Doc.Text(); doc != "" {
				docs++
				if !strings.HasPrefix(doc, want) {
					t.Errorf("%s: the package comment should begin with %q", s.path, want)
				}
			}
		}
		if docs != 1 {
			t.Errorf("%s has %d package comments; one says what it is for", dir, docs)
		}
	}
}

func TestExportedIsDocumented(t *testing.T) {
	for _, files := range packages(t) {
		types := make(map[string]bool) // documented ones
		for _, s := range files {
			for _, d := range s.ast.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					for _, spec := range g.Specs {
						spec := spec.(*ast.TypeSpec)
						types[spec.Name.Name] = g.Doc != nil || spec.Doc != nil
					}
				}
			}
		}
		for i := range files {
			for _, d := range files[i].ast.Decls {
				undocumented(t, &files[i], d, types)
			}
		}
	}
}

func undocumented(t *testing.T, s *source, d ast.Decl, types map[string]bool) {
	say := func(n *ast.Ident) {
		if n.IsExported() {
			t.Errorf("%s: %s has no comment", s.at(n), n.Name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d))) {
			say(d.Name)
		}
	case *ast.GenDecl:
		words := false // a list of constants whose type says what they are
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if !types[spec.Name.Name] {
					say(spec.Name)
				}
			case *ast.ValueSpec:
				if typ, ok := spec.Type.(*ast.Ident); ok && d.Tok == token.CONST {
					words = types[typ.Name]
				}
				if d.Doc == nil && spec.Doc == nil && spec.Comment == nil && !words {
					for _, n := range spec.Names {
						say(n)
					}
				}
			}
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	x := d.Recv.List[0].Type
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.Name
		default:
			return ""
		}
	}
}

func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: nothing happens at import; let a constructor do it", s.at(f))
			}
		}
	}
}

// Package-level variables are constants that the language has no constants for:
// error values, tables, embedded files, compiled patterns and templates. Nobody
// writes to them.
func TestNoMutableState(t *testing.T) {
	for _, files := range packages(t) {
		tables := make(map[string]bool)
		for i := range files {
			for _, d := range files[i].ast.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
					for _, spec := range g.Specs {
						checkVar(t, &files[i], g, spec.(*ast.ValueSpec), tables)
					}
				}
			}
		}
		for i := range files {
			for _, wrong := range writes(&files[i], tables) {
				t.Error(wrong)
			}
		}
	}
}

func checkVar(t *testing.T, s *source, g *ast.GenDecl, spec *ast.ValueSpec, tables map[string]bool) {
	embedded := strings.Contains(comments(g.Doc)+comments(spec.Doc), "//go:embed ")
	for i, n := range spec.Names {
		if n.Name == "_" {
			continue
		}
		tables[n.Name] = true
		if !embedded && (len(spec.Values) <= i || !constant(spec.Values[i])) {
			t.Errorf("%s: %s is package-level state; pass it instead, or make it a table that nobody writes to", s.at(n), n.Name)
		}
	}
}

func comments(g *ast.CommentGroup) string {
	var b strings.Builder
	if g != nil {
		for _, c := range g.List {
			b.WriteString(c.Text + "\n")
		}
	}
	return b.String()
}

// constant says whether an initial value is one of the kinds that are let in.
func constant(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		f, ok := x.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		p, ok := f.X.(*ast.Ident)
		makers := []string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "strings.NewReplacer", "template.Must", "netip.MustParsePrefix", "netip.MustParseAddr"}
		return ok && slices.Contains(makers, p.Name+"."+f.Sel.Name)
	}
	return false
}

// writes lists where a file assigns to one of the tables or to a part of it. A
// local variable of the same name is not told apart: give it another name.
func writes(s *source, tables map[string]bool) []string {
	var all []string
	check := func(x ast.Expr) {
		if n := base(x); n != nil && tables[n.Name] {
			all = append(all, s.at(n)+": "+n.Name+" is a package-level table, and is written to here")
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, x := range n.Lhs {
					check(x)
				}
			}
		case *ast.IncDecStmt:
			check(n.X)
		}
		return true
	})
	return all
}

func base(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.IndexExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		case *ast.Ident:
			return y
		default:
			return nil
		}
	}
}

// Tests wait for conditions, or let virtual time pass: a sleep inside of
// synctest.Test, or of a function of the package that calls it, takes none.
func TestNoSleepInTests(t *testing.T) {
	all := sources(t)
	bubbles := make(map[string]bool) // dir and name of the functions that make a bubble
	for _, s := range all {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && len(calls(f, "synctest.Test", nil)) > 0 {
				bubbles[s.dir+" "+f.Name.Name] = true
			}
		}
	}
	for _, s := range all {
		inBubble := func(f string) bool { return f == "synctest.Test" || bubbles[s.dir+" "+f] }
		if s.test {
			for _, n := range calls(s.ast, "time.Sleep", inBubble) {
				t.Errorf("%s: a test that sleeps is slow when it passes and wrong when the machine is busy", s.at(n))
			}
		}
	}
}

// calls lists the calls of a function, except inside the arguments of calls
// that skip picks by name.
func calls(in ast.Node, f string, skip func(string) bool) []ast.Node {
	var all []ast.Node
	ast.Inspect(in, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		called := name(call.Fun)
		if called == f {
			all = append(all, n)
		}
		return skip == nil || !skip(called)
	})
	return all
}

// name is how a function or type is called in the code, if it is called simply.
func name(x ast.Expr) string {
	if n, ok := x.(*ast.Ident); ok {
		return n.Name
	}
	if s, ok := x.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok {
			return p.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// No package is called after what it is not.
func TestPackageNames(t *testing.T) {
	for dir, files := range packages(t) {
		if n := files[0].ast.Name.Name; slices.Contains([]string{"util", "utils", "common", "helpers", "base", "misc"}, n) {
			t.Errorf("%s: %q says nothing; name the package after what it provides", dir, n)
		}
	}
}

// Every command shows how it is called.
func TestCommandsHaveExamples(t *testing.T) {
	commands := 0
	for _, s := range packages(t)["cmd/plimsoll"] {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || name(lit.Type) != "cobra.Command" {
				return true
			}
			commands++
			has := make(map[string]string)
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if k, ok := kv.Key.(*ast.Ident); ok {
						has[k.Name] = literal(kv.Value)
					}
				}
			}
			for _, field := range []string{"Use", "Short", "Example"} {
				if has[field] == "" {
					t.Errorf("%s: the command %q has no %s", s.at(n), has["Use"], field)
				}
			}
			return true
		})
	}
	if commands < 2 {
		t.Errorf("%d commands found in cmd/plimsoll", commands)
	}
}

// literal is the text of a string, or something if it is not a plain one.
func literal(x ast.Expr) string {
	if lit, ok := x.(*ast.BasicLit); ok {
		if s, err := strconv.Unquote(lit.Value); err == nil {
			return strings.TrimSpace(s)
		}
	}
	return "?"
}
