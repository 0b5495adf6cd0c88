package config

import (
	"errors"
	"time"
)

// Flags is a configuration without a file: one pool "app" with the classes
// "critical" and "background" (the default).
type Flags struct {
	Listen   string
	Upstream string
	// Workers, Slots and Waiting are those of the pool. Slots is needed, or Workers.
	Workers, Slots, Waiting int
	Order, Door, Mode       string
	// ClassHeader is believed from Trust; empty means that every call is background.
	ClassHeader string
	// Deadline is that of both classes.
	Deadline time.Duration
	// Expected is the service time; 0 means that it is learnt.
	Expected time.Duration
	// Trust adds CIDRs to loopback.
	Trust []string
	Admin string
	// Protocol is that of the upstream.
	Protocol string
	// AccessLog is the format: json, text, off.
	AccessLog string
	// Set has the names of the flags that were given, without dashes; one that
	// is not in it has its default, whatever its field holds.
	Set map[string]bool
}

// FromFlags makes a Config of flags, with the same checks and defaults as a
// file; messages name the flag.
func FromFlags(f Flags) (*Config, error) { return nil, errors.New("config: flags are not read yet") }
