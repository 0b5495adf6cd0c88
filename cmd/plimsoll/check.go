package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/config"
	"github.com/spf13/cobra"
)

// checkOptions are the flags of check.
type checkOptions struct {
	files          []string
	asJSON, strict bool
}

func checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say what is wrong with a configuration, and what it cannot deliver",
		Long: `Check reads configuration files, and the certificates and keys that they name,
exactly as serve does. It starts nothing and writes nothing.

What is wrong goes to stderr, each with file, line, column, key and what is
allowed, and the exit status is 2. Whether an address is in use, only serve finds
out. Paths that are not absolute begin at the working directory, as with serve.

Of a good file it prints what it cannot deliver (warn), what could be had better
or cheaper (hint), and what it comes to in numbers. With --strict a warn makes
the exit status 1; hints never do.

FILE may be - for standard input.`,
		Example: `  # Before a start, and before each reload.
  plimsoll check plimsoll.yaml && kill -HUP $(pidof plimsoll)

  # In a build: fail also on what a valid file cannot deliver, and keep the report.
  plimsoll check --strict --json deploy/*.yaml > report.json

  # What another program writes.
  generate | plimsoll check -`,
		RunE: func(c *cobra.Command, args []string) error {
			o.files = append(o.files, args...)
			if len(o.files) == 0 {
				return usageError(errors.New("check: no file; name one or more, or - for standard input"))
			}
			return o.run(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringArrayVarP(&o.files, "config", "c", nil, "a `FILE` to check, as serve takes it")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	c.Flags().BoolVar(&o.strict, "strict", false, "exit with 1 when a good file cannot deliver something")
	return c
}

// checkedFile is what check has to say of one file.
type checkedFile struct {
	File string `json:"file"`
	// OK is true when nothing is wrong. Warnings do not change it.
	OK         bool             `json:"ok"`
	Errors     []config.Problem `json:"errors"`
	MoreErrors int              `json:"more_errors"` // beyond those listed
	Warnings   []config.Warning `json:"warnings"`
	Summary    *config.Summary  `json:"summary"` // null when something is wrong

	err error
}

func (o *checkOptions) run(in io.Reader, out, errs io.Writer) error {
	files := make([]checkedFile, 0, len(o.files))
	code := exitOK
	for _, name := range o.files {
		f := checkFile(name, in)
		code = max(code, f.code(o.strict))
		files = append(files, f)
	}
	if err := o.print(files, out, errs); err != nil {
		return err
	}
	if code == exitOK {
		return nil
	}
	return exitError{code: code} // everything has been said
}

func checkFile(name string, in io.Reader) checkedFile {
	var c *config.Config
	var err error
	if name == "-" {
		name = "stdin"
		c, err = config.Read(name, in)
	} else {
		c, err = config.Load(name)
	}
	if err == nil {
		err = startable(c)
	}
	f := checkedFile{File: name, Errors: []config.Problem{}, Warnings: []config.Warning{}, err: err}
	var wrong *config.Error
	switch {
	case err == nil:
		f.OK = true
		f.Warnings = append(f.Warnings, c.Warnings...)
		s := config.Summarise(c)
		f.Summary = &s
	case errors.As(err, &wrong):
		f.Errors, f.MoreErrors = wrong.Problems, wrong.More
	default:
		f.Errors = append(f.Errors, config.Problem{Text: err.Error()})
	}
	return f
}

// startable makes all that serve would run, short of listening.
func startable(c *config.Config) error {
	a, err := assemble(c, nil, func(string) {})
	if err != nil {
		return err
	}
	a.discard()
	return nil
}

// code is the exit status that the file alone would have.
func (f *checkedFile) code(strict bool) int {
	switch {
	case !f.OK:
		return exitUsage
	case strict && f.count(config.Warn) > 0:
		return exitNo
	}
	return exitOK
}

func (f *checkedFile) count(level config.Level) int {
	n := 0
	for _, w := range f.Warnings {
		if w.Level == level {
			n++
		}
	}
	return n
}

func (o *checkOptions) print(files []checkedFile, out, errs io.Writer) error {
	if o.asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(map[string][]checkedFile{"files": files})
	}
	for i := range files {
		f := &files[i]
		if f.err != nil {
			fmt.Fprintln(errs, f.err)
			continue
		}
		if err := f.printGood(out); err != nil {
			return err
		}
	}
	return nil
}

// printGood says what a file without errors comes to.
func (f *checkedFile) printGood(out io.Writer) error {
	for _, w := range f.Warnings {
		fmt.Fprintln(out, w.In(f.File))
	}
	fmt.Fprintf(out, "%s: good", f.File)
	if n := f.count(config.Warn); n > 0 {
		fmt.Fprintf(out, ", but cannot deliver %s", counted(n, "thing"))
	}
	if n := f.count(config.Hint); n > 0 {
		fmt.Fprintf(out, "; %s", counted(n, "hint"))
	}
	fmt.Fprintln(out)
	assumed := false
	for _, p := range f.Summary.Pools {
		if err := printPool(out, p); err != nil {
			return err
		}
		for _, k := range p.Classes {
			assumed = assumed || k.MarginAssumed
		}
	}
	return printLegend(out, assumed)
}

// printLegend explains the columns.
func printLegend(out io.Writer, assumed bool) error {
	margin := ""
	if assumed {
		margin = "; until a margin has been learnt, a hundredth of the pool's shortest deadline (200µs to 2ms) is taken off"
	}
	_, err := fmt.Fprintf(out, `
slots    the most that the class can have out, without what others reserve
bears    calls in the system that still end in time%s
burst    calls at one instant for which an idle pool has a place
ceiling  the rate at which the class alone fills the pool
`, margin)
	return err
}

func printPool(out io.Writer, p config.PoolSummary) error {
	fmt.Fprintf(out, "\npool %s: %s for %s + %d waiting = %d calls; ", p.Name, counted(p.Slots, "slot"), counted(p.Workers, "worker"), p.Waiting, p.InSystem)
	if p.CapacityRPS > 0 {
		fmt.Fprintf(out, "%s each, so %s calls a second", ms(p.ExpectedMS), short(p.CapacityRPS))
	} else {
		fmt.Fprint(out, "how long a call runs is learnt")
	}
	fmt.Fprintf(out, "; order %s, door %s, mode %s\n", p.Order, p.Door, p.Mode)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  class\trank\tdeadline\tobjective\tslots\treserve\twaiting\tbears\tburst\tceiling")
	for _, k := range p.Classes {
		fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%d\t%d\t%d\t%s\t%d\t%s\n", k.Name, k.Rank, unless(k.DeadlineMS == 0, ms(k.DeadlineMS), "none"),
			unless(k.Objective == 0, short(k.Objective*100)+"%", "none"), k.EffectiveSlots, k.Reserve, k.Waiting,
			unless(k.Bears < 0, strconv.Itoa(k.Bears), "?"), k.Burst, unless(k.CeilingRPS == 0, short(k.CeilingRPS)+"/s", "?"))
	}
	return t.Flush()
}

// ms is a number of milliseconds as a duration.
func ms(f float64) string { return time.Duration(f * float64(time.Millisecond)).String() }

func unless(missing bool, s, instead string) string {
	if missing {
		return instead
	}
	return s
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short is f with at most six digits.
func short(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
