package plimsoll

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
)

// arm makes sure that somebody wakes up when time alone changes something.
func (gr *group) arm(now int64) {
	next := gr.m.Next()
	if next == core.Never || next >= gr.timerAt && gr.timerAt > now {
		return
	}
	gr.timerAt = next
	d := time.Duration(next - now)
	if gr.timer == nil {
		gr.timer = time.AfterFunc(d, gr.wakeUp)
		return
	}
	gr.timer.Reset(d)
}

func (gr *group) wakeUp() {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	now := gr.tick()
	gr.timerAt = 0
	if gr.broken {
		return
	}
	defer gr.rescue()
	out := gr.m.Tick(now, gr.out[:0])
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpTick, Now: now}, out)
	}
	gr.apply(now, out, 0)
	gr.dispatch(now, out[:0])
}

func (gr *group) stop() {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	if gr.timer != nil {
		gr.timer.Stop()
	}
}

func (gr *group) drain() {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	gr.draining = true
	gr.closeDoor()
}

func (gr *group) closeDoor() { gr.setDoor(gr.tick(), true) }

// setDoor closes the machine to arrivals, or opens it again.
func (gr *group) setDoor(now int64, closed bool) {
	if gr.broken {
		return
	}
	gr.m.Drain(now, closed, nil)
	gr.record(core.Event{Op: core.OpDrain, Now: now, On: closed}, nil)
}

// flush refuses whoever waits. In shadow they run already and just stop being
// planned for.
func (gr *group) flush() {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	if gr.broken {
		return
	}
	defer gr.rescue()
	now := gr.tick()
	out := gr.m.Flush(now, core.Draining, gr.out[:0])
	if gr.log != nil {
		gr.record(core.Event{Op: core.OpFlush, Now: now, Reason: core.Draining}, out)
	}
	gr.apply(now, out, 0)
}

// held is how many calls run or wait here; outstanding is the same for those
// who have no lock, and tickets how many of them hold a ticket.
func (gr *group) held() int {
	n := len(gr.loose)
	if gr.broken {
		return n
	}
	return n + gr.m.Calls(0)
}

func (gr *group) outstanding() int {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	return gr.held()
}

func (gr *group) tickets() int {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	n := len(gr.loose)
	if gr.broken {
		return n
	}
	for i := range gr.seats {
		if s := &gr.seats[i]; s.running || s.shadow {
			n++
		}
	}
	return n
}

// rescue is deferred around the machine. Should it ever panic, the pool fails
// open: everybody who waits is let through, nothing is decided any more, and
// the alarm says so. A load-control that takes the service down with it is
// worse than none.
func (gr *group) rescue() {
	v := recover()
	if v == nil || gr.broken {
		return
	}
	gr.tick()
	gr.letAllThrough()
	gr.keepCounts()
	gr.broken = true
	if gr.log != nil {
		gr.log.last, gr.log = true, nil
	}
	for i := range gr.seats {
		s := &gr.seats[i]
		if s.running || s.shadow {
			gr.setLoose(s.seq, looseCall{s.since, s.deadline, s.waited, s.class, core.NoReason})
			*s = seat{}
		}
	}
	for i := range gr.classes {
		b := &gr.classes[i]
		b.passed = uint64(b.running)
		for _, n := range b.real {
			b.passed += n
		}
	}
	stack := debug.Stack()
	go gr.gate.alarm(fmt.Errorf("plimsoll: pool %q decides nothing any more and lets everything through, because of a bug: %v\n%s", gr.pool, v, stack))
}

// keepCounts takes over what the machine has counted, if that can still be
// read: nobody will ask it again.
func (gr *group) keepCounts() {
	defer func() { _ = recover() }()
	all := make([]ClassStatus, len(gr.classes))
	for i := range all {
		all[i] = gr.classStatus(gr.now, i)
	}
	for i := range all {
		b := &gr.classes[i]
		b.real, b.turned, b.misled = all[i].Outcomes, all[i].Refused, 0
	}
}

// stir wakes a Drain that waits for the last ticket.
func (g *Gate) stir() {
	if g.draining.Load() {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
}
