package lab

import (
	"context"
	"errors"
	"fmt"
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
	Removed    []string // base names of files of an earlier run that this one does not make
}

// InvalidError is an error of the options: nothing has been done.
type InvalidError struct{ Err error }

// Error says what is wrong and what is allowed.
func (e InvalidError) Error() string { return e.Err.Error() }

// Unwrap is the error itself.
func (e InvalidError) Unwrap() error { return e.Err }

// Run runs the experiment and writes its tables, charts, report and, last, its
// manifest into OutputDir. An [InvalidError] means that the options are wrong,
// and that nothing was made, not even the directory. When ctx is done before
// anything is written, nothing is, and the error is the context's cause; once
// writing has begun it is finished. Any other error comes from the file system.
//
// Files of an earlier run are replaced one by one, each at once: a name never
// holds half a file. A file of an earlier run that this one does not make is
// removed; see [LeftOut]. So is what a killed run may have left: hidden files,
// named like a file of this experiment and a number.
func (e Experiment) Run(ctx context.Context, o Options) (*Output, error) {
	p, err := e.prepare(&o)
	if err != nil {
		return nil, InvalidError{err}
	}
	if err := writable(o.OutputDir); err != nil {
		return nil, err
	}
	f, err := p.Do(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	out := &Output{Experiment: e, Options: o, Prepared: p, Findings: f, Manifest: e.manifest(&o, f)}
	files, err := out.files()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if out.Removed, err = write(o.OutputDir, files, f.LeftOut); err != nil {
		return nil, err
	}
	for _, file := range files {
		out.Files = append(out.Files, file.name)
	}
	return out, nil
}

func (e *Experiment) prepare(o *Options) (*Prepared, error) {
	switch {
	case o.Duration < 1:
		return nil, fmt.Errorf("lab: duration is %d ms; 1 to %d is allowed", o.Duration, MaxWindow)
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
