package core

import (
	"math"
	"strings"
	"testing"
)

func sound() Config {
	return Config{
		Pools:   []Pool{{Name: "app", Slots: 4, Waiting: 2}, {Name: "db", Slots: 1}},
		Classes: []Class{{Name: "a", Waiting: Unbounded}, {Name: "b", Waiting: Unbounded}},
	}
}

// What cannot be is refused with the place and with what is allowed.
func TestValidateNamesThePlaceAndWhatIsAllowed(t *testing.T) {
	for _, c := range []struct {
		spoil func(*Config)
		want  string
	}{
		{func(c *Config) { c.Pools = nil }, "0 pools; 1 to 65536 are allowed"},
		{func(c *Config) { c.Pools = make([]Pool, MaxPools+1) }, "65537 pools; 1 to 65536 are allowed"},
		{func(c *Config) { c.Default = 2 }, "default class 2 does not exist; there are 2 classes"},
		{func(c *Config) { c.Default = -1 }, "default class -1 does not exist"},
		{func(c *Config) { c.Classes[0].Retired = true }, `default class "a" is retired`},
		{func(c *Config) { c.Pools[0].Slots = -1 }, `pool "app": slots is -1; 0 to 524288 is allowed`},
		{func(c *Config) { c.Pools[0].Slots = MaxSlots + 1 }, "slots is 524289"},
		{func(c *Config) { c.Pools[0].Workers = 5 }, `pool "app": workers is 5; 0 to 4 is allowed`},
		{func(c *Config) { c.Pools[0].Workers = -1 }, "workers is -1"},
		{func(c *Config) { c.Pools[1].Waiting = -2 }, `pool "db": waiting is -2; -1 (no bound) to 524288 is allowed`},
		{func(c *Config) { c.Pools[1].Waiting = MaxWaiting + 1 }, "waiting is 524289"},
		{func(c *Config) { c.Pools[0].Expected = -1 }, "expected is -1; 0 to 4398046511104 is allowed"},
		{func(c *Config) { c.Pools[0].Expected = MaxExpected + 1 }, "expected is 4398046511105"},
		{func(c *Config) { c.Pools[0].Margin = -1 }, "margin is -1"},
		{func(c *Config) { c.Pools[0].Margin = MaxExpected + 1 }, "margin is 4398046511105"},
		{func(c *Config) { c.Pools[0].Order = 9 }, `order(9); one of ["fifo" "priority" "lifo"]`},
		{func(c *Config) { c.Pools[0].Door = 9 }, `door(9); one of ["blind" "priority"]`},
		{func(c *Config) { c.Classes[1].Pool = 2 }, `class "b" is in pool 2; there are 2 pools`},
		{func(c *Config) { c.Classes[1].Pool = -1 }, `class "b" is in pool -1`},
		{func(c *Config) { c.Classes[1].Rank = -1 }, `class "b": rank is -1; 0 (the most critical) to 2147483647 is allowed`},
		{func(c *Config) { c.Classes[1].Rank = math.MaxInt32 + 1 }, "rank is 2147483648"},
		{func(c *Config) { c.Classes[1].Deadline = -1 }, `class "b": deadline is -1 ns`},
		{func(c *Config) { c.Classes[1].Waiting = -2 }, `class "b": waiting is -2`},
		{func(c *Config) { c.Classes[1].Waiting = MaxWaiting + 1 }, "waiting is 524289"},
		{func(c *Config) { c.Classes[1].Reserve = -1 }, `class "b": reserve is -1`},
		{func(c *Config) { c.Classes[1].Reserve = MaxSlots + 1 }, "reserve is 524289"},
		{func(c *Config) { c.Classes[0].Reserve, c.Classes[1].Reserve = 2, 3 }, `pool "app": its classes reserve 5 units of 4 slots`},
		{func(c *Config) { c.Classes = make([]Class, MaxClasses+1) }, `pool "app" has more than 64 classes`},
	} {
		cfg := sound()
		c.spoil(&cfg)
		m, err := New(cfg)
		if err == nil || m != nil || !strings.HasPrefix(err.Error(), "core: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

// The bounds themselves are allowed.
func TestValidateAllowsItsBounds(t *testing.T) {
	cfg := Config{
		Pools:   []Pool{{Slots: MaxSlots, Workers: MaxSlots, Waiting: MaxWaiting, Expected: MaxExpected, Margin: MaxExpected, Order: OrderLIFO, Door: DoorPriority}},
		Classes: make([]Class, MaxClasses),
	}
	for k := range cfg.Classes {
		cfg.Classes[k] = Class{Rank: math.MaxInt32, Deadline: math.MaxInt64, Waiting: MaxWaiting, Reserve: MaxSlots / MaxClasses}
	}
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}

// A running machine keeps what it has: what it cannot become is refused, and
// nothing has changed.
func TestConfigureRefusesAndChangesNothing(t *testing.T) {
	for want, spoil := range map[string]func(*Config){
		"keeps its 2 pools and 2 classes": func(c *Config) { c.Classes = c.Classes[:1] },
		"retire a class instead":          func(c *Config) { c.Pools = c.Pools[:1] },
		`class "b" cannot move`:           func(c *Config) { c.Classes[1].Pool = 1 },
		"slots is -1":                     func(c *Config) { c.Pools[1].Slots = -1 },
	} {
		m, err := New(sound())
		if err != nil {
			t.Fatal(err)
		}
		m.Arrive(1, Request{Class: 1}, nil)
		before := m.Snapshot()
		cfg := sound()
		cfg.Pools[0].Slots = 3
		spoil(&cfg)
		if out, err := m.Configure(2, cfg, nil); err == nil || len(out) != 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v, %v", want, out, err)
		}
		same(t, before, m.Snapshot())
	}
}

// An event from a file that cannot be is an error, and changes nothing.
func TestStepRefusesWhatIsNoEvent(t *testing.T) {
	m, err := New(sound())
	if err != nil {
		t.Fatal(err)
	}
	m.Arrive(1, Request{}, nil)
	before := m.Snapshot()
	for _, e := range []Event{{}, {Op: OpFlush + 1}, {Op: OpConfigure}, {Op: OpFlush}, {Op: OpFlush, Reason: numReasons}} {
		if out, err := m.Step(e, nil); err == nil || len(out) != 0 {
			t.Errorf("%+v: %v, %v", e, out, err)
		}
	}
	same(t, before, m.Snapshot())
}

// Any number is a legal instant, deadline, cost or expected time of a request.
func TestArriveBearsExtremes(t *testing.T) {
	cfg := sound()
	cfg.Pools[0] = Pool{Name: "app", Slots: 4, Waiting: MaxWaiting, Expected: MaxExpected, Margin: MaxExpected, ExpireWaiting: true, RefuseHopeless: true, Door: DoorPriority}
	cfg.Classes[0] = Class{Name: "a", Deadline: math.MaxInt64, Waiting: Unbounded, Reserve: 1}
	extremes := []int64{math.MinInt64, -MaxExpected, -1, 0, 1, MaxExpected, math.MaxInt64 - 1, math.MaxInt64}
	for _, now := range []int64{-MaxExpected, 0, MaxExpected} {
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, deadline := range extremes {
			for _, expected := range extremes {
				for _, cost := range []int{math.MinInt, -1, 0, 1, 3, math.MaxInt} {
					_, out := m.Arrive(now, Request{Class: int(expected), Cost: cost, Deadline: deadline, Expected: expected, Attempt: math.MaxInt}, nil)
					switch last := out[len(out)-1]; {
					case cost < 0 || cost > 4:
						if last.Reason != TooCostly {
							t.Errorf("cost %d: %+v", cost, last)
						}
					case deadline < 0 && now >= 0 && last.Reason != Hopeless:
						t.Errorf("due at %d, at %d: %+v", deadline, now, last)
					case deadline == Never && last.Kind != Wait:
						t.Errorf("no deadline: %+v", last)
					}
					m.Dispatch(now, nil)
					m.Tick(now, nil)
					if err := m.Check(); err != nil {
						t.Fatalf("now %d, deadline %d, expected %d, cost %d: %v", now, deadline, expected, cost, err)
					}
				}
			}
		}
	}
}
