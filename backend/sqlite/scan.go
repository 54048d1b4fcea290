package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/exec"
)

// Scan yields the versions a query asks for.
func (b *Backend) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	n, ok := b.near(q)
	if !ok {
		return b.scan(ctx, q)
	}
	return exec.Pushed(func(push func(onto.Version) error) error {
		answered, err := b.reader.scanNear(ctx, q, &n, push)
		if !answered {
			return exec.PushAll(ctx, b.scan(ctx, q), push)
		}
		return err
	})
}

// scan is Scan in the usual way.
func (b *Backend) scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(onto.Version) error) error {
		a, err := r.question(b.table(q.Kind), q, q.Ends())
		if err != nil {
			return err
		}
		if a.keepsOrder() {
			if answered, err := b.reader.pageInPast(r, a, push); answered || err != nil {
				return err
			}
		}
		if a.plain == "" {
			return r.versions(a, push)
		}
		return exec.PushAll(ctx, exec.Select(q, r.rows(a), b.reader.endpoints(r, q)), push)
	})
}

// rows is the versions that the question's statement finds.
func (r *reading) rows(a *question) iter.Seq2[onto.Version, error] {
	return exec.Pushed(func(push func(onto.Version) error) error { return r.versions(a, push) })
}

// versions pushes the versions that the question's statements find.
func (r *reading) versions(a *question, push func(onto.Version) error) error {
	answer := a.versions()
	left := answer.take
	var last sequence
	for _, sql := range answer.statements {
		err := r.Each(sql.SQL, sql.Args, func(rows *driver.Rows) error {
			if answer.skip > 0 {
				answer.skip--
				return nil
			}
			v, err := r.version(a, rows)
			if err == nil {
				err = last.follow(a, &v)
			}
			if err == nil {
				err = push(v)
			}
			if err != nil {
				return err
			}
			if left--; left == 0 {
				return errFull
			}
			return nil
		})
		if errors.Is(err, errFull) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sequence checks the order in which a statement yields versions. SQLite follows the
// order of its pages: if versions are out of order, pages are damaged, and may form a
// cycle.
type sequence struct {
	keys   [4]string // of the identity
	commit int64
}

// follow fails if a version does not come after the previous one.
func (s *sequence) follow(a *question, v *onto.Version) error {
	if len(a.Query.Order) > 0 && a.plain == "" {
		return nil // sorted by SQLite
	}
	if a.Query.Mode != backend.State {
		if v.Commit < s.commit {
			return layout.DamagedRow(v, "it is not in its place")
		}
		s.commit = v.Commit
		return nil
	}
	keys := [4]string{v.Key, v.Left, v.Right, v.Instance}
	if s.commit > 0 && slices.Compare(keys[:], s.keys[:]) <= 0 {
		return layout.DamagedRow(v, "it is not in its place")
	}
	s.keys, s.commit = keys, v.Commit
	return nil
}

var errFull = errors.New("the page is full")

// version reads a row of the question's statement.
func (r *reading) version(a *question, rows *driver.Rows) (onto.Version, error) {
	v := layout.Version(rows, len(a.t.Columns), a.t.Identity(rows, 0))
	if err := layout.CheckSound(&v, r.Head); err != nil {
		return v, err
	}
	err := layout.HasFields(&v)
	if err == nil {
		err = layout.CheckIntact(rows, len(a.t.Columns)+4, &v)
	}
	if err == nil && a.plain != "" {
		err = layout.CheckJSON(&v)
	}
	return v, err
}

// endpoints looks up the fields of a relation's endpoints as of its moment, or those of
// a fact's subject.
func (rd *reader) endpoints(r *reading, q *backend.Query) exec.Endpoints {
	if q.Kind == onto.KindEntity {
		return nil
	}
	var leftType, rightType string
	known := false
	return func(v *onto.Version) (left, right json.RawMessage, err error) {
		if !known {
			if leftType, rightType, err = r.endTypes(q); err != nil {
				return nil, nil, err
			}
			known = true
		}
		at := v.Commit
		if q.Mode == backend.State {
			at = r.commitID(q.At)
		}
		left, err = rd.fieldsAt(r, onto.EntityID(leftType, v.Left), at)
		if err != nil || q.Kind != onto.KindRelation {
			return left, nil, err
		}
		right, err = rd.fieldsAt(r, onto.EntityID(rightType, v.Right), at)
		return left, right, err
	}
}

// fieldsAt returns the fields of what exists as of a commit, nil otherwise.
func (rd *reader) fieldsAt(r *reading, id onto.Identity, at int64) (json.RawMessage, error) {
	v, err := rd.getAt(r.Conn, id, at)
	if errors.Is(err, onto.NotFound) || err == nil && !v.Live() {
		return nil, nil
	}
	return v.Fields, err
}
