package facttest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// Size is how much is compared.
type Size struct {
	Histories, Facts, Points int
	Seed                     uint64 // of the first history
	Few                      bool   // one more question at each point than what speaks, not all
}

// Run compares stores with the model: random histories, each at random points, which are
// a commit and a valid time. Open opens an empty backend.
func Run(t *testing.T, size Size, open func(t *testing.T) backend.Backend) {
	answers := 0
	for i := range size.Histories {
		seed := size.Seed + uint64(i)
		t.Run(fmt.Sprint("history ", seed), func(t *testing.T) {
			h := grown(t, open(t), seed, size.Facts)
			for range size.Points {
				answers += h.check(size.Few)
			}
		})
	}
	t.Logf("%d histories of %d facts and more, %d points each: %d answers compared", size.Histories, size.Facts, size.Points, answers)
}

// point is a moment on both axes, and the view that shows it.
type point struct {
	commit int64
	valid  time.Time
	view   store.View
	name   string
}

// point returns a random point: given by its two axes, or by one of them.
func (h *history) point() point {
	commit := int64(h.random.IntN(len(h.times)))
	at := h.aTime()
	switch h.random.IntN(5) {
	case 0:
		at = at.Add(time.Microsecond)
	case 1:
		at = at.Add(-time.Microsecond)
	}
	head := int64(len(h.times) - 1)
	switch n := h.random.IntN(10); {
	case n == 0:
		return point{head, at, h.s.Now().ValidAt(at), fmt.Sprintf("Now().ValidAt(%s)", at)}
	case n == 1 && commit > 0:
		return point{commit, h.times[commit], h.s.At(commit), fmt.Sprintf("At(%d)", commit)}
	case n == 2:
		return point{h.commitAt(at), at, h.s.AsOf(at), fmt.Sprintf("AsOf(%s)", at)}
	case n == 3 && commit > 0:
		return point{h.commitAt(h.times[commit]), at, h.s.AsOf(h.times[commit]).ValidAt(at), fmt.Sprintf("AsOf(commit %d).ValidAt(%s)", commit, at)}
	}
	return point{commit, at, h.s.At(commit).ValidAt(at), fmt.Sprintf("At(%d).ValidAt(%s)", commit, at)}
}

// commitAt returns the last commit that is not after a time.
func (h *history) commitAt(t time.Time) int64 {
	for i := len(h.times) - 1; i > 0; i-- {
		if !h.times[i].After(t) {
			return int64(i)
		}
	}
	return 0
}

// asked is a question, for the store and for the model.
type asked struct {
	facts store.Facts
	list  []fact // what is believed of what it is about
	keep  func(f fact) bool
	name  string
}

// check compares the answers to questions at a random point, and returns how many.
func (h *history) check(few bool) int {
	p := h.point()
	typ := "Belief"
	if h.random.IntN(4) == 0 {
		typ = "Loose"
	}
	q := asked{p.view.Facts(typ), h.believed(typ, p.commit), func(fact) bool { return true }, p.name + " " + typ}
	h.narrow(&q, typ)
	from, until := h.period()
	w := window{from, until}
	period := q.facts.During(from, until)
	more := []func(){
		func() { h.speak(q.named("during %v", w), period, during(q.list, w)) },
		func() { h.speak(q.named("every"), q.facts.Every(), q.list) },
		func() { h.speak(q.named("every during %v", w), period.Every(), overlapping(q.list, w)) },
		func() { h.timeline(q.named("timeline"), q.facts, nil, false) },
		func() { h.timeline(q.named("timeline with gaps"), q.facts.Gaps(), nil, true) },
		func() { h.timeline(q.named("timeline during %v", w), period, &w, false) },
		func() { h.timeline(q.named("timeline with gaps during %v", w), period.Gaps(), &w, true) },
		func() { h.about(p) },
	}
	if few {
		more = []func(){more[h.random.IntN(len(more))]}
	}
	h.speak(q.named("speaking"), q.facts, speaking(q.list, p.valid))
	for _, compare := range more {
		compare()
	}
	return 1 + len(more)
}

func (q asked) named(format string, args ...any) asked {
	q.name += ", " + fmt.Sprintf(format, args...)
	return q
}

// narrow asks for a part only: of a subject, of an attribute, what a filter lets through.
func (h *history) narrow(q *asked, typ string) {
	if h.random.IntN(3) == 0 {
		subject := []string{"a", "b", "nobody"}[h.random.IntN(3)]
		q.facts, q.name = q.facts.About(subject), q.name+" about "+subject
		q.list = slices.DeleteFunc(q.list, func(f fact) bool { return f.Left != subject })
	}
	if h.random.IntN(3) == 0 {
		name := attributes[typ][h.random.IntN(len(attributes[typ]))]
		q.facts, q.name = q.facts.Attribute(name), q.name+" "+name
		q.list = slices.DeleteFunc(q.list, func(f fact) bool { return f.Right != name })
	}
	if h.random.IntN(2) == 0 {
		least := h.random.IntN(1009)
		where := onto.Or{onto.Path("rank").Ge(least), onto.Path("value").Ge(least)}
		if typ == "Belief" {
			where[1] = onto.Path("tags").Ge(value("tags", least))
		}
		q.facts, q.name = q.facts.Where(where), fmt.Sprintf("%s where at least %d", q.name, least)
		q.keep = func(f fact) bool { return f.Right != "name" && f.number >= least }
	}
}

// speak compares facts: all of them, their number, and in pages.
func (h *history) speak(q asked, facts store.Facts, list []fact) {
	h.t.Helper()
	var want []string
	for _, f := range list {
		if q.keep(f) {
			want = append(want, f.show())
		}
	}
	h.same(q.name, h.all(facts.All(h.t.Context())), want)
	n, err := facts.Count(h.t.Context())
	if err != nil || n != int64(len(want)) {
		h.t.Fatalf("%s: counted %d, error %v; want %d", q.name, n, err, len(want))
	}
	var got []string
	limit := 1 + h.random.IntN(4)
	for page := facts.Limit(limit); ; {
		p, err := page.Page(h.t.Context())
		if err != nil {
			h.t.Fatalf("%s: %v", q.name, err)
		}
		for _, f := range p.Items {
			got = append(got, show(f))
		}
		if p.Next == "" || len(got) > len(want) {
			break
		}
		page = page.After(p.Next)
	}
	h.same(fmt.Sprintf("%s, pages of %d", q.name, limit), got, want)
}

func (h *history) all(facts iter.Seq2[onto.Fact, error]) []string {
	h.t.Helper()
	var list []string
	for f, err := range facts {
		if err != nil {
			h.t.Fatal(err)
		}
		list = append(list, show(f))
	}
	return list
}

func (h *history) same(name string, got, want []string) {
	h.t.Helper()
	if !slices.Equal(got, want) {
		h.t.Fatalf("%s\ngot\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// show is all of a fact that is read.
func show(f onto.Fact) string {
	return fmt.Sprintf("%s %s %s %s = %v [%s, %s) asserted %d.%d, of %d, revoked %v",
		f.Type, f.Subject, f.Attribute, f.ID, f.Value, when(f.From), when(f.Until), f.Asserted, f.Seq, f.Commit, f.Revoked)
}

func (f *fact) show() string {
	return show(onto.Fact{
		Type: f.Type, Subject: f.Left, Attribute: f.Right, ID: f.Instance, Value: value(f.Right, f.number), From: f.from, Until: f.until,
		Asserted: f.commit, Seq: f.seq, Commit: f.changed, Revoked: f.revoked,
	})
}

func when(t time.Time) string {
	if t.IsZero() {
		return "∞"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (h *history) timeline(q asked, facts store.Facts, w *window, gaps bool) {
	h.t.Helper()
	var want, got []string
	for _, subject := range []string{"a", "b"} {
		for _, attribute := range []string{"name", "odd", "rank", "tags"} {
			var list []fact
			for _, f := range q.list {
				if f.Left == subject && f.Right == attribute {
					list = append(list, f)
				}
			}
			if len(list) > 0 {
				want = append(want, q.segments(list, w, gaps)...)
			}
		}
	}
	for s, err := range facts.Timeline(h.t.Context()) {
		if err != nil {
			h.t.Fatalf("%s: %v", q.name, err)
		}
		text := "gap"
		if !s.Gap {
			text = show(s.Fact)
		}
		got = append(got, fmt.Sprintf("%s %s [%s, %s): %s", s.Subject, s.Attribute, when(s.From), when(s.Until), text))
	}
	h.same(q.name, got, want)
}

// segments is the timeline of one attribute, as text. If there are filters, nothing is
// said of an attribute none of whose segments is let through.
func (q *asked) segments(list []fact, w *window, gaps bool) []string {
	var want []string
	any := false
	for _, s := range timeline(list, w, gaps) {
		text := "gap"
		if s.fact != nil {
			if !q.keep(*s.fact) {
				continue
			}
			text, any = s.fact.show(), true
		}
		want = append(want, fmt.Sprintf("%s %s [%s, %s): %s", list[0].Left, list[0].Right, when(s.from), when(s.until), text))
	}
	if !any && strings.Contains(q.name, " where ") {
		return nil
	}
	return want
}

// about compares the struct of what holds.
func (h *history) about(p point) {
	h.t.Helper()
	for _, subject := range []string{"a", "b", "nobody"} {
		want := Belief{About: onto.About[string]{Subject: subject}}
		var tags []fact
		spoken := speaking(h.believed("Belief", p.commit), p.valid)
		spoken = slices.DeleteFunc(spoken, func(f fact) bool { return f.Left != subject })
		for _, f := range spoken {
			switch f.Right {
			case "name":
				want.Name = value("name", f.number).(string)
			case "rank":
				want.Rank = &f.number
			case "tags":
				tags = append(tags, f)
			}
		}
		slices.SortFunc(tags, func(a, b fact) int {
			if a.later(&b) {
				return 1
			}
			return -1
		})
		for _, f := range tags {
			want.Tags = append(want.Tags, value("tags", f.number).(string))
		}
		got, err := store.About[Belief](h.t.Context(), p.view, subject)
		if errors.Is(err, onto.NotFound) && len(spoken) == 0 {
			continue
		}
		if err != nil || len(spoken) == 0 || got.text() != want.text() {
			h.t.Fatalf("%s: about %s: got %s, error %v; want %s", p.name, subject, got.text(), err, want.text())
		}
	}
}

func (b Belief) text() string {
	rank := "none"
	if b.Rank != nil {
		rank = fmt.Sprint(*b.Rank)
	}
	return fmt.Sprintf("%s: name %q rank %s tags %q", b.Subject, b.Name, rank, b.Tags)
}
