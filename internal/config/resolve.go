package config

import (
	"fmt"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// resolve checks what one key cannot know alone, and fills in the defaults
// that depend on other keys. Nothing is concluded from a key that is wrong.
func (d *draft) resolve(r *reader) {
	d.resolveListeners(r)
	if d.tls.Cert != "" || d.tls.Key != "" {
		d.cfg.TLS = &d.tls
	}
	if r.look {
		d.resolveFiles(r)
	}
	for _, p := range d.pools {
		p.resolve(r)
	}
	for _, c := range d.classes {
		d.resolvePool(r, c)
	}
	for _, p := range d.pools {
		d.resolveMembers(r, p)
	}
	d.resolveDefault(r)
	for i, k := range d.rules {
		d.resolveRule(r, i, k)
	}
}

func (p *poolDraft) resolve(r *reader) {
	path := join("pools", p.Name)
	slots, workers := join(path, "slots"), join(path, "workers")
	switch {
	case r.wrong[path] || r.wrong[slots] || r.wrong[workers]:
	case r.marks[slots] == nil && r.marks[workers] == nil && r.flags != nil:
		r.fail(workers, nil, "is missing; how many calls the service really works on at once, %s, is needed", count{nil, 1, maxUnits}.allowed())
	case r.marks[slots] == nil && r.marks[workers] == nil:
		r.fail(slots, nil, "is missing, and so is %s; %s is needed for one of them", r.sibling(slots, "workers"), count{nil, 0, maxUnits}.allowed())
	case r.marks[slots] == nil:
		p.Slots = p.Workers
	case p.Workers > p.Slots:
		r.fail(workers, nil, "is %d, more than the %d of %s; at most as many workers as slots are allowed", p.Workers, p.Slots, r.sibling(workers, "slots"))
	}
}

// resolvePool finds the pool of a class.
func (d *draft) resolvePool(r *reader, c *classDraft) {
	path := join(join("classes", c.Name), "pool")
	switch {
	case r.wrong[path] || r.wrong[join("classes", c.Name)] || r.wrong["pools"] || len(d.pools) == 0:
	case c.Pool == "" && len(d.pools) == 1:
		c.Pool = d.pools[0].Name
	case c.Pool == "":
		r.fail(path, nil, "is missing; there are several pools, and one of %s is needed", either(d.poolNames()))
	case d.findPool(c.Pool) == nil:
		r.fail(path, nil, "is %s, which is no pool; %s is allowed%s", quote(c.Pool), either(d.poolNames()), meant(c.Pool, d.poolNames()))
	}
}

// resolveMembers checks what the classes of a pool are together.
func (d *draft) resolveMembers(r *reader, p *poolDraft) {
	path := join("pools", p.Name)
	members, reserved, last, sum := 0, 0, "", ""
	for _, c := range d.classes {
		class := join("classes", c.Name)
		if r.wrong[class] || r.wrong[join(class, "pool")] || r.wrong[join(class, "reserve")] {
			return // it might be a member, or hold any reserve
		}
		if c.Pool != p.Name {
			continue
		}
		members++
		if c.Reserve > 0 {
			reserved += c.Reserve
			last = join(class, "reserve")
			sum += fmt.Sprintf(" + %d", c.Reserve)
		}
	}
	switch {
	case r.wrong[path] || r.wrong["classes"] || len(d.classes) == 0:
	case members == 0:
		r.fail(path, nil, "has no classes; a pool that at least one class names is allowed")
	case members > core.MaxClasses:
		r.fail(path, nil, "has %d classes; at most %d are allowed", members, core.MaxClasses)
	case reserved > p.Slots && !r.wrong[join(path, "slots")] && !r.wrong[join(path, "workers")]:
		r.fail(last, nil, "makes the reserves of pool %s %s = %d units; at most its %d slots are allowed", p.Name, sum[3:], reserved, p.Slots)
	}
}

func (d *draft) resolveDefault(r *reader) {
	def := &d.cfg.Gate.Default
	switch {
	case r.wrong["default"] || r.wrong["classes"] || len(d.classes) == 0:
	case *def == "" && len(d.classes) == 1:
		*def = d.classes[0].Name
	case *def == "":
		r.fail("default", nil, "is missing; the class of calls that nothing gives one, one of %s, is needed", either(d.classNames()))
	default:
		d.resolveClass(r, "default", *def)
	}
}

func (d *draft) resolveClass(r *reader, path, class string) {
	if r.wrong[path] || r.wrong["classes"] || class == "" || len(d.classes) == 0 {
		return
	}
	for _, c := range d.classes {
		if c.Name == class {
			return
		}
	}
	names := d.classNames()
	r.fail(path, nil, "is %s, which is no class; %s is allowed%s", quote(class), either(names), meant(class, names))
}

func (d *draft) resolveRule(r *reader, i int, k *ruleDraft) {
	path := fmt.Sprintf("classify[%d]", i)
	d.resolveClass(r, path+".class", k.Class)
	w := &k.When
	w.Trusted = k.from == "trusted" || k.from == "" && len(w.Header) > 0
	when := path + ".when"
	if r.marks[when] == nil || r.wrong[when] {
		return
	}
	for _, key := range []string{"path", "method", "host", "header", "from"} {
		if r.marks[join(when, key)] != nil {
			return
		}
	}
	for p := range r.wrong {
		if len(p) > len(when) && p[:len(when)] == when {
			return // an unknown key was meant for something
		}
	}
	r.fail(when, nil, "is empty, and would hold for every call; at least one of path, method, host, header and from is needed (what every call gets is %s)", r.name("default"))
}

func (d *draft) findPool(name string) *poolDraft {
	for _, p := range d.pools {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Lists in messages name a few, in the order of the file.
const namedInMessages = 8

func (d *draft) poolNames() []string {
	var out []string
	for _, p := range d.pools[:min(len(d.pools), namedInMessages)] {
		out = append(out, p.Name)
	}
	return out
}

func (d *draft) classNames() []string {
	var out []string
	for _, c := range d.classes[:min(len(d.classes), namedInMessages)] {
		out = append(out, c.Name)
	}
	return out
}

// config makes the Config of a draft without problems.
func (d *draft) config() *Config {
	c := &d.cfg
	for _, p := range d.pools {
		c.Gate.Pools = append(c.Gate.Pools, p.Pool)
		if p.statuses == nil {
			continue
		}
		if c.Statuses == nil {
			c.Statuses = map[string]map[plimsoll.Reason]int{}
		}
		c.Statuses[p.Name] = p.statuses
	}
	for _, k := range d.classes {
		class := k.Class
		if class.Waiting == 0 {
			class.NoWaiting = true
		}
		c.Gate.Classes = append(c.Gate.Classes, class)
	}
	for _, k := range d.rules {
		c.Classify = append(c.Classify, k.Rule)
	}
	return c
}
