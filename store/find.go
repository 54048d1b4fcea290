package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Finder is a question for the versions of one type that a view shows, in
// order of identity. Its methods return a changed copy.
type Finder struct {
	v      View
	t      *typ
	err    error
	cursor string
	limit  int
}

// Find asks for the live versions of a type.
func (v View) Find(name string) Finder {
	schema, err := v.s.Type(name)
	if err != nil {
		return Finder{v: v, err: err}
	}
	return v.find(schema.Kind, name)
}

func (v View) find(kind onto.Kind, name string) Finder {
	t, err := v.s.typ(kind, name)
	return Finder{v: v, t: t, err: err}
}

// FindKind is Find for a type of the given kind.
func (v View) FindKind(kind onto.Kind, name string) Finder { return v.find(kind, name) }

// After continues where the page that gave this cursor ended. The cursor
// remembers its moment, so pages fit together whatever is committed meanwhile.
func (f Finder) After(cursor string) Finder {
	f.cursor = cursor
	return f
}

// Limit asks for at most n. 0 means all.
func (f Finder) Limit(n int) Finder {
	if n < 0 && f.err == nil {
		f.err = onto.Errorf(onto.Invalid, "limit %d is negative", n)
	}
	f.limit = n
	return f
}

// All yields the versions.
func (f Finder) All(ctx context.Context) iter.Seq2[onto.Version, error] {
	q, err := f.query(ctx)
	if err != nil {
		return failed[onto.Version](err)
	}
	return f.v.s.b.Scan(ctx, q)
}

// Page is one page of an answer.
type Page[T any] struct {
	Items []T
	Next  string // the cursor for After; "" if this is the last page
}

// Page returns up to the limit and the cursor to go on with.
func (f Finder) Page(ctx context.Context) (Page[onto.Version], error) {
	return page(ctx, f, func(v *onto.Version) (onto.Version, error) { return *v, nil })
}

// query is the backend's form of the question.
func (f Finder) query(ctx context.Context) (*backend.Query, error) {
	if f.err != nil {
		return nil, f.err
	}
	q := &backend.Query{Kind: f.t.schema.Kind, Type: f.t.schema.Name, Limit: f.limit}
	if f.cursor != "" {
		c, err := parseCursor(f.cursor, q)
		if err != nil {
			return nil, err
		}
		q.At, q.After = c.Commit, &c.Identity
		_, err = f.v.s.At(c.Commit).resolve(ctx)
		return q, err
	}
	at, err := f.v.resolve(ctx)
	q.At = at
	return q, err
}

// page reads one more than the limit to learn whether there is a next page.
func page[T any](ctx context.Context, f Finder, convert func(*onto.Version) (T, error)) (Page[T], error) {
	var p Page[T]
	q, err := f.query(ctx)
	if err != nil {
		return p, err
	}
	if q.At == backend.Head && f.limit > 0 { // pin the moment for the pages that follow
		head, err := f.v.s.Head(ctx)
		if err != nil {
			return p, err
		}
		q.At = head.ID
	}
	if f.limit > 0 {
		q.Limit = f.limit + 1
	}
	var last onto.Identity
	for v, err := range f.v.s.b.Scan(ctx, q) {
		if err != nil {
			return Page[T]{}, err
		}
		if f.limit > 0 && len(p.Items) == f.limit {
			p.Next = cursor{Commit: q.At, Identity: last}.String()
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

// cursor is where a page ended: the moment it showed and its last identity.
type cursor struct {
	Commit   int64
	Identity onto.Identity
}

// String is the form that callers keep.
func (c cursor) String() string {
	text, _ := json.Marshal(c) // numbers and text
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(s string, q *backend.Query) (cursor, error) {
	var c cursor
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil || c.Commit < 0 || c.Identity.Check() != nil {
		return c, onto.Errorf(onto.Invalid, "the cursor %.40q is damaged", s).WithHint("take it unchanged from the page before")
	}
	if c.Identity.Kind != q.Kind || c.Identity.Type != q.Type {
		return c, onto.Errorf(onto.Invalid, "the cursor is from a query of %s, not %s", c.Identity.Type, q.Type).
			WithHint("start the query without a cursor")
	}
	return c, nil
}

// failed is a sequence that has only an error.
func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// Query is a Finder whose answers are Go structs.
type Query[T any] struct{ f Finder }

// Find asks for the live T that a view shows, in order of identity.
func Find[T any](v View) Query[T] {
	t, err := v.s.structType(reflect.TypeFor[T]())
	return Query[T]{Finder{v: v, t: t, err: err}}
}

// After continues where the page that gave this cursor ended.
func (q Query[T]) After(cursor string) Query[T] { return Query[T]{q.f.After(cursor)} }

// Limit asks for at most n. 0 means all.
func (q Query[T]) Limit(n int) Query[T] { return Query[T]{q.f.Limit(n)} }

// All yields the values.
func (q Query[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range q.f.All(ctx) {
			var value T
			if err == nil {
				err = q.f.t.decode(&v, &value)
			}
			if !yield(value, err) || err != nil {
				return
			}
		}
	}
}

// Page returns up to the limit and the cursor to go on with.
func (q Query[T]) Page(ctx context.Context) (Page[T], error) {
	return page(ctx, q.f, func(v *onto.Version) (T, error) {
		var value T
		return value, q.f.t.decode(v, &value)
	})
}
