package plimsoll

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

const (
	// recordingRoom bounds the events of one pool that are kept until they are
	// written. What comes when it is full is lost, and the stream says so.
	recordingRoom = 1 << 14
	// recordingEvery is how often the events are taken away and written.
	recordingEvery = 20 * time.Millisecond
)

// ErrRecording says that a gate is being recorded already.
var ErrRecording = errors.New("plimsoll: the gate is being recorded already; stop that first")

// Recording is a stream of everything that a gate's machines are told and
// decide. [record.Replay] feeds it through the core again. It may begin at any
// time: it opens with a snapshot of each machine.
//
// Writing happens on a goroutine of its own, never under a gate's lock. When the
// destination is slower than the traffic, events are left out, and the stream
// holds a gap and a fresh snapshot; admission is never held up.
type Recording struct {
	gate *Gate
	to   *bufio.Writer
	w    *record.Writer
	quit chan struct{}
	done chan struct{}

	mu   sync.Mutex // the logs, and err
	logs []*eventLog
	err  error
	lost uint64
}

// eventLog is what one group has seen since it was last emptied. It is
// guarded by the group's lock.
type eventLog struct {
	group   *group
	opening *core.State // written first; nil once it is
	events  []core.Event
	counts  []int // of effects, by event
	effects []core.Effect
	lost    uint64
	last    bool // nothing more will come: the gate has forgotten the group
}

// Record begins to record the gate. Stop ends it. The error is [ErrRecording],
// or the writer's.
func (g *Gate) Record(w io.Writer, enc record.Encoding) (*Recording, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.recorder != nil {
		return nil, ErrRecording
	}
	to := bufio.NewWriterSize(w, 1<<16)
	rw, err := record.NewWriter(to, enc, "gate")
	if err != nil {
		return nil, err
	}
	r := &Recording{gate: g, to: to, w: rw, quit: make(chan struct{}), done: make(chan struct{})}
	for _, gr := range g.groups {
		r.follow(gr)
	}
	g.recorder = r
	go r.run()
	return r, nil
}

// follow begins to log a group.
func (r *Recording) follow(gr *group) {
	if r.Err() != nil { // nobody would write it
		return
	}
	l := &eventLog{group: gr}
	gr.mu.Lock()
	if l.opening = gr.snapshot(); l.opening != nil {
		gr.log = l
	}
	gr.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.opening != nil {
		r.logs = append(r.logs, l)
	}
}

// snapshot is nil for a pool that decides nothing that could be recorded.
func (gr *group) snapshot() (s *core.State) {
	if gr.broken {
		return nil
	}
	defer gr.rescue()
	state := gr.m.Snapshot()
	return &state
}

// record notes one event of the machine, under the group's lock. Callers on the
// hot path look at gr.log first: an event is a large value to make for nobody.
func (gr *group) record(e core.Event, effects []core.Effect) {
	if l := gr.log; l != nil {
		l.add(e, effects)
	}
}

func (l *eventLog) add(e core.Event, effects []core.Effect) {
	if l.lost > 0 || len(l.events) >= recordingRoom {
		l.lost++
		return
	}
	l.events = append(l.events, e)
	l.counts = append(l.counts, len(effects))
	l.effects = append(l.effects, effects...)
}

func (r *Recording) run() {
	defer close(r.done)
	t := time.NewTicker(recordingEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if !r.empty() {
				r.detach()
				return
			}
		case <-r.quit:
			r.empty()
			return
		}
	}
}

// empty takes what the logs hold and writes it, and says whether it could.
func (r *Recording) empty() bool {
	r.mu.Lock()
	logs := slices.Clone(r.logs)
	r.mu.Unlock()
	for _, l := range logs {
		if err := r.write(l); err != nil {
			r.mu.Lock()
			r.err = err
			r.mu.Unlock()
			return false
		}
	}
	r.mu.Lock()
	r.logs = slices.DeleteFunc(r.logs, (*eventLog).over)
	r.mu.Unlock()
	return true
}

// detach ends the logging of every group.
func (r *Recording) detach() {
	r.mu.Lock()
	logs := slices.Clone(r.logs)
	r.mu.Unlock()
	for _, l := range logs {
		l.group.mu.Lock()
		if l.group.log == l { // another recording may have begun
			l.group.log = nil
		}
		l.group.mu.Unlock()
	}
}

// end says that nothing more will come from the group.
func (gr *group) end() {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	if gr.log != nil {
		gr.log.last = true
	}
}

// over says that everything there will ever be has been written.
func (l *eventLog) over() bool {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	return l.last && l.opening == nil && len(l.events) == 0 && l.lost == 0
}

func (r *Recording) write(l *eventLog) error {
	l.group.mu.Lock()
	full := *l
	l.opening, l.events, l.counts, l.effects, l.lost = nil, nil, nil, nil, 0
	var after *core.State
	if full.lost > 0 {
		after = l.group.snapshot()
	}
	l.group.mu.Unlock()

	i := full.group.index
	if full.opening != nil {
		if err := r.w.Snapshot(i, full.opening); err != nil {
			return err
		}
	}
	at := 0
	for k, e := range full.events {
		if err := r.w.Event(i, e, full.effects[at:at+full.counts[k]]); err != nil {
			return err
		}
		at += full.counts[k]
	}
	if full.lost == 0 {
		return nil
	}
	r.mu.Lock()
	r.lost += full.lost
	r.mu.Unlock()
	err := r.w.Gap(i, full.lost)
	if after != nil && err == nil { // a pool that is broken has nothing more to say
		err = r.w.Snapshot(i, after)
	}
	return err
}

// Err is the destination's first error, after which nothing is recorded any
// more; nil while all is well.
func (r *Recording) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Lost is how many events had to be left out so far.
func (r *Recording) Lost() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Stop writes what is left and ends the recording. The error is the
// destination's first.
func (r *Recording) Stop() error {
	r.gate.mu.Lock()
	mine := r.gate.recorder == r
	if mine {
		r.gate.recorder = nil
	}
	r.gate.mu.Unlock()
	if mine {
		r.detach()
		close(r.quit)
	}
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.to.Flush(); r.err == nil {
		r.err = err
	}
	return r.err
}
