package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/pflag"
)

var rewrite = flag.Bool("rewrite", false, "write what is now said into testdata")

// script runs f on the input of each file of a folder and compares the output
// that stands there.
func script(t *testing.T, folder string, least int, f func(t *testing.T, input string) string) {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) < least {
		t.Fatalf("%d scripts in testdata/%s, want at least %d (%v)", len(files), folder, least, err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil || len(a.Files) != 2 {
				t.Fatalf("want a comment, an input and an output: %v", err)
			}
			got := f(t, input(t, a.Files[0])) + "\n"
			if *rewrite {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(a.Files[1].Data), got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// input is a section as it stands, or as a Go string when what matters cannot
// stand in a text file.
func input(t *testing.T, f txtar.File) string {
	if f.Name != "input.quoted" {
		return string(f.Data)
	}
	s, err := strconv.Unquote(strings.TrimSpace(string(f.Data)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func said(t *testing.T, c *Config, err error) string {
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("the error is a %T: %v", err, err)
		}
		return e.Error()
	}
	var out []string
	for _, w := range c.Warnings {
		out = append(out, w.In(c.Source.Path))
	}
	return strings.Join(append(out, "ok"), "\n")
}

func TestBroken(t *testing.T) {
	script(t, "broken", 30, func(t *testing.T, input string) string {
		c, err := Parse("plimsoll.yaml", []byte(input))
		if err == nil {
			t.Fatal("is taken for good")
		}
		checkPlaces(t, input, err)
		return said(t, c, err)
	})
}

func TestWarnings(t *testing.T) {
	script(t, "warn", 20, func(t *testing.T, input string) string {
		c, err := Parse("plimsoll.yaml", []byte(input))
		if err != nil {
			t.Error("is taken for broken")
		}
		return said(t, c, err)
	})
}

func TestFlags(t *testing.T) {
	script(t, "flags", 10, func(t *testing.T, input string) string {
		f := parseFlags(t, input)
		c, err := FromFlags(f)
		return said(t, c, err)
	})
}

// parseFlags reads a flag and its value from each line.
func parseFlags(t *testing.T, input string) Flags {
	f := Flags{Set: map[string]bool{}}
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	set.StringVar(&f.Listen, "listen", "", "")
	set.StringVar(&f.Upstream, "upstream", "", "")
	set.StringVar(&f.Admin, "admin", "", "")
	set.StringVar(&f.Workers, "workers", "", "")
	set.StringVar(&f.Slots, "slots", "", "")
	set.StringVar(&f.Waiting, "waiting", "", "")
	set.StringVar(&f.Order, "order", "", "")
	set.StringVar(&f.Door, "door", "", "")
	set.StringVar(&f.Mode, "mode", "", "")
	set.StringVar(&f.ClassHeader, "class-header", "", "")
	set.StringVar(&f.Protocol, "protocol", "", "")
	set.StringVar(&f.AccessLog, "access-log", "", "")
	set.StringVar(&f.Deadline, "deadline", "", "")
	set.StringVar(&f.Expected, "expected", "", "")
	set.StringArrayVar(&f.Trust, "trust", nil, "")
	var args []string
	for line := range strings.Lines(input) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if s, err := strconv.Unquote(value); err == nil {
			value = s
		}
		args = append(args, name+"="+value)
	}
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	set.Visit(func(x *pflag.Flag) { f.Set[x.Name] = true })
	return f
}
