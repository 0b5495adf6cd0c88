package plimsoll

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
)

// Validate says what is wrong with the configuration, naming the place and
// what is allowed.
func (c *Config) Validate() error {
	if len(c.Pools) == 0 {
		return fmt.Errorf("plimsoll: no pools; at least one is needed")
	}
	for i := range c.Pools {
		if err := c.Pools[i].validate(); err != nil {
			return err
		}
		for _, q := range c.Pools[:i] {
			if q.Name == c.Pools[i].Name {
				return fmt.Errorf("plimsoll: two pools are called %q; names are unique", q.Name)
			}
		}
	}
	found := false
	for i := range c.Classes {
		if err := c.validateClass(i); err != nil {
			return err
		}
		found = found || c.Classes[i].Name == c.Default
	}
	if !found {
		return fmt.Errorf("plimsoll: default class %q does not exist", c.Default)
	}
	for i := range c.Pools {
		if !slices.ContainsFunc(c.Classes, func(k Class) bool { return k.Pool == c.Pools[i].Name }) {
			return fmt.Errorf("plimsoll: pool %q has no class", c.Pools[i].Name)
		}
		cfg := c.group(c.Pools[i].Name)
		if err := cfg.Validate(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pool) validate() error {
	switch {
	case p.Name == "":
		return fmt.Errorf("plimsoll: a pool has no name")
	case p.Waiting < 0:
		return fmt.Errorf("plimsoll: pool %q: waiting is %d; 0 to %d is allowed", p.Name, p.Waiting, core.MaxWaiting)
	case p.Expected < 0 || p.Expected > MaxExpected:
		return fmt.Errorf("plimsoll: pool %q: expected is %v; 0 (learnt) to %v is allowed", p.Name, p.Expected, MaxExpected)
	case p.Margin > MaxExpected:
		return fmt.Errorf("plimsoll: pool %q: margin is %v; less than 0 (none), 0 (learnt) or up to %v is allowed", p.Name, p.Margin, MaxExpected)
	case p.Mode > Off:
		return fmt.Errorf("plimsoll: pool %q: mode is %d; enforce, shadow or off", p.Name, p.Mode)
	}
	return nil
}

func (c *Config) validateClass(i int) error {
	k := &c.Classes[i]
	switch {
	case k.Name == "":
		return fmt.Errorf("plimsoll: a class has no name")
	case slices.ContainsFunc(c.Classes[:i], func(o Class) bool { return o.Name == k.Name }):
		return fmt.Errorf("plimsoll: two classes are called %q; names are unique", k.Name)
	case !slices.ContainsFunc(c.Pools, func(p Pool) bool { return p.Name == k.Pool }):
		return fmt.Errorf("plimsoll: class %q is in pool %q, which does not exist", k.Name, k.Pool)
	case k.Deadline < 0:
		return fmt.Errorf("plimsoll: class %q: deadline is %v; 0 (none) or more is allowed", k.Name, k.Deadline)
	case !(k.Objective >= 0 && k.Objective < 1):
		return fmt.Errorf("plimsoll: class %q: objective is %v; 0 (none) to below 1 is allowed", k.Name, k.Objective)
	case k.NoWaiting && k.Waiting > 0:
		return fmt.Errorf("plimsoll: class %q: waiting is %d and no waiting is allowed; one of the two", k.Name, k.Waiting)
	}
	return nil
}

func (c *Config) pool(name string) (*Pool, error) {
	for i := range c.Pools {
		if c.Pools[i].Name == name {
			return &c.Pools[i], nil
		}
	}
	return nil, fmt.Errorf("plimsoll: no pool is called %q", name)
}

func (c *Config) clone() Config {
	d := *c
	d.Pools, d.Classes = slices.Clone(c.Pools), slices.Clone(c.Classes)
	return d
}

// group is what the machine of one pool is told, its classes in the file's order.
// Its default, for a class that goes while a call of it is on its way, is the
// configuration's, or the least critical class of the pool: never a promotion.
func (c *Config) group(pool string) core.Config {
	p, _ := c.pool(pool)
	cfg, own := core.Config{Pools: []core.Pool{p.core()}}, false
	for i := range c.Classes {
		k := &c.Classes[i]
		if k.Pool != pool {
			continue
		}
		if least := cfg.Default < len(cfg.Classes) && k.Rank > cfg.Classes[cfg.Default].Rank; k.Name == c.Default || !own && least {
			cfg.Default, own = len(cfg.Classes), k.Name == c.Default
		}
		cfg.Classes = append(cfg.Classes, k.core())
	}
	if p.Margin == 0 {
		cfg.Pools[0].Margin = marginFloor(shortest(cfg.Classes))
	}
	return cfg
}

func (p *Pool) core() core.Pool {
	return core.Pool{
		Name: p.Name, Workers: p.Workers, Slots: p.Slots, Waiting: p.Waiting, Order: p.Order, Door: p.Door,
		Expected: int64(p.Expected), Margin: int64(max(0, p.Margin)),
		ExpireWaiting: !p.LateExpiry, RefuseHopeless: !p.AdmitHopeless,
	}
}

func (k *Class) core() core.Class {
	c := core.Class{Name: k.Name, Rank: k.Rank, Deadline: int64(k.Deadline), Waiting: k.Waiting, Reserve: k.Reserve}
	if k.NoWaiting {
		c.Waiting = 0
	} else if k.Waiting == 0 {
		c.Waiting = core.Unbounded
	}
	return c
}

// adopt makes a valid configuration the gate's. Pools that are new get a
// group, pools that stay keep theirs with everybody in it, and pools that are
// gone are closed and forgotten once they are empty. Everything that can fail
// is tried before anything is changed.
func (g *Gate) adopt(cfg Config) error {
	var kept, gone []*group
	for _, gr := range g.groups {
		if !gr.retired || gr.outstanding() > 0 {
			kept = append(kept, gr)
		} else {
			gone = append(gone, gr)
		}
	}
	plans, made := make([]plan, len(cfg.Pools)), []*group(nil)
	for i := range cfg.Pools {
		p := &cfg.Pools[i]
		at := slices.IndexFunc(kept, func(gr *group) bool { return gr.pool == p.Name })
		if at < 0 {
			gr, err := newGroup(g, cfg.group(p.Name), p)
			if err != nil {
				return err
			}
			plans[i].group, kept, made = gr, append(kept, gr), append(made, gr)
			continue
		}
		plans[i] = plan{group: kept[at], cfg: kept[at].merge(cfg.group(p.Name))}
		if err := plans[i].cfg.Validate(); err != nil {
			return fmt.Errorf("%w (classes that have gone keep their places until a restart)", err)
		}
	}
	for _, gr := range made {
		g.found(gr)
	}
	t := &table{cfg: cfg, classes: make(map[string]*seatOf, len(cfg.Classes))}
	for i, p := range plans {
		if p.cfg.Pools != nil {
			p.group.reconfigure(p.cfg, &cfg.Pools[i])
		}
		p.group.enter(t, &cfg)
	}
	g.table.Store(t)
	for _, gr := range kept {
		if _, err := cfg.pool(gr.pool); err != nil {
			gr.retire()
		}
	}
	g.groups = kept
	for _, gr := range gone {
		gr.end()
	}
	return nil
}

// plan is what becomes of one pool; without a configuration the group is new.
type plan struct {
	group *group
	cfg   core.Config
}

func newGroup(g *Gate, cfg core.Config, p *Pool) (*group, error) {
	m, err := core.New(cfg)
	if err != nil {
		return nil, err
	}
	return &group{gate: g, pool: p.Name, m: m, cfg: cfg, mode: p.Mode, settings: *p, seats: make([]seat, 1)}, nil
}

// found makes a new group the gate's. It cannot fail, so that nothing numbers
// or records a group of a configuration that was refused.
func (g *Gate) found(gr *group) {
	gr.index = g.made
	g.made++
	if g.draining.Load() {
		gr.drain()
	}
	if g.recorder != nil {
		g.recorder.follow(gr)
	}
}

// merge is the machine's next configuration. Classes keep their places in it;
// one that is gone is retired, and comes back if it returns.
func (gr *group) merge(cfg core.Config) core.Config {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	classes := slices.Clone(gr.cfg.Classes)
	for i := range classes {
		classes[i].Retired, classes[i].Reserve = true, 0
	}
	standby := cfg.Classes[cfg.Default].Name
	for _, c := range cfg.Classes {
		at := slices.IndexFunc(classes, func(k core.Class) bool { return k.Name == c.Name })
		if at < 0 {
			at, classes = len(classes), append(classes, c)
		}
		classes[at] = c
		if c.Name == standby {
			cfg.Default = at
		}
	}
	cfg.Classes = classes
	return cfg
}

// reconfigure gives the machine its next configuration, which is valid.
func (gr *group) reconfigure(cfg core.Config, p *Pool) {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	defer gr.rescue()
	gr.keepLearnt(&cfg.Pools[0], p)
	now := gr.tick()
	gr.cfg, gr.settings = cfg, *p
	gr.openBooks() // before anybody can arrive in a new class
	gr.configure(now)
	if gr.retired { // it is back before its last call has ended
		gr.retired = false
		if !gr.draining {
			gr.setDoor(now, false)
		}
	}
	if gr.mode == Enforce && p.Mode != Enforce {
		gr.letAllThrough()
	}
	gr.mode = p.Mode
	if !gr.broken {
		gr.dispatch(now, gr.out[:0])
	}
}

// keepLearnt carries over what the configuration leaves to be learnt.
func (gr *group) keepLearnt(c *core.Pool, p *Pool) {
	was := &gr.cfg.Pools[0]
	if p.Expected == 0 {
		c.Expected = was.Expected
	}
	if p.Margin == 0 && gr.settings.Margin == 0 {
		c.Margin = was.Margin
	}
}

// letAllThrough gives whoever waits the right to run, whatever the machine says.
func (gr *group) letAllThrough() {
	for i := range gr.seats {
		if s := &gr.seats[i]; s.w != nil {
			s.shadow, s.waited, s.since = true, gr.now-s.since, gr.now
			gr.classes[s.class].wait.add(time.Duration(s.waited))
			s.tell(&core.Effect{Kind: core.Run, Ns: s.waited})
		}
	}
}

// enter lists the pool's classes.
func (gr *group) enter(t *table, cfg *Config) {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	for i := range cfg.Classes {
		k := &cfg.Classes[i]
		if k.Pool != gr.pool {
			continue
		}
		at := slices.IndexFunc(gr.cfg.Classes, func(c core.Class) bool { return c.Name == k.Name })
		gr.openBooks()
		gr.classes[at].class = *k
		s := &seatOf{group: gr, index: at, class: k}
		t.classes[k.Name] = s
		if k.Name == cfg.Default {
			t.standby = s
		}
	}
}

// openBooks makes sure that each of the machine's classes has a book.
func (gr *group) openBooks() {
	for i := len(gr.classes); i < len(gr.cfg.Classes); i++ {
		gr.classes = append(gr.classes, classBook{class: Class{Name: gr.cfg.Classes[i].Name, Pool: gr.pool}})
	}
}

// retire closes a pool that is not configured any more.
func (gr *group) retire() {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	if !gr.retired {
		gr.retired = true
		gr.closeDoor()
	}
}

func (h *Histogram) add(d time.Duration) {
	i := 0
	for i < len(HistogramBounds) && d > HistogramBounds[i] {
		i++
	}
	h.Counts[i]++
	h.Sum += d
}
