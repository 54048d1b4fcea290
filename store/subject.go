package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/catalog"
)

// Subject is what entities, relations and facts are about. Of a type of entities, it is
// the entity with the key, the relations that have it at either end, and the facts about
// it. Of a type of facts, it is only the facts of that type about the key.
type Subject struct{ Type, Key string }

// String names the subject as identities do.
func (s Subject) String() string { return fmt.Sprintf("%s %q", s.Type, s.Key) }

// aspect is what one type has about a subject.
type aspect struct {
	t *catalog.Type
	q backend.Query
}

// aspects is what the types of a catalog have about the subject. It fails if there cannot
// be any, and if the subject follows from facts.
func (s Subject) aspects(ctx context.Context, c *catalog.Catalog) ([]aspect, error) {
	t, ok := c.Present[onto.TypeName{Kind: onto.KindEntity, Name: s.Type}]
	if !ok {
		if _, relation := c.Present[onto.TypeName{Kind: onto.KindRelation, Name: s.Type}]; relation {
			return nil, onto.Errorf(onto.Invalid, "%s is a type of relations, which are about entities", s.Type).
				WithHint("name the type and the key of an entity")
		}
		if t, ok = c.Present[onto.TypeName{Kind: onto.KindFact, Name: s.Type}]; !ok {
			return nil, c.Unknown("", s.Type)
		}
		if err := onto.FactID(s.Type, s.Key, "attribute", "id").Check(); err != nil {
			return nil, err
		}
		return []aspect{{t, backend.Query{Kind: onto.KindFact, Type: s.Type, LeftKeys: []string{s.Key}}}}, nil
	}
	id := onto.EntityID(s.Type, s.Key)
	err := t.CheckIdentity(id)
	if err == nil {
		err = c.Writable(ctx, id)
	}
	list := []aspect{{t, backend.Query{Kind: onto.KindEntity, Type: s.Type, Identity: &id}}}
	for _, t := range c.EveryType() {
		if t.End == nil {
			list = append(list, s.ends(t, t.Schema.Left == s.Type, t.Schema.Right == s.Type)...)
		}
	}
	return list, err
}

// ends is what a type has that has the subject at one of these ends.
func (s Subject) ends(t *catalog.Type, left, right bool) []aspect {
	var list []aspect
	q := backend.Query{Kind: t.Schema.Kind, Type: t.Schema.Name}
	if left {
		q.LeftKeys = []string{s.Key}
		list = append(list, aspect{t, q})
	}
	if right {
		q.LeftKeys, q.RightKeys = nil, []string{s.Key}
		list = append(list, aspect{t, q})
	}
	return list
}

// ofSubject plans to bring all about a subject back to what it was as of a commit.
func (r *reversal) ofSubject(ctx context.Context, s Subject, to int64) error {
	if _, err := r.s.At(to).Commit(ctx); err != nil {
		return err
	}
	r.Head = max(r.Head, to)
	var changed []onto.Identity
	err := again(func() error {
		types, err := r.s.relearnAll(ctx) // other programs may have types about it
		if err == nil {
			changed, r.Commits, err = r.about(ctx, types, s, to)
		}
		if err != nil {
			return err
		}
		known, err := r.s.relearn(ctx)
		if err == nil && known != types { // what was found may have other names by now
			err = errRelearned
		}
		return err
	})
	if err != nil {
		return err
	}
	r.all = r.aimed(ctx, func(yield func(target, error) bool) {
		for _, id := range changed {
			if !yield(target{RevertChange: RevertChange{Identity: id}, to: to}, nil) {
				return
			}
		}
	})
	return nil
}

// about returns what was changed about a subject after a commit, in order, and by which
// commits.
func (r *reversal) about(ctx context.Context, types *catalog.Catalog, s Subject, after int64) ([]onto.Identity, []int64, error) {
	list, err := s.aspects(ctx, types)
	if err != nil {
		return nil, nil, err
	}
	ids, commits := map[onto.Identity]bool{}, map[int64]bool{}
	for _, a := range list {
		err := r.eachVersion(ctx, types, a, after, func(v *onto.Version) bool {
			ids[v.Identity], commits[v.Commit] = true, true
			return true
		})
		if err != nil {
			return nil, nil, err
		}
	}
	if len(ids) == 0 {
		err = r.checkKnown(ctx, types, s, list)
	}
	if err == nil {
		err = r.checkDropped(ctx, types, s, after)
	}
	return slices.SortedFunc(maps.Keys(ids), onto.Identity.Compare), slices.Sorted(maps.Keys(commits)), err
}

// eachVersion calls a function for the versions of an aspect that commits after one made,
// under their present name, until it returns false.
func (r *reversal) eachVersion(ctx context.Context, types *catalog.Catalog, a aspect, after int64, do func(*onto.Version) bool) error {
	a.q.Mode, a.q.Since, a.q.At = backend.History, after, r.Head
	for _, part := range (reader{View{s: r.s, types: types}, a.t}).raw(&a.q) {
		for v, err := range r.s.b.Scan(ctx, &part) {
			if err != nil {
				return err
			}
			if v.Type = a.q.Type; !do(&v) {
				return nil
			}
		}
	}
	return nil
}

// checkKnown refuses a subject about which nothing was ever known.
func (r *reversal) checkKnown(ctx context.Context, types *catalog.Catalog, s Subject, list []aspect) error {
	for _, a := range list {
		known := false
		err := r.eachVersion(ctx, types, a, 0, func(*onto.Version) bool {
			known = true
			return false
		})
		if err != nil || known {
			return err
		}
	}
	return onto.Errorf(onto.NotFound, "nothing about %s exists or ever did", s).WithHint("check the type and the key")
}

// checkDropped refuses a subject that had relations or facts of a type which was dropped
// since: they cannot be brought back.
func (r *reversal) checkDropped(ctx context.Context, types *catalog.Catalog, s Subject, to int64) error {
	is := func(t *catalog.Type, end string) bool {
		id, err := types.PresentName(onto.EntityID(end, s.Key), t.End.Commit)
		return end != "" && err == nil && id.Type == s.Type && types.Present[onto.TypeName{Kind: onto.KindEntity, Name: s.Type}] != nil
	}
	for _, t := range types.EveryType() {
		if t.End == nil || !t.Covers(to) {
			continue
		}
		for _, a := range s.ends(t, is(t, t.Schema.Left), is(t, t.Schema.Right)) {
			a.q.At = to
			for _, part := range (reader{View{s: r.s, types: types}, t}).raw(&a.q) {
				for v, err := range r.s.b.Scan(ctx, &part) {
					if err != nil {
						return err
					}
					return onto.Errorf(onto.Invalid, "%s cannot be reverted: %w", v.Identity, t.Gone())
				}
			}
		}
	}
	return nil
}
