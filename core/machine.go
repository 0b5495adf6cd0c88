package core

import "math/bits"

// Machine decides for one group of pools. It is not safe for concurrent use:
// whoever owns it serialises the events, and that order is the decision.
//
// These hold after every event, and [Machine.Check] verifies them:
//
//  1. Every arrival is waiting, running or ended by exactly one outcome; and
//     by exactly one reason if that outcome is Refused. A call that has ended
//     is nowhere.
//  2. A pool holds at most Slots + Waiting calls; after a shrink, no more than
//     before until it has come down to that.
//  3. The units out are at most Slots, and leave every class's unfilled
//     reserve free; after a shrink, they do not grow until that is true again.
//  4. After a Dispatch at most Waiting calls wait in a pool, and at most the
//     class's own bound in a class, and nothing waits that could start, except
//     behind a call that collects units for itself, or behind passScan calls of
//     its own class that need more than is free. Neither keeps the first of a
//     class off its own reserve.
//  5. A waiting call has not run, a running call will not be refused: the
//     outcomes of the started are those of Release, the refused never started.
//  6. The waiting of a class stand in the order of their arrival.
//  7. The running stand in the order of their start, and those that a worker
//     is thought to have taken come first.
//  8. Every count and sum equals what the lists hold.
//
// One more is about an event, and is held by the tests: with DoorPriority no
// call is refused Full by its pool's bound that would get in if the newest
// waiting call of the least critical rank below its own gave up its place.
// Where every call costs one unit and no reserve is unfilled, that is whenever
// anybody of a less critical rank waits.
type Machine struct {
	calls    []call // slab; index 0 is nobody
	free     uint32 // first free call, linked by next
	pools    []pool
	classes  []class
	standby  int // the default class
	seq      uint64
	stale    uint64
	draining bool
}

// call is one call in the system.
type call struct {
	seq        uint64
	key        uint64
	arrived    int64
	deadline   int64
	expected   int64
	work       int64 // expected × cost, at most MaxExpected
	started    int64 // when it was dispatched
	begun      int64 // when a worker is thought to have taken it; valid if serving
	blocked    int64 // when it was first found at the head without enough units, or Never
	prev, next uint32
	heap       int32 // place in its pool's heap, from 1; 0: not there
	class      int32
	cost       int32
	attempt    int32
	state      state
	serving    bool
}

type state uint8

const (
	vacant state = iota
	waiting
	running
)

// list is a doubly linked list of calls through prev and next; 0 ends it.
type list struct{ head, tail uint32 }

type class struct {
	Class
	local    uint   // place among its pool's classes, most critical first
	peers    uint64 // bits of the pool's classes of the same rank, this one included
	ceiling  int    // units that are not reserved for others: the most it can ever hold
	waiting  list
	waits    int
	work     int64 // of the waiting
	runs     int
	units    int
	arrived  uint64
	started  uint64
	outcomes [NumOutcomes]uint64
	refused  [NumReasons]uint64
}

// unfilled is how many reserved units the class does not hold right now.
func (c *class) unfilled() int { return max(0, c.Reserve-c.units) }

type pool struct {
	Pool
	classes  []int32 // by rank, then by index
	mask     uint64  // local places of the classes that have somebody waiting
	waits    int
	runs     int
	units    int
	unfilled int // of all its classes
	big      int // calls in the system that cost more than one unit
	running  list
	serving  int    // calls at the front of running that a worker has taken
	served   int    // their units
	servable uint32 // first running call that no worker has taken
	runWork  int64  // of the running
	dueWork  int64  // of the serving
	heap     []uint32
	dirty    bool // something changed since the last dispatch
	settled  bool // nothing has arrived since the last dispatch
	shrunk   bool // bounds have changed since the last dispatch: somebody may wait beyond them
	over     bool // a shrink left more in the system than is now allowed
	maxCalls int  // while over: bounds that only fall
	maxUnits int
	reserves bool // some class has a reserve
}

// New makes a machine, or says what is wrong with the configuration.
func New(cfg Config) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := &Machine{
		calls:   make([]call, 1, 64),
		pools:   make([]pool, len(cfg.Pools)),
		classes: make([]class, len(cfg.Classes)),
	}
	m.adopt(cfg)
	return m, nil
}

// Arrive lets a call knock. It appends Wait if the call was let in, or Refuse
// if it was not, and a Refuse for each waiting call that had to give its place
// to it. It never starts a call: Dispatch does.
func (m *Machine) Arrive(now int64, r Request, out []Effect) (ID, []Effect) {
	m.seq++
	k := r.Class
	if uint(k) >= uint(len(m.classes)) || m.classes[k].Retired {
		k = m.standby
	}
	c := &m.classes[k]
	c.arrived++
	p := &m.pools[c.Pool]
	if r.Cost == 0 {
		r.Cost = 1
	}
	if r.Expected <= 0 {
		r.Expected = p.Expected
	}
	r.Expected = min(r.Expected, MaxExpected)
	r.Deadline = deadline(now, r.Deadline, c.Deadline)
	reason, evict := m.door(now, p, c, &r)
	if reason != NoReason {
		c.refuse(reason)
		id := ID{Seq: m.seq}
		return id, report(out, Refuse, reason, int32(k), id)
	}
	for range evict {
		out = m.refuse(now, m.victim(p, c.Rank), Evicted, out)
	}
	i := m.alloc()
	x := &m.calls[i] // field by field: a place is reused, and a whole literal is copied twice
	x.seq, x.key = m.seq, r.Key
	x.arrived, x.deadline, x.expected, x.work, x.blocked = now, r.Deadline, r.Expected, workOf(r.Expected, r.Cost), Never
	x.class, x.cost, x.attempt = int32(k), int32(r.Cost), int32(r.Attempt)
	x.heap, x.serving = 0, false
	m.enqueue(i)
	p.settle()
	id := ID{Seq: m.seq, Index: i}
	return id, report(out, Wait, NoReason, int32(k), id)
}

// report appends an effect of an arrival. It fills the place field by field,
// since a literal would be made elsewhere and copied.
func report(out []Effect, kind EffectKind, why Reason, class int32, id ID) []Effect {
	n := len(out)
	if n == cap(out) {
		return append(out, Effect{Kind: kind, Reason: why, Class: class, ID: id})
	}
	out = out[:n+1]
	e := &out[n]
	e.Kind, e.Reason, e.Outcome, e.Class, e.ID, e.Ns = kind, why, NoOutcome, class, id, 0
	return out
}

// deadline is the instant that a call is held to. One in the past is as good as
// any other in the past; bringing it near keeps later differences in range.
func deadline(now, own, class int64) int64 {
	switch {
	case own != 0:
		return max(own, now-1)
	case class == 0 || now > Never-class:
		return Never
	}
	return now + class
}

// workOf is what a call adds to the work ahead of others, in nanoseconds of
// one worker. The cap keeps the sum over MaxWaiting calls in an int64.
func workOf(expected int64, cost int) int64 {
	if cost > 1 && expected > MaxExpected/int64(cost) {
		return MaxExpected
	}
	return expected * int64(cost)
}

// Release ends a running call and gives back its units. OK becomes Late when
// the call's deadline has passed; an outcome that is not one of a call that
// ran counts as Failed. A call that does not run (any more) is Stale: counted,
// and nothing else happens.
func (m *Machine) Release(now int64, id ID, o Outcome, out []Effect) []Effect {
	i, ok := m.find(id, running)
	if !ok {
		return m.isStale(id, out)
	}
	x := &m.calls[i]
	switch {
	case o == NoOutcome || o >= Refused:
		o = Failed
	case o == OK && now > x.deadline:
		o = Late
	}
	e := Effect{Kind: End, Outcome: o, Class: x.class, ID: id}
	if x.serving {
		e.Ns = now - x.begun
	}
	m.classes[x.class].outcomes[o]++
	m.finish(now, i)
	return append(out, e)
}

// Cancel takes a waiting call out: whoever waited for it has gone. Its place
// is free at once. A call that does not wait (any more) is Stale.
func (m *Machine) Cancel(now int64, id ID, out []Effect) []Effect {
	i, ok := m.find(id, waiting)
	if !ok {
		return m.isStale(id, out)
	}
	k := m.calls[i].class
	m.classes[k].outcomes[Cancelled]++
	m.leave(i)
	m.pools[m.classes[k].Pool].settle()
	return append(out, Effect{Kind: End, Outcome: Cancelled, Class: k, ID: id})
}

// Tick refuses, in pools with ExpireWaiting, every waiting call that can no
// longer finish in time.
func (m *Machine) Tick(now int64, out []Effect) []Effect {
	for k := range m.pools {
		p := &m.pools[k]
		for len(p.heap) > 0 && now > m.lastChance(p, p.heap[0]) {
			out = m.refuse(now, p.heap[0], Expired, out)
		}
		p.settle()
	}
	return out
}

// Next is the earliest instant at which Tick would change something, or Never.
func (m *Machine) Next() int64 {
	next := Never
	for k := range m.pools {
		if p := &m.pools[k]; len(p.heap) > 0 {
			next = min(next, m.lastChance(p, p.heap[0])+1)
		}
	}
	return next
}

// Drain closes the machine to arrivals, which are then refused as Draining, or
// opens it again. Whoever waits or runs is left alone.
func (m *Machine) Drain(_ int64, on bool, out []Effect) []Effect {
	m.draining = on
	return out
}

// Flush refuses everybody who waits, for the given reason; one that is none
// counts as Draining.
func (m *Machine) Flush(now int64, why Reason, out []Effect) []Effect {
	if why == NoReason || int(why) >= NumReasons {
		why = Draining
	}
	for k := range m.classes {
		for m.classes[k].waiting.head != 0 {
			out = m.refuse(now, m.classes[k].waiting.head, why, out)
		}
		m.pools[m.classes[k].Pool].settle()
	}
	return out
}

// refuse ends a waiting call.
func (m *Machine) refuse(now int64, i uint32, why Reason, out []Effect) []Effect {
	x := &m.calls[i]
	e := Effect{Kind: Refuse, Reason: why, Class: x.class, ID: ID{x.seq, i}, Ns: now - x.arrived}
	m.classes[x.class].refuse(why)
	m.leave(i)
	return append(out, e)
}

func (c *class) refuse(why Reason) {
	c.outcomes[Refused]++
	c.refused[why]++
}

func (m *Machine) isStale(id ID, out []Effect) []Effect {
	m.stale++
	return append(out, Effect{Kind: Stale, Class: -1, ID: id})
}

// find is the slab place of a call, if it is in that state.
func (m *Machine) find(id ID, s state) (uint32, bool) {
	if int64(id.Index) >= int64(len(m.calls)) {
		return 0, false
	}
	x := &m.calls[id.Index]
	return id.Index, x.state == s && x.seq == id.Seq
}

// Lookup finds a call in the system by its sequence number. It looks at every
// call: it is for a replay, which knows calls by number only.
func (m *Machine) Lookup(seq uint64) (ID, bool) {
	for i := range m.calls {
		if x := &m.calls[i]; x.state != vacant && x.seq == seq {
			return ID{Seq: seq, Index: uint32(i)}, true
		}
	}
	return ID{Seq: seq}, false
}

// alloc takes a place in the slab. A new one is needed only when more calls
// are in the system than ever before.
func (m *Machine) alloc() uint32 {
	if i := m.free; i != 0 {
		m.free = m.calls[i].next
		return i
	}
	m.calls = append(m.calls, call{})
	return uint32(len(m.calls) - 1)
}

func (m *Machine) vacate(i uint32) {
	m.calls[i].state = vacant
	m.calls[i].next = m.free
	m.free = i
}

// victim is the newest waiting call of the least critical rank below rank, or 0.
func (m *Machine) victim(p *pool, rank int) uint32 {
	if p.mask == 0 {
		return 0
	}
	c := &m.classes[p.classes[bits.Len64(p.mask)-1]]
	if c.Rank <= rank {
		return 0
	}
	return m.newest(p, p.mask&c.peers)
}

// newest is the newest waiting call of the classes in mask, which is not empty.
func (m *Machine) newest(p *pool, mask uint64) uint32 {
	last := uint32(0)
	for ; mask != 0; mask &= mask - 1 {
		i := m.classes[p.classes[bits.TrailingZeros64(mask)]].waiting.tail
		if last == 0 || m.calls[i].seq > m.calls[last].seq {
			last = i
		}
	}
	return last
}

// oldest is the oldest waiting call of the classes in mask, which is not empty.
func (m *Machine) oldest(p *pool, mask uint64) uint32 {
	first := uint32(0)
	for ; mask != 0; mask &= mask - 1 {
		i := m.classes[p.classes[bits.TrailingZeros64(mask)]].waiting.head
		if first == 0 || m.calls[i].seq < m.calls[first].seq {
			first = i
		}
	}
	return first
}
