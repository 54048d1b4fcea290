package store

import (
	"context"
	"iter"
	"math"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Query is a question for the versions of one type that a view shows, in
// order of identity. Its methods return a changed copy.
type Query struct {
	v      View
	t      *typ
	err    error // what is wrong with the question; told when it is asked
	cursor string
	limit  int
}

// QueryOf is a Query whose answers are Go structs.
type QueryOf[T any] struct{ q Query }

// Find asks for the live versions of a type.
func (v View) Find(name string) Query {
	schema, err := v.s.Type(name)
	if err != nil {
		return Query{v: v, err: err}
	}
	return v.FindKind(schema.Kind, name)
}

// FindKind is Find for a type of the given kind.
func (v View) FindKind(kind onto.Kind, name string) Query {
	t, err := v.s.typ(kind, name)
	return Query{v: v, t: t, err: err}
}

// Find asks for the live T that a view shows, in order of identity.
func Find[T any](v View) QueryOf[T] {
	t, err := v.s.structType(reflect.TypeFor[T]())
	return QueryOf[T]{Query{v: v, t: t, err: err}}
}

// After continues where the page that gave this cursor ended. The cursor
// remembers its moment, so pages fit together whatever is committed meanwhile.
// With a view of another moment than the cursor's, the query fails.
func (q Query) After(cursor string) Query {
	q.cursor = cursor
	return q
}

// After continues where the page that gave this cursor ended, as in Query.
func (q QueryOf[T]) After(cursor string) QueryOf[T] { return QueryOf[T]{q.q.After(cursor)} }

// Limit asks for at most n. 0 means all.
func (q Query) Limit(n int) Query {
	if n < 0 && q.err == nil {
		q.err = onto.Errorf(onto.Invalid, "limit %d is negative", n)
	}
	q.limit = n
	return q
}

// Limit asks for at most n. 0 means all.
func (q QueryOf[T]) Limit(n int) QueryOf[T] { return QueryOf[T]{q.q.Limit(n)} }

// All yields the versions.
func (q Query) All(ctx context.Context) iter.Seq2[onto.Version, error] {
	return later(func() (iter.Seq2[onto.Version, error], error) {
		ask, err := q.ask(ctx)
		if err != nil {
			return nil, err
		}
		return q.v.s.b.Scan(ctx, ask), nil
	})
}

// All yields the values.
func (q QueryOf[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range q.q.All(ctx) {
			var value T
			if err == nil {
				err = q.q.t.decode(&v, &value)
			}
			if !yield(value, err) || err != nil {
				return
			}
		}
	}
}

// Page is one page of an answer.
type Page[T any] struct {
	Items []T
	Next  string // the cursor for After; "" if this is the last page
}

// Page returns up to the limit and the cursor to go on with.
func (q Query) Page(ctx context.Context) (Page[onto.Version], error) {
	return page(ctx, q, func(v *onto.Version) (onto.Version, error) { return *v, nil })
}

// Page returns up to the limit and the cursor to go on with.
func (q QueryOf[T]) Page(ctx context.Context) (Page[T], error) {
	return page(ctx, q.q, func(v *onto.Version) (T, error) {
		var value T
		return value, q.q.t.decode(v, &value)
	})
}

// ask is the backend's form of the question.
func (q Query) ask(ctx context.Context) (*backend.Query, error) {
	if q.err != nil {
		return nil, q.err
	}
	ask := &backend.Query{Kind: q.t.schema.Kind, Type: q.t.schema.Name, Limit: q.limit}
	at, err := q.v.resolve(ctx)
	if err != nil {
		return nil, err
	}
	ask.At = at
	if q.cursor == "" {
		return ask, nil
	}
	c, err := parseCursor(q.cursor, ask)
	if err != nil {
		return nil, err
	}
	if at != backend.Head && at != c.Commit {
		return nil, onto.Errorf(onto.Invalid, "the cursor is from commit %d, not %d", c.Commit, at).
			WithHint("leave out the moment: the cursor remembers it")
	}
	ask.At, ask.After = c.Commit, &c.Identity
	_, err = q.v.s.At(c.Commit).resolve(ctx)
	return ask, err
}

// page reads one more than the limit to learn whether there is a next page.
func page[T any](ctx context.Context, q Query, convert func(*onto.Version) (T, error)) (Page[T], error) {
	var p Page[T]
	ask, err := q.ask(ctx)
	if err != nil {
		return p, err
	}
	if q.limit > 0 && q.limit < math.MaxInt {
		ask.Limit = q.limit + 1
		if ask.At == backend.Head { // pin the moment for the pages that follow
			head, err := q.v.s.Head(ctx)
			if err != nil {
				return p, err
			}
			ask.At = head.ID
		}
	}
	var last onto.Identity
	for v, err := range q.v.s.b.Scan(ctx, ask) {
		if err != nil {
			return Page[T]{}, err
		}
		if q.limit > 0 && len(p.Items) == q.limit {
			p.Next = cursor{Commit: ask.At, Identity: last}.String()
			break
		}
		item, err := convert(&v)
		if err != nil {
			return Page[T]{}, err
		}
		p.Items = append(p.Items, item)
		last = v.Identity
	}
	return p, nil
}

// later is a sequence that is made when its iteration starts, so that it shows
// that moment.
func later[T any](make func() (iter.Seq2[T, error], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		seq, err := make()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		seq(yield)
	}
}
