package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-go/plimsoll/lab"
)

// labFlags are what `plimsoll lab NAME` takes.
type labFlags struct {
	duration      millis
	dir           string
	deterministic bool
	concurrency   int
	interval      millis
	set           []string
	json          bool
}

// millis is a flag in the lab's way of writing a length of time.
type millis int64

func (m *millis) String() string { return fmt.Sprintf("%dms", int64(*m)) }
func (m *millis) Type() string   { return "time" }

func (m *millis) Set(s string) error {
	v, err := lab.ParseDuration(s)
	if err != nil {
		return err
	}
	*m = millis(v)
	return nil
}

func labCommand() *cobra.Command {
	f := &labFlags{duration: 30_000, interval: 1000}
	c := &cobra.Command{
		Use:   "lab [NAME]",
		Short: "Run a named experiment on the simulator and write what it found",
		Long: `Lab runs a named experiment in virtual time and writes what it found into
--output-dir: tables (CSV), charts (PNG), a report to read in a browser
(report.html), and a manifest that says how they came about (manifest.json).
Every decision in it is made by the machine that the proxy runs. Files of an
earlier run there are replaced; nothing is written if anything on the command
line is wrong.

Without a name it lists the experiments.

A length of time, in a flag and in --set, is a whole number with ms, s, m or h,
from 1ms to 24h, such as 250ms or 5s. A bare number is taken as seconds: 5 is 5s.

The exit status is 1 if the constants and the duration are those of published
tables and the tables come out differently.

Experiments:
` + labList(),
		Example: `  plimsoll lab
  plimsoll lab slo-load-control --deterministic --duration 5s --output-dir out
  plimsoll lab slo-load-control --duration 20s --set share=0.4 --set rates=90,130,1500
  plimsoll lab slo-load-control --set service=7ms,deadline=350ms --json | jq '.tables[0].rows'`,
		DisableFlagParsing: true, // the manifest records the words as they were given
	}
	f.register(c.Flags())
	c.RunE = func(c *cobra.Command, words []string) error {
		name, help, err := f.parse(c, words)
		switch {
		case err != nil:
			return usageError(err)
		case help:
			return c.Help()
		case name == "":
			_, err := io.WriteString(c.OutOrStdout(), labList())
			return err
		}
		return f.run(c, name, words)
	}
	return c
}

func (f *labFlags) register(s *pflag.FlagSet) {
	s.SortFlags = false
	s.Var(&f.duration, "duration", "how long the simulated run is (default 30s; the published tables are of 5s)")
	s.StringVar(&f.dir, "output-dir", "./results", "directory to write to, made if it is missing")
	s.BoolVar(&f.deterministic, "deterministic", false, "write 1970 for the time of the run, so that the same command writes the same bytes")
	s.StringArrayVar(&f.set, "set", nil, "set a constant of the experiment, `KEY=VALUE`; may be repeated, or several with commas; rates=90,130 is a list")
	s.IntVar(&f.concurrency, "concurrency", 100, "written into the manifest, without effect on the run; 1 or more")
	s.Var(&f.interval, "snapshot-interval", "written into the manifest, without effect on the run (default 1s)")
	s.BoolVar(&f.json, "json", false, "print manifest and tables as one JSON object instead of the text; the files are written all the same")
	for _, name := range []string{"duration", "snapshot-interval"} {
		s.Lookup(name).DefValue = "" // said in the words above
		allow(s, name, lab.DurationForm)
	}
	allow(s, "concurrency", "a whole number of 1 or more, such as 100")
	allow(s, "output-dir", "a path")
	allow(s, "set", "KEY=VALUE, such as share=0.4")
}

// parse reads the words after "lab". It says what is allowed when it fails.
func (f *labFlags) parse(c *cobra.Command, words []string) (name string, help bool, err error) {
	if err := c.Flags().Parse(words); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return "", true, nil
		}
		return "", false, c.FlagErrorFunc()(c, err)
	}
	if help, _ := c.Flags().GetBool("help"); help {
		return "", true, nil
	}
	switch rest := c.Flags().Args(); len(rest) {
	case 0:
		if c.Flags().NFlag() > 0 {
			return "", false, fmt.Errorf("lab: no experiment is named; there is %s", strings.Join(labNames(), ", "))
		}
		return "", false, nil
	case 1:
		return rest[0], false, nil
	default:
		return "", false, fmt.Errorf("lab: unexpected word %q after %q; one name is allowed, and the flags %s%s",
			rest[1], rest[0], dashed(flagNames(c)), flagMeant(rest[1], flagNames(c)))
	}
}

func labNames() (names []string) {
	for _, e := range lab.Experiments() {
		names = append(names, e.Name)
	}
	return names
}

// labList describes every experiment and what can be set.
func labList() string {
	var b strings.Builder
	for _, e := range lab.Experiments() {
		fmt.Fprintf(&b, "  %s  %s\n", e.Name, e.Title)
		fmt.Fprintf(&b, "      %s\n      --set takes, with these defaults:\n", e.About)
		for _, s := range e.Settings {
			fmt.Fprintf(&b, "        %-34s %s\n", s.Key+"="+s.Default, s.Means)
		}
	}
	return b.String()
}

func (f *labFlags) run(c *cobra.Command, name string, words []string) error {
	e, err := lab.Find(name)
	if err != nil {
		return usageError(err)
	}
	set, err := lab.ParseSettings(f.set)
	if err != nil {
		return usageError(err)
	}
	ctx, stop := untilSignal(c.Context())
	defer stop()
	out, err := e.Run(ctx, lab.Options{
		Duration: int64(f.duration), OutputDir: f.dir, Deterministic: f.deterministic,
		Concurrency: f.concurrency, SnapshotInterval: int64(f.interval), Settings: set,
		Args: append([]string{"lab"}, words...), Now: time.Now(),
		Progress: labProgress(c.ErrOrStderr()),
	})
	if invalid := (lab.InvalidError{}); errors.As(err, &invalid) {
		return usageError(err)
	}
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return stoppedError("lab: stopped before the end; nothing was written")
	case err != nil:
		return exitError{exitMachine, err}
	}
	return f.print(c, out)
}

func (f *labFlags) print(c *cobra.Command, out *lab.Output) error {
	if f.json {
		data, err := out.Data(-1)
		if err != nil {
			return exitError{exitMachine, err}
		}
		if _, err := c.OutOrStdout().Write(append(data, '\n')); err != nil {
			return exitError{exitMachine, err}
		}
	} else if err := out.Text(c.OutOrStdout()); err != nil {
		return exitError{exitMachine, err}
	}
	if out.Departs() {
		return exitError{exitNo, errors.New("lab: a table is not the published one, although its constants are; see golden_match in manifest.json")}
	}
	return nil
}

// labProgress says how far a long run is, every few seconds and not before.
func labProgress(w io.Writer) func(share float64) {
	last := time.Now()
	return func(share float64) {
		if now := time.Now(); now.Sub(last) > 3*time.Second {
			last = now
			fmt.Fprintf(w, "plimsoll: lab: %.0f %% done\n", 100*share)
		}
	}
}
