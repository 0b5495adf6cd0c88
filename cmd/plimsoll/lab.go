package main

import (
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
func (m *millis) Type() string   { return "duration" }

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
		Long: `Runs a named experiment and writes its tables (CSV), charts (PNG), a report to
read (report.html) and a manifest that says how they came about (manifest.json).
Every decision in it is made by the machine that the proxy runs.

Without a name it lists the experiments. Nothing is written if anything on the
command line is wrong.

Experiments:
` + labList(),
		Example: `  plimsoll lab
  plimsoll lab slo-load-control --deterministic --duration 5s --output-dir out
  plimsoll lab slo-load-control --duration=20s --set share=0.4 --set rates=90,130,1500`,
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
	s.Var(&f.duration, "duration", "length of the run: a whole number with ms, s, m or h (default 30s)")
	s.StringVar(&f.dir, "output-dir", "./results", "directory to write to, made if it is missing")
	s.BoolVar(&f.deterministic, "deterministic", false, "write the epoch for the time, so that the same command writes the same bytes")
	s.StringArrayVar(&f.set, "set", nil, "set a constant: key=value,… (repeatable; rates=90,130 is a list)")
	s.IntVar(&f.concurrency, "concurrency", 100, "recorded in the manifest")
	s.Var(&f.interval, "snapshot-interval", "recorded in the manifest (default 1s)")
	s.BoolVar(&f.json, "json", false, "print manifest and tables as one JSON object")
	for _, name := range []string{"duration", "snapshot-interval"} {
		s.Lookup(name).DefValue = "" // said in the words above
	}
}

// parse reads the words after "lab". It says what is allowed when it fails.
func (f *labFlags) parse(c *cobra.Command, words []string) (name string, help bool, err error) {
	if err := c.Flags().Parse(words); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return "", true, nil
		}
		if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
			return "", false, invalidFlag(invalid)
		}
		return "", false, fmt.Errorf("%w; %s takes %s", err, c.CommandPath(), flagNames(c.Flags()))
	}
	if help, _ := c.Flags().GetBool("help"); help {
		return "", true, nil
	}
	switch rest := c.Flags().Args(); len(rest) {
	case 0:
		if c.Flags().NFlag() > 0 {
			return "", false, fmt.Errorf("no experiment is named; there is %s", labNames())
		}
		return "", false, nil
	case 1:
		return rest[0], false, nil
	default:
		return "", false, fmt.Errorf("unexpected word %q after %q; one name is allowed, and %s", rest[1], rest[0], flagNames(c.Flags()))
	}
}

// invalidFlag says what a flag allows instead of the value that it got.
func invalidFlag(e *pflag.InvalidValueError) error {
	allowed := e.Unwrap().Error()
	switch e.GetFlag().Value.Type() {
	case "int":
		allowed = "a whole number of 1 or more is allowed"
	case "bool":
		allowed = "nothing, true or false is allowed"
	}
	return fmt.Errorf("--%s is %q: %s", e.GetFlag().Name, e.GetValue(), allowed)
}

func flagNames(s *pflag.FlagSet) string {
	var names []string
	s.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return strings.Join(names, ", ")
}

func labNames() string {
	var names []string
	for _, e := range lab.Experiments() {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

// labList describes every experiment and what can be set.
func labList() string {
	var b strings.Builder
	for _, e := range lab.Experiments() {
		fmt.Fprintf(&b, "  %s  %s\n", e.Name, e.Title)
		fmt.Fprintf(&b, "      %s\n      --set takes:\n", e.About)
		for _, s := range e.Settings {
			fmt.Fprintf(&b, "        %-30s %s\n", s.Key+"="+s.Default, s.Means)
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
	out, err := e.Run(lab.Options{
		Duration: int64(f.duration), OutputDir: f.dir, Deterministic: f.deterministic,
		Concurrency: f.concurrency, SnapshotInterval: int64(f.interval), Settings: set,
		Args: append([]string{"lab"}, words...), Now: time.Now(),
		Progress: labProgress(c.ErrOrStderr()),
	})
	if invalid := (lab.InvalidError{}); errors.As(err, &invalid) {
		return usageError(err)
	} else if err != nil {
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
		return exitError{exitNo, errors.New("a table is not the published one, although its constants are; see golden_match in manifest.json")}
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
