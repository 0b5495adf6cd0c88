package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Whatever a file holds, Parse returns, and says where it is wrong.
func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	example, err := os.ReadFile(exampleFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, folder := range []string{"broken", "warn"} {
		names, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			a, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(a.Files[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("fuzz.yaml", data)
		if err != nil {
			checkPlaces(t, string(data), err)
			return
		}
		for _, w := range c.Warnings {
			if w.Line < 1 || w.Column < 1 || w.Code == "" || w.Key == "" || w.Text == "" {
				t.Errorf("warning without its place: %+v", w)
			}
		}
		Summarise(c)
	})
}
