package house

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// room is what one package may import beside the standard library.
type room struct {
	ours   string // our own packages, from the root; "." is the root package
	theirs string // other modules
}

// rooms is the import table of the product, tests aside: who may know whom is
// decided here and not by habit. The pure ring comes first; side rooms know the
// root and otherwise not each other; only the binary knows everything. Every
// exception says why.
func rooms() map[string]room {
	return map[string]room{
		// The pure ring. Standard library only, and of that not everything:
		// see TestPureRing.
		"core":    {},
		"arrival": {},
		"record":  {ours: "core"},
		"slo":     {ours: "core record"},
		"sim":     {ours: "core arrival record"},

		// The root: what users import.
		".": {ours: "core record"},

		// Side rooms.
		"httpgate": {ours: ". core"},
		// A proxy is built from its gate.
		"proxy": {ours: ". core httpgate"},
		// An open-loop load is a schedule in, records out; it has no gate.
		"load": {ours: "core arrival record internal/punctual"},
		// The laboratory is experiments on sim; its charts are gonum's.
		"lab":       {ours: "core arrival record slo sim internal/spelling", theirs: "gonum.org/v1/plot"},
		"telemetry": {ours: ". core", theirs: "github.com/prometheus/client_golang"},
		// The page reads snapshots and owns nothing.
		"web": {ours: ". core"},

		// Inner rooms.
		"internal/config":   {ours: ". core httpgate internal/spelling", theirs: "github.com/goccy/go-yaml"},
		"internal/spelling": {},
		"internal/punctual": {theirs: "golang.org/x/sys"},
		// The demo is the product set against itself: a proxy, a load and a
		// prediction of both.
		"internal/demo": {ours: ". core arrival record slo sim load httpgate proxy web internal/punctual"},
		// Only tests import it, so its browser is not in the product.
		"internal/browsertest":   {theirs: "github.com/chromedp/chromedp github.com/chromedp/cdproto"},
		"internal/house":         {},
		"internal/house/longest": {},

		// The binary knows everything.
		"cmd/plimsoll": {
			ours:   ". core arrival record slo sim lab load httpgate proxy telemetry web internal/config internal/demo internal/spelling",
			theirs: "github.com/spf13/cobra github.com/spf13/pflag golang.org/x/sys",
		},

		"examples/handler": {ours: ". httpgate"},
		"examples/library": {ours: "."},
		"examples/sidecar": {},
	}
}

// testOnly are modules that never reach the product.
func testOnly() []string {
	return []string{
		"github.com/coder/websocket", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal",
		"go.uber.org/goleak", "google.golang.org/grpc", "google.golang.org/protobuf", "golang.org/x/net", "pgregory.net/rapid",
		"github.com/chromedp", "github.com/spf13/pflag",
	}
}

func TestImportTable(t *testing.T) {
	table := rooms()
	found := make(map[string]bool)
	for _, s := range sources(t) {
		row, ok := table[s.dir]
		if !found[s.dir] && !ok {
			t.Errorf("package %s is not in the import table of internal/house", s.dir)
		}
		found[s.dir] = true
		for _, spec := range s.ast.Imports {
			what, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !allowed(row, s.test, what) {
				t.Errorf("%s: %s may not import %s; see the import table of internal/house", s.at(spec), s.dir, what)
			}
		}
	}
	for dir := range table {
		if !found[dir] {
			t.Errorf("the import table of internal/house has %s, which does not exist", dir)
		}
	}
}

func allowed(row room, test bool, what string) bool {
	if ours, ok := strings.CutPrefix(what, module); ok {
		if ours = strings.TrimPrefix(ours, "/"); ours == "" {
			ours = "."
		}
		if ours == "internal/browsertest" {
			return test
		}
		// Tests may compare whatever they like.
		return test || slices.Contains(strings.Fields(row.ours), ours)
	}
	if first, _, _ := strings.Cut(what, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	may := strings.Fields(row.theirs)
	if test {
		may = append(may, testOnly()...)
	}
	return slices.ContainsFunc(may, func(m string) bool { return what == m || strings.HasPrefix(what, m+"/") })
}

// A rule that lets everything through would look the same from outside.
func TestImportTableForbids(t *testing.T) {
	table := rooms()
	for _, c := range []struct {
		from, what string
		test, want bool
	}{
		{"core", "fmt", false, true},
		{"core", module + "/record", false, false},
		{"core", "github.com/spf13/cobra", false, false},
		{"core", "pgregory.net/rapid", true, true},
		{"core", "pgregory.net/rapid", false, false},
		{"web", module + "/internal/browsertest", true, true},
		{"web", module + "/internal/browsertest", false, false},
		{"proxy", module, false, true},
		{"proxy", module + "/lab", false, false},
		{"telemetry", "github.com/prometheus/client_golang/prometheus", false, true},
		{"telemetry", "github.com/prometheus/client_golang_fork", false, false},
	} {
		if got := allowed(table[c.from], c.test, c.what); got != c.want {
			t.Errorf("%s imports %s (test: %v): %v; want %v", c.from, c.what, c.test, got, c.want)
		}
	}
}
