package core

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A history is a random life of a machine: a configuration and events. It is
// driven by bytes, so that the fuzzer and the random tests share it.
type history struct {
	r    *rand.Rand
	cfg  Config
	now  int64
	live []uint64 // calls that may still be in the system, and some that are not
}

func newHistory(seed uint64) *history {
	h := &history{r: rand.New(rand.NewPCG(seed, 17))}
	h.begin()
	return h
}

// begin chooses where the line of time begins, and a configuration.
func (h *history) begin() {
	h.now = int64(h.pick(0, 0, -700))
	h.cfg = h.config()
}

func (h *history) pick(n ...int) int     { return n[h.r.IntN(len(n))] }
func (h *history) chance(n, of int) bool { return h.r.IntN(of) < n }

func (h *history) config() Config {
	cfg := Config{}
	simple := h.chance(1, 2) // a pool without costs and reserves
	for p := range h.pick(1, 1, 2) {
		cfg.Pools = append(cfg.Pools, h.pool(p))
		left := cfg.Pools[p].Slots
		for k := range h.pick(1, 2, 2, 3, 5) {
			c := Class{
				Name: fmt.Sprintf("c%d.%d", p, k), Pool: p, Rank: h.r.IntN(3),
				Deadline: int64(h.pick(0, 20, 50, 200)), Waiting: h.pick(Unbounded, Unbounded, 0, 1, 3),
			}
			if !simple && left > 0 && h.chance(1, 3) {
				c.Reserve = h.r.IntN(left + 1)
				left -= c.Reserve
			}
			cfg.Classes = append(cfg.Classes, c)
		}
	}
	cfg.Default = h.r.IntN(len(cfg.Classes))
	return cfg
}

func (h *history) pool(i int) Pool {
	p := Pool{
		Name: fmt.Sprintf("p%d", i), Slots: h.pick(0, 1, 1, 2, 3, 8, 12), Waiting: h.pick(Unbounded, 0, 1, 2, 4, 17),
		Order: Order(h.r.IntN(3)), Door: Door(h.r.IntN(2)),
		Expected: int64(h.pick(0, 1, 10, 10)), Margin: int64(h.pick(0, 0, 1, 5)),
		ExpireWaiting: h.chance(1, 2), RefuseHopeless: h.chance(1, 2),
	}
	if p.Slots > 0 && h.chance(1, 3) {
		p.Workers = 1 + h.r.IntN(p.Slots)
	}
	return p
}

// next is the next event; it does not apply it.
func (h *history) next() Event {
	h.now += int64(h.pick(0, 0, 0, 1, 3, 10, 40))
	e := Event{Now: h.now}
	switch n := h.r.IntN(100); {
	case n < 45:
		return h.arrival()
	case n < 65:
		e.Op, e.Outcome = OpRelease, Outcome(h.r.IntN(NumOutcomes))
		e.Seq = h.someone()
	case n < 85:
		e.Op = OpDispatch
	case n < 90:
		e.Op, e.Seq = OpCancel, h.someone()
	case n < 95:
		e.Op = OpTick
	case n < 97:
		e.Op, e.On = OpDrain, h.chance(1, 4)
	case n < 98:
		e.Op, e.Reason = OpFlush, Draining
	default:
		e.Op = OpConfigure
		cfg := h.reconfigure()
		e.Config = &cfg
	}
	return e
}

func (h *history) arrival() Event {
	e := Event{Op: OpArrive, Now: h.now}
	e.Request = Request{
		Class: h.r.IntN(len(h.cfg.Classes)+2) - 1, Cost: h.pick(0, 1, 1, 1), Attempt: h.r.IntN(3),
		Expected: int64(h.pick(0, 0, 1, 7, 30)), Key: h.r.Uint64N(3),
	}
	if h.chance(1, 4) {
		e.Request.Cost = h.pick(-1, 2, 3, 5, 20)
	}
	if h.chance(1, 4) {
		e.Request.Deadline = h.now + int64(h.pick(-5, 5, 15, 60, 500))
		if h.chance(1, 4) {
			e.Request.Deadline = Never
		}
	}
	return e
}

// crowd makes room for many, and dear calls likely.
func (h *history) crowd() {
	for i := range h.cfg.Pools {
		p := &h.cfg.Pools[i]
		p.Slots, p.Waiting, p.Workers, p.RefuseHopeless = max(p.Slots, 4+i), Unbounded, 0, false
	}
	for i := range h.cfg.Classes {
		h.cfg.Classes[i].Waiting = Unbounded
	}
}

// someone is mostly a call that is in the system.
func (h *history) someone() uint64 {
	if len(h.live) == 0 {
		return uint64(h.r.IntN(5))
	}
	return h.live[h.r.IntN(len(h.live))]
}

// reconfigure changes parameters, and now and then adds or retires a class.
func (h *history) reconfigure() Config {
	cfg := Config{Default: h.cfg.Default}
	for i := range h.cfg.Pools {
		cfg.Pools = append(cfg.Pools, h.pool(i))
	}
	left := make([]int, len(cfg.Pools))
	for i, p := range cfg.Pools {
		left[i] = p.Slots
	}
	for i, c := range h.cfg.Classes {
		c.Waiting = h.pick(Unbounded, 0, 2)
		c.Rank = h.r.IntN(3)
		c.Reserve = min(c.Reserve, left[c.Pool])
		left[c.Pool] -= c.Reserve
		c.Retired = i != cfg.Default && h.chance(1, 8)
		cfg.Classes = append(cfg.Classes, c)
	}
	if len(cfg.Classes) < 8 && h.chance(1, 4) {
		cfg.Classes = append(cfg.Classes, Class{Name: fmt.Sprint("new", len(cfg.Classes)), Pool: h.r.IntN(len(cfg.Pools)), Waiting: Unbounded})
	}
	h.cfg = cfg
	return cfg
}

// saw tells the history what became of its event.
func (h *history) saw(effects []Effect) {
	for _, e := range effects {
		if e.Kind == Wait {
			h.live = append(h.live, e.ID.Seq)
		}
	}
	if len(h.live) > 40 {
		h.live = h.live[len(h.live)-40:]
	}
}

func TestInvariantsHoldInRandomHistories(t *testing.T) {
	for seed := range uint64(2000) {
		h := newHistory(seed)
		m, err := New(h.cfg)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for n := range 200 {
			e := h.next()
			out, err := m.Step(e, nil)
			if err == nil {
				err = m.Check()
			}
			if err != nil {
				t.Fatalf("seed %d, event %d %+v: %v\neffects %v", seed, n, e, err, out)
			}
			h.saw(out)
		}
	}
}
