package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
)

// row is one line of the table.
type row struct {
	ID      string  `json:"id"`
	Group   string  `json:"group"`
	What    string  `json:"what"`
	Subject figure  `json:"subject"`
	Control figure  `json:"control"`
	Ratio   *spread `json:"ratio,omitempty"` // nil if the subject's value is what counts
	Rounds  int     `json:"rounds,omitempty"`
	Goal    string  `json:"goal,omitempty"`
	Met     *bool   `json:"met,omitempty"` // nil without a goal
}

// figure is an absolute number and its text.
type figure struct {
	Value float64 `json:"value,omitempty"`
	Unit  string  `json:"unit,omitempty"`
	Text  string  `json:"text"`
}

// perOp is the time of an operation, and how many that makes in a second.
func perOp(d time.Duration) figure {
	rate := fmt.Sprintf("%.1f/s", float64(time.Second)/float64(d))
	if d <= time.Second/10 {
		rate = thousands(int64(time.Second/d)) + "/s"
	}
	return figure{float64(d.Nanoseconds()), "ns", fmt.Sprintf("%s (%s)", brief(d), rate)}
}

// brief writes a time with about three digits.
func brief(d time.Duration) string {
	micros := float64(d) / 1e3
	switch {
	case micros < 10:
		return fmt.Sprintf("%.2f µs", micros)
	case micros < 100:
		return fmt.Sprintf("%.1f µs", micros)
	case micros < 10_000:
		return thousands(d.Microseconds()) + " µs"
	case micros < 100_000:
		return fmt.Sprintf("%.1f ms", micros/1e3)
	}
	return thousands(d.Milliseconds()) + " ms"
}

func megabytes(bytes int64) figure {
	mb := float64(bytes) / (1 << 20)
	return figure{mb, "MB", fmt.Sprintf("%.1f MB", mb)}
}

func (f figure) note(format string, args ...any) figure {
	f.Text += ", " + fmt.Sprintf(format, args...)
	return f
}

// goal is a limit that a number should keep.
type goal struct {
	least bool
	limit float64
	unit  string
	known bool
}

func atLeast(ratio float64) goal         { return goal{true, ratio, "x", true} }
func atMost(n float64, unit string) goal { return goal{false, n, unit, true} }
func noGoal() goal                       { return goal{} }

// judge says whether the value keeps the goal.
func (r row) judge(value float64, g goal) row {
	if !g.known {
		return r
	}
	sign, met := "≤", value <= g.limit
	if g.least {
		sign, met = "≥", value >= g.limit
	}
	r.Goal, r.Met = fmt.Sprintf("%s %s%s", sign, strconv.FormatFloat(g.limit, 'f', -1, 64), g.unit), &met
	return r
}

// faster is a row whose ratio is the subject's speed against the control's.
func faster(what string, subject, control samples, g goal) row {
	return ratioRow(what, subject, control, control.over(subject), g)
}

// slower is a row whose ratio is the subject's time against the control's.
func slower(what string, subject, control samples, g goal) row {
	return ratioRow(what, subject, control, subject.over(control), g)
}

func ratioRow(what string, subject, control samples, ratio spread, g goal) row {
	r := row{What: what, Subject: perOp(subject.median()), Control: perOp(control.median()), Ratio: &ratio, Rounds: len(subject)}
	return r.judge(ratio.Median, g)
}

// line is the row as Markdown.
func (r row) line() string {
	ratio, goal, met := "-", "-", "-"
	if r.Ratio != nil {
		ratio = fmt.Sprintf("%.2fx", r.Ratio.Median)
	}
	if r.Met != nil {
		goal, met = r.Goal, "no"
		if *r.Met {
			met = "yes"
		}
	}
	return fmt.Sprintf("| %s %s | %s | %s | %s | %s | %s |", r.ID, r.What, r.Subject.Text, orDash(r.Control.Text), ratio, goal, met)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// report is the result of a run.
type report struct {
	Machine machine `json:"machine"`
	Short   bool    `json:"short"`
	CPU     bool    `json:"cpu"` // processor time was measured
	Rows    []row   `json:"rows"`
}

// machine is where it ran.
type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	OS     string `json:"os"`
	Go     string `json:"go"`
	SQLite string `json:"sqlite"`
	Date   string `json:"date"`
}

func newReport(e *env) *report {
	version, _, _ := sqlite3.Version()
	return &report{Short: e.short, CPU: e.cpu, Machine: machine{
		CPU: cpuModel(), Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), SQLite: version, Date: time.Now().UTC().Format(time.DateOnly),
	}}
}

// cpuModel reads the processor's name where the system tells it.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, SQLite %s, %s", m.CPU, m.Cores, m.OS, m.Go, m.SQLite, m.Date)
}

// heading tells where and how it was measured.
func (r *report) heading() string {
	text := r.Machine.String()
	if r.Short {
		text += ", short run"
	}
	if r.CPU {
		text += ", processor time"
	}
	return text
}

// writeTable prints the machine and the rows as Markdown.
func (r *report) writeTable(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", r.heading())
	fmt.Fprintln(w, "| what | subject | control | ratio | goal | met |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, row := range r.Rows {
		fmt.Fprintln(w, row.line())
	}
}

func (r *report) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
