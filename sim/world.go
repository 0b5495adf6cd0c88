package sim

import (
	"errors"
	"fmt"
	"math"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
)

// Hops are the times that messages take, in milliseconds, 0 … MaxMillis. A
// probe at low load measures them: a call that meets nobody takes
// In + Up + Service + Down + Out.
type Hops struct {
	In   float64 // client to gate, requests and the news that the client left
	Up   float64 // gate to upstream
	Down float64 // upstream to gate: from here the slot is free
	Out  float64 // gate to client, answers and refusals
}

// World is the live arrangement: open-loop clients that give up at their
// deadline, a gate, and an upstream that works on Workers calls at once and
// keeps the others in a queue of its own, without a bound and in order.
//
// A client that has gone is nobody's servant: while its call waits at the
// gate, its place is given up as soon as the gate hears of it; once the call
// has been sent, the upstream works on it all the same, and the slot is held
// until it answers.
type World struct {
	// Gate has one pool. Its machine decides and does nothing else; a
	// deadline of a class counts from when the gate sees the call.
	Gate core.Config
	// Workers is how many calls the upstream works on at once, at least 1.
	Workers int
	// Service is how long it works on each, in milliseconds, above 0.
	Service float64
	Hops    Hops
	// Deadline is when a client gives up, in milliseconds after it meant to
	// send, above 0.
	Deadline float64
	// Duration is the length of the run, in milliseconds. Calls are sent
	// before it; the world goes on until the last of them has ended.
	Duration int64
	// Arrivals says when calls are sent; those at or after Duration are not.
	// It must not go back.
	Arrivals arrival.Source
	// Class is asked once for each arrival, in order; nil means class 0.
	Class func() int
	// Ended, if not nil, is told what the client of each call saw, once for
	// each. The Call is only lent until Ended returns.
	Ended func(*Call)
	// Check has the machine check its invariants after every event, and ends
	// the run at the first that does not hold. It is slow.
	Check bool
}

// Run runs the world to its end, or says what is wrong with the parameters.
func (w World) Run() (*Result, error) {
	if err := w.validate(); err != nil {
		return nil, err
	}
	m, err := core.New(w.Gate)
	if err != nil {
		return nil, err
	}
	r := newWorldRun(w, m)
	r.run()
	r.result.finish()
	return r.result, r.err
}

func (w *World) validate() error {
	if n := len(w.Gate.Pools); n != 1 {
		return fmt.Errorf("sim: a gate of %d pools; one is allowed here", n)
	}
	for _, x := range []struct {
		name string
		ms   float64
		from bool // 0 is allowed
	}{
		{"service", w.Service, false}, {"deadline", w.Deadline, false},
		{"hop in", w.Hops.In, true}, {"hop up", w.Hops.Up, true}, {"hop down", w.Hops.Down, true}, {"hop out", w.Hops.Out, true},
	} {
		if !(x.ms >= 0 && x.ms <= MaxMillis) || x.ms == 0 && !x.from {
			return fmt.Errorf("sim: %s is %v ms; above 0 (a hop: from 0) to %v is allowed", x.name, x.ms, MaxMillis)
		}
	}
	if w.Duration < 1 || w.Duration > arrival.MaxDuration {
		return fmt.Errorf("sim: a duration of %d ms; 1 to %d is allowed", w.Duration, arrival.MaxDuration)
	}
	if w.Workers < 1 || w.Workers > core.MaxSlots {
		return fmt.Errorf("sim: %d workers of the upstream; 1 to %d are allowed", w.Workers, core.MaxSlots)
	}
	if w.Arrivals == nil {
		return errors.New("sim: Arrivals must be given")
	}
	return nil
}

// visit is a call in the world. The client and the gate each see their own end
// of it; its place is free when both have, and no event names it any more.
type visit struct {
	Call
	id     core.ID
	phase  phase
	known  bool  // the client knows how it ended, or has gone
	events int32 // on the agenda
}

type phase uint8

const (
	travelling phase = iota // to the gate
	waiting
	out     // sent to the upstream, slot held
	settled // the gate is done with it
)

// worldRun is a run under way.
type worldRun struct {
	World
	machine *core.Machine
	now     float64
	visits  []visit
	free    []int32 // places in visits
	who     []int32 // by the machine's index
	agenda  agenda
	tick    float64 // when the machine is next told the time; others on the agenda are stale
	effects []core.Effect
	idle    int     // servers
	queue   []int32 // before the upstream
	front   int     // of the queue
	result  *Result
	err     error
}

func newWorldRun(w World, m *core.Machine) *worldRun {
	return &worldRun{World: w, machine: m, idle: w.Workers, tick: math.Inf(1), result: newResult(&w)}
}

func (r *worldRun) run() {
	due, more := r.send()
	for r.err == nil && (more || !r.agenda.empty()) {
		if more && (r.agenda.empty() || due <= r.agenda.events[0].at) {
			r.now = due
			r.depart()
			due, more = r.send()
			continue
		}
		e := r.agenda.next()
		r.now = e.at
		r.happen(e)
		if r.Check && r.err == nil {
			r.err = r.machine.Check()
		}
	}
}

// send is when the next client sends.
func (r *worldRun) send() (due float64, more bool) {
	due, more = r.Arrivals.Next()
	if more && !(due >= r.now) { // also no number
		r.err = back(due, r.now)
	}
	return due, more && due < float64(r.Duration)
}

// depart puts a new call on its way.
func (r *worldRun) depart() {
	class := 0
	if r.Class != nil {
		class = r.Class()
	}
	if class < 0 || class >= len(r.Gate.Classes) {
		class = r.Gate.Default
	}
	i := r.place()
	r.visits[i] = visit{Call: Call{Class: class, Arrived: r.now}}
	r.schedule(r.now+r.Hops.In, gateReached, i)
	r.schedule(r.now+r.Deadline, clientGone, i)
}

func (r *worldRun) place() int32 {
	if n := len(r.free); n > 0 {
		i := r.free[n-1]
		r.free = r.free[:n-1]
		return i
	}
	r.visits = append(r.visits, visit{})
	return int32(len(r.visits) - 1)
}

func (r *worldRun) schedule(at float64, s step, i int32) {
	r.visits[i].events++
	r.agenda.add(at, s, i)
}

func (r *worldRun) happen(e event) {
	if e.step == gateTick {
		r.ticked()
		return
	}
	v := &r.visits[e.who]
	v.events--
	switch e.step {
	case gateReached:
		r.arrive(e.who)
	case upstreamAsked:
		r.result.UpstreamCalls++
		r.queue = append(r.queue, e.who)
		r.work()
	case upstreamDone:
		r.idle++
		r.schedule(r.now+r.Hops.Down, gateAnswered, e.who)
		r.work()
	case gateAnswered:
		r.answered(e.who)
	case clientTold:
		r.told(v)
	case clientGone:
		r.gone(e.who)
	case gateCancelled:
		r.cancelled(v)
	}
	r.leave(e.who)
}

// leave frees the place of a call that everybody is done with.
func (r *worldRun) leave(i int32) {
	if v := &r.visits[i]; v.events == 0 && v.phase == settled && v.known {
		r.free = append(r.free, i)
	}
}

// work lets idle servers of the upstream take calls up, in order.
func (r *worldRun) work() {
	for r.idle > 0 && r.front < len(r.queue) {
		r.idle--
		i := r.queue[r.front]
		r.front++
		r.schedule(r.now+r.Service, upstreamDone, i)
	}
	if r.front > 64 && r.front > len(r.queue)/2 {
		r.queue = r.queue[:copy(r.queue, r.queue[r.front:])]
		r.front = 0
	}
}
