package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pure lists the packages in which a run depends on nothing but its arguments.
func pure() []string { return []string{"core", "arrival", "record", "slo", "sim"} }

// bannedImport says why a package of the standard library is not for the pure
// ring, or nothing.
func bannedImport(dir, what string) string {
	switch first, _, _ := strings.Cut(what, "/"); {
	case first == "sync", first == "runtime":
		return "it has no goroutines"
	case what == "context":
		return "a cancelled call is an event, not a context"
	case first == "os", first == "net", first == "syscall", first == "log", what == "io/fs", what == "path/filepath":
		return "it does not touch the machine"
	case what == "math/rand":
		return "chance is an argument: take a *rand.Rand of math/rand/v2"
	case what == "crypto/rand", what == "hash/maphash":
		return "its output would differ from run to run"
	case what == "io" && dir != "record":
		return "only record sees readers and writers"
	case what == "unsafe":
		return "it has no need for it"
	}
	return ""
}

// bannedCall says the same of a function.
func bannedCall(what, name string) string {
	clocks := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	switch {
	case what == "time" && slices.Contains(clocks, name):
		return "time is an argument"
	case what == "math/rand/v2" && token.IsExported(name) && !slices.Contains([]string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Source", "Zipf"}, name):
		return "chance is an argument: the functions of the package share a source that nobody seeded"
	}
	return ""
}

// impurities lists what a file does that the pure ring never does.
func impurities(s *source) []string {
	var all []string
	add := func(n ast.Node, what, why string) { all = append(all, s.at(n)+": "+what+": "+why) }
	imports := make(map[string]string) // by local name
	for _, spec := range s.ast.Imports {
		what, _ := strconv.Unquote(spec.Path.Value)
		if why := bannedImport(s.dir, what); why != "" {
			add(spec, what, why)
		}
		local := what[strings.LastIndex(what, "/")+1:]
		if what == "math/rand/v2" {
			local = "rand"
		}
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imports[local] = what
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "go", "it has no goroutines")
		case *ast.ChanType, *ast.SelectStmt:
			add(n, "channel", "it has no goroutines")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				if why := bannedCall(imports[x.Name], n.Sel.Name); why != "" {
					add(n, x.Name+"."+n.Sel.Name, why)
				}
			}
		}
		return true
	})
	return all
}

func TestPureRing(t *testing.T) {
	by := packages(t)
	for _, dir := range pure() {
		if len(by[dir]) == 0 {
			t.Errorf("%s is in the pure ring and does not exist", dir)
		}
		for i := range by[dir] {
			for _, wrong := range impurities(&by[dir][i]) {
				t.Error(wrong)
			}
		}
	}
}

func TestPureRingForbids(t *testing.T) {
	const code = `package p
import ("context"; "io"; "math/rand/v2"; "os"; "sync"; clock "time")
func f(r *rand.Rand) {
	go f(nil)
	_ = make(chan int)
	_ = clock.Now()
	_ = rand.IntN(3) + r.IntN(3)
	_ = rand.New(rand.NewPCG(1, 2))
	_ = clock.Duration(3) * clock.Second
}`
	s := source{path: "p.go", dir: "core", fset: token.NewFileSet()}
	var err error
	if s.ast, err = parser.ParseFile(s.fset, "p.go", code, 0); err != nil {
		t.Fatal(err)
	}
	got := impurities(&s)
	want := []string{": context: ", ": io: ", ": os: ", ": sync: ", ": go: ", ": channel: ", ": clock.Now: ", ": rand.IntN: "}
	if len(got) != len(want) {
		t.Errorf("%d found; want %d: %q", len(got), len(want), got)
	}
	for i := range min(len(got), len(want)) {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%q; want %q", got[i], want[i])
		}
	}
}
