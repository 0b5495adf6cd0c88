package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Options are how an experiment is run.
type Options struct {
	Duration  int64  // of the window, ms, at least 1
	OutputDir string // made if it is missing
	// Deterministic writes the epoch in place of Now, so that the same command
	// writes the same bytes.
	Deterministic    bool
	Concurrency      int   // recorded, at least 1; not used otherwise
	SnapshotInterval int64 // recorded, ms, at least 1; not used otherwise
	Settings         Settings
	Args             []string  // recorded: the command line as given
	Now              time.Time // recorded
	// Progress, if not nil, is told what share of the work is done.
	Progress func(share float64)
}

// Output is what a run has written.
type Output struct {
	Experiment Experiment
	Options    Options
	Prepared   *Prepared
	Findings   *Findings
	Manifest   *Manifest
	Files      []string // base names, in the order of writing
}

// InvalidError is an error of the options: nothing has been done.
type InvalidError struct{ Err error }

// Error says what is wrong and what is allowed.
func (e InvalidError) Error() string { return e.Err.Error() }

// Unwrap is the error itself.
func (e InvalidError) Unwrap() error { return e.Err }

// Run runs the experiment and writes its tables, charts, report and, last, its
// manifest into OutputDir. An [InvalidError] means that the options are wrong,
// and that nothing was made, not even the directory; any other error comes from
// the file system. Files of an earlier run are replaced one by one, each at
// once: a name never holds half a file.
func (e Experiment) Run(o Options) (*Output, error) {
	p, err := e.prepare(&o)
	if err != nil {
		return nil, InvalidError{err}
	}
	f, err := p.Do(o.Progress)
	if err != nil {
		return nil, err
	}
	out := &Output{Experiment: e, Options: o, Prepared: p, Findings: f, Manifest: e.manifest(&o, f.Tables)}
	files, err := out.files()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		out.Files = append(out.Files, file.name)
	}
	return out, write(o.OutputDir, files)
}

func (e *Experiment) prepare(o *Options) (*Prepared, error) {
	switch {
	case o.Duration < 1:
		return nil, fmt.Errorf("lab: duration is %d ms; 1 or more is allowed", o.Duration)
	case o.OutputDir == "":
		return nil, errors.New("lab: the output directory has no name; a path is allowed")
	case o.Concurrency < 1:
		return nil, fmt.Errorf("lab: concurrency is %d; 1 or more is allowed", o.Concurrency)
	case o.SnapshotInterval < 1:
		return nil, fmt.Errorf("lab: snapshot interval is %d ms; 1 or more is allowed", o.SnapshotInterval)
	}
	if err := e.Check(o.Settings); err != nil {
		return nil, err
	}
	return e.Prepare(o.Settings, o.Duration)
}

// Departs says whether a table differs from its golden one although it was
// made with the same constants: on this machine something computes differently.
func (o *Output) Departs() bool {
	if !o.Prepared.Golden {
		return false
	}
	for _, a := range o.Manifest.CSVArtifacts {
		if a.GoldenMatch == false {
			return true
		}
	}
	return false
}

type file struct {
	name string
	data []byte
}

// files are all that is written, the manifest last.
func (o *Output) files() ([]file, error) {
	var out []file
	for i := range o.Findings.Tables {
		t := &o.Findings.Tables[i]
		out = append(out, file{t.File, t.CSV()})
	}
	for i := range o.Findings.Charts {
		png, err := o.Findings.Charts[i].PNG()
		if err != nil {
			return nil, err
		}
		out = append(out, file{o.Findings.Charts[i].File, png})
	}
	report, err := o.report()
	if err != nil {
		return nil, err
	}
	manifest, err := o.Manifest.JSON()
	if err != nil {
		return nil, err
	}
	return append(out, file{"report.html", report}, file{"manifest.json", manifest}), nil
}

// write writes every file beside its final name first, so that a disk that is
// full, or a process that is killed, leaves what was there before.
func write(dir string, files []file) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("lab: output directory: %w", err)
	}
	var aside []string
	defer func() {
		for _, name := range aside {
			if name != "" {
				os.Remove(name)
			}
		}
	}()
	for _, f := range files {
		name, err := writeAside(dir, f)
		if name != "" {
			aside = append(aside, name)
		}
		if err != nil {
			return fmt.Errorf("lab: %s: %w", filepath.Join(dir, f.name), err)
		}
	}
	for i, f := range files {
		if err := os.Rename(aside[i], filepath.Join(dir, f.name)); err != nil {
			return fmt.Errorf("lab: %w", err)
		}
		aside[i] = ""
	}
	return nil
}

// writeAside writes a file under a name of its own, and returns it if it exists.
func writeAside(dir string, f file) (string, error) {
	w, err := os.CreateTemp(dir, "."+f.name+"-*")
	if err != nil {
		return "", err
	}
	_, err = w.Write(f.data)
	if err == nil {
		err = w.Chmod(0o644)
	}
	if err == nil {
		err = w.Sync()
	}
	if closing := w.Close(); err == nil {
		err = closing
	}
	return w.Name(), err
}
