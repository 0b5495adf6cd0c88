package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// The exit statuses of every command, for scripts.
const (
	exitOK      = 0 // good
	exitNo      = 1 // it worked, and the answer is no
	exitUsage   = 2 // the command line or the configuration is wrong
	exitMachine = 3 // the machine or the network failed
	// A signal came before it was done. Shells say 130 for what SIGINT ended,
	// and so do we, also for SIGTERM.
	exitStopped = 130
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

// stoppedError says that a signal came before the work was done, and what that
// means for it.
func stoppedError(text string) error { return exitError{code: exitStopped, err: errors.New(text)} }

// untilSignal is done with the first SIGINT or SIGTERM. From then on signals do
// what they do to every program, so the next one ends it at once.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
