package main

import "github.com/spf13/cobra"

// rootCommand builds the whole command tree. Each command is made by a function
// in a file of its own, so a new command is that file and a line here.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "plimsoll",
		Short: "Load control: a bound on every queue, and a decision whose work survives",
		Long: `Plimsoll keeps a service alive when it is offered more work than it can do.

Every place where work can pile up gets a bound, every wait a deadline, every
refusal is said out loud and has had no effect, and when not everything can
survive, whose work does has been decided beforehand.

New here? "plimsoll demo" shows in a minute, on this machine alone, what that is
worth. "plimsoll serve" then puts it before a service of yours.

Exit status: 0 good; 1 it worked, and the answer is no; 2 the command line or a
configuration is wrong, and nothing was begun; 3 the machine or the network
failed; 130 stopped by Ctrl-C or SIGTERM before it was done.`,
		Example: `  plimsoll demo
  plimsoll serve --listen :8080 --upstream http://127.0.0.1:9000 --workers 4
  plimsoll check plimsoll.yaml
  plimsoll lab slo-load-control --duration 5s --output-dir out`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		checkCommand(),
		demoCommand(),
		labCommand(),
		serveCommand(),
		versionCommand(),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	explainWords(root)
	return root
}

// markStart tells errors of a command's work from errors of its command line:
// the value is true as soon as a command's own function has been entered.
func markStart(c *cobra.Command) *bool {
	started := new(bool)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if do := c.RunE; do != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				*started = true
				return do(c, args)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(c)
	return started
}
