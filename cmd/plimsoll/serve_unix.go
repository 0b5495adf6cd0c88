//go:build !windows

package main

import (
	"os"
	"syscall"
)

// reloadSignals are those that make serve read its file again.
func reloadSignals() []os.Signal { return []os.Signal{syscall.SIGHUP} }
