//go:build unix

package config

import "syscall"

// noWait keeps opening a named pipe from waiting for its reader.
const noWait = syscall.O_NONBLOCK

// creatable says why no file can be made in a directory.
func creatable(dir string) error {
	const writeAndEnter = 2 | 1
	return syscall.Access(dir, writeAndEnter)
}
