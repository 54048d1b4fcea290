package filtertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// runner asks a backend the cases of a group in one variant.
type runner struct {
	variant
	t         testing.TB
	b         backend.Backend
	g         *Group
	ledger    *ledger
	questions int
}

func (r *runner) run() {
	scope := r.g.scope(r.suffix, r.index)
	for _, c := range r.g.Cases {
		if c.Refused != "" {
			continue
		}
		if c.Order {
			by, err := c.Orders(scope)
			if err != nil {
				r.t.Errorf("%s: %v", c.ID, err)
				continue
			}
			r.order(&c, by)
			continue
		}
		f, err := c.Filter(scope)
		if err != nil {
			r.t.Errorf("%s: %v", c.ID, err)
			continue
		}
		r.filter(&c, f)
	}
}

// query asks for the group's type as of a moment.
func (r *runner) query(mode backend.Mode, at int64) backend.Query {
	s := r.g.scope(r.suffix, r.index)
	return backend.Query{Kind: s.Schema.Kind, Type: s.Schema.Name, Mode: mode, At: at, Schema: s.Schema, Left: s.Left, Right: s.Right}
}

// filter asks for the rows of a filter and of its opposite.
func (r *runner) filter(c *Case, f onto.Filter) {
	for _, at := range []int64{backend.Head, 1, firstRight, 3} {
		q := r.query(backend.State, at)
		q.Where = f
		got := r.ask(c, &q, r.ledger.answer(&q))
		if right := at == backend.Head || at == firstRight; right {
			r.corpusWant(c, &q, got)
			q.Where = onto.Not{Of: f}
			r.ask(c, &q, r.ledger.answer(&q))
		} else {
			r.count(c, &q)
		}
	}
	q := r.query(backend.State, backend.Head)
	q.Where = f
	r.count(c, &q)
	q = r.query(backend.History, backend.Head)
	q.Where = f
	r.ask(c, &q, r.ledger.answer(&q))
}

// order asks for all rows in an order, whole and in pages.
func (r *runner) order(c *Case, by []onto.Order) {
	for _, at := range []int64{backend.Head, 1, firstRight, 3} {
		q := r.query(backend.State, at)
		q.Order = by
		got := r.ask(c, &q, r.ledger.answer(&q))
		if at == backend.Head || at == firstRight {
			r.corpusWant(c, &q, got)
			r.pages(c, q, 1)
		}
	}
	q := r.query(backend.History, backend.Head)
	q.Order = by
	r.ask(c, &q, r.ledger.answer(&q))
	r.pages(c, q, 5)
}

// pages asks for what comes after rows of an answer, and for what is left after an
// offset. Step is how many rows are skipped.
func (r *runner) pages(c *Case, q backend.Query, step int) {
	whole := r.ledger.answer(&q)
	for i := 0; i < len(whole); i += step {
		rest := whole[i+1:]
		page := q
		switch i / step % 3 {
		case 0:
			page.After = r.ledger.place(&q, whole[i])
		case 1:
			page.Offset = i + 1
		default:
			page.After, page.Offset, page.Limit = r.ledger.place(&q, whole[i]), 1, 2
			rest = rest[min(1, len(rest)):min(3, len(rest))]
		}
		r.ask(c, &page, rest)
	}
}

// ask compares an answer with the one computed from what was written.
func (r *runner) ask(c *Case, q *backend.Query, versions []*onto.Version) []onto.Version {
	r.questions++
	var answer []onto.Version
	var got, want []string
	for _, v := range versions {
		want = append(want, show(v))
	}
	for v, err := range r.b.Scan(r.t.Context(), q) {
		if err != nil {
			got = append(got, "error: "+err.Error())
			break
		}
		answer, got = append(answer, v), append(got, show(&v))
	}
	if !slices.Equal(got, want) {
		r.fail(c, q, nil, got, want)
	}
	return answer
}

// corpusWant compares an answer with that of the corpus.
func (r *runner) corpusWant(c *Case, q *backend.Query, answer []onto.Version) {
	var got []string
	for _, v := range answer {
		got = append(got, keyOf(v.Identity))
	}
	if !slices.Equal(got, c.Want) {
		r.fail(c, q, nil, got, c.Want)
	}
}

// count asks how many rows there are.
func (r *runner) count(c *Case, q *backend.Query) {
	r.questions++
	a := &backend.Aggregation{Query: *q, Compute: []onto.Operand{onto.Count()}}
	want := []string{fmt.Sprint(len(r.ledger.answer(q)))}
	var got []string
	for g, err := range r.b.Aggregate(r.t.Context(), a) {
		switch {
		case err != nil:
			got = append(got, "error: "+err.Error())
		case len(g.By) != 0 || len(g.Values) != 1:
			got = append(got, fmt.Sprintf("%d and %d values", len(g.By), len(g.Values)))
		default:
			got = append(got, string(g.Values[0]))
		}
	}
	if !slices.Equal(got, want) {
		r.fail(c, nil, a, got, want)
	}
}

// fail reports everything about a wrong answer.
func (r *runner) fail(c *Case, q *backend.Query, a *backend.Aggregation, got, want []string) {
	r.t.Helper()
	asked := q
	if q == nil {
		asked = &a.Query
	}
	r.t.Errorf("%s (%s.txt:%d): %s\nasked: %s\n got: %q\nwant: %q%s",
		c.ID, r.g.File, c.Line, c.Text, describe(asked), got, want, explain(r.t.Context(), r.b, q, a))
}
