package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-go/plimsoll/internal/spelling"
)

// What is wrong with a command line is said in one way, whatever the command
// and whichever library found it: the command, the flag or word, what was given
// and what is allowed.

// allowedNote is the annotation of a flag that says what it allows.
const allowedNote = "plimsoll_allowed"

// allow says what a flag allows, for messages: a noun with an example, such as
// "a number from 1 to 2000, such as 300". A flag of which nothing is said has
// what its type allows.
func allow(s *pflag.FlagSet, name, what string) {
	f := s.Lookup(name)
	if f.Annotations == nil {
		f.Annotations = make(map[string][]string)
	}
	f.Annotations[allowedNote] = []string{what}
}

// allowed is what a flag allows, or "" if only its own error says it.
func allowed(f *pflag.Flag) string {
	if note := f.Annotations[allowedNote]; len(note) > 0 {
		return note[0]
	}
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number, such as 4"
	case "float64":
		return "a number, such as 300 or 0.5"
	case "duration":
		return "a length of time with its unit, such as 200ms, 1.5s or 2m"
	case "bool":
		return "true, false or no value"
	case "stringSlice":
		return "one or more words with commas between them"
	}
	return ""
}

// flagError says what is wrong with a flag. It is the flag error function of
// the root, and so of every command.
func flagError(c *cobra.Command, err error) error {
	var (
		invalid *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
		unknown *pflag.NotExistError
		syntax  *pflag.InvalidSyntaxError
	)
	switch {
	case errors.As(err, &invalid):
		err = invalidFlag(invalid)
	case errors.As(err, &missing):
		err = fmt.Errorf("--%s has no value", missing.GetFlag().Name)
		if what := allowed(missing.GetFlag()); what != "" {
			err = fmt.Errorf("%w; allowed is %s", err, what)
		}
	case errors.As(err, &unknown):
		return usageError(fmt.Errorf("%s%w", spoken(c), unknownFlag(c, unknown)))
	case errors.As(err, &syntax):
		return usageError(fmt.Errorf("%s%s is no flag; there are %s", spoken(c), syntax.GetSpecifiedFlag(), dashed(flagNames(c))))
	}
	return usageError(fmt.Errorf("%s%w; see %s --help", spoken(c), err, c.CommandPath()))
}

// spoken is what messages of a command begin with: its name, but nothing for
// the root.
func spoken(c *cobra.Command) string {
	if !c.HasParent() {
		return ""
	}
	return spoken(c.Parent()) + c.Name() + ": "
}

// invalidFlag says what a flag allows instead of the value that it got.
func invalidFlag(e *pflag.InvalidValueError) error {
	f, value := e.GetFlag(), e.GetValue()
	what := allowed(f)
	if what == "" {
		return fmt.Errorf("--%s is %q: %w", f.Name, value, errors.Unwrap(e))
	}
	because := ""
	_, notANumber := strconv.ParseFloat(value, 64)
	switch {
	case errors.Is(e, strconv.ErrRange):
		because = ", which is too much"
	case f.Value.Type() == "duration" && notANumber == nil:
		because = ", which has no unit"
	}
	return fmt.Errorf("--%s is %q%s; allowed is %s", f.Name, value, because, what)
}

func unknownFlag(c *cobra.Command, e *pflag.NotExistError) error {
	names := flagNames(c)
	given, word := "--"+e.GetSpecifiedName(), e.GetSpecifiedName()
	if letters := e.GetSpecifiedShortnames(); letters != "" { // perhaps a word with one dash
		given = "-" + letters
		word, _, _ = strings.Cut(letters, "=")
	}
	return fmt.Errorf("there is no flag %s; there are %s; see %s --help%s", given, dashed(names), c.CommandPath(), flagMeant(word, names))
}

// flagNames are the flags of a command, without their dashes.
func flagNames(c *cobra.Command) (names []string) {
	c.InitDefaultHelpFlag()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

func dashed(names []string) string { return "--" + strings.Join(names, ", --") }

// flagMeant proposes a flag for a word.
func flagMeant(word string, names []string) string {
	if name := spelling.Nearest(word, names); name != "" {
		return "; is --" + name + " meant?"
	}
	return ""
}

// flagsOnly refuses words after a command that takes flags only.
func flagsOnly(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	names := flagNames(c)
	return usageError(fmt.Errorf("%sunexpected word %q; %s takes flags only: %s%s",
		spoken(c), words[0], c.Name(), dashed(names), flagMeant(words[0], names)))
}

// oneOfMine runs a command that only has others below it: without a word it is
// a question.
func oneOfMine(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return c.Help()
	}
	return noCommand(c, words[0])
}

// noCommand says which commands there are below c, where word is none.
func noCommand(c *cobra.Command, word string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	return usageError(fmt.Errorf("%sthere is no command %q; there are %s%s",
		spoken(c), word, strings.Join(names, ", "), spelling.Meant(word, names)))
}

// unknownCommand says what is wrong with the first word of a command line, if
// it is no command. The shell's questions for completions are none of ours.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return nil
	}
	if _, _, err := root.Find(args); err == nil {
		return nil
	}
	for _, word := range args {
		if !strings.HasPrefix(word, "-") {
			return noCommand(root, word)
		}
	}
	return nil
}

// explainWords has every command say what is wrong with the words after it. A
// command whose use line is its name alone takes none.
func explainWords(c *cobra.Command) {
	for _, sub := range c.Commands() {
		switch {
		case sub.HasSubCommands() && !sub.Runnable():
			sub.RunE, sub.Args = oneOfMine, cobra.ArbitraryArgs
		case sub.Runnable() && sub.Use == sub.Name():
			sub.Args = flagsOnly
		}
		explainWords(sub)
	}
}

// helpCommand shows what --help shows, and says so when there is nothing to show.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show what a command is for, its flags and examples",
		Example: `  plimsoll help demo
  plimsoll demo --help`,
		RunE: func(c *cobra.Command, words []string) error {
			about, rest, err := c.Root().Find(words)
			switch {
			case err != nil:
				return noCommand(c.Root(), words[0])
			case len(rest) > 0 && about.HasSubCommands():
				return noCommand(about, rest[0])
			case len(rest) > 0:
				return usageError(fmt.Errorf("help: unexpected word %q; %s has no commands of its own", rest[0], about.CommandPath()))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
