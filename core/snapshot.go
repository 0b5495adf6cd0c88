package core

import (
	"cmp"
	"fmt"
	"slices"
)

// State is everything a machine knows, as a value: what a recording begins
// with. Two machines with equal states decide alike for ever.
type State struct {
	Config   Config       `json:"config"`
	Seq      uint64       `json:"seq"`
	Stale    uint64       `json:"stale,omitempty"`
	Draining bool         `json:"draining,omitempty"`
	Classes  []ClassCount `json:"classes"`
	Pools    []PoolCount  `json:"pools"`
	// Waiting is in the order of arrival, Running in the order of start.
	Waiting []CallState `json:"waiting,omitempty"`
	Running []CallState `json:"running,omitempty"`
}

// ClassCount is what a class has counted so far.
type ClassCount struct {
	Arrived  uint64              `json:"arrived"`
	Started  uint64              `json:"started"`
	Outcomes [NumOutcomes]uint64 `json:"outcomes"`
	Refused  [NumReasons]uint64  `json:"refused"`
}

// PoolCount is what a pool remembers beside its calls.
type PoolCount struct {
	Dirty    bool `json:"dirty,omitempty"`
	Settled  bool `json:"settled,omitempty"`
	Shrunk   bool `json:"shrunk,omitempty"`
	MaxCalls int  `json:"max_calls"`
	MaxUnits int  `json:"max_units"`
}

// CallState is one call in the system. Times are instants on the machine's line.
type CallState struct {
	Seq      uint64 `json:"seq"`
	Class    int    `json:"class"`
	Cost     int    `json:"cost"`
	Attempt  int    `json:"attempt,omitempty"`
	Key      uint64 `json:"key,omitempty"`
	Arrived  int64  `json:"arrived"`
	Deadline int64  `json:"deadline"`
	Expected int64  `json:"expected"`
	Blocked  int64  `json:"blocked"` // Never if it has not stood at the head
	Started  int64  `json:"started,omitempty"`
	Begun    int64  `json:"begun,omitempty"`
	Serving  bool   `json:"serving,omitempty"`
}

// Snapshot is the machine's state as a value that shares nothing with it.
func (m *Machine) Snapshot() State {
	s := State{Config: m.Config(), Seq: m.seq, Stale: m.stale, Draining: m.draining}
	for k := range m.classes {
		c := &m.classes[k]
		s.Classes = append(s.Classes, ClassCount{c.arrived, c.started, c.outcomes, c.refused})
		for i := c.waiting.head; i != 0; i = m.calls[i].next {
			s.Waiting = append(s.Waiting, m.callState(i))
		}
	}
	slices.SortFunc(s.Waiting, func(a, b CallState) int { return cmp.Compare(a.Seq, b.Seq) })
	for k := range m.pools {
		p := &m.pools[k]
		s.Pools = append(s.Pools, PoolCount{p.dirty, p.settled, p.shrunk, p.maxCalls, p.maxUnits})
		for i := p.running.head; i != 0; i = m.calls[i].next {
			s.Running = append(s.Running, m.callState(i))
		}
	}
	return s
}

func (m *Machine) callState(i uint32) CallState {
	x := &m.calls[i]
	s := CallState{
		Seq: x.seq, Class: int(x.class), Cost: int(x.cost), Attempt: int(x.attempt), Key: x.key,
		Arrived: x.arrived, Deadline: x.deadline, Expected: x.expected, Blocked: x.blocked, Serving: x.serving,
	}
	if x.state == running {
		s.Started = x.started
	}
	if x.serving {
		s.Begun = x.begun
	}
	return s
}

// Restore makes a machine of a state, or says what in it cannot be. The state
// may come from a file: nothing in it is trusted.
func Restore(s State) (*Machine, error) {
	m, err := New(s.Config)
	if err != nil {
		return nil, err
	}
	if len(s.Classes) != len(m.classes) || len(s.Pools) != len(m.pools) {
		return nil, fmt.Errorf("core: state counts %d classes and %d pools; its configuration has %d and %d", len(s.Classes), len(s.Pools), len(m.classes), len(m.pools))
	}
	m.seq, m.stale, m.draining = s.Seq, s.Stale, s.Draining
	for k, n := range s.Classes {
		c := &m.classes[k]
		c.arrived, c.started, c.outcomes, c.refused = n.Arrived, n.Started, n.Outcomes, n.Refused
	}
	seen := make(map[uint64]bool, len(s.Waiting)+len(s.Running))
	for i, x := range slices.Concat(s.Waiting, s.Running) {
		st := waiting
		if i >= len(s.Waiting) {
			st = running
		}
		if seen[x.Seq] {
			return nil, fmt.Errorf("core: call #%d is in the state twice", x.Seq)
		}
		seen[x.Seq] = true
		if err := m.restoreCall(x, st); err != nil {
			return nil, err
		}
	}
	for k, n := range s.Pools {
		p := &m.pools[k]
		p.dirty, p.settled, p.shrunk, p.maxCalls, p.maxUnits = n.Dirty, n.Settled, n.Shrunk, n.MaxCalls, n.MaxUnits
		p.over = true
		p.settle()
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("core: state is inconsistent: %w", err)
	}
	return m, nil
}

func (m *Machine) restoreCall(s CallState, st state) error {
	if s.Class < 0 || s.Class >= len(m.classes) || s.Cost < 1 || s.Cost > MaxSlots || s.Expected < 0 || s.Expected > MaxExpected || s.Seq == 0 || s.Seq > m.seq {
		return fmt.Errorf("core: call #%d in the state cannot be: class %d, cost %d, expected %d ns", s.Seq, s.Class, s.Cost, s.Expected)
	}
	if int(int32(s.Attempt)) != s.Attempt {
		return fmt.Errorf("core: call #%d in the state is attempt %d; 32 bits are allowed", s.Seq, s.Attempt)
	}
	if s.Deadline < s.Arrived && s.Deadline+1 < s.Arrived {
		return fmt.Errorf("core: call #%d in the state arrived at %d ns and was due at %d ns; at most 1 ns before is allowed", s.Seq, s.Arrived, s.Deadline)
	}
	if c := &m.classes[s.Class]; st == waiting && s.Cost > c.ceiling {
		return fmt.Errorf("core: call #%d in the state waits for %d units; class %q can have %d", s.Seq, s.Cost, c.Name, c.ceiling)
	}
	i := m.alloc()
	m.calls[i] = call{
		seq: s.Seq, key: s.Key, arrived: s.Arrived, deadline: s.Deadline, expected: s.Expected,
		work: workOf(s.Expected, s.Cost), blocked: s.Blocked,
		class: int32(s.Class), cost: int32(s.Cost), attempt: int32(s.Attempt),
	}
	m.enqueue(i)
	if st == waiting {
		return nil
	}
	m.start(s.Started, i)
	m.classes[s.Class].started-- // it was counted when it started
	x := &m.calls[i]
	if x.serving != s.Serving {
		m.setServing(i, s.Serving)
	}
	x.begun = s.Begun
	return nil
}

// setServing corrects what start assumed about the call that was started last:
// whether a worker has taken a call depends on the past, and the state knows.
func (m *Machine) setServing(i uint32, on bool) {
	x := &m.calls[i]
	p := m.poolOf(i)
	n := 1
	if !on {
		n = -1
	}
	x.serving = on
	p.serving += n
	p.served += n * int(x.cost)
	p.dueWork += int64(n) * x.work
	switch {
	case on:
		p.servable = 0
	case p.servable == 0:
		p.servable = i
	}
}
