package filtertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
)

// Open makes an empty store. The directory is for it alone.
type Open func(t testing.TB, dir string) backend.Backend

// perHistory is how many questions are asked about one random history.
const perHistory = 40

// Agree writes random histories to two backends and asks both random questions, n of
// them at least. A question that they answer differently is shrunk and printed with
// everything that was written. The test must be in the table of package effort.
func Agree(t *testing.T, n int, a, b Open) { agree(t, n, false, a, b) }

// AgreeOnAbsent is Agree where no object has a null among its fields, as a store writes
// them: a null there is the same as an absent field.
func AgreeOnAbsent(t *testing.T, n int, a, b Open) { agree(t, n, true, a, b) }

func agree(t *testing.T, n int, absent bool, a, b Open) {
	questions, histories, matched := 0, 0, 0
	effort.CheckUntil(t, func() bool { return questions >= n }, func(rt *rapid.T) {
		d := newDebate(t, rt, absent, a, b)
		defer d.end()
		histories++
		for range perHistory {
			n, wrong := d.ask(newInquirer(rt, d.ledger).question())
			if wrong != "" {
				rt.Fatal(wrong)
			}
			questions, matched = questions+1, matched+min(n, 1)
		}
	})
	t.Logf("%d questions about %d histories, %d of them with an answer that is not empty", questions, histories, matched)
}

// debate is two backends with the same contents.
type debate struct {
	*rapid.T
	outer  *testing.T
	sides  [2]backend.Backend
	dirs   [2]string
	ledger *ledger
	told   []string // for messages
}

func newDebate(t *testing.T, rt *rapid.T, absent bool, open ...Open) *debate {
	d := &debate{T: rt, outer: t, ledger: &ledger{schemas: agreeSchemas(rt)}}
	for i := range d.sides {
		dir, err := os.MkdirTemp(t.TempDir(), "store")
		if err != nil {
			t.Fatal(err)
		}
		d.dirs[i], d.sides[i] = dir, open[i](t, dir)
	}
	d.register()
	commits := rapid.IntRange(2, 6).Draw(rt, "commits")
	for i := range commits {
		if i > 0 && rapid.IntRange(0, 5).Draw(rt, "other indexes") == 5 {
			d.ledger.schemas = agreeSchemas(rt)
			d.register()
		}
		writes := drawWrites(rt, d.ledger)
		if absent {
			dropNulls(writes)
		}
		d.commit(writes)
	}
	return d
}

// dropNulls removes the fields that are null.
func dropNulls(writes []backend.Write) {
	for i, w := range writes {
		if w.Op == onto.Put {
			writes[i].Fields = codec.AppendObject(nil, slices.DeleteFunc(codec.Members(w.Fields), func(m codec.Member) bool { return codec.KindOf(m.Value) == codec.Null }))
		}
	}
}

func (d *debate) end() {
	for i, b := range d.sides {
		closing(d.outer, b)
		if err := os.RemoveAll(d.dirs[i]); err != nil {
			d.outer.Errorf("remove what was written: %v", err)
		}
	}
}

func (d *debate) register() {
	for _, s := range d.ledger.schemas {
		d.told = append(d.told, "type "+string(s.JSON()))
	}
	for _, b := range d.sides {
		if err := d.ledger.register(d.Context(), b); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *debate) commit(writes []backend.Write) {
	draft := d.ledger.draft(writes)
	for _, w := range draft.Writes {
		d.told = append(d.told, fmt.Sprintf("commit %d: %s %s %s", d.ledger.head, w.Op, w.Identity, w.Fields))
	}
	for _, b := range d.sides {
		if _, err := b.Append(d.Context(), draft); err != nil {
			d.Fatal(err)
		}
	}
}

// ask asks both a question. It returns how long the answer was, and what is
// wrong if they do not agree.
func (d *debate) ask(q question) (n int, wrong string) {
	var answers [2]answer
	for i, b := range d.sides {
		answers[i] = q.ask(d.Context(), b)
	}
	n = len(answers[0].lines)
	if !answers[0].like(&answers[1], q.magnitudes(d.ledger)) {
		return n, d.report(q, answers[0].lines, answers[1].lines)
	}
	if q.groups != nil || len(q.query.Search) > 0 {
		return n, ""
	}
	var want []string
	for _, v := range d.ledger.page(&q.query) {
		want = append(want, v.String())
	}
	if !slices.Equal(answers[0].lines, want) {
		return n, d.report(q, answers[0].lines, want)
	}
	return n, ""
}

// report prints everything about a question that is answered differently.
func (d *debate) report(q question, got, want []string) string {
	asked, plans := describe(&q.query), ""
	for i, b := range d.sides {
		text := explain(d.Context(), b, &q.query, nil)
		if q.groups != nil {
			text = explain(d.Context(), b, nil, q.groups)
		}
		if text != "" {
			plans += fmt.Sprintf("\nside %d:%s", i+1, text)
		}
	}
	if q.groups != nil {
		asked += "; by " + operands(q.groups.By) + "; compute " + operands(q.groups.Compute)
	}
	return fmt.Sprintf("asked: %s\none says:\n  %s\nanother says:\n  %s%s\nwhat was told:\n  %s", asked,
		strings.Join(got, "\n  "), strings.Join(want, "\n  "), plans, strings.Join(d.told, "\n  "))
}

func operands(list []onto.Operand) string {
	var text []string
	for _, o := range list {
		text = append(text, filter.FormatOperand(o))
	}
	return fmt.Sprint(text)
}

// answer is an answer as text.
type answer struct {
	lines  []string
	failed bool
	groups []onto.Group
}

func (q *question) ask(ctx context.Context, b backend.Backend) answer {
	var a answer
	fail := func(err error) answer {
		return answer{failed: true, lines: []string{fmt.Sprintf("error %s: %v", onto.CodeOf(err), err)}}
	}
	if q.groups == nil {
		for v, err := range b.Scan(ctx, &q.query) {
			if err != nil {
				return fail(err)
			}
			a.lines = append(a.lines, v.String())
		}
		return a
	}
	for g, err := range b.Aggregate(ctx, q.groups) {
		if err != nil {
			return fail(err)
		}
		a.groups = append(a.groups, g)
		a.lines = append(a.lines, fmt.Sprintf("%s: %s", texts(g.By), texts(g.Values)))
	}
	return a
}

// like compares two answers. Error messages may differ, and floats by the rounding of
// another order of summation.
func (a *answer) like(b *answer, magnitudes []float64) bool {
	if a.failed || b.failed {
		code := func(a *answer) string { return strings.Split(a.lines[0], ":")[0] }
		return a.failed && b.failed && code(a) == code(b)
	}
	if a.groups == nil || b.groups == nil {
		return slices.Equal(a.lines, b.lines)
	}
	return slices.EqualFunc(a.groups, b.groups, func(x, y onto.Group) bool {
		if !slices.Equal(texts(x.By), texts(y.By)) || len(x.Values) != len(magnitudes) || len(y.Values) != len(magnitudes) {
			return false
		}
		for i := range x.Values {
			if !near(x.Values[i], y.Values[i], magnitudes[i]) {
				return false
			}
		}
		return true
	})
}

// near compares two aggregates; magnitude is 0 for those that are exact.
func near(a, b json.RawMessage, magnitude float64) bool {
	if string(a) == string(b) {
		return true
	}
	if a == nil || b == nil || magnitude == 0 {
		return false
	}
	tolerance := 1e-9
	if !strings.ContainsAny(string(a)+string(b), ".e") {
		if magnitude < 1<<53 {
			return false
		}
		tolerance = 1e-15 // a sum with fractions so large that the result has none
	}
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= tolerance*magnitude
}

// magnitude returns how large the numbers are that an operand leads to, in any version,
// and whether one of them is no integer.
func (l *ledger) magnitude(o onto.Operand) (size float64, fractions bool) {
	o.Side = onto.OwnSide
	for _, v := range l.versions {
		value := string((&filter.Row{Own: v.Fields}).Value(o))
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			size += math.Abs(f)
			fractions = fractions || strings.ContainsAny(value, ".e")
		}
	}
	return size, fractions
}

// magnitudes returns for each aggregate how large the numbers are that go into
// it, 0 if it must be exact.
func (q *question) magnitudes(l *ledger) []float64 {
	if q.groups == nil {
		return nil
	}
	list := make([]float64, len(q.groups.Compute))
	for i, o := range q.groups.Compute {
		switch o.Func {
		case onto.FuncAvgLen:
			list[i] = 1
		case onto.FuncSum, onto.FuncAvg:
			var fractions bool
			list[i], fractions = l.magnitude(o)
			if o.Func == onto.FuncSum && !fractions {
				list[i] = 0 // integers add up exactly
			}
		}
	}
	return list
}
