package store

import (
	"bytes"
	"context"
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/codec"
)

// Entry is a version together with the commit that made it.
type Entry struct {
	Version onto.Version
	Commit  onto.Commit
}

// Past is an Entry whose fields are a Go struct. Value is zero for a delete.
type Past[T any] struct {
	Value T
	Entry
}

// History yields the versions of an identity for which the filters are true,
// oldest first, deletes included. It yields NotFound if the identity has none.
func (s *Store) History(ctx context.Context, id onto.Identity, where ...onto.Filter) iter.Seq2[Entry, error] {
	t, err := s.typ(id.Kind, id.Type)
	if err == nil {
		err = t.checkIdentity(id)
	}
	if err != nil {
		return failed[Entry](err)
	}
	q := s.Now().FindKind(id.Kind, id.Type).Where(where...)
	q.identity = &id
	return func(yield func(Entry, error) bool) {
		none := true
		for p, err := range q.Versions(ctx, 0) {
			none = false
			if !yield(p.Entry, err) || err != nil {
				return
			}
		}
		if none {
			s.noHistory(ctx, id, where, yield)
		}
	}
}

// noHistory tells an identity without versions from one whose versions the
// filters leave out.
func (s *Store) noHistory(ctx context.Context, id onto.Identity, where []onto.Filter, yield func(Entry, error) bool) {
	if len(where) > 0 {
		_, err := s.b.Get(ctx, id, backend.Head)
		if onto.CodeOf(err) != onto.NotFound {
			if err != nil {
				yield(Entry{}, err)
			}
			return
		}
	}
	yield(Entry{}, onto.Errorf(onto.NotFound, "%s does not exist and never did", id))
}

// History yields the versions of the T with this key, oldest first. The key is
// as in Get.
func History[T any](ctx context.Context, s *Store, key ...string) iter.Seq2[Past[T], error] {
	t, err := s.structType(reflect.TypeFor[T]())
	if err != nil {
		return failed[Past[T]](err)
	}
	id, err := t.identity(key)
	if err != nil {
		return failed[Past[T]](err)
	}
	return func(yield func(Past[T], error) bool) {
		for e, err := range s.History(ctx, id) {
			p := Past[T]{Entry: e}
			if err == nil && e.Version.Live() {
				err = t.decode(&e.Version, &p.Value)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// failed is a sequence that has only an error.
func failed[T any](err error) iter.Seq2[T, error] {
	return later(func() (iter.Seq2[T, error], error) { return nil, err })
}

// CommitQuery selects commits. The zero value is all of them, oldest first.
type CommitQuery struct {
	Since  int64 // only commits after this one
	Newest bool  // newest first
	Limit  int   // at most so many; 0 for all
}

// Commits yields commits.
func (s *Store) Commits(ctx context.Context, q CommitQuery) iter.Seq2[onto.Commit, error] {
	if q.Since < 0 || q.Limit < 0 {
		return failed[onto.Commit](onto.Errorf(onto.Invalid, "commit %d or limit %d is negative", q.Since, q.Limit))
	}
	return s.b.Commits(ctx, &backend.CommitQuery{Since: q.Since, Until: backend.Head, Newest: q.Newest, Limit: q.Limit})
}

// Changes yields what a commit changed, in order of identity. Each change's
// Before is the state right before the commit.
func (s *Store) Changes(ctx context.Context, commit int64) iter.Seq2[onto.Change, error] {
	return later(func() (iter.Seq2[onto.Change, error], error) {
		if commit < 1 {
			return nil, onto.Errorf(onto.NotFound, "commit %d does not exist: ids start at 1", commit)
		}
		if _, err := s.At(commit).resolve(ctx); err != nil {
			return nil, err
		}
		return s.b.Diff(ctx, &backend.DiffQuery{From: commit - 1, To: commit}), nil
	})
}

// DiffQuery selects changes between two moments, From not after To.
type DiffQuery struct {
	From, To onto.Point
	Type     string      // only this type; "" for all
	Where    onto.Filter // only what it is true for before or after; it needs Type, and sees no endpoints
}

// Diff yields, in order of identity, what differs between two moments.
func (s *Store) Diff(ctx context.Context, q DiffQuery) iter.Seq2[onto.Change, error] {
	return later(func() (iter.Seq2[onto.Change, error], error) {
		ask, err := s.diffQuery(ctx, q.From, q.To, q.Type)
		if err != nil || q.Where == nil {
			return s.b.Diff(ctx, ask), err
		}
		where, err := s.diffFilter(ask, q.Where)
		if err != nil {
			return nil, err
		}
		return matching(s.b.Diff(ctx, ask), where), nil
	})
}

// diffFilter checks the filter of a diff.
func (s *Store) diffFilter(ask *backend.DiffQuery, where onto.Filter) (*filter.Matcher, error) {
	if ask.Type == "" {
		return nil, onto.Errorf(onto.Invalid, "a filter on differences needs a type").WithHint("say which type the filter is about")
	}
	t, err := s.typ(ask.Kind, ask.Type)
	if err != nil {
		return nil, err
	}
	checked, err := filter.Check(where, s.scope(t))
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

func (s *Store) diffQuery(ctx context.Context, from, to onto.Point, typ string) (*backend.DiffQuery, error) {
	q := &backend.DiffQuery{}
	if typ != "" {
		schema, err := s.Type(typ)
		if err != nil {
			return nil, err
		}
		q.Kind, q.Type = schema.Kind, schema.Name
	}
	for _, end := range []struct {
		point onto.Point
		id    *int64
	}{{from, &q.From}, {to, &q.To}} {
		c, err := s.View(end.point).Commit(ctx)
		if err != nil {
			return nil, err
		}
		*end.id = c.ID
	}
	if q.From > q.To {
		return nil, onto.Errorf(onto.Invalid, "the first commit, %d, is after the second, %d", q.From, q.To).
			WithHint("give the earlier one first")
	}
	return q, nil
}

// Blame returns, for each top-level field that an identity has at the head,
// the commit that last set it to its present value. It needs memory for one
// version at a time.
func (s *Store) Blame(ctx context.Context, id onto.Identity) ([]onto.Blame, error) {
	var list []onto.Blame
	var last Entry
	for e, err := range s.History(ctx, id) {
		if err != nil {
			return nil, err
		}
		if list, err = blame(list, e); err != nil {
			return nil, err
		}
		last = e
	}
	if !last.Version.Live() {
		return nil, onto.Errorf(onto.NotFound, "%s was deleted by commit %d", id, last.Commit.ID).
			WithHint("see its versions with: onto log %s", commandArgs(id))
	}
	return list, nil
}

// blame carries over the fields that a version leaves as they were.
func blame(before []onto.Blame, e Entry) ([]onto.Blame, error) {
	if !e.Version.Live() {
		return nil, nil
	}
	members, err := codec.ParseObject(e.Version.Fields)
	if err != nil {
		return nil, onto.Errorf(onto.Corrupt, "%s at commit %d: its JSON cannot be read: %w", e.Version.Identity, e.Commit.ID, err)
	}
	var after []onto.Blame
	i := 0
	for _, m := range members {
		for i < len(before) && before[i].Field < m.Name {
			i++
		}
		if i < len(before) && before[i].Field == m.Name && bytes.Equal(before[i].Value, m.Value) {
			after = append(after, before[i])
		} else {
			after = append(after, onto.Blame{Field: m.Name, Value: m.Value, Commit: e.Commit})
		}
	}
	return after, nil
}
