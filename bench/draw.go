package main

import (
	"bytes"
	"fmt"
	"strings"
)

// chartStyle has a light and a dark form. What does not know about dark pages
// shows the light one.
const chartStyle = `
text{font:13px system-ui,sans-serif;fill:#24292f}
.title{font-size:15px;font-weight:600}
.card{fill:#fff;stroke:#d0d7de}
.grid{stroke:#d8dee4;fill:none}
.axis{stroke:#57606a;fill:none}
.goal{stroke:#cf222e;stroke-dasharray:6 5;fill:none}
.line{fill:none;stroke-width:2.2;stroke-linejoin:round}
.mark{stroke:none}
.s0{stroke:#bc4c00}.f0{fill:#bc4c00}
.s1{stroke:#0969da}.f1{fill:#0969da}
.s2{stroke:#1a7f37}.f2{fill:#1a7f37}
.s3{stroke:#8250df}.f3{fill:#8250df}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.card{fill:#0d1117;stroke:#30363d}
.grid{stroke:#21262d}
.axis{stroke:#8b949e}
.goal{stroke:#ff7b72}
.s0{stroke:#f0883e}.f0{fill:#f0883e}
.s1{stroke:#58a6ff}.f1{fill:#58a6ff}
.s2{stroke:#3fb950}.f2{fill:#3fb950}
.s3{stroke:#bc8cff}.f3{fill:#bc8cff}
}
`

// colours is how many lines can be told apart.
const colours = 4

// draw writes the picture.
func (p placed) draw(b *bytes.Buffer, c chart) {
	fmt.Fprintf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%[1]d\" height=\"%d\" role=\"img\">\n", chartWidth, chartHeight)
	fmt.Fprintf(b, "<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>\n", escape(c.title), escape(p.describe()), chartStyle)
	fmt.Fprintf(b, "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", chartWidth-1, chartHeight-1)
	text(b, "title", "start", 24, 30, c.title)
	p.drawAxes(b, c)
	for i, points := range p.points {
		drawLine(b, i%colours, points)
	}
	for _, l := range p.labels {
		fmt.Fprintf(b, "<g>%s", mark(l.line%colours, point{l.at.x, l.at.y}))
		text(b, fmt.Sprintf("f%d", l.line%colours), "start", l.at.x+10, l.at.y+4.5, l.text)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
}

// describe describes the lines as text.
func (p placed) describe() string {
	names := series(len(p.labels), func(i int) string { return p.labels[i].text })
	return "At the largest size: " + strings.Join(names, ", ")
}

func (p placed) drawAxes(b *bytes.Buffer, c chart) {
	for _, t := range p.yTick {
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", frameLeft, t.at, frameRight)
		text(b, "", "end", frameLeft-8, t.at+4.5, t.text)
	}
	for _, t := range p.xTick {
		fmt.Fprintf(b, "<path class=\"axis\" d=\"M%.1f %dv5\"/>\n", t.at, frameBottom)
		text(b, "", "middle", t.at, frameBottom+20, t.text)
	}
	fmt.Fprintf(b, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", frameLeft, frameTop, frameBottom, frameRight)
	fmt.Fprintf(b, "<path class=\"goal\" d=\"M%d %.1fH%d\"/>\n", frameLeft, p.goal, frameRight)
	text(b, "", "start", frameLeft+8, p.goal-6, fmt.Sprintf("goal: at most %gx", c.goal))
	text(b, "", "middle", (frameLeft+frameRight)/2, frameBottom+42, c.xName)
	text(b, "", "start", 24, frameTop-18, c.yName)
}

func drawLine(b *bytes.Buffer, colour int, points []point) {
	fmt.Fprintf(b, "<polyline class=\"line s%d\" points=\"", colour)
	for i, p := range points {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(b, "%.1f,%.1f", p.x, p.y)
	}
	b.WriteString("\"/>\n")
	for _, p := range points {
		b.WriteString(mark(colour, p) + "\n")
	}
}

// mark is a shape of its own for each line, readable without colours.
func mark(colour int, p point) string {
	shapes := [colours]string{
		"m-4.2 -4.2h8.4v8.4h-8.4z",                          // a square
		"m-4.8 0a4.8 4.8 0 1 0 9.6 0a4.8 4.8 0 1 0 -9.6 0z", // a disc
		"m0 -6l6 6l-6 6l-6 -6z",                             // a diamond
		"m0 -5.6l5.6 10h-11.2z",                             // a triangle
	}
	return fmt.Sprintf("<path class=\"mark f%d\" d=\"M%.1f %.1f%s\"/>", colour, p.x, p.y, shapes[colour])
}

func text(b *bytes.Buffer, class, anchor string, x, y float64, words string) {
	if class != "" {
		class = fmt.Sprintf(" class=%q", class)
	}
	fmt.Fprintf(b, "<text%s x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", class, x, y, anchor, escape(words))
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
