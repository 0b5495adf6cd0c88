package lab

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Chart is a picture of lines over one axis. Charts illustrate; nothing is
// ever compared with them.
type Chart struct {
	File   string // base name of the PNG
	Title  string
	XLabel string
	YLabel string
	YMax   float64 // the y axis is 0 … YMax
	Lines  []Line
}

// Line is one line of a chart, and its entry in the legend.
type Line struct {
	Name    string
	X, Y    []float64
	Ink     Ink
	Dash    Dash
	Markers bool
}

// Ink is what a line stands for, and so its colour.
type Ink uint8

// The inks, the same in charts and report.
const (
	InkGood Ink = iota
	InkBad
	InkPaid
	InkTarget
)

// Dash is how a line is drawn.
type Dash uint8

// The dashes.
const (
	Solid Dash = iota
	Dashed
	Dotted
)

func (i Ink) rgba() color.RGBA {
	switch i {
	case InkGood:
		return color.RGBA{0x0B, 0x7A, 0x75, 0xFF}
	case InkBad:
		return color.RGBA{0xD1, 0x49, 0x2E, 0xFF}
	case InkPaid:
		return color.RGBA{0x5B, 0x6C, 0x9E, 0xFF}
	default:
		return color.RGBA{0x80, 0x86, 0x90, 0xFF}
	}
}

const (
	chartWidth  = 800 // pixels
	chartHeight = 400
	chartDPI    = 96
)

var (
	inkText  = color.RGBA{0x1D, 0x24, 0x30, 0xFF}
	inkQuiet = color.RGBA{0x5F, 0x66, 0x73, 0xFF}
	inkGrid  = color.RGBA{0xE4, 0xE7, 0xEB, 0xFF}
)

// pixels converts to the length that is so many pixels in a chart.
func pixels(n float64) vg.Length { return vg.Length(n) * vg.Inch / chartDPI }

func sans(size float64, weight font.Font) font.Font {
	weight.Typeface, weight.Variant, weight.Size = "Liberation", "Sans", pixels(size)
	return weight
}

func style(size float64, c color.Color) text.Style {
	return text.Style{Color: c, Font: sans(size, font.Font{}), Handler: plot.DefaultTextHandler}
}

// PNG draws the chart, 800 × 400 pixels. The same chart gives the same bytes.
func (c *Chart) PNG() ([]byte, error) {
	p, err := c.plot()
	if err != nil {
		return nil, fmt.Errorf("lab: chart %s: %w", c.File, err)
	}
	canvas := vgimg.NewWith(vgimg.UseWH(pixels(chartWidth), pixels(chartHeight)), vgimg.UseDPI(chartDPI), vgimg.UseBackgroundColor(color.White))
	all := draw.New(canvas)
	title := style(17, inkText)
	title.Font = sans(17, font.Font{Weight: 3})
	title.YAlign = text.YTop
	all.FillText(title, vg.Point{X: pixels(20), Y: all.Max.Y - pixels(16)}, c.Title)
	under := style(12.5, inkQuiet)
	under.YAlign = text.YTop
	all.FillText(under, vg.Point{X: pixels(20), Y: all.Max.Y - pixels(42)}, c.YLabel)
	p.Draw(draw.Crop(all, pixels(14), -pixels(24), pixels(46), -pixels(68)))
	c.legend(all)
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&b); err != nil {
		return nil, fmt.Errorf("lab: chart %s: %w", c.File, err)
	}
	return b.Bytes(), nil
}

func (c *Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text = c.XLabel
	p.X.Label.TextStyle = style(12.5, inkQuiet)
	p.X.Label.TextStyle.XAlign = text.XCenter
	p.X.Label.TextStyle.YAlign = text.YBottom
	p.X.Label.Padding = pixels(5)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		s := style(12, inkQuiet)
		s.XAlign, s.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = s
		a.Tick.Length = pixels(5)
		a.Tick.LineStyle.Width = 0
		a.LineStyle.Width = 0
		a.Padding = pixels(4)
	}
	p.X.LineStyle = draw.LineStyle{Color: inkQuiet, Width: pixels(1)}
	p.X.Padding = 0
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: inkGrid, Width: pixels(1)}
	p.Add(grid)
	for _, l := range c.Lines {
		if err := l.addTo(p); err != nil {
			return nil, err
		}
	}
	p.X.Min, p.X.Max = c.span()
	p.Y.Min, p.Y.Max = 0, c.YMax
	p.X.Tick.Marker = plot.ConstantTicks(ticks(p.X.Min, p.X.Max, 10))
	p.Y.Tick.Marker = plot.ConstantTicks(ticks(0, c.YMax, 6))
	return p, nil
}

func (l *Line) addTo(p *plot.Plot) error {
	points := make(plotter.XYs, len(l.X))
	for i := range l.X {
		points[i] = plotter.XY{X: l.X[i], Y: l.Y[i]}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.LineStyle = l.style()
	p.Add(line)
	if l.Markers {
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = l.glyph()
		p.Add(dots)
	}
	return nil
}

func (l *Line) style() draw.LineStyle {
	s := draw.LineStyle{Color: l.Ink.rgba(), Width: pixels(2.4)}
	switch l.Dash {
	case Dashed:
		s.Dashes, s.Width = []vg.Length{pixels(7), pixels(4)}, pixels(2)
	case Dotted:
		s.Dashes, s.Width = []vg.Length{pixels(1.5), pixels(4)}, pixels(1.6)
	}
	return s
}

func (l *Line) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.Ink.rgba(), Radius: pixels(3.6), Shape: draw.CircleGlyph{}}
}

// legend stands below the plot, in one row.
func (c *Chart) legend(all draw.Canvas) {
	const swatch, gap, between = 30, 8, 26
	s := style(12.5, inkText)
	s.YAlign = text.YCenter
	x, y := pixels(20), pixels(22)
	for i := range c.Lines {
		l := &c.Lines[i]
		all.StrokeLine2(l.style(), x, y, x+pixels(swatch), y)
		if l.Markers {
			all.DrawGlyph(l.glyph(), vg.Point{X: x + pixels(swatch)/2, Y: y})
		}
		x += pixels(swatch + gap)
		all.FillText(s, vg.Point{X: x, Y: y}, l.Name)
		x += s.Width(l.Name) + pixels(between)
	}
}

// span is the range of x, never empty. No x is below 0.
func (c *Chart) span() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, x := range l.X {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if !(hi > lo) {
		return max(0, lo-1), lo + 1
	}
	return lo, hi
}

// ticks are about n round numbers from lo to hi.
func ticks(lo, hi float64, n int) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	for _, k := range []float64{1, 2, 5, 10} {
		if (hi-lo)/float64(step*k) <= float64(n) {
			step *= k
			break
		}
	}
	var out []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		v := i * step
		out = append(out, plot.Tick{Value: v, Label: plain(v, step)})
	}
	return out
}

// plain writes v with as many decimals as the step needs.
func plain(v, step float64) string {
	decimals := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	return fmt.Sprintf("%.*f", decimals, v)
}
