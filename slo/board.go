package slo

import (
	"fmt"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

const (
	// MaxClasses is how many classes a board tells apart.
	MaxClasses = 1 << 10
	// MaxWindows is how many windows a board keeps for each class.
	MaxWindows = 1 << 16
)

// Config says what a board scores.
type Config struct {
	// Classes are the names of the classes, in the order in which they are
	// shown. Records of other classes are counted as Strangers and not scored.
	Classes []string
	// From and To are the first and the last instant of the records that are
	// scored, in nanoseconds, both inclusive; the instant of a record is its
	// From. Calls that are made so late that the run may end before their
	// deadline would only blur the score.
	From, To int64
	// Window is the width of the windows of the series in nanoseconds, from
	// From on; 0 means that there is no series.
	Window int64
}

// Board scores the records of a run by class and by window.
type Board struct {
	cfg     Config
	index   map[string]int
	classes []Score
	series  [][]Point

	// Strangers are records whose class was not configured.
	Strangers uint64
	// Outside are records before From or after To. They are part of the run
	// and of no score.
	Outside uint64
}

// Point is one window of one class.
type Point struct {
	// Start is the window's first instant, in nanoseconds.
	Start int64
	// Arrivals are the calls that success is a share of, OK those that ended well.
	Arrivals, OK uint64
}

// SuccessPct is the window's success in percent; 100 if nobody came.
func (p Point) SuccessPct() float64 { return percent(p.OK, p.Arrivals) }

// NewBoard makes an empty board, or says what is wrong with cfg.
func NewBoard(cfg Config) (*Board, error) {
	switch n := len(cfg.Classes); {
	case n == 0 || n > MaxClasses:
		return nil, fmt.Errorf("slo: %d classes; 1 to %d are allowed", n, MaxClasses)
	case cfg.To < cfg.From:
		return nil, fmt.Errorf("slo: scored from %d ns to %d ns: the end is before the start", cfg.From, cfg.To)
	case cfg.Window < 0:
		return nil, fmt.Errorf("slo: a window of %d ns; 0 (none) or more is allowed", cfg.Window)
	case cfg.Window > 0 && (cfg.To-cfg.From)/cfg.Window >= MaxWindows:
		return nil, fmt.Errorf("slo: windows of %d ns from %d ns to %d ns are more than %d", cfg.Window, cfg.From, cfg.To, MaxWindows)
	}
	b := &Board{
		cfg:     cfg,
		index:   make(map[string]int, len(cfg.Classes)),
		classes: make([]Score, len(cfg.Classes)),
		series:  make([][]Point, len(cfg.Classes)),
	}
	for i, name := range cfg.Classes {
		if _, twice := b.index[name]; twice {
			return nil, fmt.Errorf("slo: class %q is there twice", name)
		}
		b.index[name] = i
	}
	return b, nil
}

// Add scores one record, in any order.
func (b *Board) Add(r *record.Record) {
	i, known := b.index[r.Class]
	switch {
	case !known:
		b.Strangers++
		return
	case r.From() < b.cfg.From || r.From() > b.cfg.To:
		b.Outside++
		return
	}
	before := b.classes[i].Left
	b.classes[i].Add(r)
	if b.cfg.Window > 0 && b.classes[i].Left == before {
		b.point(i, r)
	}
}

// point counts r in its window, and makes the windows up to there.
func (b *Board) point(class int, r *record.Record) {
	w := int((r.From() - b.cfg.From) / b.cfg.Window)
	points := b.series[class]
	for len(points) <= w {
		points = append(points, Point{Start: b.cfg.From + int64(len(points))*b.cfg.Window})
	}
	points[w].Arrivals++
	if r.Outcome == core.OK {
		points[w].OK++
	}
	b.series[class] = points
}

// Class is the score of the named class; an unknown one has an empty score.
func (b *Board) Class(name string) Score {
	i, known := b.index[name]
	if !known {
		return Score{}
	}
	var s Score
	s.Merge(&b.classes[i]) // a copy that shares nothing
	return s
}

// All is the score of all classes together.
func (b *Board) All() Score {
	var s Score
	for i := range b.classes {
		s.Merge(&b.classes[i])
	}
	return s
}

// Series are the windows of the named class, oldest first, as far as records
// have come. The slice is the caller's.
func (b *Board) Series(name string) []Point {
	i, known := b.index[name]
	if !known {
		return nil
	}
	return append([]Point(nil), b.series[i]...)
}

// GoodputRPS is how many scored calls a second ended ok, over the time that is
// scored, at least a millisecond.
func (b *Board) GoodputRPS() float64 {
	all := b.All()
	seconds := max(float64(b.cfg.To-b.cfg.From)/1e9, 0.001)
	return float64(all.OK()) / seconds
}
