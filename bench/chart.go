package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// drawGrowth measures how times grow with the log, draws it and prints it.
func drawGrowth(e *env, path string) error {
	keys := []int{1000, 3000, 10_000, 30_000, 100_000}
	if e.short {
		keys = keys[:3]
	}
	var curves []curve
	_, err := e.runOne(benchmark{Run: func(e *env) []row {
		curves = e.curves(keys)
		return nil
	}})
	if err != nil {
		return err
	}
	sizes := series(len(keys), func(i int) int64 { return int64(keys[i] * growthVersions) })
	picture, err := growthChart(sizes, curves).svg()
	if err != nil {
		return err
	}
	fmt.Printf("%s\n\n%s", newReport(e).heading(), growthTable(sizes, curves))
	return os.WriteFile(path, picture, 0o644)
}

// growthTable is the times of the curves as Markdown, with the growth since
// the smallest size.
func growthTable(sizes []int64, curves []curve) string {
	var b strings.Builder
	b.WriteString("| versions |")
	for _, c := range curves {
		fmt.Fprintf(&b, " %s%s |", c.name, c.per)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(curves)) + "\n")
	for i, size := range sizes {
		fmt.Fprintf(&b, "| %s |", thousands(size))
		for _, c := range curves {
			fmt.Fprintf(&b, " %s, %.2fx |", brief(c.taken[i].median()), c.taken[i].over(c.taken[0]).Median)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// growthChart is the curves, each against its own time at the smallest size.
func growthChart(sizes []int64, curves []curve) chart {
	c := chart{
		title: "Time as the log grows, against the time at " + short(sizes[0]) + " versions",
		xName: "versions in the store, ten per key", yName: "times slower", goal: growthGoal,
	}
	for _, size := range sizes {
		c.x = append(c.x, float64(size))
	}
	for _, one := range curves {
		l := line{name: one.name + one.per}
		for i := range sizes {
			l.y = append(l.y, one.taken[i].over(one.taken[0]).Median)
		}
		c.lines = append(c.lines, l)
	}
	return c
}

// chart is a line chart with logarithmic axes.
type chart struct {
	title, xName, yName string
	x                   []float64 // ascending, each with a tick
	lines               []line
	goal                float64 // a line not to go above
}

type line struct {
	name string
	y    []float64 // one for each x
}

// The measures of the picture. The frame is what the axes enclose; to its right
// stand the names of the lines.
const (
	chartWidth, chartHeight = 800, 412
	frameLeft, frameRight   = 64, 560
	frameTop, frameBottom   = 72, 352
	labelGap                = 17 // between lines of text
)

type point struct{ x, y float64 }

// label is the name of a line, beside its last point if there is room.
type label struct {
	text string
	line int
	at   point // where the text starts, at half its height
}

// placed is a chart whose parts have their places.
type placed struct {
	points       [][]point // by line
	labels       []label
	xTick, yTick []tick
	goal         float64 // its height
}

type tick struct {
	at   float64
	text string
}

// axis turns values into places, by their logarithm.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	return a.from + (a.to-a.from)*math.Log(v/a.low)/math.Log(a.high/a.low)
}

// check refuses what a logarithmic axis cannot show.
func (c chart) check() error {
	if len(c.x) < 2 || len(c.lines) == 0 {
		return fmt.Errorf("chart: %d sizes and %d lines make no picture", len(c.x), len(c.lines))
	}
	for _, l := range c.lines {
		if len(l.y) != len(c.x) {
			return fmt.Errorf("chart: %s has %d points for %d sizes", l.name, len(l.y), len(c.x))
		}
		for _, v := range l.y {
			if !(v > 0) || math.IsInf(v, 0) {
				return fmt.Errorf("chart: %s has the value %v", l.name, v)
			}
		}
	}
	return nil
}

// layout gives everything its place.
func (c chart) layout() placed {
	low, high := c.bounds()
	x := axis{c.x[0], c.x[len(c.x)-1], frameLeft + 14, frameRight - 14}
	y := axis{low, high, frameBottom, frameTop}
	p := placed{goal: y.at(c.goal)}
	for _, v := range c.x {
		p.xTick = append(p.xTick, tick{x.at(v), short(int64(v))})
	}
	for v := low; v <= high; v *= 2 {
		p.yTick = append(p.yTick, tick{y.at(v), strconv.FormatFloat(v, 'g', 4, 64) + "x"})
	}
	for i, l := range c.lines {
		points := series(len(l.y), func(k int) point { return point{x.at(c.x[k]), y.at(l.y[k])} })
		p.points = append(p.points, points)
		text := fmt.Sprintf("%s %.2fx", l.name, l.y[len(l.y)-1])
		p.labels = append(p.labels, label{text, i, point{frameRight + 12, points[len(points)-1].y}})
	}
	spreadLabels(p.labels)
	return p
}

// bounds are powers of two around all values, half and twice at least.
func (c chart) bounds() (low, high float64) {
	low, high = 0.5, 2
	for _, l := range c.lines {
		low, high = min(low, slices.Min(l.y)), max(high, slices.Max(l.y))
	}
	return math.Exp2(math.Floor(math.Log2(low))), math.Exp2(math.Ceil(math.Log2(high)))
}

// spreadLabels moves labels apart until none covers another, in the order of
// their lines' ends and as near to them as that allows.
func spreadLabels(labels []label) {
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.at.y, b.at.y) })
	next := float64(frameTop)
	for i := range labels {
		labels[i].at.y = max(labels[i].at.y, next)
		next = labels[i].at.y + labelGap
	}
	next = frameBottom
	for i := range slices.Backward(labels) {
		labels[i].at.y = min(labels[i].at.y, next)
		next = labels[i].at.y - labelGap
	}
}

// short writes 30000 as 30k and 1000000 as 1M.
func short(n int64) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	case n >= 1000 && n%1000 == 0:
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}

// svg draws the chart. It paints its own background, so that it can be read on
// pages of any colour.
func (c chart) svg() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	c.layout().draw(&b, c)
	return b.Bytes(), nil
}
