package store

import (
	"context"
	"encoding/json"
	"iter"
	"math"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/words"
	"github.com/ontologia/onto/store/internal/catalog"
)

// question is a query as the caller has put it.
type question struct {
	v    View
	find func(View) (*catalog.Type, error) // finds the type
	t    *catalog.Type
	err  error

	where         []onto.Filter
	search        string
	searched      bool
	left, right   []string // keys of relations' ends
	order         []onto.Order
	cursor        string
	after         *Place
	offset, limit int

	history  bool // all versions, not only live ones
	since    int64
	identity *onto.Identity // history: only of this one

	aspect string // facts: what else distinguishes the question
	valid  string // facts: the valid time, in its stored form
}

func newQuestion(v View, find func(View) (*catalog.Type, error)) question {
	if v.types == nil {
		v = v.current()
	}
	q := question{find: find}
	q.know(v)
	return q
}

// know finds the type of the question in a view.
func (q *question) know(v View) {
	q.v = v
	q.t, q.err = q.find(v)
}

// ask checks the question and returns the backend's form of it.
func (q *question) ask(ctx context.Context) (*backend.Query, error) {
	if err := q.settle(ctx); err != nil {
		return nil, err
	}
	ask, err := q.form()
	if err != nil {
		return nil, err
	}
	if err := q.moment(ctx, ask); err != nil {
		return nil, err
	}
	if q.after != nil {
		return ask, q.startAfter(ask)
	}
	if q.cursor == "" {
		return ask, nil
	}
	return ask, q.goOn(ctx, ask)
}

// settle finds the type as it is known now, or by its name at the moment of the view.
func (q *question) settle(ctx context.Context) error {
	_, timed := q.v.point.Time()
	if q.v.types == q.v.s.catalog() && (!timed || q.err != nil) {
		return q.err
	}
	v, err := q.v.current().pin(ctx)
	if err != nil {
		return err
	}
	q.know(v)
	return q.err
}

// form is the question without its moment and place.
func (q *question) form() (*backend.Query, error) {
	switch {
	case q.err != nil:
		return nil, q.err
	case q.limit < 0:
		return nil, onto.Errorf(onto.Invalid, "limit %d is negative", q.limit).WithHint("0 means all")
	case q.offset < 0:
		return nil, onto.Errorf(onto.Invalid, "offset %d is negative", q.offset)
	case q.offset > 0 && q.cursor != "":
		return nil, onto.Errorf(onto.Invalid, "offset %d and a cursor do not go together", q.offset).
			WithHint("leave out the offset: the cursor tells where to go on")
	case q.offset > 0 && q.after != nil:
		return nil, onto.Errorf(onto.Invalid, "offset %d and a place to start after do not go together", q.offset).
			WithHint("leave out the offset: the place tells where to go on")
	case q.cursor != "" && q.after != nil:
		return nil, onto.Errorf(onto.Invalid, "a cursor and a place to start after do not go together").WithHint("leave out one of them")
	case len(q.left)+len(q.right) > 0 && q.t.Schema.Kind == onto.KindEntity:
		return nil, onto.Errorf(onto.Invalid, "%s is an entity; only relations have ends", q.t.Schema.Name)
	}
	ask := &backend.Query{
		Kind: q.t.Schema.Kind, Type: q.t.Schema.Name, Schema: &q.t.Schema, Limit: q.limit, Offset: q.offset,
		Identity: q.identity, Since: q.since, LeftKeys: q.left, RightKeys: q.right,
	}
	if q.history {
		ask.Mode = backend.History
	}
	scope := q.v.scope(q.t)
	ask.Left, ask.Right = scope.Left, scope.Right
	if err := q.conditions(ask, scope); err != nil {
		return nil, err
	}
	for _, o := range q.order {
		operand, err := filter.CheckOrder(o.Operand, scope)
		if err != nil {
			return nil, err
		}
		ask.Order = append(ask.Order, onto.Order{Operand: operand, Desc: o.Desc})
	}
	return ask, nil
}

// scope is what filters on a type may refer to.
func (v View) scope(t *catalog.Type) *filter.Scope {
	scope := &filter.Scope{Schema: &t.Schema}
	if t.Schema.Left != "" {
		if left, err := v.typ(onto.KindEntity, t.Schema.Left); err == nil {
			scope.Left = &left.Schema
		}
	}
	if t.Schema.Right != "" {
		if right, err := v.typ(onto.KindEntity, t.Schema.Right); err == nil {
			scope.Right = &right.Schema
		}
	}
	return scope
}

// conditions checks the filters and the words to search for.
func (q *question) conditions(ask *backend.Query, scope *filter.Scope) error {
	if len(q.where) > 0 {
		var all onto.Filter = onto.And(q.where)
		if len(q.where) == 1 {
			all = q.where[0]
		}
		checked, err := filter.Check(all, scope)
		if err != nil {
			return err
		}
		ask.Where = checked
	}
	if !q.searched {
		return nil
	}
	if ask.Search = words.Query(q.search); len(ask.Search) == 0 {
		return onto.Errorf(onto.Invalid, "there is no word to search for in %.80q", q.search).WithHint("words are letters and digits")
	}
	for _, f := range q.t.Schema.Fields {
		if f.Search {
			return nil
		}
	}
	return onto.Errorf(onto.Invalid, "no field of %s can be searched", q.t.Schema.Name).
		WithHint(`mark a string field with onto:"search", or search: true in the schema file`)
}

// moment resolves the view and the start of a history.
func (q *question) moment(ctx context.Context, ask *backend.Query) error {
	if q.since < 0 {
		return onto.Errorf(onto.Invalid, "commit %d is negative", q.since)
	}
	if q.since > 0 {
		if _, err := q.v.s.At(q.since).resolve(ctx); err != nil {
			return err
		}
	}
	at, err := q.v.resolve(ctx)
	ask.At = at
	if err != nil || q.history {
		return err
	}
	return q.v.exists(q.t, at)
}

// reader reads what the question is about.
func (q *question) reader() reader { return reader{q.v, q.t} }

// pin replaces the head by its present commit, for what takes several questions.
func (q *question) pin(ctx context.Context, ask *backend.Query) error {
	if ask.At != backend.Head {
		return nil
	}
	head, err := q.v.s.Head(ctx)
	ask.At = head.ID
	return err
}

// versions yields the answers as versions.
func (q *question) versions(ctx context.Context) iter.Seq2[onto.Version, error] {
	return anew(func() (iter.Seq2[onto.Version, error], error) {
		ask, err := q.ask(ctx)
		if err != nil {
			return nil, err
		}
		return q.reader().scan(ctx, ask), nil
	})
}

// count returns how many versions the question is about.
func (q question) count(ctx context.Context) (n int64, err error) {
	if q.after != nil {
		return 0, onto.Errorf(onto.Invalid, "a count has no place to start after").WithHint("leave it out: all answers are counted")
	}
	q.order, q.offset, q.limit = nil, 0, 0
	err = again(func() error {
		n, err = q.countOnce(ctx)
		return err
	})
	return n, err
}

func (q *question) countOnce(ctx context.Context) (int64, error) {
	ask, err := q.ask(ctx)
	if err != nil {
		return 0, err
	}
	if ask.After != nil { // a group has no place
		return 0, onto.Errorf(onto.Invalid, "a count has no cursor")
	}
	return q.counted(ctx, ask)
}

// counted counts what the backend's form of the question is about.
func (q *question) counted(ctx context.Context, ask *backend.Query) (int64, error) {
	a := &backend.Aggregation{Query: *ask, Compute: []onto.Operand{onto.Count()}}
	for g, err := range q.reader().aggregate(ctx, a) {
		if err != nil {
			return 0, err
		}
		var n int64
		if err := json.Unmarshal(g.Values[0], &n); err != nil {
			return 0, onto.Errorf(onto.Corrupt, "the backend counts %s", g.Values[0])
		}
		return n, nil
	}
	return 0, nil
}

// page reads one more than the limit to learn whether there is a next page.
func page[T any](ctx context.Context, q question, convert func(*catalog.Type, *onto.Version) (T, error)) (p Page[T], err error) {
	err = again(func() error {
		p, err = pageOnce(ctx, &q, convert)
		return err
	})
	return p, err
}

func pageOnce[T any](ctx context.Context, q *question, convert func(*catalog.Type, *onto.Version) (T, error)) (Page[T], error) {
	var p Page[T]
	ask, err := q.ask(ctx)
	if err != nil {
		return p, err
	}
	if q.limit > 0 && q.limit < math.MaxInt {
		ask.Limit = q.limit + 1
		if err := q.pin(ctx, ask); err != nil {
			return p, err
		}
	}
	var last onto.Version
	for v, err := range q.reader().scan(ctx, ask) {
		if err != nil {
			return Page[T]{}, err
		}
		if q.limit > 0 && len(p.Items) == q.limit {
			p.Next, err = q.cursorAfter(ctx, ask, &last)
			return p, err
		}
		item, err := convert(q.t, &v)
		if err != nil {
			return Page[T]{}, err
		}
		p.Items = append(p.Items, item)
		last = v
	}
	return p, nil
}

// Explain tells how the question will be answered, if the backend supports that. Page
// reads one more than the limit.
func (q Query[T]) Explain(ctx context.Context) (backend.Explanation, error) {
	ask, err := q.ask(ctx)
	if err != nil {
		return backend.Explanation{}, err
	}
	return q.reader().explain(ctx, ask, nil)
}

// ExplainVersions is Explain for Versions.
func (q Query[T]) ExplainVersions(ctx context.Context, since int64) (backend.Explanation, error) {
	q.history, q.since = true, since
	return q.Explain(ctx)
}

// commitCache remembers the last commit: versions come in order of commits.
type commitCache struct {
	s    *Store
	last onto.Commit
}

func (c *commitCache) get(ctx context.Context, id int64) (onto.Commit, error) {
	var err error
	if c.last.ID != id {
		c.last, err = c.s.b.Resolve(ctx, onto.AtCommit(id))
	}
	return c.last, err
}
