package web

import "math"

// The gallery: canned snapshots of every state that the page must be able to
// show. Tests look at each of them, and so does whoever changes the page.

type canned Snapshot

func (c canned) Snapshot() Snapshot { return Snapshot(c) }

func p(v float64) *float64 { return &v }

func gallery() map[string]Snapshot {
	return map[string]Snapshot{
		"starting": starting(),
		"calm":     calm(),
		"blind":    running("blind", 0),
		"priority": running("priority", 1),
		"done":     done(),
		"failed":   failed(),
		"hostile":  hostile(),
		"long":     long(),
	}
}

func base() Snapshot {
	return Snapshot{
		Title: "Plimsoll demo",
		Lead:  "A service that can do 100 calls a second is offered 300, three times over.",
		State: Running,
		Facts: []Fact{
			{"offered", "300 a second, constant"}, {"capacity", "100 a second"},
			{"critical", "25 %"}, {"deadline", "200 ms"}, {"seed", "23"},
		},
		Deadline: 200,
		Classes:  []Class{{"critical", 99}, {"background", 0}},
		Runs: []Run{
			pendingRun("blind", "a blind door, in order", "A full system refuses whoever comes."),
			pendingRun("priority-door", "a priority door, in order", "Critical calls take the place of waiting background calls."),
			pendingRun("priority", "a priority door, critical first", "And critical calls run first."),
		},
		Notes: []string{"One upstream, one service time, two classes: a demonstration, and not your service."},
	}
}

func pendingRun(id, title, summary string) Run {
	return Run{
		ID: id, Title: title, Summary: summary, State: Pending, Duration: 12, Window: 1,
		Pool:    Pool{Slots: 2, WaitingLimit: 17},
		Classes: []RunClass{{Name: "critical"}, {Name: "background"}},
		Refused: []Refused{},
	}
}

// fill gives r the figures of a run that has come as far as windows.
func fill(r *Run, windows int, critical, background float64) {
	r.Elapsed = float64(windows)
	wave := func(mean float64, i int, swing float64) *float64 {
		return p(max(0, min(100, mean+swing*math.Sin(float64(i)*1.7))))
	}
	for c, mean := range []float64{critical, background} {
		k := &r.Classes[c]
		k.PredictedPct = p(mean + 0.4)
		for i := range 12 {
			k.Predicted = append(k.Predicted, wave(mean, i+1, 2.5))
			if i < windows {
				k.Series = append(k.Series, wave(mean, i, 3))
			}
		}
		k.Arrivals = uint64(windows) * []uint64{75, 225}[c]
		k.OK = uint64(float64(k.Arrivals) * mean / 100)
		k.SuccessPct = p(mean)
		k.P95, k.P99 = p(150+float64(c)), p(180+float64(c))
	}
	r.Goodput, r.PredictedGoodput = p(99.2), p(99.6)
	r.SurvivorP99, r.AdmittedPct = p(188), p(99.1)
}

func calm() Snapshot {
	s := base()
	s.Runs[0].State = Running
	fill(&s.Runs[0], 3, 100, 100)
	s.Runs[0].Pool.Used = 1
	return s
}

func running(id string, tone int) Snapshot {
	s := base()
	for i := range s.Runs {
		r := &s.Runs[i]
		r.State = Running
		switch {
		case tone == 0:
			fill(r, 5, 32.6, 32.9)
			r.Refused = []Refused{{"full", "background", 712}, {"full", "critical", 240}, {"hopeless", "background", 31}, {"hopeless", "critical", 9}}
			r.Classes[0].Waiting, r.Classes[1].Waiting = 4, 12
		default:
			fill(r, 8, 99.7, 11.2)
			r.Refused = []Refused{{"full", "background", 1040}, {"evicted", "background", 402}, {"expired", "background", 12}}
			r.Classes[0].Waiting, r.Classes[1].Waiting = 6, 11
		}
		r.Pool.Used, r.Pool.Waiting, r.Pool.HeadAge = 2, r.Classes[0].Waiting+r.Classes[1].Waiting, 152
		r.SheddingFor = p(4.2)
		if r.ID == id {
			return s
		}
		r.State, r.SheddingFor, r.Pool.Used, r.Pool.Waiting = Done, nil, 0, 0
		r.Classes[0].Waiting, r.Classes[1].Waiting = 0, 0
		r.Elapsed = 12
		tone = 1
	}
	return s
}

func starting() Snapshot {
	s := base()
	s.State = Pending
	s.Doing = "Measuring how long messages take on this machine. Nothing is overloaded yet."
	return s
}

func done() Snapshot {
	s := running("priority", 0)
	s.State = Done
	last := &s.Runs[2]
	last.State, last.SheddingFor = Done, nil
	s.Verdicts = []Words{
		{Alarm, "With the blind door only 32.6 % of critical calls succeeded, and no latency shows it."},
		{Calm, "With the priority door 99.7 % of critical calls succeeded."},
	}
	return s
}

func failed() Snapshot {
	s := base()
	s.State, s.Error = Failed, "the upstream cannot listen: no free port"
	return s
}

// hostile has names that would be markup on a careless page.
func hostile() Snapshot {
	s := calm()
	s.Title = `<script>document.title="owned"</script>`
	s.Runs[0].Title = `<img src=x onerror="document.title='owned'">`
	s.Notes = []string{"</p><h1>owned</h1>"}
	return s
}

// long has more of everything than the page was drawn for.
func long() Snapshot {
	s := base()
	s.Classes = nil
	r := pendingRun("live", "a pool with a long name and six classes", "One run that does not end.")
	r.State, r.Duration, r.Elapsed = Running, 0, 4000
	r.Pool = Pool{Slots: 512, Used: 301, Waiting: 9000, WaitingLimit: 20000, HeadAge: 12345}
	r.Classes = nil
	for i, name := range []string{"critical-plus", "critical", "sheddable-plus", "sheddable", "batch", "whatever"} {
		s.Classes = append(s.Classes, Class{name, []float64{99.9, 99}[min(i, 1)] * float64(1-min(i/2, 1))})
		r.Classes = append(r.Classes, RunClass{Name: name, Arrivals: 123456789, OK: 1, Waiting: 1500, SuccessPct: p(99.96)})
		r.Refused = append(r.Refused, Refused{"full", name, 1 << 40})
	}
	s.Runs = []Run{r}
	return s
}
