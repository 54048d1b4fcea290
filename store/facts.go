package store

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/bitemporal"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/factread"
)

// Facts is a question for the facts of one type that speak: of the facts on one
// attribute of a subject that are believed at the moment of the view and hold at its
// valid time, see [View.ValidAt], the one that was asserted last; all of them on an
// attribute with many values. Its methods return a changed copy, and nothing is executed
// before one of those that take a context is called; errors in the question are returned
// then.
type Facts struct {
	q      question // subjects and attributes are its left and right keys
	during *period  // in place of the valid time; nil for none
	every  bool
	gaps   bool
}

// period is a period as the caller gave it.
type period struct{ from, until time.Time }

// Facts asks for the facts of a type that speak, in order of identity: by subject,
// attribute and id.
func (v View) Facts(typ string) Facts {
	return Facts{q: newQuestion(v, func(v View) (*catalog.Type, error) { return v.typ(onto.KindFact, typ) })}
}

// About asks only for facts about these subjects, whether they exist or not. It adds to
// earlier ones.
func (f Facts) About(subjects ...string) Facts {
	f.q.left = append(f.q.left[:len(f.q.left):len(f.q.left)], subjects...)
	return f
}

// Attribute asks only for facts on these attributes. It adds to earlier ones.
func (f Facts) Attribute(names ...string) Facts {
	f.q.right = append(f.q.right[:len(f.q.right):len(f.q.right)], names...)
	return f
}

// Where asks only for those of the facts that speak for which all the filters are true:
// a fact that is not true for them is left out, and an earlier one does not speak in its
// place. It adds to earlier ones.
func (f Facts) Where(filters ...onto.Filter) Facts {
	f.q.where = append(f.q.where[:len(f.q.where):len(f.q.where)], filters...)
	return f
}

// During asks for all facts that speak at some moment from one time on and before
// another, instead of those at the valid time of the view. A zero time is no bound.
func (f Facts) During(from, until time.Time) Facts {
	f.during = &period{from, until}
	return f
}

// Every asks for all facts that are believed, whether they speak or not: with During
// those that hold at some moment of it, otherwise whenever they hold.
func (f Facts) Every() Facts {
	f.every = true
	return f
}

// Gaps asks a timeline also for the time when nothing speaks: between the first and the
// last segment of an attribute or, with During, in all of it, if the attribute has any
// fact.
func (f Facts) Gaps() Facts {
	f.gaps = true
	return f
}

// Limit asks for at most n. 0 means all.
func (f Facts) Limit(n int) Facts {
	f.q.limit = n
	return f
}

// After continues where the page that gave this cursor ended. The cursor remembers its
// moment and its valid time, so pages fit together despite commits in between. With a
// view of another moment, or for another question, the query fails.
func (f Facts) After(cursor string) Facts {
	f.q.cursor = cursor
	return f
}

// All yields the facts.
func (f Facts) All(ctx context.Context) iter.Seq2[onto.Fact, error] {
	return func(yield func(onto.Fact, error) bool) {
		for v, err := range f.versions(ctx) {
			var fact onto.Fact
			if err == nil {
				fact, err = onto.FactOf(&v)
			}
			if !yield(fact, err) || err != nil {
				return
			}
		}
	}
}

// versions yields the facts as versions.
func (f Facts) versions(ctx context.Context) iter.Seq2[onto.Version, error] {
	return anew(func() (iter.Seq2[onto.Version, error], error) {
		r, err := f.read(ctx)
		if err != nil {
			return nil, err
		}
		r.Limit = f.q.limit
		return first(f.q.limit, r.Versions(ctx)), nil
	})
}

// first yields the first n of a sequence; all for 0.
func first[T any](n int, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	if n == 0 {
		return seq
	}
	return func(yield func(T, error) bool) {
		left := n
		for v, err := range seq {
			if left--; !yield(v, err) || left == 0 {
				return
			}
		}
	}
}

// Count returns how many facts there are, whatever the limit.
func (f Facts) Count(ctx context.Context) (n int64, err error) {
	f.q.limit = 0
	if f.q.cursor != "" {
		return 0, onto.Errorf(onto.Invalid, "a count has no cursor")
	}
	err = again(func() error {
		r, err := f.read(ctx)
		if err != nil {
			return err
		}
		if r.Every {
			r.Ask.Where = r.Conditions(r.Ask.Where)
			n, err = r.q.counted(ctx, r.Ask)
			return err
		}
		n = 0
		for _, err := range r.Versions(ctx) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// Page returns up to the limit, or everything without one, and the cursor to go
// on with.
func (f Facts) Page(ctx context.Context) (p Page[onto.Fact], err error) {
	err = again(func() error {
		p, err = f.page(ctx)
		return err
	})
	return p, err
}

func (f Facts) page(ctx context.Context) (Page[onto.Fact], error) {
	var p Page[onto.Fact]
	r, err := f.read(ctx)
	if err == nil && f.q.limit > 0 && f.q.limit < math.MaxInt {
		r.Limit = f.q.limit + 1
		err = r.q.pin(ctx, r.Ask)
	}
	if err != nil {
		return p, err
	}
	var last onto.Version
	for v, err := range r.Versions(ctx) {
		if err != nil {
			return Page[onto.Fact]{}, err
		}
		if f.q.limit > 0 && len(p.Items) == f.q.limit {
			p.Next, err = r.q.cursorAfter(ctx, r.Ask, &last)
			return p, err
		}
		fact, err := onto.FactOf(&v)
		if err != nil {
			return Page[onto.Fact]{}, err
		}
		p.Items, last = append(p.Items, fact), v
	}
	return p, nil
}

// read checks the question and makes what reads its answer.
func (f Facts) read(ctx context.Context) (*factReader, error) {
	if f.gaps {
		return nil, onto.Errorf(onto.Invalid, "only a timeline has gaps").WithHint("leave out Gaps, or ask for the Timeline")
	}
	return f.start(ctx)
}

// start is read for all questions, also those of a timeline.
func (f Facts) start(ctx context.Context) (*factReader, error) {
	within, err := f.within()
	if err != nil {
		return nil, err
	}
	q := f.q
	if q.limit > 0 || q.cursor != "" { // only then are there cursors
		q.aspect = fmt.Sprintf("facts %t %t %q", f.every, f.during != nil, within)
	}
	ask, err := q.ask(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range q.right {
		if err := q.t.CheckAttribute(name); err != nil {
			return nil, err
		}
	}
	r := &factReader{q: &q, Reader: factread.Reader{
		Scan: q.reader().scan, Pin: q.pin,
		Ask: ask, Schema: &q.t.Schema, Every: f.every, Ranged: f.during != nil, Within: within,
	}}
	if !r.Every && !r.Ranged {
		q.valid, err = q.validTime(ctx)
		r.Valid = q.valid
	}
	return r, err
}

// factReader reads the answer to a question.
type factReader struct {
	factread.Reader
	q *question
}

// validTime is the valid time of a question, in its stored form.
func (q *question) validTime(ctx context.Context) (string, error) {
	t, timed := q.v.point.Time()
	switch {
	case q.v.valid != nil:
		return q.continued(*q.v.valid)
	case timed:
		return q.continued(t)
	case q.v.point.IsHead() && q.cursor != "":
		if t, err := codec.ParseTime(q.valid); err != nil || codec.FormatTime(t) != q.valid {
			return "", q.damaged()
		}
		return q.valid, nil
	case q.v.point.IsHead():
		return stored(time.Now())
	}
	c, err := q.v.Commit(ctx)
	if err != nil {
		return "", err
	}
	return q.continued(c.Time)
}

// continued is a time that the view gives, unless the cursor is from a view of another one.
func (q *question) continued(t time.Time) (string, error) {
	text, err := stored(t)
	if err == nil && q.cursor != "" && text != q.valid {
		err = onto.Errorf(onto.Invalid, "the cursor is about what holds at %s, not %s", q.valid, text).
			WithHint("leave out the valid time: the cursor remembers it")
	}
	return text, err
}

// within is the period that During gives.
func (f Facts) within() (bitemporal.Period, error) {
	if f.during == nil {
		return bitemporal.Period{}, nil
	}
	from, err := bound(f.during.from)
	if err != nil {
		return bitemporal.Period{}, err
	}
	until, err := bound(f.during.until)
	if err == nil && until != "" && until <= from {
		err = onto.Errorf(onto.Invalid, "from %s until %s is no time at all", from, until).
			WithHint("the end must be after the start, and is not part of the period")
	}
	return bitemporal.Period{From: from, Until: until}, err
}

// bound is the stored form of a bound of a period; "" for none.
func bound(t time.Time) (string, error) {
	if t.IsZero() {
		return "", nil
	}
	return stored(t)
}

// stored is the stored form of a time.
func stored(t time.Time) (string, error) {
	if err := codec.CheckTime(t); err != nil {
		return "", onto.Errorf(onto.Invalid, "the time %s: %w", t, err)
	}
	return codec.FormatTime(t), nil
}
