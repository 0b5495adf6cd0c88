package config

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

// pool is about one pool and its classes.
func (w *warner) pool(p *plimsoll.Pool) {
	path := join("pools", p.Name)
	members := membersOf(&w.c.Gate, p.Name)
	if p.Slots == 0 {
		w.add(Warn, "no-slots", join(path, "slots"), "is 0, so every call is refused as full; at least 1 lets work through")
		return
	}
	w.ranks(p, path, members)
	w.reserves(p, path, members)
	for _, k := range members {
		if k.Deadline == 0 {
			w.add(Warn, "no-deadline", join(join("classes", k.Name), "deadline"), "is not given: calls of the class wait and run without end, none of them expires or is hopeless, and an answer that comes too late counts as a success; give it the time after which an answer is worthless")
		}
	}
	if p.Expected == 0 {
		if !p.AdmitHopeless {
			w.add(Hint, "expected-unknown", join(path, "expected"), "is not given: until it has been learnt from ended calls, nothing is refused as hopeless and capacity is not known here; say it if you know it")
		}
		return
	}
	w.turnaround(p, path)
	var m margined
	m.d, m.assumed = marginOf(p, members)
	for _, k := range members {
		w.deadline(p, k, m)
	}
	w.waiting(p, path, members, m)
}

// keyOr is what the user calls a key of the section at path.
func (w *warner) keyOr(path, key string) string { return w.r.sibling(join(path, key), key) }

// setting is how the user says that a key of the section at path is n.
func (w *warner) setting(path, key string, n int) string {
	colon := ":"
	if w.r.flags != nil {
		colon = ""
	}
	return fmt.Sprintf("%s%s %d", w.keyOr(path, key), colon, n)
}

// ranks is about whether the order of the classes has an effect.
func (w *warner) ranks(p *plimsoll.Pool, path string, members []*plimsoll.Class) {
	top, bottom := members[0], members[0]
	for _, k := range members {
		if k.Rank < top.Rank {
			top = k
		}
		if k.Rank > bottom.Rank {
			bottom = k
		}
	}
	several := top.Rank != bottom.Rank
	if p.Door == plimsoll.DoorPriority {
		w.door(p, path, members, top)
	}
	if !several {
		if p.Order == plimsoll.OrderPriority {
			w.add(Hint, "one-rank", join(path, "order"), "is priority, and all classes of the pool have rank %d, so it is fifo", top.Rank)
		}
		w.alone(p, members)
		return
	}
	if p.Door == plimsoll.DoorBlind && p.Order != plimsoll.OrderPriority && top.Reserve == 0 {
		w.add(Warn, "ranks-unused", join(path, "door"), "the classes have ranks, but door blind and order %s look at none and %s has no reserve: all classes suffer alike; door: priority lets the critical take the place of the others", p.Order, top.Name)
	}
	w.objectives(p, members, top, bottom)
}

// door is about a door that has nothing to evict.
func (w *warner) door(p *plimsoll.Pool, path string, members []*plimsoll.Class, top *plimsoll.Class) {
	var below, waiters int
	for _, k := range members {
		if k.Rank > top.Rank {
			below++
			if !k.NoWaiting {
				waiters++
			}
		}
	}
	key, nothing := join(path, "door"), "is priority, and has nothing to evict: "
	switch {
	case p.Waiting == 0:
		w.add(Warn, "nothing-to-evict", key, nothing+"with %s no call ever waits, so whoever comes when all slots are taken is refused, critical or not; let some wait", w.setting(path, "waiting", 0))
	case below == 0:
		w.add(Warn, "nothing-to-evict", key, nothing+"%s, so nobody may be evicted for anybody, as with blind; give what may be lost a class of a higher rank number", oneRank(members, top))
	case waiters == 0:
		w.add(Warn, "nothing-to-evict", key, nothing+"no class below rank %d may wait (waiting: 0), so none is there to be evicted; let one of them wait", top.Rank)
	}
}

func oneRank(members []*plimsoll.Class, top *plimsoll.Class) string {
	if len(members) == 1 {
		return fmt.Sprintf("%s is the only class of the pool", top.Name)
	}
	return fmt.Sprintf("all %d classes of the pool have rank %d", len(members), top.Rank)
}

// objectives is about promises that cannot all be kept.
func (w *warner) objectives(p *plimsoll.Pool, members []*plimsoll.Class, top, bottom *plimsoll.Class) {
	if top.Objective == 0 {
		w.add(Warn, "no-objective", join("classes", top.Name), "is the most critical class of pool %s and has no objective: nothing says whether the sacrifice of the others was enough, or needed; give it one, such as objective: 99%%", p.Name)
	}
	var promised []string
	for _, k := range members {
		if k.Objective == 0 {
			return
		}
		promised = append(promised, fmt.Sprintf("%s %s", k.Name, percent(k.Objective)))
	}
	w.add(Warn, "nothing-expendable", join(join("classes", bottom.Name), "objective"), "nothing is expendable in pool %s: every class has an objective (%s), so beyond %s one of them must be missed; leave the objective of the class that may be lost out", p.Name, strings.Join(promised, ", "), capacity(p))
}

// alone is about a single rank that promises something.
func (w *warner) alone(p *plimsoll.Pool, members []*plimsoll.Class) {
	for _, k := range members {
		if k.Objective == 0 {
			return
		}
	}
	k := members[0]
	w.add(Hint, "nothing-expendable", join(join("classes", k.Name), "objective"), "nothing is expendable in pool %s: the objective of %s holds only while arrivals stay below %s, since there is no other work to give up", p.Name, percent(k.Objective), capacity(p))
}

func capacity(p *plimsoll.Pool) string {
	if p.Expected == 0 {
		return "the capacity"
	}
	return fmt.Sprintf("the capacity of %s calls a second (%s ÷ %s)", number(rate(workersOf(p), p.Expected)), workersText(p), showDuration(p.Expected))
}

func workersText(p *plimsoll.Pool) string { return plural(workersOf(p), "worker") }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func percent(f float64) string { return number(f*100) + "%" }

// number is f with at most three digits after the point.
func number(f float64) string {
	s := fmt.Sprintf("%.3f", f)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// reserves is about slots that nobody, or only one class, can take.
func (w *warner) reserves(p *plimsoll.Pool, path string, members []*plimsoll.Class) {
	shared := p.Slots
	for _, k := range members {
		shared -= k.Reserve
	}
	if shared > 0 || len(members) == 1 {
		return
	}
	starved := false
	for _, k := range members {
		if k.Reserve == 0 {
			starved = true
			w.add(Warn, "reserved-away", join("classes", k.Name), "can never run: the other classes of pool %s reserve all of its %s; reserve less, or give it a reserve", p.Name, plural(p.Slots, "slot"))
		}
	}
	if !starved {
		w.add(Hint, "all-reserved", join(path, "slots"), "all %d are reserved, so no class takes what another leaves idle; a slot more than the reserves would be shared", p.Slots)
	}
}

// turnaround is about slots beside workers: too few let the workers idle
// between two calls, too many queue where nobody decides.
func (w *warner) turnaround(p *plimsoll.Pool, path string) {
	if n := p.Slots - p.Workers; p.Workers > 0 && n > p.Workers+1 {
		w.add(Hint, "queue-behind", join(path, "slots"), "is %d for %s: %d calls at a time wait at the upstream, where no order, eviction or expiry reaches them; %s is enough to hide the turn-around", p.Slots, plural(p.Workers, "worker"), n, w.setting(path, "slots", p.Workers+1))
	}
	if p.Workers == 0 || p.Workers != p.Slots || p.Slots == maxUnits {
		return
	}
	w.add(Hint, "turn-around", join(path, "slots"), "is %d for %s: between an answer and the next request a worker idles (one of 10ms loses 6 to 9 of 100 calls a second behind a single slot); %s with %s keeps one request ready at the upstream", p.Slots, plural(p.Workers, "worker"), w.setting(path, "slots", p.Workers+1), w.setting(path, "workers", p.Workers))
}

// deadline is about a class whose calls cannot end in time even alone.
func (w *warner) deadline(p *plimsoll.Pool, k *plimsoll.Class, m margined) {
	if k.Deadline == 0 {
		return
	}
	path := join(join("classes", k.Name), "deadline")
	switch {
	case k.Deadline < p.Expected:
		w.add(Warn, "deadline-too-short", path, "is %s, and a call of pool %s runs for %s: no call of class %s can end in time, and %s; a deadline above %s, or a faster service", showDuration(k.Deadline), p.Name, showDuration(p.Expected), k.Name, fate(p), showDuration(p.Expected+m.d))
	case k.Deadline < p.Expected+m.d:
		w.add(Warn, "deadline-too-short", path, "is %s, and a call of pool %s runs for %s with a margin of %s: what ends in time does so by luck, and %s; a deadline above %s", showDuration(k.Deadline), p.Name, showDuration(p.Expected), m, fate(p), showDuration(p.Expected+m.d))
	}
}

// fate is what becomes of calls that cannot end in time.
func fate(p *plimsoll.Pool) string {
	if p.AdmitHopeless {
		return "all expire"
	}
	return "all are refused as hopeless"
}

// beyond is what becomes of calls beyond what the deadline bears.
func beyond(p *plimsoll.Pool) string {
	if p.AdmitHopeless {
		return "those beyond take places, wait in vain and expire"
	}
	return "those beyond are refused as hopeless, so the room is never full"
}

// margined is a margin and whether it is assumed.
type margined struct {
	d       time.Duration
	assumed bool
}

func (m margined) String() string {
	if m.assumed {
		return showDuration(m.d) + " (assumed until it is learnt)"
	}
	return showDuration(m.d)
}

// waiting is about waiting rooms that are longer than the deadline can bear.
func (w *warner) waiting(p *plimsoll.Pool, path string, members []*plimsoll.Class, m margined) {
	k, bears := w.patience(p, members, m)
	if k != nil && p.Slots+p.Waiting > bears && p.Waiting > 0 {
		w.add(Warn, "waiting-too-long", join(path, "waiting"), "%d slots + %d waiting = %d calls, but the deadline of %s (class %s) bears %d: floor(%s ÷ %s × (%s − %s)); %s; %s", p.Slots, p.Waiting, p.Slots+p.Waiting, showDuration(k.Deadline), k.Name, bears, workersText(p), showDuration(p.Expected), showDuration(k.Deadline), m, beyond(p), w.remedy(p, path, bears))
	}
	for _, k := range members {
		w.ownWaiting(p, k, m)
	}
}

func (w *warner) remedy(p *plimsoll.Pool, path string, bears int) string {
	if bears < p.Slots {
		return fmt.Sprintf("the %d slots alone are more than that, so fewer slots or more workers", p.Slots)
	}
	return w.setting(path, "waiting", bears-p.Slots) + " is what it bears"
}

// patience is the class whose deadline says how long the waiting room of p may
// be. In order of arrival the shortest deadline does, since it stands in the
// same line; in the other orders only what is beyond the longest is useless
// for everybody. nil when a class without a deadline could use every place.
func (w *warner) patience(p *plimsoll.Pool, members []*plimsoll.Class, m margined) (*plimsoll.Class, int) {
	var out *plimsoll.Class
	least := 0
	for _, k := range members {
		if k.Deadline == 0 {
			if p.Order != plimsoll.OrderFIFO {
				return nil, 0
			}
			continue
		}
		if k.NoWaiting || k.Deadline < p.Expected { // the latter is said elsewhere
			continue
		}
		n := Bears(workersOf(p), p.Expected, k.Deadline, m.d)
		if out == nil || p.Order == plimsoll.OrderFIFO && n < least || p.Order != plimsoll.OrderFIFO && n > least {
			out, least = k, n
		}
	}
	return out, least
}

// ownWaiting is about a class's own bound on its waiting calls.
func (w *warner) ownWaiting(p *plimsoll.Pool, k *plimsoll.Class, m margined) {
	if k.NoWaiting || k.Waiting <= 0 {
		return
	}
	path := join(join("classes", k.Name), "waiting")
	if k.Waiting > p.Waiting {
		w.add(Hint, "waiting-unreachable", path, "is %d, and the pool lets only %d wait, so the bound is never reached", k.Waiting, p.Waiting)
		return
	}
	if k.Deadline == 0 || k.Deadline < p.Expected {
		return
	}
	bears := Bears(workersOf(p), p.Expected, k.Deadline, m.d)
	if bears < math.MaxInt && p.Slots+k.Waiting > bears {
		w.add(Warn, "waiting-too-long", path, "%d slots + %d waiting = %d calls, but the deadline of %s bears %d: floor(%s ÷ %s × (%s − %s)); %s; %d is what it bears", p.Slots, k.Waiting, p.Slots+k.Waiting, showDuration(k.Deadline), bears, workersText(p), showDuration(p.Expected), showDuration(k.Deadline), m, beyond(p), max(0, bears-p.Slots))
	}
}
