package main

import (
	"fmt"

	"github.com/plimsoll-go/plimsoll/internal/config"
	"github.com/plimsoll-go/plimsoll/proxy"
)

// reading is what a reload has read.
type reading struct {
	cfg *config.Config
	err error
}

// read does what may take long: it opens the access log anew, so that one that
// was moved away is let go, and reads the configuration. What it reads is
// applied elsewhere.
func (d *daemon) read(to chan<- reading) {
	if d.log != nil {
		if err := d.log.reopen(); err != nil {
			d.say("reload: access log: %v; lines go on to the file that was open", err)
		}
	}
	if d.file == "" {
		to <- reading{}
		return
	}
	var r reading
	r.cfg, r.err = d.load()
	to <- r
}

// reload puts in force what has been read. Whatever is wrong with it, at any
// step, is said and counted once, and nothing changes.
func (d *daemon) reload(r reading) {
	if d.file == "" {
		d.say("reload: there is no file to read again; flags cannot change")
		return
	}
	c, err := d.successor(r)
	if err != nil {
		d.server.NoteReloadError(err)
	} else {
		err = d.server.Reload(c) // counts itself
	}
	if err != nil {
		d.say("reload: nothing was changed: %v", err)
		return
	}
	d.cfg = r.cfg
	d.warn(r.cfg)
	but := ""
	for _, w := range d.untilRestart(r.cfg) {
		but = ", but for what needs a restart"
		d.say("reload: %s", w)
	}
	d.say("reload: %s is in force%s", d.file, but)
}

// successor is what the server would be told.
func (d *daemon) successor(r reading) (proxy.Config, error) {
	if r.err != nil {
		return proxy.Config{}, r.err
	}
	if (r.cfg.TLS == nil) != (d.bound.TLS == nil) {
		return proxy.Config{}, fmt.Errorf("%s: tls: cannot come or go while the server runs; restart it", d.file)
	}
	c, err := proxyConfig(r.cfg, d.gate)
	c.Notes = func(line string) { d.say("%s", line) }
	c.Warnings = append(c.Warnings, d.untilRestart(r.cfg)...)
	return c, err
}

// untilRestart says what of a configuration a running server cannot do.
func (d *daemon) untilRestart(next *config.Config) []string {
	var out []string
	for _, c := range config.Restart(d.bound, next) {
		out = append(out, fmt.Sprintf("%s: %s is %s here; %s stays in force until a restart", d.file, c.Key, c.Next, c.Bound))
	}
	return out
}
