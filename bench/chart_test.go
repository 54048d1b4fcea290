package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// sampleChart has lines that end close together, and one that falls.
func sampleChart(lines ...line) chart {
	if lines == nil {
		lines = []line{
			{"commit", []float64{1, 1.01, 0.99, 1.02, 1.03}},
			{"get", []float64{1, 1.05, 1.1, 1.15, 1.25}},
			{"as-of get", []float64{1, 1.1, 1.2, 1.3, 1.5}},
			{"filtered scan per entity", []float64{1, 0.95, 0.9, 0.97, 1.04}},
		}
	}
	return chart{"Growth < 2 & more", "versions", "times slower", []float64{10e3, 30e3, 100e3, 300e3, 1e6}, lines, 1.5}
}

func TestChartKeepsPointsInFrame(t *testing.T) {
	tests := map[string][]line{
		"near one":     nil,
		"flat":         {{"flat", []float64{1, 1, 1, 1, 1}}},
		"very slow":    {{"slow", []float64{1, 10, 100, 1000, 10_000}}},
		"very fast":    {{"fast", []float64{1, 0.1, 0.01, 0.001, 0.0001}}},
		"powers of 2":  {{"up", []float64{1, 2, 4, 8, 16}}, {"down", []float64{1, 0.5, 0.25, 0.25, 0.125}}},
		"many at once": series(12, func(int) line { return line{"same", []float64{1, 1, 1, 1, 1}} }),
	}
	for name, lines := range tests {
		p := sampleChart(lines...).layout()
		for i, points := range p.points {
			for k, at := range points {
				if at.x < frameLeft || at.x > frameRight || at.y < frameTop-1e-9 || at.y > frameBottom+1e-9 {
					t.Errorf("%s: point %d of line %d is at %v, outside the frame", name, k, i, at)
				}
			}
		}
		if p.goal < frameTop || p.goal > frameBottom {
			t.Errorf("%s: the goal is at %v, outside the frame", name, p.goal)
		}
	}
}

func TestChartAxes(t *testing.T) {
	p := sampleChart(line{"doubles", []float64{1, 2, 4, 8, 16}}).layout()
	points := p.points[0]
	for k := 1; k < len(points); k++ {
		if points[k].x <= points[k-1].x || points[k].y >= points[k-1].y {
			t.Errorf("point %d is at %v, want it to the right of and above %v", k, points[k], points[k-1])
		}
		if k > 1 && math.Abs((points[k].y-points[k-1].y)-(points[1].y-points[0].y)) > 1e-9 {
			t.Errorf("the step to point %d is not as high as the first, though both double", k)
		}
	}
	if first, last := points[0].y, points[4].y; first != p.yTick[1].at || last != p.yTick[len(p.yTick)-1].at {
		t.Errorf("1 and 16 are at %v and %v, want them at the ticks %v", first, last, p.yTick)
	}
	var x, y []string
	for _, tick := range p.xTick {
		x = append(x, tick.text)
	}
	for _, tick := range p.yTick {
		y = append(y, tick.text)
	}
	if got, want := strings.Join(x, " "), "10k 30k 100k 300k 1M"; got != want {
		t.Errorf("ticks below are %q, want %q", got, want)
	}
	if got, want := strings.Join(y, " "), "0.5x 1x 2x 4x 8x 16x"; got != want {
		t.Errorf("ticks at the side are %q, want %q", got, want)
	}
}

func TestChartLabels(t *testing.T) {
	for _, lines := range [][]line{nil, series(12, func(int) line { return line{"same", []float64{1, 1, 1, 1, 1}} })} {
		p := sampleChart(lines...).layout()
		for i, l := range p.labels {
			if l.at.y < frameTop || l.at.y > frameBottom {
				t.Errorf("label %q is at height %v, outside the picture", l.text, l.at.y)
			}
			const widest = 7 // of a character
			if end := l.at.x + 10 + widest*float64(len(l.text)); end > chartWidth {
				t.Errorf("label %q ends at %v, the picture at %d", l.text, end, chartWidth)
			}
			if i > 0 && l.at.y-p.labels[i-1].at.y < labelGap-1e-9 {
				t.Errorf("label %q is %v below %q, want %d", l.text, l.at.y-p.labels[i-1].at.y, p.labels[i-1].text, labelGap)
			}
		}
	}
	p := sampleChart().layout()
	if got := p.labels[0].text; got != "as-of get 1.50x" {
		t.Errorf("the highest label is %q, want that of the highest line", got)
	}
}

func TestChartPicture(t *testing.T) {
	first, err := sampleChart().svg()
	if err != nil {
		t.Fatal(err)
	}
	again, err := sampleChart().svg()
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("drawn twice, the picture differs, error %v", err)
	}
	if len(first) > 20_000 {
		t.Errorf("the picture has %d bytes, want at most 20,000", len(first))
	}
	elements := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(first)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
	if elements["polyline"] != 4 || elements["title"] != 1 || elements["script"] != 0 || elements["image"] != 0 {
		t.Errorf("elements are %v, want 4 lines, a title, no script and no image", elements)
	}
	for _, outside := range []string{"href", "url(", "@import", "@font-face"} {
		if bytes.Contains(first, []byte(outside)) {
			t.Errorf("the picture has %q, want it to need nothing else", outside)
		}
	}
}

func TestChartRefuses(t *testing.T) {
	tests := map[string]chart{
		"no lines":          {x: []float64{1, 2}},
		"one size":          {x: []float64{1}, lines: []line{{"a", []float64{1}}}},
		"a missing point":   {x: []float64{1, 2}, lines: []line{{"a", []float64{1}}}},
		"zero":              {x: []float64{1, 2}, lines: []line{{"a", []float64{1, 0}}}},
		"infinity":          {x: []float64{1, 2}, lines: []line{{"a", []float64{1, math.Inf(1)}}}},
		"what is no number": {x: []float64{1, 2}, lines: []line{{"a", []float64{1, math.NaN()}}}},
	}
	for name, c := range tests {
		if _, err := c.svg(); err == nil {
			t.Errorf("%s was drawn", name)
		}
	}
}

func TestGrowthIsAgainstSmallest(t *testing.T) {
	sizes := []int64{10_000, 1_000_000}
	curves := []curve{
		{name: "get", taken: []samples{{10 * time.Microsecond, 20 * time.Microsecond, 10 * time.Microsecond}, {12 * time.Microsecond, 24 * time.Microsecond, 12 * time.Microsecond}}},
		{name: "scan", per: " per entity", taken: []samples{{2 * time.Microsecond}, {time.Microsecond}}},
	}
	got := growthTable(sizes, curves)
	want := `| versions | get | scan per entity |
|---|---|---|
| 10,000 | 10.0 µs, 1.00x | 2.00 µs, 1.00x |
| 1,000,000 | 12.0 µs, 1.20x | 1.00 µs, 0.50x |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c := growthChart(sizes, curves)
	if y := c.lines[1].y; c.lines[1].name != "scan per entity" || y[0] != 1 || y[1] != 0.5 {
		t.Errorf("the second line is %+v, want 1 and 0.5", c.lines[1])
	}
}
