package store

import (
	"bytes"
	"context"
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
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

// History yields the versions of an identity, oldest first, deletes included.
// It yields NotFound if there are none.
func (s *Store) History(ctx context.Context, id onto.Identity) iter.Seq2[Entry, error] {
	t, err := s.typ(id.Kind, id.Type)
	if err == nil {
		err = t.checkIdentity(id)
	}
	if err != nil {
		return failed[Entry](err)
	}
	return s.entries(ctx, &backend.Query{Kind: id.Kind, Type: id.Type, Mode: backend.History, At: backend.Head, Identity: &id})
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

// HistoryQuery selects versions of a type.
type HistoryQuery struct {
	Kind  onto.Kind  // may be left out if the name tells
	Type  string     // the type's name
	Since int64      // only versions that later commits made
	Until onto.Point // only versions up to this moment; the zero Point is the head
	Limit int        // at most so many; 0 for all
}

// Versions yields the versions of a type, deletes included, by commit and then
// identity.
func (s *Store) Versions(ctx context.Context, q HistoryQuery) iter.Seq2[Entry, error] {
	return later(func() (iter.Seq2[Entry, error], error) {
		kind := q.Kind
		if kind == "" {
			schema, err := s.Type(q.Type)
			if err != nil {
				return nil, err
			}
			kind = schema.Kind
		}
		if _, err := s.typ(kind, q.Type); err != nil {
			return nil, err
		}
		if q.Since < 0 || q.Limit < 0 {
			return nil, onto.Errorf(onto.Invalid, "commit %d or limit %d is negative", q.Since, q.Limit)
		}
		if _, err := s.At(q.Since).resolve(ctx); err != nil {
			return nil, err
		}
		until, err := s.View(q.Until).resolve(ctx)
		if err != nil {
			return nil, err
		}
		return s.entries(ctx, &backend.Query{
			Kind: kind, Type: q.Type, Mode: backend.History, At: until, Since: q.Since, Limit: q.Limit,
		}), nil
	})
}

// failed is a sequence that has only an error.
func failed[T any](err error) iter.Seq2[T, error] {
	return later(func() (iter.Seq2[T, error], error) { return nil, err })
}

// entries adds the commits to versions. Versions come by commit, so the last
// commit is the one to remember.
func (s *Store) entries(ctx context.Context, q *backend.Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var commit onto.Commit
		none := true
		for v, err := range s.b.Scan(ctx, q) {
			none = false
			if err == nil && v.Commit != commit.ID {
				commit, err = s.b.Resolve(ctx, onto.AtCommit(v.Commit))
			}
			if !yield(Entry{v, commit}, err) || err != nil {
				return
			}
		}
		if none && q.Identity != nil {
			yield(Entry{}, onto.Errorf(onto.NotFound, "%s does not exist and never did", q.Identity))
		}
	}
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
	Type     string // only this type; "" for all
}

// Diff yields, in order of identity, what differs between two moments.
func (s *Store) Diff(ctx context.Context, q DiffQuery) iter.Seq2[onto.Change, error] {
	return later(func() (iter.Seq2[onto.Change, error], error) {
		ask, err := s.diffQuery(ctx, q.From, q.To, q.Type)
		if err != nil {
			return nil, err
		}
		return s.b.Diff(ctx, ask), nil
	})
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
