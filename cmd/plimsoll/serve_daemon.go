package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/plimsoll-go/plimsoll/internal/config"
)

// daemon is one run of serve.
type daemon struct {
	load           func() (*config.Config, error)
	file           string // empty for flags
	stdout, stderr io.Writer

	// bound is the configuration that the daemon was started with, and cfg the
	// one in force. What a reload cannot change is compared with the former: a
	// file that was reloaded since has bound nothing.
	bound, cfg *config.Config
	*assembly
	log *accessFile // nil for none

	saying sync.Mutex
}

func (d *daemon) say(format string, args ...any) {
	d.saying.Lock()
	defer d.saying.Unlock()
	fmt.Fprintf(d.stderr, "plimsoll: serve: "+format+"\n", args...)
}

// run serves until a signal, or until ctx is done, and drains.
func (d *daemon) run(ctx context.Context) error {
	// A log that is piped to somebody who has gone is no reason to die.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	defer captureLog(&seldom{say: d.say})()
	cfg, err := d.load()
	if err != nil {
		return usageError(err)
	}
	d.bound, d.cfg = cfg, cfg
	if d.file == "" {
		p := &cfg.Gate.Pools[0]
		d.say("--workers %d --slots %d --waiting %d", p.Workers, p.Slots, p.Waiting)
	}
	d.warn(cfg)
	if err := d.build(); err != nil {
		return err
	}
	defer d.closeLog()
	defer d.gate.Close()
	users, admin, err := d.listen()
	if err != nil {
		d.server.Close()
		return err
	}
	// Before the addresses are said: whoever reads them may signal at once. The
	// two kinds have channels of their own, so that no number of reloads fills
	// the one that ends the process.
	ends, reloads := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(ends)
	if s := reloadSignals(); len(s) > 0 {
		signal.Notify(reloads, s...)
		defer signal.Stop(reloads)
	}
	failed := make(chan error, 2)
	go func() { failed <- d.server.Serve(users) }()
	if admin != nil {
		go func() { failed <- d.server.ServeAdmin(admin) }()
	}
	d.announce(users, admin)
	return d.wait(ctx, ends, reloads, failed)
}

func (d *daemon) warn(c *config.Config) {
	for _, w := range c.Warnings {
		d.say("%s", w.In(d.file))
	}
}

// build makes what serves, which does not listen yet.
func (d *daemon) build() error {
	var err error
	if d.log, err = openAccess(d.cfg.AccessLog, d.stdout, d.say); err != nil {
		return fmt.Errorf("serve: access log: %w", err)
	}
	if d.assembly, err = assemble(d.cfg, d.log, func(line string) { d.say("%s", line) }); err != nil {
		d.closeLog()
		return usageError(err)
	}
	return nil
}

func (d *daemon) closeLog() {
	if d.log != nil {
		d.log.close()
	}
}

// listen takes both addresses before anything is served at either.
func (d *daemon) listen() (users, admin net.Listener, err error) {
	if users, err = net.Listen("tcp", d.cfg.Listen); err != nil {
		return nil, nil, d.cannotListen("listen", "--listen", err, "")
	}
	if d.cfg.Admin == "" {
		return users, nil, nil
	}
	if admin, err = net.Listen("tcp", d.cfg.Admin); err != nil {
		users.Close()
		other := ""
		if d.file == "" {
			other = "choose another with --admin HOST:PORT, or none with --admin off"
		}
		return nil, nil, d.cannotListen("admin.listen", "--admin", err, other)
	}
	return users, admin, nil
}

// cannotListen says which address cannot be had, and what is known of why.
func (d *daemon) cannotListen(key, flag string, err error, other string) error {
	name := flag
	if d.file != "" {
		name = d.file + ": " + key
	}
	switch {
	case other != "":
	case errors.Is(err, syscall.EADDRINUSE):
		other = "another process has it, perhaps a plimsoll that still drains"
	case errors.Is(err, syscall.EACCES):
		other = "a port below 1024 needs a privilege"
	default:
		return fmt.Errorf("serve: %s: %w", name, err)
	}
	return fmt.Errorf("serve: %s: %w; %s", name, err, other)
}

// announce says the addresses, which is news when a port was 0.
func (d *daemon) announce(users, admin net.Listener) {
	scheme, at := "http", "none"
	if d.cfg.TLS != nil {
		scheme = "https"
	}
	if admin != nil {
		at = "http://" + admin.Addr().String()
	}
	d.say("listening at %s://%s, upstream %s, admin %s", scheme, users.Addr(), d.cfg.Upstream.URL.Redacted(), at)
}

// wait handles signals until the first that ends the server. A reload reads
// its files apart from here: files may hang, and that must not keep anybody
// from ending the process.
func (d *daemon) wait(ctx context.Context, ends, reloads <-chan os.Signal, failed <-chan error) error {
	read := make(chan reading, 1)
	busy, again := false, false
	for {
		select {
		case <-reloads:
			switch {
			case !busy:
				busy = true
				go d.read(read)
			case again:
				d.say("reload: still reading %s for the one before", d.file)
			default:
				again = true
			}
		case r := <-read:
			d.reload(r)
			if busy = again; again {
				again = false
				go d.read(read)
			}
		case s := <-ends:
			d.say("%v: draining; once more ends at once", s)
			return d.drain(ends)
		case <-ctx.Done():
			return d.drain(ends)
		case err := <-failed:
			d.server.Close()
			return err
		}
	}
}

// drain takes the server down within the configured time, or at once with the
// next signal.
func (d *daemon) drain(ends <-chan os.Signal) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), d.cfg.Drain.Accept+d.cfg.Drain.Grace,
		errors.New("the grace is over"))
	defer cancel()
	ctx, now := context.WithCancelCause(ctx)
	done := make(chan error, 1)
	go func() { done <- d.server.Shutdown(ctx) }()
	for {
		select {
		case err := <-done:
			now(nil)
			if err != nil {
				return fmt.Errorf("serve: work was broken off: %w", err)
			}
			d.say("drained")
			return nil
		case s := <-ends:
			now(fmt.Errorf("%v again", s))
		}
	}
}
