package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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

// check refuses what serve refuses, in the same words.
func TestCheckAndServeAgree(t *testing.T) {
	const good = `{listen: "127.0.0.1:7", upstream: {url: "http://127.0.0.1:9"}, pools: {a: {slots: 1, waiting: 1}}, classes: {c: {rank: 0, deadline: 1s}}`
	for _, more := range []string{
		`, tls: {cert: /does/not/exist, key: /does/not/exist}}`,
		`, access_log: {path: /does/not/exist/log}}`,
		`, access_log: {path: /}}`,
		`, admin: {listen: "localhost:7"}}`,
		`, admin: {listen: "[::]:7"}}`,
		`, admin: {listen: ":9"}}`, // the upstream
		`, default: d}`,
		`, listen: ":8"}`,
		`, x`,
	} {
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(good+more), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, checked, served bytes.Buffer
		if code := run([]string{"check", file}, &out, &checked); code != exitUsage || !strings.HasPrefix(checked.String(), file+":1:") {
			t.Errorf("check of %s ends with %d, %s", more, code, checked.String())
		}
		if code := run([]string{"serve", "-c", file}, &out, &served); code != exitUsage {
			t.Errorf("serve of %s ends with %d", more, code)
		}
		if got := strings.ReplaceAll(served.String(), "plimsoll: "+file, file); got != checked.String() {
			t.Errorf("check says\n%s\nand serve says\n%s", checked.String(), got)
		}
	}
}
