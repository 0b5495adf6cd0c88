package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxPlotted bounds the windows in a chart; more could not be told apart.
const maxPlotted = 300

const chartTop = 105 // percent: 100 is not the edge

const burstChartFile = "bp-post5-slo-burst.png"

// charts are the two pictures. One of no windows is not made, and it is said why.
func (r *sloResult) charts() ([]Chart, []LeftOut) {
	if r.model.windows(r.duration) == 0 {
		return []Chart{r.protectionChart()}, []LeftOut{{burstChartFile, r.noBurstChart()}}
	}
	return []Chart{r.burstChart(), r.protectionChart()}, nil
}

func target(from, to float64) Line {
	return Line{Name: fmt.Sprintf("SLO target %.0f %%", sloTarget), X: []float64{from, to}, Y: []float64{sloTarget, sloTarget}, Ink: InkTarget, Dash: Dotted}
}

// subjects are the lines that both charts have: of which class, at which door.
var subjects = [...]struct {
	door, class int
	line        Line
}{
	{0, critical, Line{Name: "critical, blind door", Ink: InkBad}},
	{1, background, Line{Name: "background, priority door", Ink: InkPaid, Dash: Dashed}},
	{1, critical, Line{Name: "critical, priority door", Ink: InkGood}},
}

func (r *sloResult) burstChart() Chart {
	n := min(r.model.windows(r.duration), maxPlotted)
	m := &r.model
	c := Chart{
		File: burstChartFile, YMax: chartTop,
		Title:  fmt.Sprintf("Success through repeated bursts: %s rps for %s, then %s rps for %s", decimal(m.ValleyRPS), human(m.Valley), decimal(m.SpikeRPS), human(m.Spike)),
		YLabel: fmt.Sprintf("%% of arrivals served within %s, by %d ms window of arrival", human(m.Deadline), windowSize),
		XLabel: "time of arrival, s",
	}
	if n < m.windows(r.duration) {
		c.XLabel += fmt.Sprintf(" (the first %s of the run)", human(int64(n*windowSize)))
	}
	c.Lines = append(c.Lines, target(0, float64(max(n-1, 1)*windowSize)/1000))
	for _, s := range subjects {
		l := s.line
		for w := range n {
			l.X = append(l.X, float64(w*windowSize)/1000)
			l.Y = append(l.Y, r.bursts[s.door].class[s.class][w].SuccessPct())
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

func (r *sloResult) protectionChart() Chart {
	c := Chart{
		File: "bp-post5-protection.png", YMax: chartTop,
		Title:  fmt.Sprintf("Whose work survives: success by offered load (ceiling %s)", r.model.ceilingText()),
		YLabel: fmt.Sprintf("%% of arrivals served within %s", human(r.model.Deadline)),
		XLabel: "offered load, rps (measured over the scored window)",
	}
	for _, s := range subjects {
		l := s.line
		l.Markers = true
		points := sorted(r.points[s.door])
		for _, p := range points {
			l.X = append(l.X, p.offered())
			l.Y = append(l.Y, p.class[s.class].SuccessPct())
		}
		c.Lines = append(c.Lines, l)
	}
	lo, hi := c.span()
	c.Lines = append([]Line{target(lo, hi)}, c.Lines...)
	return c
}

// sorted are the points by offered load, for a line that does not go back.
func sorted(points []*sloPoint) []*sloPoint {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b *sloPoint) int { return cmp.Compare(a.offered(), b.offered()) })
	return points
}

// short writes a number for people: without its decimal if that is 0.
func short(v float64) string { return strings.TrimSuffix(one(v), ".0") }
