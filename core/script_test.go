package core

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata come to into them")

// TestScripts runs the behaviours in testdata. A script is blocks of commands,
// a line ----, and the effects, which -rewrite regenerates:
//
//	pool NAME slots=1 waiting=2 …     class NAME pool=NAME rank=0 …     new
//	arrive CLASS [cost=2] [deadline=5ms: after now] [expected=1ms] [n=20]
//	release #1 [OUTCOME]   cancel #1   dispatch   tick   next   drain on|off
//	flush REASON   at 10ms   configure   restore   show
//
// pool and class lines before new make the machine, later ones change what the
// next configure applies. The machine's invariants are checked after every line.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(text))
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("the script comes to something else; -rewrite shows it as a diff:\n%s", firstDifference(string(text), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d: want %q, got %q", i+1, w[i], g[i])
		}
	}
	return "one is longer"
}

type script struct {
	t     *testing.T
	cfg   Config
	m     *Machine
	now   int64
	names map[string]int // classes
	pools map[string]int
}

// runScript returns the script with the output that it comes to.
func runScript(t *testing.T, text string) string {
	s := &script{t: t, names: map[string]int{}, pools: map[string]int{}}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		in, _, found := strings.Cut(block+"\n", "----\n")
		out.WriteString(in)
		var did strings.Builder
		for _, line := range strings.Split(strings.TrimSpace(in), "\n") {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			did.WriteString(s.line(strings.Fields(line)))
			if s.m != nil {
				if err := s.m.Check(); err != nil {
					t.Fatalf("after %q: %v", line, err)
				}
			}
		}
		if found || did.Len() > 0 {
			out.WriteString("----\n" + did.String())
		}
	}
	return out.String()
}

func (s *script) line(f []string) string {
	name, args := f[0], arguments(f[1:])
	switch name {
	case "pool":
		s.pool(f[1], args)
	case "class":
		s.class(f[1], args)
	case "default":
		s.cfg.Default = s.names[f[1]]
	case "new":
		m, err := New(s.cfg)
		if err != nil {
			return err.Error() + "\n"
		}
		s.m = m
	case "at":
		s.now = s.time(f[1])
	case "next":
		if n := s.m.Next(); n != Never {
			return fmt.Sprintln("next", time.Duration(n))
		}
		return "never\n"
	case "restore":
		s.restore()
	case "show":
		return s.show()
	default:
		return s.event(name, f, args)
	}
	return ""
}

func (s *script) event(name string, f []string, args map[string]string) string {
	e := Event{Now: s.now}
	if err := e.Op.UnmarshalText([]byte(name)); err != nil {
		s.t.Fatal(err)
	}
	n := 1
	switch e.Op {
	case OpArrive:
		e.Request, n = s.request(f[1], args), s.number(args, "n", 1)
	case OpRelease, OpCancel:
		e.Seq, e.Outcome = s.seq(f[1]), OK
		if len(f) > 2 {
			if err := e.Outcome.UnmarshalText([]byte(f[2])); err != nil {
				s.t.Fatal(err)
			}
		}
	case OpDrain:
		e.On = f[1] == "on"
	case OpFlush:
		if err := e.Reason.UnmarshalText([]byte(f[1])); err != nil {
			s.t.Fatal(err)
		}
	case OpConfigure:
		cfg := Config{Pools: append([]Pool{}, s.cfg.Pools...), Classes: append([]Class{}, s.cfg.Classes...), Default: s.cfg.Default}
		e.Config = &cfg
	}
	var out strings.Builder
	for range n {
		effects, err := s.m.Step(e, nil)
		if err != nil {
			fmt.Fprintln(&out, "error:", err)
		}
		for _, x := range effects {
			out.WriteString(s.effect(x))
		}
	}
	return out.String()
}

func (s *script) effect(e Effect) string {
	class := "?"
	if e.Class >= 0 {
		class = s.m.classes[e.Class].Name
	}
	switch e.Kind {
	case Refuse:
		return fmt.Sprintf("%v %s refused %v after %v\n", e.ID, class, e.Reason, time.Duration(e.Ns))
	case Run:
		return fmt.Sprintf("%v %s runs after %v\n", e.ID, class, time.Duration(e.Ns))
	case Wait:
		return fmt.Sprintf("%v %s waits\n", e.ID, class)
	case End:
		return fmt.Sprintf("%v %s ends %v, worked on for %v\n", e.ID, class, e.Outcome, time.Duration(e.Ns))
	}
	return fmt.Sprintf("%v stale\n", e.ID)
}

// show is how many wait, run and are out, by pool and class.
func (s *script) show() string {
	var out strings.Builder
	for i := range s.m.NumPools() {
		p := s.m.PoolView(i)
		fmt.Fprintf(&out, "%s: %d run, %d of %d units, %d wait\n", p.Name, p.Running, p.Units, p.Slots, p.Waiting)
	}
	for i := range s.m.NumClasses() {
		c := s.m.ClassView(i)
		fmt.Fprintf(&out, "  %s: %d arrived, %d run, %d wait", c.Name, c.Arrived, c.Running, c.Waits)
		for r, n := range c.Refused {
			if n > 0 {
				fmt.Fprintf(&out, ", %d %v", n, Reason(r))
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// restore replaces the machine by one made of its snapshot, which must be the
// same snapshot again.
func (s *script) restore() {
	text, err := json.Marshal(s.m.Snapshot())
	if err != nil {
		s.t.Fatal(err)
	}
	var state State
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&state); err != nil {
		s.t.Fatal(err)
	}
	m, err := Restore(state)
	if err != nil {
		s.t.Fatal(err)
	}
	if !reflect.DeepEqual(m.Snapshot(), s.m.Snapshot()) {
		s.t.Fatal("the restored machine has another snapshot")
	}
	s.m = m
}

func (s *script) pool(name string, args map[string]string) {
	i, ok := s.pools[name]
	if !ok {
		i = len(s.cfg.Pools)
		s.pools[name] = i
		s.cfg.Pools = append(s.cfg.Pools, Pool{Name: name})
	}
	p := &s.cfg.Pools[i]
	p.Slots, p.Workers, p.Waiting = s.number(args, "slots", p.Slots), s.number(args, "workers", p.Workers), s.number(args, "waiting", p.Waiting)
	p.Expected, p.Margin = s.duration(args, "expected", p.Expected), s.duration(args, "margin", p.Margin)
	p.ExpireWaiting, p.RefuseHopeless = s.flag(args, "expire", p.ExpireWaiting), s.flag(args, "hopeless", p.RefuseHopeless)
	for key, to := range map[string]interface{ UnmarshalText([]byte) error }{"order": &p.Order, "door": &p.Door} {
		if v, ok := args[key]; ok {
			if err := to.UnmarshalText([]byte(v)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

func (s *script) class(name string, args map[string]string) {
	i, ok := s.names[name]
	if !ok {
		i = len(s.cfg.Classes)
		s.names[name] = i
		s.cfg.Classes = append(s.cfg.Classes, Class{Name: name, Waiting: Unbounded})
	}
	c := &s.cfg.Classes[i]
	if v, ok := args["pool"]; ok {
		c.Pool = s.pools[v]
	}
	c.Rank, c.Waiting, c.Reserve = s.number(args, "rank", c.Rank), s.number(args, "waiting", c.Waiting), s.number(args, "reserve", c.Reserve)
	c.Deadline, c.Retired = s.duration(args, "deadline", c.Deadline), s.flag(args, "retired", c.Retired)
}

func (s *script) request(class string, args map[string]string) Request {
	k, ok := s.names[class]
	if !ok {
		k = -1
	}
	r := Request{Class: k, Cost: s.number(args, "cost", 0), Expected: s.duration(args, "expected", 0)}
	if d := s.duration(args, "deadline", 0); d != 0 {
		r.Deadline = s.now + d
	}
	return r
}

func arguments(f []string) map[string]string {
	args := map[string]string{}
	for _, a := range f {
		if k, v, ok := strings.Cut(a, "="); ok {
			args[k] = v
		}
	}
	return args
}

func (s *script) number(args map[string]string, key string, or int) int {
	v, ok := args[key]
	if !ok {
		return or
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) flag(args map[string]string, key string, or bool) bool {
	if v, ok := args[key]; ok {
		return v == "on"
	}
	return or
}

func (s *script) duration(args map[string]string, key string, or int64) int64 {
	if v, ok := args[key]; ok {
		return s.time(v)
	}
	return or
}

func (s *script) time(v string) int64 {
	d, err := time.ParseDuration(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return int64(d)
}

func (s *script) seq(v string) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(v, "#"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
