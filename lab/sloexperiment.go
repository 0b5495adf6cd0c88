package lab

import "context"

// sloLoadControl is the experiment of the bounded system whose door knows
// whose work may be lost.
func sloLoadControl() Experiment {
	return Experiment{
		Name:     "slo-load-control",
		Title:    "Bounded Systems + SLO-Driven Load Control",
		Post:     5,
		About:    "two doors on the same arrivals: one refuses whoever comes, one lets critical work take background's place",
		Settings: sloSettings(),
		Prepare:  prepareSLO,
	}
}

func prepareSLO(set Settings, duration int64) (*Prepared, error) {
	m := DefaultSLOModel()
	if err := m.Set(set); err != nil {
		return nil, err
	}
	if err := m.Validate(duration); err != nil {
		return nil, err
	}
	return &Prepared{
		Facts:  m.facts(duration),
		Golden: m.isDefault() && duration == 5000,
		Do: func(ctx context.Context, progress func(float64)) (*Findings, error) {
			r, err := m.measure(ctx, duration, progress)
			if err != nil {
				return nil, err
			}
			return r.findings(), nil
		},
	}, nil
}

func (r *sloResult) findings() *Findings {
	charts, left := r.charts()
	return &Findings{
		Tables:  []Table{r.protection(), r.burst()},
		Charts:  charts,
		LeftOut: left,
		Preview: Preview{
			Heads:   []string{"policy", "offered", "critical", "crit ok%", "bg ok%", "crit p99 ms", "SLO met", "goodput"},
			Columns: []int{0, 1, 2, 3, 4, 5, 7, 8},
		},
		Summary: r.summary(),
		Story:   r.story(),
	}
}
