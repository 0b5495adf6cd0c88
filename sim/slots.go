package sim

import (
	"errors"
	"fmt"
	"math"

	"github.com/plimsoll-go/plimsoll/arrival"
	"github.com/plimsoll-go/plimsoll/core"
)

// MaxMillis bounds every length of time in this package, in milliseconds: it
// is the longest run, and keeps nanoseconds in an int64.
const MaxMillis = float64(arrival.MaxDuration)

// Slots is one pool whose slots are what works: a call runs for exactly Service
// from the instant it is started. Within one instant calls end first, then
// calls arrive, then slots are handed out.
type Slots struct {
	// Gate has one pool.
	Gate core.Config
	// Service is how long a call runs, in milliseconds, above 0.
	Service float64
	// Duration is the length of the run, in milliseconds. Nothing is started
	// at or after it; what runs then is finished, and what waits then is
	// refused as draining.
	Duration int64
	// Exact has expiry decided by the last bit of the instants instead of by
	// their truncated nanoseconds. The pool must then have no Margin, no
	// ExpireWaiting, no RefuseHopeless, and as many workers as slots.
	Exact bool
	// RunOff goes on starting calls after Duration until none waits.
	RunOff bool
	// Arrivals says when calls arrive; those at or after Duration do not. It
	// must not go back.
	Arrivals arrival.Source
	// Class is asked once for each arrival, in order; nil means class 0.
	Class func() int
	// Ended is told of every call when it has ended or was refused: exactly
	// once for each arrival. The Call is only lent until Ended returns.
	Ended func(*Call)
	// Check has the machine check its invariants after every event, and ends
	// the run at the first that does not hold. It is slow.
	Check bool
}

// Call is what became of one arrival. Instants are in milliseconds.
type Call struct {
	Class   int
	Outcome core.Outcome
	Reason  core.Reason // when Outcome is Refused
	Arrived float64
	Started float64 // what it means when the call never ran is not said
	Ended   float64
}

// Run runs it to the end, or says what is wrong with the parameters.
func (s Slots) Run() error {
	if err := s.validate(); err != nil {
		return err
	}
	if err := s.Gate.Validate(); err != nil {
		return err
	}
	r := &slotsRun{Slots: s, end: float64(s.Duration), checked: s.Check}
	var err error
	if s.Exact {
		if r.exact, s.Gate, err = newExact(s.Gate); err != nil {
			return err
		}
	}
	if r.machine, err = core.New(s.Gate); err != nil {
		return err
	}
	r.advance(0)
	r.run()
	return r.err
}

func (s *Slots) validate() error {
	if n := len(s.Gate.Pools); n != 1 {
		return fmt.Errorf("sim: a gate of %d pools; one is allowed here", n)
	}
	if !(s.Service > 0 && s.Service <= MaxMillis) {
		return fmt.Errorf("sim: a service of %v ms; above 0 to %v is allowed", s.Service, MaxMillis)
	}
	if s.Duration < 1 || s.Duration > arrival.MaxDuration {
		return fmt.Errorf("sim: a duration of %d ms; 1 to %d is allowed", s.Duration, arrival.MaxDuration)
	}
	if s.Arrivals == nil || s.Ended == nil {
		return errors.New("sim: Arrivals and Ended must be given")
	}
	return nil
}

// slotsRun is a run under way.
type slotsRun struct {
	Slots
	machine *core.Machine
	exact   *exact // nil: nanoseconds
	end     float64
	due     float64 // the next arrival; +Inf: there is none
	running fifo
	calls   []Call // by the machine's index
	effects []core.Effect
	lent    Call
	err     error
	checked bool
}

// run processes one instant after another.
func (r *slotsRun) run() {
	for r.err == nil {
		now := min(r.due, r.running.next())
		if now >= r.end && !(r.RunOff && now < math.Inf(1)) {
			break
		}
		ns := r.stamp(now)
		for r.running.next() == now {
			r.release(now, ns)
		}
		for r.due == now {
			r.arrive(now, ns)
		}
		r.effects = r.machine.Dispatch(ns, r.effects[:0])
		r.apply(now)
	}
	r.finish()
}

// stamp is the instant that the machine is handed.
func (r *slotsRun) stamp(now float64) int64 {
	if r.exact != nil {
		return ordinal(now)
	}
	return nanos(now)
}

func (r *slotsRun) release(now float64, ns int64) {
	r.effects = r.machine.Release(ns, r.running.pop(), core.OK, r.effects[:0])
	r.apply(now)
}

func (r *slotsRun) arrive(now float64, ns int64) {
	class := 0
	if r.Class != nil {
		class = r.Class()
	}
	request := core.Request{Class: class}
	if r.exact != nil {
		request.Deadline = r.exact.deadline(class, now)
	}
	var id core.ID
	id, r.effects = r.machine.Arrive(ns, request, r.effects[:0])
	for i := range r.effects {
		e := &r.effects[i]
		switch {
		case e.ID.Seq != id.Seq: // one that had to make way
			r.refused(now, e)
		case e.Kind == core.Wait:
			r.call(e.ID).begin(int(e.Class), now)
		default:
			r.lent.begin(int(e.Class), now)
			r.lent.refuse(now, e.Reason)
			r.Ended(&r.lent)
		}
	}
	if r.checked {
		r.check()
	}
	r.advance(now)
}

// advance looks at the next arrival. One at or after the end is not part of the run.
func (r *slotsRun) advance(now float64) {
	due, more := r.Arrivals.Next()
	if !more || due >= r.end {
		r.due = math.Inf(1)
		return
	}
	if !(due >= now) { // also no number
		r.err = back(due, now)
	}
	r.due = due
}

func back(due, now float64) error {
	return fmt.Errorf("sim: an arrival at %v ms, asked for at %v ms; arrivals must not go back", due, now)
}

// apply carries out what the machine has said, for every event but an arrival.
func (r *slotsRun) apply(now float64) {
	for i := range r.effects {
		e := &r.effects[i]
		switch e.Kind {
		case core.Run:
			r.call(e.ID).Started = now
			r.running.push(now+r.Service, e.ID)
		case core.Refuse:
			r.refused(now, e)
		case core.End:
			c := r.call(e.ID)
			c.Outcome, c.Ended = e.Outcome, now
			if r.exact != nil {
				c.Outcome = r.exact.outcome(c)
			}
			r.Ended(c)
		}
	}
	if r.checked {
		r.check()
	}
}

func (r *slotsRun) refused(now float64, e *core.Effect) {
	c := r.call(e.ID)
	c.refuse(now, e.Reason)
	r.Ended(c)
}

// begin and refuse set one field after the other: a whole Call built aside and
// copied is much slower to store.
func (c *Call) begin(class int, now float64) {
	c.Class, c.Outcome, c.Reason, c.Arrived = class, core.NoOutcome, core.NoReason, now
}

func (c *Call) refuse(now float64, why core.Reason) {
	c.Outcome, c.Reason, c.Ended = core.Refused, why, now
}

func (r *slotsRun) call(id core.ID) *Call {
	for int(id.Index) >= len(r.calls) {
		r.calls = append(r.calls, Call{})
	}
	return &r.calls[id.Index]
}

// finish turns away what still waits, and lets what runs come to its end.
func (r *slotsRun) finish() {
	if r.err != nil {
		return
	}
	r.effects = r.machine.Flush(r.stamp(r.end), core.Draining, r.effects[:0])
	r.apply(r.end)
	for now := r.running.next(); now < math.Inf(1); now = r.running.next() {
		r.release(now, r.stamp(now))
	}
}

func (r *slotsRun) check() {
	if err := r.machine.Check(); err != nil && r.err == nil {
		r.err = err
	}
}

// fifo holds the running calls in the order in which they end, which is the
// order in which they were started, because all run for the same time. It is a
// ring whose size is a power of two.
type fifo struct {
	head, n int
	ring    []ending
}

type ending struct {
	at float64
	id core.ID
}

// next is when the first of them ends; never, if there is none.
func (f *fifo) next() float64 {
	if f.n == 0 {
		return math.Inf(1)
	}
	return f.ring[f.head].at
}

func (f *fifo) pop() core.ID {
	id := f.ring[f.head].id
	f.head = (f.head + 1) & (len(f.ring) - 1)
	f.n--
	return id
}

func (f *fifo) push(at float64, id core.ID) {
	if f.n == len(f.ring) {
		f.grow()
	}
	f.ring[(f.head+f.n)&(len(f.ring)-1)] = ending{at, id}
	f.n++
}

func (f *fifo) grow() {
	ring := make([]ending, max(4, 2*len(f.ring)))
	for i := range f.n {
		ring[i] = f.ring[(f.head+i)&(len(f.ring)-1)]
	}
	f.head, f.ring = 0, ring
}
