package core

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// oracle is the machine again, slow and obvious: two plain slices, and every
// number counted anew whenever it is needed. It shares no code with the machine
// but the types of events and effects.
type oracle struct {
	cfg      Config
	waiting  []*oracleCall // in the order of arrival
	running  []*oracleCall // in the order of start
	seq      uint64
	draining bool
	limits   []oracleLimit // by pool: what a shrink has left
}

type oracleCall struct {
	Request
	seq                      uint64
	arrived, began, headSave int64
	served, head             bool
}

type oracleLimit struct{ calls, units int }

func newOracle(cfg Config) *oracle {
	o := &oracle{}
	o.configure(cfg)
	return o
}

func (o *oracle) step(e Event) (out []Effect) {
	switch e.Op {
	case OpArrive:
		out = o.arrive(e.Now, e.Request)
	case OpRelease:
		out = o.release(e.Now, e.Seq, e.Outcome)
	case OpCancel:
		out = []Effect{{Kind: Stale, Class: -1, ID: ID{Seq: e.Seq}}}
		if c := find(o.waiting, e.Seq); c != nil {
			o.waiting = without(o.waiting, c)
			out = []Effect{o.effect(End, c, Effect{Outcome: Cancelled})}
		}
	case OpDispatch:
		for p := range o.cfg.Pools {
			out = append(out, o.dispatch(e.Now, p)...)
		}
	case OpTick:
		out = o.tick(e.Now)
	case OpDrain:
		o.draining = e.On
	case OpFlush:
		for k := range o.cfg.Classes {
			for _, c := range o.of(o.waiting, func(c *oracleCall) bool { return c.Class == k }) {
				out = append(out, o.refuse(e.Now, c, e.Reason))
			}
		}
	case OpConfigure:
		if e.Config.Validate() != nil || len(e.Config.Classes) < len(o.cfg.Classes) {
			return nil
		}
		o.configure(*e.Config)
		for k := range o.cfg.Classes {
			for _, c := range o.of(o.waiting, func(c *oracleCall) bool { return c.Class == k && c.Cost > o.ceiling(k) }) {
				why := TooCostly
				if c.Cost == 1 {
					why = Full
				}
				out = append(out, o.refuse(e.Now, c, why))
			}
		}
		for p := range o.cfg.Pools {
			o.serve(e.Now, p)
		}
	}
	o.settle()
	return out
}

func (o *oracle) configure(cfg Config) {
	o.cfg = cfg
	o.limits = make([]oracleLimit, len(cfg.Pools))
	for p := range cfg.Pools {
		o.limits[p] = oracleLimit{len(o.in(o.waiting, p)) + len(o.in(o.running, p)), o.units(p) + o.unfilled(p)}
	}
	o.settle()
}

// settle lets the limits of a shrink fall as far as they can.
func (o *oracle) settle() {
	for p, q := range o.cfg.Pools {
		l := &o.limits[p]
		l.calls = max(q.Slots+q.Waiting, min(l.calls, len(o.in(o.waiting, p))+len(o.in(o.running, p))))
		l.units = max(q.Slots, min(l.units, o.units(p)+o.unfilled(p)))
	}
}

func (o *oracle) over(p int) bool {
	q := o.cfg.Pools[p]
	return o.limits[p].units > q.Slots || q.Waiting != Unbounded && o.limits[p].calls > q.Slots+q.Waiting
}

// What the machine counts, the oracle counts anew.

func (o *oracle) of(calls []*oracleCall, is func(*oracleCall) bool) (out []*oracleCall) {
	for _, c := range calls {
		if is(c) {
			out = append(out, c)
		}
	}
	return out
}

func (o *oracle) pool(c *oracleCall) int { return o.cfg.Classes[c.Class].Pool }
func (o *oracle) rank(c *oracleCall) int { return o.cfg.Classes[c.Class].Rank }

func (o *oracle) in(calls []*oracleCall, p int) []*oracleCall {
	return o.of(calls, func(c *oracleCall) bool { return o.pool(c) == p })
}

func (o *oracle) units(p int) (n int) {
	for _, c := range o.in(o.running, p) {
		n += c.Cost
	}
	return n
}

func (o *oracle) held(k int) (n int) {
	for _, c := range o.running {
		if c.Class == k {
			n += c.Cost
		}
	}
	return n
}

func (o *oracle) unfilled(p int) (n int) {
	for k, c := range o.cfg.Classes {
		if c.Pool == p {
			n += max(0, c.Reserve-o.held(k))
		}
	}
	return n
}

// ceiling is what is left for a class when the others have all their reserves.
func (o *oracle) ceiling(k int) int {
	n := o.cfg.Pools[o.cfg.Classes[k].Pool].Slots
	for l, c := range o.cfg.Classes {
		if l != k && c.Pool == o.cfg.Classes[k].Pool {
			n -= c.Reserve
		}
	}
	return n
}

func find(calls []*oracleCall, seq uint64) *oracleCall {
	for _, c := range calls {
		if c.seq == seq {
			return c
		}
	}
	return nil
}

func without(calls []*oracleCall, c *oracleCall) []*oracleCall {
	return slices.DeleteFunc(slices.Clone(calls), func(d *oracleCall) bool { return d == c })
}

func (o *oracle) effect(kind EffectKind, c *oracleCall, e Effect) Effect {
	e.Kind, e.Class, e.ID = kind, int32(c.Class), ID{Seq: c.seq}
	return e
}

func (o *oracle) refuse(now int64, c *oracleCall, why Reason) Effect {
	o.waiting = without(o.waiting, c)
	return o.effect(Refuse, c, Effect{Reason: why, Ns: now - c.arrived})
}

func (o *oracle) arrive(now int64, r Request) (out []Effect) {
	o.seq++
	if r.Class < 0 || r.Class >= len(o.cfg.Classes) || o.cfg.Classes[r.Class].Retired {
		r.Class = o.cfg.Default
	}
	k := o.cfg.Classes[r.Class]
	if r.Cost == 0 {
		r.Cost = 1
	}
	if r.Expected <= 0 {
		r.Expected = o.cfg.Pools[k.Pool].Expected
	}
	switch {
	case r.Deadline != 0:
		r.Deadline = max(r.Deadline, now-1)
	case k.Deadline > 0:
		r.Deadline = now + k.Deadline
	default:
		r.Deadline = Never
	}
	c := &oracleCall{Request: r, seq: o.seq, arrived: now}
	why, victims := o.door(now, c)
	if why != NoReason {
		return []Effect{o.effect(Refuse, c, Effect{Reason: why})}
	}
	for _, v := range victims {
		out = append(out, o.refuse(now, v, Evicted))
	}
	o.waiting = append(o.waiting, c)
	return append(out, o.effect(Wait, c, Effect{}))
}

func (o *oracle) door(now int64, c *oracleCall) (Reason, []*oracleCall) {
	p := o.pool(c)
	q := o.cfg.Pools[p]
	switch {
	case o.draining:
		return Draining, nil
	case c.Cost == 1 && o.ceiling(c.Class) < 1:
		return Full, nil
	case c.Cost < 0 || c.Cost > o.ceiling(c.Class):
		return TooCostly, nil
	}
	order := o.victims(c)
	need := 0
	fits, own := o.fits(now, c, nil)
	if !fits {
		if !own || q.Door == DoorBlind || len(order) == 0 {
			return Full, nil
		}
		if fits, _ = o.fits(now, c, order[0]); !fits {
			return Full, nil
		}
		need = 1
	}
	if !q.RefuseHopeless || c.Deadline == Never {
		return NoReason, order[:need]
	}
	if c.Deadline-q.Margin-c.Expected < now {
		return Hopeless, nil
	}
	for n := range len(order) + 1 { // as few as are enough
		if (n >= need || n == 0 && need <= 1) && o.inTime(now, c, order[:n]) {
			return NoReason, order[:max(n, need)]
		}
		if q.Door == DoorBlind {
			break
		}
	}
	return Hopeless, nil
}

// victims are those who could be evicted for c, in that order.
func (o *oracle) victims(c *oracleCall) []*oracleCall {
	v := o.of(o.in(o.waiting, o.pool(c)), func(d *oracleCall) bool { return o.rank(d) > o.rank(c) })
	slices.SortFunc(v, func(a, b *oracleCall) int {
		return cmp.Or(cmp.Compare(o.rank(b), o.rank(a)), cmp.Compare(b.seq, a.seq))
	})
	return v
}

// fits plays the next dispatch with c among the waiting, and one of them gone.
func (o *oracle) fits(now int64, c, victim *oracleCall) (fits, own bool) {
	p := o.pool(c)
	q, k := o.cfg.Pools[p], o.cfg.Classes[c.Class]
	waits := append(without(o.in(o.waiting, p), victim), c)
	ours := 0
	for _, d := range waits {
		if d.Class == c.Class {
			ours++
		}
	}
	total := len(waits)
	for _, d := range o.starts(now, p, waits, false) {
		total--
		if d.Class == c.Class {
			ours--
		}
	}
	own = k.Waiting == Unbounded || ours <= k.Waiting
	if q.Waiting == Unbounded {
		return own, own
	}
	calls, room := q.Slots+q.Waiting, q.Waiting
	if victim != nil && o.over(p) {
		calls, room = o.limits[p].calls, max(room, len(waits))
	}
	return own && len(o.in(o.running, p))+len(waits) <= calls && total <= room, own
}

// starts are those of the waiting who start now, doom aside, in order.
func (o *oracle) starts(now int64, p int, waits []*oracleCall, mark bool) (out []*oracleCall) {
	q := o.cfg.Pools[p]
	used := make([]int, len(o.cfg.Classes))
	units := 0
	for k := range used {
		if o.cfg.Classes[k].Pool == p {
			used[k] = o.held(k)
			units += used[k]
		}
	}
	waits = slices.Clone(waits)
	slices.SortFunc(waits, func(a, b *oracleCall) int {
		switch q.Order {
		case OrderPriority:
			return cmp.Or(cmp.Compare(o.rank(a), o.rank(b)), cmp.Compare(a.seq, b.seq))
		case OrderLIFO:
			return cmp.Compare(b.seq, a.seq)
		}
		return cmp.Compare(a.seq, b.seq)
	})
	passed, headless, holding := make([]int, len(used)), true, false
	for _, c := range waits {
		if units >= q.Slots {
			break
		}
		if passed[c.Class] == passScan {
			continue
		}
		own := max(0, o.cfg.Classes[c.Class].Reserve-used[c.Class])
		others := 0
		for k, d := range o.cfg.Classes {
			if d.Pool == p && k != c.Class {
				others += max(0, d.Reserve-used[k])
			}
		}
		if c.Cost <= q.Slots-units-others && (!holding || c.Cost <= own) {
			if mark && o.doomed(now, p, c, out) {
				out = append(out, c) // it is expired instead, and takes nothing
				continue
			}
			units += c.Cost
			used[c.Class] += c.Cost
			out = append(out, c)
			continue
		}
		passed[c.Class]++
		if headless {
			headless = false
			if mark && !c.head {
				c.head, c.headSave = true, now
			}
			holding = c.head && now-c.headSave > c.Expected
		}
	}
	return out
}

func (o *oracle) workers(p int) int { return cmp.Or(o.cfg.Pools[p].Workers, o.cfg.Pools[p].Slots) }

func (o *oracle) work(c *oracleCall) int64 { return c.Expected * int64(c.Cost) }

func (o *oracle) inFlight(now int64, p int) (n int64) {
	served := o.of(o.in(o.running, p), func(c *oracleCall) bool { return c.served })
	for _, c := range o.in(o.running, p) {
		switch {
		case !c.served:
			n += o.work(c)
		case len(served) <= 8:
			n += o.work(c) - min(now-c.began, c.Expected)*int64(c.Cost)
		}
	}
	if len(served) > 8 {
		all := int64(0)
		for _, c := range served {
			all += o.work(c)
		}
		n += all / 2
	}
	return n
}

func (o *oracle) workerFree(p, cost int) bool {
	busy := 0
	for _, c := range o.in(o.running, p) {
		if !c.served {
			return false
		}
		busy += c.Cost
	}
	return busy+cost <= o.workers(p)
}

// inTime says whether c, with those victims gone, would end before its deadline.
func (o *oracle) inTime(now int64, c *oracleCall, gone []*oracleCall) bool {
	p := o.pool(c)
	q, k := o.cfg.Pools[p], o.cfg.Classes[c.Class]
	ahead, taken, lane := int64(0), int64(0), int64(0)
	mine := 0
	if q.Order != OrderLIFO {
		for _, d := range o.in(o.waiting, p) {
			if q.Order == OrderPriority && o.rank(d) > o.rank(c) {
				continue
			}
			ahead += o.work(d)
			if slices.Contains(gone, d) {
				taken += o.work(d)
			}
		}
	}
	for _, d := range o.waiting {
		if d.Class == c.Class {
			mine++
			lane += o.work(d)
		}
	}
	free := ahead == 0 && o.workerFree(p, c.Cost)
	if !free {
		ahead += o.inFlight(now, p)
	}
	if free {
		ahead, taken = 0, 0
	}
	own := ahead // on its reserve, which others' leaving does not shorten
	if k.Reserve > 0 {
		if o.held(c.Class)+c.Cost <= k.Reserve && mine == 0 { // starts at once
			own = 0
		} else if lane = (lane + int64(o.held(c.Class))*q.Expected/2) / int64(k.Reserve); lane < ahead/int64(q.Slots) {
			own = lane * int64(q.Slots)
		}
		if o.workers(p) < q.Slots && !o.workerFree(p, c.Cost) {
			own = min(ahead, max(own, o.inFlight(now, p)))
		}
	}
	return now+min(ahead-taken, own)/int64(o.workers(p)) <= c.Deadline-q.Margin-c.Expected
}

// doomed says that c would end too late, behind those who start in the same
// dispatch before it.
func (o *oracle) doomed(now int64, p int, c *oracleCall, before []*oracleCall) bool {
	if c.Deadline == Never {
		return false
	}
	twin := &oracle{cfg: o.cfg}
	for _, d := range o.running {
		e := *d
		twin.running = append(twin.running, &e)
	}
	for _, d := range before {
		if !o.doomed(now, p, d, before[:slices.Index(before, d)]) {
			e := *d
			twin.running = append(twin.running, &e)
			twin.serve(now, p)
		}
	}
	end := now + c.Expected + o.cfg.Pools[p].Margin
	serves := slices.ContainsFunc(twin.in(twin.running, p), func(d *oracleCall) bool { return d.served })
	if !twin.workerFree(p, c.Cost) && serves {
		end += twin.inFlight(now, p) / int64(max(1, o.workers(p)))
	}
	return end > c.Deadline
}

func (o *oracle) dispatch(now int64, p int) (out []Effect) {
	for {
		out = append(out, o.startAll(now, p)...)
		more := o.trim(now, p)
		out = append(out, more...)
		if len(more) == 0 {
			return out
		}
	}
}

func (o *oracle) startAll(now int64, p int) (out []Effect) {
	for _, c := range o.starts(now, p, o.in(o.waiting, p), true) {
		if o.doomed(now, p, c, nil) {
			out = append(out, o.refuse(now, c, Expired))
			continue
		}
		o.waiting = without(o.waiting, c)
		o.running = append(o.running, c)
		o.serve(now, p)
		out = append(out, o.effect(Run, c, Effect{Ns: now - c.arrived}))
	}
	return out
}

// trim refuses whoever waits beyond the bounds.
func (o *oracle) trim(now int64, p int) (out []Effect) {
	q := o.cfg.Pools[p]
	for _, k := range o.byRank(p) {
		for w := o.cfg.Classes[k].Waiting; w != Unbounded; {
			mine := o.of(o.waiting, func(c *oracleCall) bool { return c.Class == k })
			if len(mine) <= w {
				break
			}
			out = append(out, o.refuse(now, mine[len(mine)-1], Full))
		}
	}
	for q.Waiting != Unbounded && len(o.in(o.waiting, p)) > q.Waiting {
		v := o.in(o.waiting, p)
		slices.SortFunc(v, func(a, b *oracleCall) int {
			if q.Door == DoorPriority && o.rank(a) != o.rank(b) {
				return cmp.Compare(o.rank(b), o.rank(a))
			}
			return cmp.Compare(b.seq, a.seq)
		})
		out = append(out, o.refuse(now, v[0], Full))
	}
	return out
}

func (o *oracle) byRank(p int) (out []int) {
	for k, c := range o.cfg.Classes {
		if c.Pool == p {
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(o.cfg.Classes[a].Rank, o.cfg.Classes[b].Rank) })
	return out
}

// serve gives workers to the running that have none, in order.
func (o *oracle) serve(now int64, p int) {
	busy := 0
	for _, c := range o.in(o.running, p) {
		if !c.served {
			if busy > 0 && busy+c.Cost > o.workers(p) {
				return
			}
			c.served, c.began = true, now
		}
		busy += c.Cost
	}
}

func (o *oracle) release(now int64, seq uint64, what Outcome) []Effect {
	c := find(o.running, seq)
	if c == nil {
		return []Effect{{Kind: Stale, Class: -1, ID: ID{Seq: seq}}}
	}
	if what == NoOutcome || what >= Refused {
		what = Failed
	}
	if what == OK && now > c.Deadline {
		what = Late
	}
	e := o.effect(End, c, Effect{Outcome: what})
	if c.served {
		e.Ns = now - c.began
	}
	o.running = without(o.running, c)
	o.serve(now, o.pool(c))
	return []Effect{e}
}

func (o *oracle) tick(now int64) (out []Effect) {
	for p, q := range o.cfg.Pools {
		if !q.ExpireWaiting {
			continue
		}
		v := o.of(o.in(o.waiting, p), func(c *oracleCall) bool {
			return c.Deadline != Never && now+c.Expected+q.Margin > c.Deadline
		})
		slices.SortStableFunc(v, func(a, b *oracleCall) int { return cmp.Compare(a.Deadline-a.Expected, b.Deadline-b.Expected) })
		for _, c := range v {
			out = append(out, o.refuse(now, c, Expired))
		}
	}
	return out
}

// The machine and the oracle agree on every effect of thousands of histories;
// the machine is replaced by one restored from its snapshot now and then; and
// where one place is as good as another, nobody of a less critical rank waits
// when a call is refused by the bound of a pool with a priority door.
func TestOracle(t *testing.T) {
	histories := uint64(4000)
	if testing.Short() {
		histories = 500
	}
	for seed := range histories {
		if !agree(t, seed, 0) {
			return
		}
	}
}

// The same with hundreds of calls waiting, many of them dear: more of a class
// than a dispatch looks at.
func TestOracleInACrowd(t *testing.T) {
	histories := uint64(150)
	if testing.Short() {
		histories = 30
	}
	for seed := range histories {
		if !agree(t, seed, 300) {
			return
		}
	}
}

func agree(t *testing.T, seed uint64, crowd int) bool {
	h := newHistory(seed)
	if crowd > 0 {
		h.crowd()
	}
	m, err := New(h.cfg)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	o := newOracle(h.cfg)
	for n := range crowd + 150 {
		var e Event
		if n < crowd {
			e = h.arrival() // a hundred of one class, the last ones cheap
			e.Request.Class, e.Request.Cost, e.Request.Deadline = n/100%len(h.cfg.Classes), 3, Never
			if n%100 > 80 {
				e.Request.Cost = 1
			}
		} else {
			e = h.next()
		}
		fullOfLess(t, m, o, e, seed, n)
		got, err := m.Step(e, nil)
		if err != nil {
			t.Fatalf("seed %d, event %d: %v", seed, n, err)
		}
		h.saw(got)
		for i := range got {
			got[i].ID.Index = 0
		}
		want := o.step(e)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d, event %d: %+v\n got %+v\nwant %+v\npools %+v\nclasses %+v", seed, n, e, got, want, o.cfg.Pools, o.cfg.Classes)
			return false
		}
		for p, l := range o.limits { // how far a shrink has come down
			q := &m.pools[p]
			if max(q.Slots, q.maxUnits) != l.units || q.Waiting != Unbounded && max(q.Slots+q.Waiting, q.maxCalls) != l.calls {
				t.Errorf("seed %d, event %d: %+v\n pool %d may have %d units and %d calls, want %+v", seed, n, e, p, q.maxUnits, q.maxCalls, l)
				return false
			}
		}
		if n%20 == 19 {
			m = reborn(t, m)
		}
	}
	return true
}

// fullOfLess checks the invariant that is about an event, where every call
// costs one unit and no reserve is unfilled. The oracle's own door holds the rest.
func fullOfLess(t *testing.T, m *Machine, o *oracle, e Event, seed uint64, n int) {
	if e.Op != OpArrive || o.draining {
		return
	}
	k := e.Request.Class
	if k < 0 || k >= len(o.cfg.Classes) || o.cfg.Classes[k].Retired {
		k = o.cfg.Default
	}
	c := o.cfg.Classes[k]
	q := o.cfg.Pools[c.Pool]
	if q.Door != DoorPriority || c.Waiting != Unbounded || e.Request.Cost > 1 || e.Request.Cost < 0 || o.ceiling(k) < 1 || len(o.in(o.running, c.Pool)) != o.units(c.Pool) {
		return
	}
	if len(o.in(o.waiting, c.Pool)) > q.Waiting {
		return // after a shrink, before the next dispatch
	}
	for _, w := range o.in(o.waiting, c.Pool) {
		if w.Cost > 1 || o.rank(w) <= c.Rank {
			continue
		}
		if got, _ := reborn(t, m).Step(e, nil); slices.ContainsFunc(got, func(x Effect) bool { return x.Reason == Full }) && o.unfilled(c.Pool) == 0 {
			t.Fatalf("seed %d, event %d: refused full while #%d of rank %d waits: %+v", seed, n, w.seq, o.rank(w), got)
		}
		return
	}
}

func reborn(t *testing.T, m *Machine) *Machine {
	t.Helper()
	text, err := json.Marshal(m.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&s); err != nil {
		t.Fatal(err)
	}
	again, err := Restore(s)
	if err != nil {
		t.Fatal(err)
	}
	same(t, m.Snapshot(), again.Snapshot())
	return again
}

func same(t *testing.T, want, got State) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("another state:\n%+v\n%+v", want, got)
	}
}
