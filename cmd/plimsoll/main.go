// Command plimsoll puts a bound on everything that can pile up before a
// service: it proves on a demo what that is worth, serves as the proxy that
// does it, checks configurations, and simulates them with the very core that
// the proxy runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes one command line and returns the exit status. Data goes to
// stdout and nothing else does; whatever is said about it goes to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	started := markStart(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := unknownCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(context.Background())
	}
	if err == nil {
		return exitOK
	}
	var exit exitError
	switch {
	case errors.As(err, &exit):
	case *started:
		exit.code = exitMachine
	default: // the command line itself was not understood
		exit.code = exitUsage
	}
	say(stderr, err.Error())
	return exit.code
}

// say writes a message, every line with the program's name before it, but for
// lines that are indented and so belong to the one above.
func say(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			continue
		}
		if line[0] != ' ' && line[0] != '\t' {
			line = "plimsoll: " + line
		}
		fmt.Fprintln(w, line)
	}
}
