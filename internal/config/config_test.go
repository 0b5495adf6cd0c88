package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// The file that the guide begins with.
const small = `listen: :8080
admin:  {listen: 127.0.0.1:8081}
upstream: {url: http://127.0.0.1:9000}
pools:
  app: {workers: 1, slots: 2, waiting: 17, order: priority, door: priority, expected: 10ms}
classes:
  critical:   {pool: app, rank: 0, deadline: 200ms, objective: 99%}
  background: {pool: app, rank: 1, deadline: 200ms}
classify:
  - {when: {path: /checkout/*}, class: critical}
  - {when: {header: {X-Criticality: critical}, from: trusted}, class: critical}
default: background
`

const exampleFile = "../../docs/reference/plimsoll.example.yaml"

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("plimsoll.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSmallFile(t *testing.T) {
	c := mustParse(t, small)
	want := plimsoll.Config{
		Pools: []plimsoll.Pool{{Name: "app", Workers: 1, Slots: 2, Waiting: 17, Order: plimsoll.OrderPriority, Door: plimsoll.DoorPriority, Expected: 10 * time.Millisecond}},
		Classes: []plimsoll.Class{
			{Name: "critical", Pool: "app", Rank: 0, Deadline: 200 * time.Millisecond, Objective: 0.99, Waiting: plimsoll.Unbounded},
			{Name: "background", Pool: "app", Rank: 1, Deadline: 200 * time.Millisecond, Waiting: plimsoll.Unbounded},
		},
		Default: "background",
	}
	if d := cmp.Diff(want, c.Gate); d != "" {
		t.Errorf("gate, -want +got\n%s", d)
	}
	rules := []Rule{
		{When: When{Path: "/checkout/*"}, Class: "critical"},
		{When: When{Header: map[string]string{"X-Criticality": "critical"}, Trusted: true}, Class: "critical"},
	}
	if d := cmp.Diff(rules, c.Classify); d != "" {
		t.Errorf("rules, -want +got\n%s", d)
	}
	if c.Listen != ":8080" || c.Admin != "127.0.0.1:8081" || c.Upstream.URL.String() != "http://127.0.0.1:9000" || c.TLS != nil {
		t.Errorf("listen %q, admin %q, upstream %v, tls %v", c.Listen, c.Admin, c.Upstream.URL, c.TLS)
	}
	if len(c.Warnings) != 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	if c.Source.Path != "plimsoll.yaml" || len(c.Source.SHA256) != 64 {
		t.Errorf("source %+v", c.Source)
	}
}

// Flags and a file that say the same come to the same.
func TestFlagsAreAFile(t *testing.T) {
	f, err := FromFlags(Flags{
		Listen: ":8080", Admin: "127.0.0.1:8081", Upstream: "http://127.0.0.1:9000", ClassHeader: "x-class",
		Workers: "1", Slots: "2", Waiting: "17", Order: "priority", Door: "priority",
		Deadline: "200ms", Expected: "10ms", Trust: []string{"10.0.0.0/8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(small, "classify:")
	_, after, _ = strings.Cut(after, "default:")
	c := mustParse(t, before+"class_header: X-Class\ntrust: [loopback, 10.0.0.0/8]\ndefault:"+after)
	c.Source = Source{}
	if d := cmp.Diff(c, f, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
		t.Errorf("-file +flags\n%s", d)
	}
}

func TestOrderIsTheFiles(t *testing.T) {
	c := mustParse(t, `
listen: :1
upstream: {url: "http://x"}
pools: {zeta: {slots: 1, waiting: 1}, alpha: {slots: 1, waiting: 1}, mid: {slots: 1, waiting: 1}}
classes: {z: {pool: mid, rank: 0}, b: {pool: alpha, rank: 0}, a: {pool: zeta, rank: 0}}
default: b
`)
	var got []string
	for _, p := range c.Gate.Pools {
		got = append(got, p.Name)
	}
	for _, k := range c.Gate.Classes {
		got = append(got, k.Name)
	}
	if want := []string{"zeta", "alpha", "mid", "z", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestValuesThatHaveAMeaning(t *testing.T) {
	const head = "listen: :1\nupstream: {url: \"http://x\"}\n"
	c := mustParse(t, head+`
pools:
  a: {workers: 3, waiting: 0, margin: none}
  b: {slots: 0, waiting: 0, margin: 3ms, mode: shadow, statuses: {full: 503, too-costly: 400}}
classes:
  x: {pool: a, rank: 0, waiting: 0, objective: 99.9%}
  y: {pool: b, rank: 0, waiting: 5, objective: 0.5}
default: x
trust: [loopback, 192.0.2.7, "2001:db8::/32"]
ahead_bytes: 0
hold_max: 0
`)
	a, b := c.Gate.Pools[0], c.Gate.Pools[1]
	x, y := c.Gate.Classes[0], c.Gate.Classes[1]
	for _, test := range []struct {
		what      string
		got, want any
	}{
		{"slots default to workers", a.Slots, 3},
		{"margin none", a.Margin, time.Duration(-1)},
		{"margin", b.Margin, 3 * time.Millisecond},
		{"slots 0", b.Slots, 0},
		{"mode", b.Mode, plimsoll.Shadow},
		{"statuses", c.Statuses["b"], map[plimsoll.Reason]int{core.Full: 503, core.TooCostly: 400}},
		{"waiting 0 of a class", x.NoWaiting, true},
		{"waiting of a class", y.NoWaiting, false},
		{"own bound", y.Waiting, 5},
		{"percent is exact", x.Objective, 0.999},
		{"share", y.Objective, 0.5},
		{"trust", len(c.Trust), 4},
		{"one address", c.Trust[2].String(), "192.0.2.7/32"},
		{"zero size", c.AheadBytes, int64(0)},
		{"header timeout", c.Upstream.HeaderTimeout, time.Duration(0)},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("%s: %v, want %v", test.what, test.got, test.want)
		}
	}
	if c := mustParse(t, head+"pools: {a: {slots: 1, waiting: 0}}\nclasses: {x: {rank: 0}}\ntrust: []"); c.Trust == nil || len(c.Trust) != 0 || c.Gate.Default != "x" || c.Gate.Classes[0].Pool != "a" {
		t.Errorf("nobody is trusted and defaults are the only ones: %v %v %v", c.Trust, c.Gate.Default, c.Gate.Classes[0].Pool)
	}
}

// The gate must not know a word that a file cannot say.
func TestWordsAreComplete(t *testing.T) {
	var o plimsoll.Order
	var d plimsoll.Door
	if n := len(orders(&o).words); !strings.HasPrefix(core.Order(n).String(), "order(") {
		t.Errorf("there is an order %v that no file can name", core.Order(n))
	}
	if n := len(doors(&d).words); !strings.HasPrefix(core.Door(n).String(), "door(") {
		t.Errorf("there is a door %v that no file can name", core.Door(n))
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plimsoll.yaml")
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "config: ") {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil || c.Source.Path != path {
		t.Errorf("%v, %+v", err, c)
	}
	broken := errors.New("disk on fire")
	if _, err := Read("x", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// A file is read up to its bound and no further.
func TestHugeFile(t *testing.T) {
	endless := iotest.DataErrReader(zeroes{})
	_, err := Read("plimsoll.yaml", endless)
	want := "plimsoll.yaml:1:1: the file has more than 256 KiB; a configuration has less"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	padded := small + "#" + strings.Repeat("x", MaxFile-len(small)-1)
	if _, err := Parse("plimsoll.yaml", []byte(padded)); err != nil {
		t.Errorf("a file of exactly the bound: %v", err)
	}
}

// More pools than a gate is meant for are said in one sentence.
func TestTooMany(t *testing.T) {
	var pools strings.Builder
	for i := range maxPools + 1 {
		fmt.Fprintf(&pools, "  p%d: {slots: 1, waiting: 1}\n", i)
	}
	_, err := Parse("f", []byte("listen: :1\nupstream: {url: \"http://x\"}\npools:\n"+pools.String()+"classes: {a: {rank: 0}}\n"))
	if want := "f:4:3: pools: has 1025 entries; at most 1024 are allowed\n"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = Parse("f", []byte("trust:\n"+strings.Repeat("- x\n", maxNetworks+1)))
	if want := "trust: has 4097 entries; at most 4096 are allowed"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// Depth that no bracket shows must not recurse without end either.
func TestDepth(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", MaxFile), strings.Repeat("{a: ", MaxFile/4), strings.Repeat("- ", MaxFile/2),
		strings.Repeat("? ", MaxFile/2), strings.Repeat("!a ", 1000), strings.Repeat("&a ", 1000),
	} {
		if _, err := Parse("f", []byte(text)); err == nil {
			t.Errorf("%.20q… is taken for good", text)
		}
	}
}

func TestErrorIsData(t *testing.T) {
	_, err := Parse("f.yaml", []byte("listen: 8080\n"))
	var e *Error
	if !errors.As(err, &e) || e.File != "f.yaml" {
		t.Fatalf("%T %v", err, err)
	}
	b, err := json.Marshal(e.Problems[len(e.Problems)-1])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got["line"] != 1.0 || got["column"] != 9.0 || got["key"] != "listen" {
		t.Errorf("%s", b)
	}
}

// Every value stands where the tree says, whatever is around it.
func TestPositions(t *testing.T) {
	example, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(example), small, strings.ReplaceAll(string(example), "\n", "\r\n"),
		"ä: ö\nü: {é: \"x\", 'è': [a, ß, 😀, z]}\nlong: one\n  two\nq: \"a\n  b\"\nlit: |\n  x\n  y\nfold: >-\n  x\n\n  y\nlast: z # ä\n# ö\nend: w",
	} {
		r := newReader(nil, nil)
		text, _ := r.decodeText([]byte(text))
		root := r.readTree(text)
		if root == nil {
			t.Fatalf("%v", r.problems)
		}
		if n := checkPositions(t, r.src.lines, root); n < 8 {
			t.Errorf("only %d values seen in %q", n, text)
		}
	}
}

func checkPositions(t *testing.T, lines []string, n *node) int {
	t.Helper()
	seen := 0
	for _, e := range n.entries {
		seen += checkPositions(t, lines, e.key) + checkPositions(t, lines, e.value)
	}
	for _, item := range n.items {
		seen += checkPositions(t, lines, item)
	}
	if n.kind != scalarNode {
		return seen
	}
	if n.line < 1 || n.line > len(lines) || n.column < 1 || n.column > len([]rune(lines[n.line-1])) {
		t.Fatalf("%q stands at %d:%d, outside of the text", n.text, n.line, n.column)
	}
	there := strings.TrimLeft(string([]rune(lines[n.line-1])[n.column-1:]), `"'`)
	first, _, _ := strings.Cut(n.text, " ")
	if !strings.HasPrefix(there, first) && !strings.HasPrefix(there, "|") && !strings.HasPrefix(there, ">") {
		t.Errorf("%q is said to stand at %d:%d, where %q is", n.text, n.line, n.column, there)
	}
	return seen + 1
}

func checkPlaces(t *testing.T, text string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is no *Error", err)
	}
	if len(e.Problems) == 0 || len(e.Problems) > MaxProblems {
		t.Fatalf("%d problems", len(e.Problems))
	}
	lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
	line, column := 0, 0
	for _, p := range e.Problems {
		if p.Line < 1 || p.Column < 1 || p.Line > lines {
			t.Errorf("%d:%d: %s is outside of a file of %d lines", p.Line, p.Column, p.Text, lines)
		}
		if p.Line < line || p.Line == line && p.Column < column {
			t.Errorf("%d:%d: %s comes after %d:%d", p.Line, p.Column, p.Text, line, column)
		}
		line, column = p.Line, p.Column
		if p.Text == "" || strings.ContainsRune(p.Key+p.Text+strings.ReplaceAll(p.Excerpt, "\n", ""), '\x1b') {
			t.Errorf("%+v says nothing, or what a terminal obeys", p)
		}
	}
}

// A merge copies keys, and a small file could ask for billions of copies, in
// one mapping or in many, or through lists of lists.
func TestMergesAreBounded(t *testing.T) {
	wide := "a: &a {" + strings.Repeat("k: 1, ", 8)
	for i := range 1000 {
		wide += fmt.Sprintf("k%d: 1, ", i)
	}
	wide += "}\n"
	for i := range 1000 {
		wide += fmt.Sprintf("b%d: {<<: *a}\n", i)
	}
	_, err := Parse("f", []byte(wide))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	r := newReader(nil, nil)
	text, _ := r.decodeText([]byte(wide))
	r.readTree(text)
	if len(r.problems) != 1 || !strings.Contains(r.problems[0].Text, "more than 16384 keys") {
		t.Errorf("%d problems: %v", len(r.problems), r.problems)
	}
	deep := "x0: &x0 {k: v}\n"
	lists := "l0: &l0 [a]\n"
	for i := 1; i < 20; i++ {
		deep += fmt.Sprintf("x%d: &x%d {<<: [%s]}\n", i, i, strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10))
		lists += fmt.Sprintf("l%d: &l%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10))
	}
	for _, text := range []string{deep, lists + "<<: *l19\n"} {
		r := newReader(nil, nil)
		text, _ := r.decodeText([]byte(text))
		root := r.readTree(text)
		if n := len(root.entries); n != 20 {
			t.Errorf("%d keys, want the 20 of the file", n)
		}
	}
}
