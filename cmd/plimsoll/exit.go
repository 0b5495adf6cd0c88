package main

// The exit statuses of every command, for scripts.
const (
	exitOK      = 0 // good
	exitNo      = 1 // it worked, and the answer is no
	exitUsage   = 2 // the command line or the configuration is wrong
	exitMachine = 3 // the machine or the network failed
)

// exitError is an error that knows its exit status. A command's other errors
// end with exitMachine. With a nil err nothing is printed: the command has said
// already what there is to say.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usageError says that err is the fault of the command line or the configuration.
func usageError(err error) error { return exitError{code: exitUsage, err: err} }
