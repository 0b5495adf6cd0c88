package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
	"github.com/rogpeppe/go-internal/txtar"
)

// goodFiles are the texts of files that are good.
func goodFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"small": small}
	for _, name := range []string{exampleFile, "testdata/full.yaml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(b)
	}
	names, err := filepath.Glob("testdata/warn/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(a.Files[0].Data)
	}
	return out
}

// What is taken for good here is good for those who use it: the gate takes it
// as it is, with the margin that the warnings assumed, and so do the rules.
func TestUsersAgree(t *testing.T) {
	for name, text := range goodFiles(t) {
		c := mustParse(t, text)
		g, err := plimsoll.New(c.Gate)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, p := range g.Status().Pools {
			want, assumed := marginOf(&c.Gate.Pools[i], membersOf(&c.Gate, p.Name))
			if c.Gate.Pools[i].Margin == 0 && p.Margin != want {
				t.Errorf("%s: pool %s begins with a margin of %v, and %v (assumed: %v) is reckoned with", name, p.Name, p.Margin, want, assumed)
			}
			if p.Slots != c.Gate.Pools[i].Slots || p.WaitingLimit != c.Gate.Pools[i].Waiting {
				t.Errorf("%s: pool %s has %d slots and %d places, want %d and %d", name, p.Name, p.Slots, p.WaitingLimit, c.Gate.Pools[i].Slots, c.Gate.Pools[i].Waiting)
			}
		}
		g.Close()
		if _, err := httpgate.CompileRules(rulesOf(c)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The gate takes the largest values that a file may have.
func TestBoundsAreTheGates(t *testing.T) {
	if maxExpected > plimsoll.MaxExpected || maxMargin > plimsoll.MaxExpected {
		t.Errorf("files may say %v and %v, and a gate takes %v", maxExpected, maxMargin, plimsoll.MaxExpected)
	}
	c := mustParse(t, fmt.Sprintf(`
listen: :1
upstream: {url: "http://x"}
pools: {a: {workers: %[1]d, slots: %[1]d, waiting: %[1]d, expected: %[2]v, margin: %[3]v}}
classes: {c: {rank: 2147483647, deadline: %[4]v, reserve: %[1]d, waiting: %[1]d}}
`, maxUnits, maxExpected, maxMargin, maxDeadline))
	g, err := plimsoll.New(c.Gate)
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
}

func rulesOf(c *Config) []httpgate.Rule {
	var out []httpgate.Rule
	for _, r := range c.Classify {
		out = append(out, httpgate.Rule{Class: r.Class, When: httpgate.Match{
			Path: r.When.Path, Method: r.When.Method, Host: r.When.Host, Header: r.When.Header,
		}})
	}
	if c.ClassHeader != "" {
		out = append(out, httpgate.Rule{When: httpgate.Match{ClassHeader: c.ClassHeader}})
	}
	return out
}
