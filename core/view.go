package core

// PoolView is what one pool looks like right now.
type PoolView struct {
	Pool
	Units   int // out
	Running int // calls
	Waiting int // calls
	// Oldest is when the longest waiting call arrived; Never if nobody waits.
	Oldest int64
}

// ClassView is what one class looks like right now.
type ClassView struct {
	Class
	ClassCount
	Units   int
	Running int
	Waits   int
	Oldest  int64 // as in PoolView
}

// NumPools and NumClasses are the sizes that PoolView and ClassView are indexed by.
func (m *Machine) NumPools() int { return len(m.pools) }

// NumClasses is the number of classes, retired ones included.
func (m *Machine) NumClasses() int { return len(m.classes) }

// Stale counts releases and cancels of calls that were not there to be released
// or cancelled.
func (m *Machine) Stale() uint64 { return m.stale }

// PoolView looks at pool i.
func (m *Machine) PoolView(i int) PoolView {
	p := &m.pools[i]
	v := PoolView{Pool: p.Pool, Units: p.units, Running: p.runs, Waiting: p.waits, Oldest: Never}
	if p.mask != 0 {
		v.Oldest = m.calls[m.oldest(p, p.mask)].arrived
	}
	return v
}

// Calls is how many calls pool i holds, waiting or running.
func (m *Machine) Calls(i int) int { return m.pools[i].runs + m.pools[i].waits }

// ClassView looks at class i.
func (m *Machine) ClassView(i int) ClassView {
	c := &m.classes[i]
	v := ClassView{
		Class: c.Class, ClassCount: ClassCount{c.arrived, c.started, c.outcomes, c.refused},
		Units: c.units, Running: c.runs, Waits: c.waits, Oldest: Never,
	}
	if c.waits > 0 {
		v.Oldest = m.calls[c.waiting.head].arrived
	}
	return v
}

// Has says whether the call is in the system.
func (m *Machine) Has(id ID) bool {
	return int64(id.Index) < int64(len(m.calls)) && m.calls[id.Index].state != vacant && m.calls[id.Index].seq == id.Seq
}
