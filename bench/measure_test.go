package main

import (
	"math"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	tests := []struct {
		list []float64
		q    float64
		want float64
	}{
		{[]float64{7}, 0.5, 7},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{5, 4, 3, 2, 1}, 0, 1},
		{[]float64{5, 4, 3, 2, 1}, 1, 5},
		{[]float64{0, 10}, 0.9, 9},
	}
	for _, test := range tests {
		if got := quantile(test.list, test.q); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("quantile(%v, %v) = %v, want %v", test.list, test.q, got, test.want)
		}
	}
}

// A ratio is the median of the rounds' ratios, not the ratio of the medians: a
// round in which everything was slow counts like the others.
func TestRatioIsPerRound(t *testing.T) {
	subject, control := samples{10, 1000, 30}, samples{20, 2000, 10}
	if got := control.over(subject).Median; got != 2 {
		t.Errorf("the ratio is %v, want 2", got)
	}
	if got := subject.median(); got != 30 {
		t.Errorf("the median is %v, want 30", got)
	}
	r := faster("twice as fast", subject, control, atLeast(2))
	if r.Ratio.Median != 2 || !*r.Met || r.Rounds != 3 {
		t.Errorf("faster gives %+v, want 2, met, of 3 rounds", r)
	}
	if r := slower("half the time", subject, control, atMost(0.4, "x")); r.Ratio.Median != 0.5 || *r.Met {
		t.Errorf("slower gives %+v, want 0.5, not met", r)
	}
}

func TestSidesTakeTurns(t *testing.T) {
	var order string
	turn := func(name string) side {
		return side{name, func() (int, func()) { return 1, func() { order += name } }}
	}
	e := newEnv(t.TempDir(), true)
	taken := e.alternate(plan{rounds: 2, turns: 2}, turn("a"), turn("b"))
	if want := "abbaabbaabba"; order != want { // the first round warms up
		t.Errorf("turns were %s, want %s", order, want)
	}
	if len(taken) != 2 || len(taken[0]) != 2 || len(taken[1]) != 2 {
		t.Errorf("got %v, want two rounds of each side", taken)
	}
}

func TestTimesInWords(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{720, "0.72 µs (1,388,888/s)"},
		{15_100, "15.1 µs (66,225/s)"},
		{276 * time.Microsecond, "276 µs (3,623/s)"},
		{8982 * time.Microsecond, "8,982 µs (111/s)"},
		{98_400 * time.Microsecond, "98.4 ms (10/s)"},
		{1_540 * time.Millisecond, "1,540 ms (0.6/s)"},
	}
	for _, test := range tests {
		if got := perOp(test.d).Text; got != test.want {
			t.Errorf("%d ns is written %q, want %q", test.d, got, test.want)
		}
	}
}

func TestGoals(t *testing.T) {
	tests := []struct {
		value float64
		goal  goal
		text  string
		met   bool
	}{
		{0.70, atLeast(0.7), "≥ 0.7x", true},
		{0.69, atLeast(0.7), "≥ 0.7x", false},
		{1.5, atMost(1.5, "x"), "≤ 1.5x", true},
		{33, atMost(32, " MB"), "≤ 32 MB", false},
	}
	for _, test := range tests {
		r := row{}.judge(test.value, test.goal)
		if r.Goal != test.text || *r.Met != test.met {
			t.Errorf("%v for %q is judged %v, want %v for %q", test.value, r.Goal, *r.Met, test.met, test.text)
		}
	}
	if r := (row{}).judge(1, noGoal()); r.Met != nil {
		t.Errorf("a row without a goal is judged %v", *r.Met)
	}
}

func TestChoose(t *testing.T) {
	all := []benchmark{{ID: "B1", Group: "sqlite"}, {ID: "B2", Group: "sqlite"}, {ID: "B16", Group: "lake"}}
	tests := map[string]string{"": "B1B2B16", "b2": "B2", "lake,B1": "B1B16", "sqlite": "B1B2"}
	for only, want := range tests {
		chosen, err := choose(all, only)
		got := ""
		for _, b := range chosen {
			got += b.ID
		}
		if err != nil || got != want {
			t.Errorf("choose(%q) = %s, %v, want %s", only, got, err, want)
		}
	}
	if _, err := choose(all, "B3"); err == nil {
		t.Error("B3, which there is not, was chosen")
	}
}
