package store

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/shape"
)

// DiffOptions selects changes between two moments, From not after To.
type DiffOptions struct {
	From, To onto.Point
	Type     string      // only this type; "" for all
	Where    onto.Filter // only changes for which it is true before or after; it needs Type, and sees no endpoints
	AsStored bool        // compare what was written, not what the present types make of it
}

// Diff yields, in order of identity, what differs between two moments. Both
// sides are as the present types have them, so a migration alone makes no
// difference.
func (s *Store) Diff(ctx context.Context, q DiffOptions) iter.Seq2[onto.Change, error] {
	return anew(func() (iter.Seq2[onto.Change, error], error) {
		c, err := newComparison(ctx, s, q)
		if err != nil {
			return nil, err
		}
		changes := c.changes(ctx)
		if !q.AsStored {
			changes = differing(changes)
		}
		if q.Where == nil {
			return changes, nil
		}
		where, err := c.filter(q.Where)
		if err != nil {
			return nil, err
		}
		return matching(changes, where), nil
	})
}

// differing yields the changes without those of facts that say the same before and after,
// see likened.
func differing(changes iter.Seq2[onto.Change, error]) iter.Seq2[onto.Change, error] {
	return func(yield func(onto.Change, error) bool) {
		for c, err := range likened(changes) {
			if err == nil && c.Kind == onto.KindFact && live(c.Before) != nil && live(c.After) != nil && sameState(c.Before, c.After) {
				continue
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// likened yields changes with both versions of a fact naming the commit that asserted it.
// As stored, the first version does not, so it would seem to differ.
func likened(changes iter.Seq2[onto.Change, error]) iter.Seq2[onto.Change, error] {
	return func(yield func(onto.Change, error) bool) {
		for c, err := range changes {
			if err == nil {
				c = liken(c)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// liken is likened for one change.
func liken(c onto.Change) onto.Change {
	if c.Kind == onto.KindFact && live(c.Before) != nil && live(c.After) != nil {
		c.Before, c.After = withAsserted(c.Before), withAsserted(c.After)
	}
	return c
}

// withAsserted is a version of a fact that names the commit that asserted it.
func withAsserted(v *onto.Version) *onto.Version {
	named := *v
	named.Fields = shape.WithAsserted(v)
	return &named
}

// comparison is two moments of a log, the earlier one first, and what is
// compared of them.
type comparison struct {
	view     View
	t        *catalog.Type // nil for all types
	from, to int64
}

// newComparison checks the type and the moments of a diff.
func newComparison(ctx context.Context, s *Store, q DiffOptions) (comparison, error) {
	c := comparison{view: View{s: s, stored: q.AsStored}}
	from, err := s.View(q.From).Commit(ctx)
	if err != nil {
		return c, err
	}
	to, err := s.View(q.To).Commit(ctx)
	if err != nil {
		return c, err
	}
	if c.view.types, err = s.relearn(ctx); err != nil { // the moments may have types that were not known
		return c, err
	}
	if q.Type != "" {
		found := c.view.Find(q.Type)
		if found.err != nil {
			return c, found.err
		}
		c.t = found.t
	}
	if from.ID > to.ID {
		return c, onto.Errorf(onto.Invalid, "the first commit, %d, is after the second, %d", from.ID, to.ID).
			WithHint("give the earlier one first")
	}
	c.from, c.to = from.ID, to.ID
	return c, nil
}

// filter checks the filter of a diff.
func (c comparison) filter(where onto.Filter) (*filter.Matcher, error) {
	if c.t == nil {
		return nil, onto.Errorf(onto.Invalid, "a filter on differences needs a type").WithHint("say which type the filter is about")
	}
	checked, err := filter.Check(where, c.view.scope(c.t))
	if err != nil {
		return nil, err
	}
	if left, right := filter.UsesEndpoints(checked); left || right {
		return nil, onto.Errorf(onto.Invalid, "a filter on differences sees no endpoints").
			WithHint("query the relations as of either moment instead")
	}
	return filter.Compile(checked), nil
}

// matching yields the changes that a filter is true for before or after.
func matching(changes iter.Seq2[onto.Change, error], where *filter.Matcher) iter.Seq2[onto.Change, error] {
	live := func(v *onto.Version) bool { return v != nil && v.Live() && where.Match(&filter.Row{Own: v.Fields}) }
	return func(yield func(onto.Change, error) bool) {
		for c, err := range changes {
			if err == nil && !live(c.Before) && !live(c.After) {
				continue
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// query is the backend's form of the comparison.
func (c comparison) query() *backend.DiffQuery {
	q := &backend.DiffQuery{From: c.from, To: c.to}
	if c.t != nil {
		q.Kind, q.Type = c.t.Schema.Kind, c.t.Schema.Name
	}
	return q
}

// changes yields what differs.
func (c comparison) changes(ctx context.Context) iter.Seq2[onto.Change, error] {
	switch {
	case c.view.stored || c.t == nil && c.view.catalog().Settled(c.from):
		return c.view.s.b.Diff(ctx, c.query())
	case c.t != nil:
		return c.of(ctx, c.t)
	}
	return func(yield func(onto.Change, error) bool) {
		for _, t := range c.view.catalog().EveryType() {
			for change, err := range c.of(ctx, t) {
				if !yield(change, err) || err != nil {
					return
				}
			}
		}
	}
}

// of yields what differs of one type.
func (c comparison) of(ctx context.Context, t *catalog.Type) iter.Seq2[onto.Change, error] {
	c.t = t
	if t.Chain != nil { // before its start, the name belongs to another type, whose things are gone
		c.from = max(c.from, t.Chain.Start-1)
	}
	if t.End != nil { // and so it does after its end
		c.to = min(c.to, c.view.catalog().LastOf(t))
	}
	ask := c.query()
	switch {
	case c.from >= c.to:
		return func(func(onto.Change, error) bool) {}
	case t.Chain == nil || t.Chain.Ready(c.from):
		return c.view.s.b.Diff(ctx, ask)
	case t.Chain.Source(c.from) != t.Chain.Source(c.to) || t.Chain.Redefined(c.from, c.to):
		return c.sideBySide(ctx)
	}
	ask.Type = t.Chain.Source(c.from)
	return func(yield func(onto.Change, error) bool) {
		for change, err := range c.view.s.b.Diff(ctx, ask) {
			same := false
			if err == nil {
				same, err = c.upgrade(ctx, &change)
			}
			if same && err == nil {
				continue
			}
			if !yield(change, err) || err != nil {
				return
			}
		}
	}
}

// upgrade brings both sides of a change to the present and reports whether they
// are the same then.
func (c comparison) upgrade(ctx context.Context, change *onto.Change) (bool, error) {
	for _, side := range []struct {
		version **onto.Version
		at      int64
	}{{&change.Before, c.from}, {&change.After, c.to}} {
		if *side.version == nil {
			continue
		}
		v := **side.version
		if c.t.Chain.LeavesOut(&v, side.at) {
			*side.version = nil
			continue
		}
		if !c.t.Chain.Ready(side.at) {
			if err := c.t.Chain.Upgrade(ctx, &v, side.at, c.view.s.opts.UpgradeTimeout); err != nil {
				return false, err
			}
		}
		*side.version = &v
		change.Identity = v.Identity
	}
	before, after := change.Before, change.After
	if before == nil && after == nil {
		return true, nil
	}
	return before != nil && after != nil && before.Live() && after.Live() && sameState(before, after), nil
}

// sideBySide compares all that a type held with all that it holds, in order of
// identity: what has another name by now, or means something else, can be stored alike
// and differ.
func (c comparison) sideBySide(ctx context.Context) iter.Seq2[onto.Change, error] {
	state := func(at int64) iter.Seq2[onto.Version, error] {
		return reader{c.view, c.t}.answer(ctx, &backend.Query{Kind: c.t.Schema.Kind, Type: c.t.Schema.Name, At: at})
	}
	return func(yield func(onto.Change, error) bool) {
		from, stopFrom := iter.Pull2(state(c.from))
		defer stopFrom()
		to, stopTo := iter.Pull2(state(c.to))
		defer stopTo()
		before, err, old := from()
		after, errAfter, now := to()
		for old || now {
			if err != nil {
				yield(onto.Change{Identity: before.Identity}, err)
				return
			}
			if errAfter != nil {
				yield(onto.Change{Identity: after.Identity}, errAfter)
				return
			}
			order := 0
			switch {
			case !now:
				order = -1
			case !old:
				order = 1
			default:
				order = before.Identity.Compare(after.Identity)
			}
			change := onto.Change{Identity: before.Identity}
			if order <= 0 {
				v := before
				change.Before = &v
				before, err, old = from()
			}
			if order >= 0 {
				v := after
				change.Identity, change.After = v.Identity, &v
				after, errAfter, now = to()
			}
			if order == 0 && sameState(change.Before, change.After) {
				continue
			}
			if !yield(change, nil) {
				return
			}
		}
	}
}
