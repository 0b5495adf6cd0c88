package config

import (
	"strconv"
	"strings"

	"github.com/plimsoll-go/plimsoll"
)

// Flags is a configuration without a file: one pool "app" with the classes
// "critical" (objective 99 %) and "background" (the default, may be lost).
// Fields are what was typed, so that a number that is none gets the message
// that it would get in a file.
type Flags struct {
	Listen   string
	Upstream string
	// Workers, Slots and Waiting are those of the pool. Workers or Slots is
	// needed. Left out, Slots is one more than Workers, and Waiting what the
	// deadline bears.
	Workers, Slots, Waiting string
	Order, Door, Mode       string
	// ClassHeader is believed from Trust; without it every call is background.
	ClassHeader string
	// Deadline is that of both classes.
	Deadline string
	// Expected is the service time; left out, it is learnt.
	Expected string
	// Trust adds networks to loopback; one entry may have several, with commas.
	Trust []string
	// Admin is an address, or off for no admin listener.
	Admin string
	// Protocol is that of the upstream.
	Protocol string
	// AccessLog is the format: json, text or off.
	AccessLog string
	// Set has the names of the flags that were given, without dashes. A flag
	// that is not in it has the default of a file, whatever its field holds.
	// With a nil Set the fields that are not empty were given.
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

func (f *Flags) given(flag, value string) bool {
	if f.Set == nil {
		return value != ""
	}
	return f.Set[flag]
}

// tree is the file that one would have written.
func (f *Flags) tree() *node {
	root, admin, upstream := mapping(), mapping(), mapping()
	f.add(root, "listen", "listen", f.Listen)
	f.add(root, "class_header", "class-header", f.ClassHeader)
	if f.Admin != "off" {
		f.add(admin, "listen", "admin", f.Admin)
	}
	f.add(upstream, "url", "upstream", f.Upstream)
	f.add(upstream, "protocol", "protocol", f.Protocol)
	if len(admin.entries) > 0 {
		root.add("admin", admin)
	}
	root.add("upstream", upstream)
	root.add("pools", mapping().add("app", f.pool()))
	critical, background := f.class("0"), f.class("1")
	critical.add("objective", scalar("99%"))
	root.add("classes", mapping().add("critical", critical).add("background", background))
	root.add("default", scalar("background"))
	if f.given("access-log", f.AccessLog) {
		root.add("access_log", mapping().add("format", scalar(f.AccessLog)))
	}
	if f.given("trust", strings.Join(f.Trust, "")) {
		trust := &node{kind: listNode, items: []*node{scalar("loopback")}}
		for _, t := range f.Trust {
			for _, one := range strings.Split(t, ",") {
				trust.items = append(trust.items, scalar(strings.TrimSpace(one)))
			}
		}
		root.add("trust", trust)
	}
	return root
}

func (f *Flags) pool() *node {
	pool := mapping()
	f.add(pool, "workers", "workers", f.Workers)
	workers, slots := f.units("workers", f.Workers), f.units("slots", f.Slots)
	if slots == 0 && workers > 0 && !f.given("slots", f.Slots) {
		slots = min(workers+1, maxUnits)
		pool.add("slots", scalar(strconv.Itoa(slots)))
	}
	f.add(pool, "slots", "slots", f.Slots)
	f.add(pool, "waiting", "waiting", f.Waiting)
	if !f.given("waiting", f.Waiting) {
		if workers == 0 {
			workers = slots
		}
		pool.add("waiting", scalar(strconv.Itoa(f.bears(workers, slots))))
	}
	f.add(pool, "order", "order", f.Order)
	f.add(pool, "door", "door", f.Door)
	f.add(pool, "mode", "mode", f.Mode)
	f.add(pool, "expected", "expected", f.Expected)
	return pool
}

// units is a flag as a number of slots or workers; 0 when it was not given or
// is none, which is said where it is read.
func (f *Flags) units(flag, text string) int {
	n, err := strconv.Atoi(text)
	if !f.given(flag, text) || err != nil || n < 0 || n > maxUnits {
		return 0
	}
	return n
}

// waitingUnknown is how many calls wait for each worker while nobody knows how
// long a call runs. What waits in vain expires all the same.
const waitingUnknown = 32

// bears is how many calls can wait and still end in time, with the margin that
// a gate begins with.
func (f *Flags) bears(workers, slots int) int {
	deadline, wrong := parseDuration(f.Deadline)
	expected, unknown := parseDuration(f.Expected)
	n := waitingUnknown * workers
	if wrong == "" && unknown == "" && expected > 0 && f.given("deadline", f.Deadline) && f.given("expected", f.Expected) {
		n = Bears(workers, expected, deadline, plimsoll.AssumedMargin(deadline)) - slots
	}
	return min(max(n, 0), maxUnits)
}

func (f *Flags) class(rank string) *node {
	class := mapping().add("rank", scalar(rank))
	f.add(class, "deadline", "deadline", f.Deadline)
	return class
}

// add is a flag as the value of a key.
func (f *Flags) add(to *node, key, flag, value string) {
	if f.given(flag, value) {
		to.add(key, scalar(value))
	}
}

func mapping() *node { return &node{kind: mappingNode} }

// add puts a key at the end of a mapping and returns the mapping.
func (n *node) add(key string, value *node) *node {
	n.entries = append(n.entries, entry{key: scalar(key), value: value})
	return n
}
