package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// labRun runs a command line in an empty directory of its own.
func labRun(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	var out, diag bytes.Buffer
	code = run(append([]string{"lab"}, args...), &out, &diag)
	return code, out.String(), diag.String()
}

func TestLabRefusesCommandLines(t *testing.T) {
	const e5 = "slo-load-control"
	for _, c := range []struct {
		args []string
		says string // what is allowed
	}{
		{[]string{"slo-lod-control"}, "slo-load-control"},
		{[]string{"--duration", "5s"}, "slo-load-control"},
		{[]string{e5, "--duration", "0"}, "whole number"},
		{[]string{e5, "--duration", "-5s"}, "whole number"},
		{[]string{e5, "--duration", "1.5s"}, "whole number"},
		{[]string{e5, "--duration", "5S"}, "whole number"},
		{[]string{e5, "--duration", "5d"}, "whole number"},
		{[]string{e5, "--duration", ""}, "whole number"},
		{[]string{e5, "--duration="}, "whole number"},
		{[]string{e5, "--duration", "99999999999999999999s"}, "whole number"},
		{[]string{e5, "--snapshot-interval", "0ms"}, "whole number"},
		{[]string{e5, "--snapshot-interval", "abc"}, "whole number"},
		{[]string{e5, "--duration", "200ms"}, "more than the deadline"},
		{[]string{e5, "--duration", "9223372036854775807ms"}, "1ms to 24h"},
		{[]string{e5, "--concurrency", "0"}, "1 or more"},
		{[]string{e5, "--concurrency", "-3"}, "1 or more"},
		{[]string{e5, "--concurrency", "1.5"}, "1 or more"},
		{[]string{e5, "--duration"}, "--duration"},
		{[]string{e5, "--output-dir"}, "--output-dir"},
		{[]string{e5, "--output-dir", ""}, "a path"},
		{[]string{e5, "--set"}, "--set"},
		{[]string{e5, "bare"}, "--duration"},
		{[]string{e5, "durations"}, "is --duration meant?"},
		{[]string{e5, "-x"}, "--duration"},
		{[]string{e5, "--deterministc"}, "--deterministic"},
		{[]string{e5, "--deterministic=perhaps"}, "true, false"},
		{[]string{e5, "--set", "shrae=0.4"}, "valley-rps"},
		{[]string{e5, "--set", "share"}, "key=value"},
		{[]string{e5, "--duration", "99999999999999999999ms"}, "1ms to 24h"},
		{[]string{e5, "--duration", "100000h"}, "1ms to 24h"},
		{[]string{e5, "--snapshot-interval", "25h"}, "1ms to 24h"},
		{[]string{e5, "--set", "share=1"}, "below 1"},
		{[]string{e5, "--set", "share=nan"}, "above 0 and below 1"},
		{[]string{e5, "--set", "share=inf"}, "above 0 and below 1"},
		{[]string{e5, "--set", "share=-0.1"}, "above 0 and below 1"},
		{[]string{e5, "--set", "rates=1e300"}, "from 0 to 1000000"},
		{[]string{e5, "--set", "rates=1000001"}, "from 0 to 1000000"},
		{[]string{e5, "--set", "spike-rps=inf"}, "from 0 to 1000000"},
		{[]string{e5, "--set", "valley=100000h"}, "1ms to 24h"},
		{[]string{e5, "--set", "deadline=99999999999999999999ms"}, "1ms to 24h"},
		{[]string{e5, "--set", "service=2h"}, "1ms to 1h"},
		{[]string{e5, "--set", "share=0.2", "--set", "share=0.3"}, "twice"},
		{[]string{e5, "--set", "service=1.5ms"}, "whole number"},
		{[]string{e5, "--set", "rates=100,,200"}, "from 0 to 1000000"},
		{[]string{e5, "--set", "deadline=30s"}, "more than the deadline"},
	} {
		code, stdout, stderr := labRun(t, c.args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%q ends with %d, says %q and prints %q; want 2 and something about %q", c.args, code, stderr, stdout, c.says)
		}
		if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
			t.Errorf("%q writes %v, %v", c.args, left, err)
		}
	}
}

func TestLabLists(t *testing.T) {
	code, stdout, _ := labRun(t)
	if code != exitOK || !strings.Contains(stdout, "slo-load-control") || !strings.Contains(stdout, "spike-rps=360") {
		t.Errorf("%d, %s", code, stdout)
	}
	for _, args := range [][]string{{"--help"}, {"-h"}, {"slo-load-control", "--help"}} {
		code, stdout, _ := labRun(t, args...)
		if code != exitOK || !strings.Contains(stdout, "--deterministic --duration 5s") {
			t.Errorf("%q: %d, %s", args, code, stdout)
		}
	}
}

// Flags work as two words and as one, and a value is the next word whatever it
// looks like.
func TestLabPrintsJSON(t *testing.T) {
	code, stdout, stderr := labRun(t, "slo-load-control", "--json", "--deterministic", "--duration=5", "--output-dir", "--odd")
	if code != exitOK || stderr != "" {
		t.Fatalf("%d, %s", code, stderr)
	}
	var data struct {
		Manifest struct {
			OutputDir    string   `json:"output_dir"`
			CommandArgs  []string `json:"command_args"`
			CSVArtifacts []struct {
				GoldenMatch any `json:"golden_match"`
			} `json:"csv_artifacts"`
		}
		Tables []struct{ Rows []map[string]any }
	}
	if err := json.Unmarshal([]byte(stdout), &data); err != nil {
		t.Fatal(err)
	}
	if m := data.Manifest; m.OutputDir != "--odd" || strings.Join(m.CommandArgs, " ") != "lab slo-load-control --json --deterministic --duration=5 --output-dir --odd" ||
		m.CSVArtifacts[0].GoldenMatch != true || m.CSVArtifacts[1].GoldenMatch != true {
		t.Errorf("%+v", m)
	}
	if len(data.Tables) != 2 || len(data.Tables[0].Rows) != 14 || data.Tables[0].Rows[11]["critical_success_pct"] != 99.7 {
		t.Errorf("%+v", data.Tables)
	}
	if files, err := os.ReadDir("--odd"); err != nil || len(files) != 6 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestLabDefaults(t *testing.T) {
	code, stdout, stderr := labRun(t, "slo-load-control")
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "PT30S") {
		t.Fatalf("%d, %s%s", code, stdout, stderr)
	}
	manifest, err := os.ReadFile("results/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`"duration": "PT30S"`, `"concurrency": 100`, `"snapshot_interval": "PT1S"`, `"output_dir": "./results"`, `"golden_match": false`} {
		if !strings.Contains(string(manifest), line) {
			t.Errorf("no %s in %s", line, manifest)
		}
	}
}

func TestLabCannotWrite(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("taken", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, diag bytes.Buffer
	if code := run([]string{"lab", "slo-load-control", "--duration", "1s", "--output-dir", "taken"}, &out, &diag); code != exitMachine || out.Len() != 0 || diag.Len() == 0 {
		t.Errorf("%d, %s%s", code, out.String(), diag.String())
	}
}
