package store

import (
	"bytes"
	"cmp"
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store/internal/lineage"
)

// DiffQuery selects changes between two moments, From not after To.
type DiffQuery struct {
	From, To onto.Point
	Type     string      // only this type; "" for all
	Where    onto.Filter // only what it is true for before or after; it needs Type, and sees no endpoints
	AsStored bool        // compare what was written, not what the present types make of it
}

// Diff yields, in order of identity, what differs between two moments. Both
// sides are as the present types have them, so a migration alone makes no
// difference.
func (s *Store) Diff(ctx context.Context, q DiffQuery) iter.Seq2[onto.Change, error] {
	return later(func() (iter.Seq2[onto.Change, error], error) {
		ask, t, err := s.diffQuery(ctx, q)
		if err != nil {
			return nil, err
		}
		changes := s.changes(ctx, ask, t, q.AsStored)
		if q.Where == nil {
			return changes, nil
		}
		where, err := s.diffFilter(t, q)
		if err != nil {
			return nil, err
		}
		return matching(changes, where), nil
	})
}

// diffQuery checks the types and the moments of a diff.
func (s *Store) diffQuery(ctx context.Context, q DiffQuery) (*backend.DiffQuery, *typ, error) {
	ask := &backend.DiffQuery{}
	var t *typ
	if q.Type != "" {
		found := View{s: s, stored: q.AsStored}.Find(q.Type)
		if found.err != nil {
			return nil, nil, found.err
		}
		t = found.t
		ask.Kind, ask.Type = t.Schema.Kind, t.Schema.Name
	}
	for _, end := range []struct {
		point onto.Point
		id    *int64
	}{{q.From, &ask.From}, {q.To, &ask.To}} {
		c, err := s.View(end.point).Commit(ctx)
		if err != nil {
			return nil, nil, err
		}
		*end.id = c.ID
	}
	if ask.From > ask.To {
		return nil, nil, onto.Errorf(onto.Invalid, "the first commit, %d, is after the second, %d", ask.From, ask.To).
			WithHint("give the earlier one first")
	}
	return ask, t, nil
}

// diffFilter checks the filter of a diff.
func (s *Store) diffFilter(t *typ, q DiffQuery) (*filter.Matcher, error) {
	if t == nil {
		return nil, onto.Errorf(onto.Invalid, "a filter on differences needs a type").WithHint("say which type the filter is about")
	}
	checked, err := filter.Check(q.Where, View{s: s, stored: q.AsStored}.scope(t))
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

// changes compares two moments. The type is nil for all.
func (s *Store) changes(ctx context.Context, q *backend.DiffQuery, t *typ, stored bool) iter.Seq2[onto.Change, error] {
	switch {
	case stored || t == nil && s.types.settled(q.From):
		return s.b.Diff(ctx, q)
	case t != nil:
		return freshly(ctx, &s.fresh, t, s.changesOf(ctx, q, t))
	}
	return func(yield func(onto.Change, error) bool) {
		for _, t := range s.types.everyType() {
			for c, err := range freshly(ctx, &s.fresh, t, s.changesOf(ctx, q, t)) {
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// changesOf compares two moments of one type.
func (s *Store) changesOf(ctx context.Context, q *backend.DiffQuery, t *typ) iter.Seq2[onto.Change, error] {
	ask := &backend.DiffQuery{From: q.From, To: q.To, Kind: t.Schema.Kind, Type: t.Schema.Name}
	c := t.chain
	if c != nil { // before its start, what has the name is another type's, and all gone
		ask.From = max(ask.From, c.Start-1)
	}
	if t.end != nil { // and so it is after its end
		ask.To = min(ask.To, s.types.lastOf(t))
	}
	switch {
	case ask.From >= ask.To:
		return func(func(onto.Change, error) bool) {}
	case c == nil || c.Ready(ask.From):
		return s.b.Diff(ctx, ask)
	case c.Source(ask.From) != c.Source(ask.To):
		return s.changesOfRenamed(ctx, ask, t)
	}
	ask.Type = c.Source(ask.From)
	return func(yield func(onto.Change, error) bool) {
		for change, err := range s.b.Diff(ctx, ask) {
			same := false
			if err == nil {
				same, err = s.upgradeChange(ctx, c, &change, ask)
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

// upgradeChange brings both sides of a change to the present and reports
// whether they are the same then.
func (s *Store) upgradeChange(ctx context.Context, c *lineage.Chain, change *onto.Change, q *backend.DiffQuery) (bool, error) {
	for _, side := range []struct {
		version **onto.Version
		at      int64
	}{{&change.Before, q.From}, {&change.After, q.To}} {
		if *side.version == nil {
			continue
		}
		v := **side.version
		if !c.Ready(side.at) {
			if err := c.Upgrade(ctx, &v, side.at, s.opts.UpgradeTimeout); err != nil {
				return false, err
			}
		}
		*side.version = &v
		change.Identity = v.Identity
	}
	before, after := change.Before, change.After
	return before != nil && after != nil && before.Live() && after.Live() && bytes.Equal(before.Fields, after.Fields), nil
}

// changesOfRenamed compares all that a type held under its former name with all
// that it holds under its present one, side by side in order of identity.
func (s *Store) changesOfRenamed(ctx context.Context, q *backend.DiffQuery, t *typ) iter.Seq2[onto.Change, error] {
	state := func(at int64) iter.Seq2[onto.Version, error] {
		return reader{s: s, t: t}.scan(ctx, &backend.Query{Kind: t.Schema.Kind, Type: t.Schema.Name, At: at})
	}
	return func(yield func(onto.Change, error) bool) {
		from, stopFrom := iter.Pull2(state(q.From))
		defer stopFrom()
		to, stopTo := iter.Pull2(state(q.To))
		defer stopTo()
		before, err, old := from()
		after, errAfter, now := to()
		for old || now {
			if err != nil || errAfter != nil {
				yield(onto.Change{}, cmp.Or(err, errAfter))
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
			c := onto.Change{Identity: before.Identity}
			if order <= 0 {
				v := before
				c.Before = &v
				before, err, old = from()
			}
			if order >= 0 {
				v := after
				c.Identity, c.After = v.Identity, &v
				after, errAfter, now = to()
			}
			if order == 0 && bytes.Equal(c.Before.Fields, c.After.Fields) {
				continue
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}
