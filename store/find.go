package store

import (
	"context"
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/internal/catalog"
)

// Query is a question for the things of one type that a view shows. Its methods return
// a changed copy, and nothing is executed before one of those that take a context is
// called; errors in the question are returned then.
//
// T is a Go struct, or onto.Version for types known only at run time.
type Query[T any] struct {
	question
	convert func(t *catalog.Type, v *onto.Version) (T, error)
}

// Find asks for the live versions of a type, in order of identity.
func (v View) Find(name string) Query[onto.Version] {
	return v.query(func(v View) (*catalog.Type, error) { return v.named(name) })
}

// FindKind is Find for a type of the given kind; one of the other kind is
// refused.
func (v View) FindKind(kind onto.Kind, name string) Query[onto.Version] {
	return v.query(func(v View) (*catalog.Type, error) { return v.typ(kind, name) })
}

// query asks for versions of the type that find finds.
func (v View) query(find func(View) (*catalog.Type, error)) Query[onto.Version] {
	return Query[onto.Version]{
		newQuestion(v, find),
		func(_ *catalog.Type, v *onto.Version) (onto.Version, error) { return *v, nil },
	}
}

// Find asks for the live T that a view or a transaction shows, in order of identity.
func Find[T any, V Source](source V) Query[T] {
	v, tx := from(source)
	find := func(v View) (*catalog.Type, error) { return v.structType(reflect.TypeFor[T]()) }
	if tx != nil {
		find = tx.finding(find)
	}
	return Query[T]{newQuestion(v, find), decode[T]}
}

func decode[T any](t *catalog.Type, v *onto.Version) (T, error) {
	var value T
	return value, t.Decode(v, &value)
}

// Where asks only for those for which all the filters are true. It adds to
// earlier ones.
func (q Query[T]) Where(filters ...onto.Filter) Query[T] {
	q.where = append(q.where[:len(q.where):len(q.where)], filters...)
	return q
}

// Search asks only for those whose searchable fields have all the words of the
// text. A star after a word stands for any ending.
func (q Query[T]) Search(text string) Query[T] {
	q.search, q.searched = text, true
	return q
}

// From asks only for relations with one of these keys at their left end,
// whether it exists or not.
func (q Query[T]) From(left ...string) Query[T] {
	q.left = append(q.left[:len(q.left):len(q.left)], left...)
	return q
}

// To asks only for relations with one of these keys at their right end, whether
// it exists or not.
func (q Query[T]) To(right ...string) Query[T] {
	q.right = append(q.right[:len(q.right):len(q.right)], right...)
	return q
}

// OrderBy sorts by these values, and by identity where they are equal.
func (q Query[T]) OrderBy(order ...onto.Order) Query[T] {
	q.order = append(q.order[:len(q.order):len(q.order)], order...)
	return q
}

// After continues where the page that gave this cursor ended. The cursor remembers its
// moment, so pages fit together despite commits in between. With a view of another
// moment, or for another question, the query fails.
func (q Query[T]) After(cursor string) Query[T] {
	q.cursor = cursor
	return q
}

// Offset leaves out the first n. A cursor is cheaper than a large offset.
func (q Query[T]) Offset(n int) Query[T] {
	q.offset = n
	return q
}

// Limit asks for at most n. 0 means all.
func (q Query[T]) Limit(n int) Query[T] {
	q.limit = n
	return q
}

// All yields the answers. One that the Go type cannot hold, since the type was widened or
// declared otherwise meanwhile, is SchemaOutdated, with identity and path; the next one follows
// after it. Any other error is the last.
func (q Query[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range q.Rows(ctx) {
			if !yield(row.Value, err) {
				return
			}
		}
	}
}

// Row is an answer, and the version that it was read from.
type Row[T any] struct {
	Value   T
	Version onto.Version // as the present type has it, unless the view shows it as it is stored
}

// Rows is All with the version of each answer.
func (q Query[T]) Rows(ctx context.Context) iter.Seq2[Row[T], error] {
	return func(yield func(Row[T], error) bool) {
		for v, err := range q.versions(ctx) {
			row := Row[T]{Version: v}
			last := err != nil
			if err == nil {
				row.Value, err = q.convert(q.t, &v)
				last = ends(err)
			}
			if !yield(row, err) || last {
				return
			}
		}
	}
}

// ends reports whether nothing follows after the error of one answer.
func ends(err error) bool { return err != nil && onto.CodeOf(err) != onto.SchemaOutdated }

// First returns the first answer, and whether there is one.
func (q Query[T]) First(ctx context.Context) (T, bool, error) {
	for value, err := range q.Limit(1).All(ctx) {
		return value, err == nil, err
	}
	var none T
	return none, false, nil
}

// Exists reports whether there is an answer.
func (q Query[T]) Exists(ctx context.Context) (bool, error) {
	if q.limit = 1; q.after == nil {
		q.order = nil
	}
	for _, err := range q.versions(ctx) {
		return err == nil, err
	}
	return false, nil
}

// Count returns how many answers there are, whatever the limit and the offset.
func (q Query[T]) Count(ctx context.Context) (int64, error) {
	return q.count(ctx)
}

// Page is one page of an answer.
type Page[T any] struct {
	Items []T
	Next  string // the cursor for After; "" if this is the last page
}

// Page returns up to the limit, or everything without one, and the cursor to go
// on with.
func (q Query[T]) Page(ctx context.Context) (Page[T], error) {
	return page(ctx, q.question, q.convert)
}

// Versions yields all versions up to the view's moment that commits after since
// made, deletes included, with their commits: by commit, then identity. Value
// is zero for a delete, unless T is onto.Version. Filters see no fields in a
// delete, and endpoints as they were at the version's commit.
func (q Query[T]) Versions(ctx context.Context, since int64) iter.Seq2[Versioned[T], error] {
	q.history, q.since = true, since
	return func(yield func(Versioned[T], error) bool) {
		commits := commitCache{s: q.v.s}
		for v, err := range q.versions(ctx) {
			var p Versioned[T]
			last := err != nil
			if err == nil {
				p, err = q.past(ctx, &commits, &v)
				last = ends(err)
			}
			if !yield(p, err) || last {
				return
			}
		}
	}
}

// VersionPage is Versions up to the limit, and the cursor to go on with.
func (q Query[T]) VersionPage(ctx context.Context, since int64) (Page[Versioned[T]], error) {
	q.history, q.since = true, since
	commits := commitCache{s: q.v.s}
	return page(ctx, q.question, func(_ *catalog.Type, v *onto.Version) (Versioned[T], error) { return q.past(ctx, &commits, v) })
}

func (q Query[T]) past(ctx context.Context, commits *commitCache, v *onto.Version) (Versioned[T], error) {
	commit, err := commits.get(ctx, v.Commit)
	p := Versioned[T]{Entry: Entry{*v, commit}}
	if _, untyped := any(p.Value).(onto.Version); err == nil && (v.Live() || untyped) {
		p.Value, err = q.convert(q.t, v)
	}
	return p, err
}

// later is a sequence that is made when its iteration starts, so that it shows the
// state of that time.
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
