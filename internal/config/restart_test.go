package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The keys that the reference marks are those that are compared: of two files
// that differ everywhere, all of them and no others.
func TestRestart(t *testing.T) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, b := mustParse(t, strings.Replace(small, "listen: :8080", "listen: :7", 1)), mustParse(t, string(full))
	var got, want []string
	for _, c := range Restart(a, b) {
		got = append(got, c.Key)
		if c.Bound == "" || c.Next == "" || c.Bound == c.Next {
			t.Errorf("%+v says nothing", c)
		}
	}
	walk("", (&draft{}).fields(), func(path string, f field) {
		if f.restart {
			want = append(want, path)
		}
	})
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-marked +compared\n%s", d)
	}
	if same := Restart(b, b); len(same) != 0 {
		t.Errorf("nothing has changed, and %v needs a restart", same)
	}
}
