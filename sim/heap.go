package sim

// step is what happens at an event of a World. Within one instant steps happen
// in the order of these constants: what gives room comes before what takes it,
// and an answer that is there at the deadline is in time.
type step uint8

const (
	upstreamDone  step = iota // a server of the upstream has finished a call
	gateAnswered              // the answer is back at the gate
	clientTold                // an answer or a refusal is back at the client
	gateReached               // a call is at the gate
	upstreamAsked             // a call is at the upstream
	gateTick                  // the machine asked to be told the time
	clientGone                // the client gives up
	gateCancelled             // the gate hears that the client has gone
)

type event struct {
	at   float64
	seq  uint64
	step step
	who  int32 // a place in the world's calls; not used by gateTick
}

func (e event) before(f event) bool {
	switch {
	case e.at != f.at:
		return e.at < f.at
	case e.step != f.step:
		return e.step < f.step
	}
	return e.seq < f.seq
}

// agenda is a binary heap of events. Ties are broken by the order of
// scheduling, so that a run depends on nothing else.
type agenda struct {
	events []event
	seq    uint64
}

func (a *agenda) add(at float64, s step, who int32) {
	a.seq++
	e := event{at, a.seq, s, who}
	a.events = append(a.events, e)
	i := len(a.events) - 1
	for i > 0 && e.before(a.events[(i-1)/2]) {
		a.events[i] = a.events[(i-1)/2]
		i = (i - 1) / 2
	}
	a.events[i] = e
}

func (a *agenda) empty() bool { return len(a.events) == 0 }

func (a *agenda) next() event {
	first := a.events[0]
	last := len(a.events) - 1
	e := a.events[last]
	a.events = a.events[:last]
	if last == 0 {
		return first
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && a.events[down+1].before(a.events[down]) {
			down++
		}
		if !a.events[down].before(e) {
			break
		}
		a.events[i] = a.events[down]
		i = down
	}
	a.events[i] = e
	return first
}
