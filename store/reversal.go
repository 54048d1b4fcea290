package store

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/shape"
)

// reversal makes the plan of a revert: the identities, what they were, and which
// commits block it.
type reversal struct {
	s *Store
	RevertPlan
}

// target is an identity of a revert.
type target struct {
	RevertChange
	to      int64 // the state wanted is that as of this commit
	changes bool  // it is not in that state

	write backend.Write // that brings it there
}

// ofCommit plans to undo one commit.
func (r *reversal) ofCommit(ctx context.Context, commit int64) error {
	if commit < 1 {
		return onto.Errorf(onto.NotFound, "commit %d does not exist: ids start at 1", commit)
	}
	if _, err := r.s.At(commit).Commit(ctx); err != nil {
		return err
	}
	r.Head = max(r.Head, commit) // it may have been made just now
	r.Commits = []int64{commit}
	r.all = r.aimed(ctx, func(yield func(target, error) bool) {
		for c, err := range r.s.Changes(ctx, commit) {
			if err == nil && r.s.catalog().Own(c.TypeName()) {
				continue // it follows from facts
			}
			g := target{to: commit - 1}
			if err == nil {
				g.Identity, err = r.changed(&c, commit)
			}
			if !yield(g, err) || err != nil {
				return
			}
		}
	})
	return nil
}

// ofCorrelation plans to undo the commits with a correlation id.
func (r *reversal) ofCorrelation(ctx context.Context, correlation string) error {
	for c, err := range r.s.b.Commits(ctx, &backend.CommitQuery{Until: r.Head}) {
		if err != nil {
			return err
		}
		if c.Correlation == correlation {
			r.Commits = append(r.Commits, c.ID)
		}
	}
	if r.Commits == nil {
		return r.unknownCorrelation(ctx, correlation)
	}
	first := map[onto.Identity]int64{}
	for _, id := range r.Commits {
		for c, err := range r.s.Changes(ctx, id) {
			if err != nil {
				return err
			}
			if r.s.catalog().Own(c.TypeName()) {
				continue // it follows from facts
			}
			present, err := r.changed(&c, id)
			if err != nil {
				return err
			}
			if _, known := first[present]; !known {
				first[present] = id
			}
		}
	}
	ids := slices.SortedFunc(maps.Keys(first), onto.Identity.Compare)
	r.all = r.aimed(ctx, func(yield func(target, error) bool) {
		for _, id := range ids {
			if !yield(target{RevertChange: RevertChange{Identity: id}, to: first[id] - 1}, nil) {
				return
			}
		}
	})
	return nil
}

// unknownCorrelation is the error for a correlation id that no commit has.
func (r *reversal) unknownCorrelation(ctx context.Context, correlation string) error {
	unknown := onto.Errorf(onto.NotFound, "no commit has the correlation id %q", correlation)
	near, err := r.s.SimilarCorrelation(ctx, correlation)
	switch {
	case err != nil:
		return err
	case near != "":
		return unknown.WithHint("did you mean %s? See its commits", near).WithCommand("commits", "--correlation", near)
	}
	return unknown.WithHint("the list of commits shows their correlation ids").WithCommand("commits")
}

// ofIdentity plans to bring an identity back to what it was as of a commit.
func (r *reversal) ofIdentity(ctx context.Context, id onto.Identity, to int64) error {
	t, err := r.s.catalog().Get(id.Kind, id.Type)
	if err == nil {
		err = t.CheckIdentity(id)
	}
	if err == nil {
		err = r.s.catalog().Writable(ctx, id)
	}
	if err == nil {
		_, err = r.s.At(to).Commit(ctx)
	}
	if err != nil {
		return err
	}
	r.Head = max(r.Head, to)
	if r.Commits, err = (reader{r.s.Now().current(), t}).commitsOf(ctx, id, 0, r.Head); err != nil {
		return err
	}
	if len(r.Commits) == 0 {
		return onto.Errorf(onto.NotFound, "%s does not exist and never did", id)
	}
	r.Commits = slices.DeleteFunc(r.Commits, func(c int64) bool { return c <= to })
	r.all = r.aimed(ctx, func(yield func(target, error) bool) {
		yield(target{RevertChange: RevertChange{Identity: id}, to: to}, nil)
	})
	return nil
}

// live is the version if the identity exists after it.
func live(v *onto.Version) *onto.Version {
	if v == nil || !v.Live() {
		return nil
	}
	return v
}

// changed is the identity that a commit changed, under the name that its type
// has now.
func (r *reversal) changed(c *onto.Change, commit int64) (onto.Identity, error) {
	if c.Before != nil {
		commit-- // it may have been the end of the type
	}
	id, err := r.s.catalog().PresentName(c.Identity, commit)
	if err != nil {
		return id, onto.Errorf(onto.Invalid, "%s cannot be reverted: %w", c.Identity, err)
	}
	return id, nil
}

// sameState reports whether two live versions of an identity say the same.
func sameState(a, b *onto.Version) bool {
	if a.Kind == onto.KindFact {
		return shape.SameFact(a, b)
	}
	return bytes.Equal(a.Fields, b.Fields)
}
