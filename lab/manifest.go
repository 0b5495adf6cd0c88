package lab

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Manifest says how the tables came about.
type Manifest struct {
	PostNumber       int        `json:"post_number"`
	Title            string     `json:"title"`
	Timestamp        string     `json:"timestamp"` // UTC, RFC 3339; the epoch if deterministic
	Deterministic    bool       `json:"deterministic"`
	Duration         string     `json:"duration"` // ISO 8601, as is the next of its kind
	Concurrency      int        `json:"concurrency"`
	SnapshotInterval string     `json:"snapshot_interval"`
	OutputDir        string     `json:"output_dir"`
	GoVersion        string     `json:"go_version"`
	OS               string     `json:"os"`
	OSArch           string     `json:"os_arch"`
	CPUCount         int        `json:"cpu_count"`
	GitSHA           string     `json:"git_sha"` // short, or "unknown"
	CommandArgs      []string   `json:"command_args"`
	CSVArtifacts     []Artifact `json:"csv_artifacts"`
	// LeftOut are the files that this run has not made, if there are any.
	LeftOut []LeftOut `json:"left_out,omitempty"`
}

// Artifact is one table in the manifest.
type Artifact struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// GoldenFile is always null: the golden tables are known by checksum only.
	GoldenFile   *string `json:"golden_file"`
	GoldenSHA256 *string `json:"golden_sha256"`
	// GoldenMatch is true, false, or "absent" when no golden table is known.
	// With constants or a duration of one's own, false is what to expect.
	GoldenMatch any `json:"golden_match"`
}

func (e *Experiment) manifest(o *Options, f *Findings) *Manifest {
	m := &Manifest{
		PostNumber: e.Post, Title: e.Title,
		Timestamp: o.Now.UTC().Format(time.RFC3339Nano), Deterministic: o.Deterministic,
		Duration: ISODuration(o.Duration), Concurrency: o.Concurrency, SnapshotInterval: ISODuration(o.SnapshotInterval),
		OutputDir: o.OutputDir, GoVersion: runtime.Version(), OS: osName(), OSArch: runtime.GOARCH,
		CPUCount: runtime.NumCPU(), GitSHA: revision(), CommandArgs: append([]string{}, o.Args...),
		LeftOut: f.LeftOut,
	}
	if o.Deterministic {
		m.Timestamp = time.Unix(0, 0).UTC().Format(time.RFC3339)
	}
	for i := range f.Tables {
		m.CSVArtifacts = append(m.CSVArtifacts, artifact(&f.Tables[i]))
	}
	return m
}

func artifact(t *Table) Artifact {
	a := Artifact{Name: t.Name, File: t.File, SHA256: t.SHA256(), GoldenMatch: "absent"}
	if t.Golden != "" {
		a.GoldenSHA256 = &t.Golden
		a.GoldenMatch = a.SHA256 == t.Golden
	}
	return a
}

// JSON is the manifest as it is written.
func (m *Manifest) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(m)
	return b.Bytes(), err
}

// osName is the system's name, with its version where that can be read without
// asking another program.
func osName() string {
	if runtime.GOOS != "linux" {
		return runtime.GOOS
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "Linux"
	}
	return "Linux " + strings.TrimSpace(string(release))
}

// revision is what the Go tool wrote into a binary built from a checkout.
func revision() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 {
			return s.Value[:7]
		}
	}
	return "unknown"
}
