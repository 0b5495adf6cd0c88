package config

import (
	"strconv"
	"time"
)

// Flags is a configuration without a file: one pool "app" with the classes
// "critical" (objective 99 %) and "background" (the default, may be lost).
type Flags struct {
	Listen   string
	Upstream string
	// Workers, Slots and Waiting are those of the pool. Waiting is needed, and
	// Slots or Workers.
	Workers, Slots, Waiting int
	Order, Door, Mode       string
	// ClassHeader is believed from Trust; without it every call is background.
	ClassHeader string
	// Deadline is that of both classes.
	Deadline time.Duration
	// Expected is the service time; 0 means that it is learnt.
	Expected time.Duration
	// Trust adds networks to loopback.
	Trust []string
	Admin string
	// Protocol is that of the upstream.
	Protocol string
	// AccessLog is the format: json, text or off.
	AccessLog string
	// Set has the names of the flags that were given, without dashes. A flag
	// that is not in it has the default of a file, whatever its field holds.
	// With a nil Set the fields that are not zero were given.
	Set map[string]bool
}

// flagNames maps the path of each key to the flag that it comes from.
func flagNames() map[string]string {
	return map[string]string{
		"listen":                      "--listen",
		"admin":                       "--admin",
		"admin.listen":                "--admin",
		"upstream":                    "--upstream",
		"upstream.url":                "--upstream",
		"upstream.protocol":           "--protocol",
		"pools.app":                   "--slots",
		"pools.app.workers":           "--workers",
		"pools.app.slots":             "--slots",
		"pools.app.waiting":           "--waiting",
		"pools.app.order":             "--order",
		"pools.app.door":              "--door",
		"pools.app.mode":              "--mode",
		"pools.app.expected":          "--expected",
		"classes.critical":            "--class-header",
		"classes.critical.deadline":   "--deadline",
		"classes.background.deadline": "--deadline",
		"class_header":                "--class-header",
		"trust":                       "--trust",
		"access_log.format":           "--access-log",
	}
}

// FromFlags makes a Config of flags, with the same checks and defaults as a
// file; messages name the flag. The error is an [Error] without a file.
func FromFlags(f Flags) (*Config, error) {
	r := newReader(nil, flagNames())
	return r.finish("", f.tree())
}

func (f *Flags) given(name string, zero bool) bool {
	if f.Set == nil {
		return !zero
	}
	return f.Set[name]
}

// tree is the file that one would have written.
func (f *Flags) tree() *node {
	root, admin, upstream := mapping(), mapping(), mapping()
	f.text(root, "listen", "listen", f.Listen)
	f.text(root, "class_header", "class-header", f.ClassHeader)
	f.text(admin, "listen", "admin", f.Admin)
	f.text(upstream, "url", "upstream", f.Upstream)
	f.text(upstream, "protocol", "protocol", f.Protocol)
	if len(admin.entries) > 0 {
		root.add("admin", admin)
	}
	root.add("upstream", upstream)
	root.add("pools", mapping().add("app", f.pool()))
	critical, background := f.class("0"), f.class("1")
	critical.add("objective", scalar("99%"))
	root.add("classes", mapping().add("critical", critical).add("background", background))
	root.add("default", scalar("background"))
	if f.given("access-log", f.AccessLog == "") {
		root.add("access_log", mapping().add("format", scalar(f.AccessLog)))
	}
	if f.given("trust", len(f.Trust) == 0) {
		trust := &node{kind: listNode, items: []*node{scalar("loopback")}}
		for _, t := range f.Trust {
			trust.items = append(trust.items, scalar(t))
		}
		root.add("trust", trust)
	}
	return root
}

func (f *Flags) pool() *node {
	pool := mapping()
	f.number(pool, "workers", f.Workers)
	f.number(pool, "slots", f.Slots)
	f.number(pool, "waiting", f.Waiting)
	f.text(pool, "order", "order", f.Order)
	f.text(pool, "door", "door", f.Door)
	f.text(pool, "mode", "mode", f.Mode)
	if f.given("expected", f.Expected == 0) && f.Expected != 0 {
		pool.add("expected", scalar(showDuration(f.Expected)))
	}
	return pool
}

func (f *Flags) class(rank string) *node {
	class := mapping().add("rank", scalar(rank))
	if f.given("deadline", f.Deadline == 0) {
		class.add("deadline", scalar(showDuration(f.Deadline)))
	}
	return class
}

func (f *Flags) text(to *node, key, flag, value string) {
	if f.given(flag, value == "") {
		to.add(key, scalar(value))
	}
}

func (f *Flags) number(to *node, key string, value int) {
	if f.given(key, value == 0) {
		to.add(key, scalar(strconv.Itoa(value)))
	}
}

func mapping() *node { return &node{kind: mappingNode} }

// add puts a key at the end of a mapping and returns the mapping.
func (n *node) add(key string, value *node) *node {
	n.entries = append(n.entries, entry{key: scalar(key), value: value})
	return n
}
