package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The exit status is what scripts decide by.
func TestCheckStatus(t *testing.T) {
	const good = `{listen: ":1", admin: {listen: ":2"}, upstream: {url: "http://x"}, pools: {a: {slots: 1, waiting: 1}}, classes: {c: {rank: 0, deadline: 1s}}}`
	const warned = `{listen: ":1", admin: {listen: ":2"}, upstream: {url: "http://x"}, pools: {a: {slots: 1, waiting: 1}}, classes: {c: {rank: 0}}}`
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ok, warn, broken, missing := file("good", good), file("warned", warned), file("broken", "listen: 1\n"), filepath.Join(dir, "missing")
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{ok}, exitOK},
		{[]string{"-c", ok}, exitOK},
		{[]string{"--strict", ok}, exitOK}, // has hints
		{[]string{warn}, exitOK},
		{[]string{"--strict", warn}, exitNo},
		{[]string{"--strict", "--json", warn}, exitNo},
		{[]string{broken}, exitUsage},
		{[]string{"--json", broken}, exitUsage},
		{[]string{missing}, exitUsage},
		{[]string{"--strict", ok, warn, broken}, exitUsage},
		{[]string{"--strict", broken, warn, ok}, exitUsage},
		{nil, exitUsage},
		{[]string{"--nonsense", ok}, exitUsage},
	} {
		var out, errs bytes.Buffer
		if got := run(append([]string{"check"}, test.args...), &out, &errs); got != test.want {
			t.Errorf("check %q ends with %d, want %d\n%s%s", test.args, got, test.want, out.Bytes(), errs.Bytes())
		}
	}
}
