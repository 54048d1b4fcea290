package store

import (
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/lineage"
)

// Provenance is the commits that tell when a thing came to be and when it became what it is,
// and by whom.
type Provenance struct {
	Created onto.Commit // with which its life began: its first version after its last delete
	Updated onto.Commit // that made the version; of one that a migration has rewritten, the migration
}

// mostAsked is how many identities or commits one question to the backend is about.
const mostAsked = 1000

// Provenance returns the provenance of versions that the view has shown, in their order. A life
// goes on when its type is renamed, and a new one begins when a type begins again after it was
// dropped. A version of a commit after the view's moment is Invalid. Of a view that
// moves on, as Now does, also versions are told of that have been superseded or deleted
// since they were shown.
//
// However many versions there are, the backend is asked once for every thousand of a type
// when they were created, and once for every thousand commits.
func (v View) Provenance(ctx context.Context, versions []onto.Version) (list []Provenance, err error) {
	err = again(func() error {
		v := v.current()
		at, err := v.resolve(ctx)
		if err == nil && at == backend.Head {
			var head onto.Commit
			head, err = v.Commit(ctx)
			at = head.ID
		}
		if err == nil {
			err = shownAt(versions, at)
		}
		if err != nil {
			return err
		}
		created, err := v.created(ctx, versions, at)
		if err != nil {
			return err
		}
		list, err = v.s.provenance(ctx, versions, created)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// shownAt fails if a view of a commit cannot have shown the versions.
func shownAt(versions []onto.Version, at int64) error {
	for i := range versions {
		switch v := &versions[i]; {
		case v.Commit > at:
			return onto.Errorf(onto.Invalid, "%s is of commit %d, and the view shows the state after commit %d", v.Identity, v.Commit, at).
				WithHint("ask a view of that commit or a later one")
		case !v.Live():
			return onto.Errorf(onto.Invalid, "the version of %s at commit %d is a delete, which a view does not show", v.Identity, v.Commit).
				WithHint("give versions that View.Get or View.Find has found")
		}
	}
	return nil
}

// provenance looks up the commits.
func (s *Store) provenance(ctx context.Context, versions []onto.Version, created []int64) ([]Provenance, error) {
	ids := slices.Clone(created)
	for i := range versions {
		ids = append(ids, versions[i].Commit)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	commits := make(map[int64]onto.Commit, len(ids))
	for part := range slices.Chunk(ids, mostAsked) {
		for c, err := range s.b.Commits(ctx, &backend.CommitQuery{Until: backend.Head, IDs: part}) {
			if err != nil {
				return nil, err
			}
			commits[c.ID] = c
		}
	}
	list := make([]Provenance, len(versions))
	for i := range versions {
		var known [2]bool
		list[i].Created, known[0] = commits[created[i]]
		list[i].Updated, known[1] = commits[versions[i].Commit]
		if known != [2]bool{true, true} {
			return nil, noVersion(&versions[i])
		}
	}
	return list, nil
}

// noVersion is the error for what the store never had.
func noVersion(v *onto.Version) error {
	return onto.Errorf(onto.Invalid, "%s has no version at commit %d that a view shows", v.Identity, v.Commit).
		WithHint("give versions that View.Get or View.Find has found")
}

// created returns with which commits the lives of versions began that were shown as of a commit
// or before.
func (v View) created(ctx context.Context, versions []onto.Version, at int64) ([]int64, error) {
	began, err := v.lives(ctx, versions, at)
	if err != nil {
		return nil, err
	}
	created := make([]int64, len(versions))
	ended := map[int64][]int{} // versions whose life has ended since, by their commit
	for i := range versions {
		created[i] = began[versions[i].Identity]
		if created[i] == 0 || created[i] > versions[i].Commit {
			ended[versions[i].Commit] = append(ended[versions[i].Commit], i)
		}
	}
	for commit, list := range ended {
		then := make([]onto.Version, len(list))
		for n, i := range list {
			then[n] = versions[i]
		}
		if began, err = v.lives(ctx, then, commit); err != nil {
			return nil, err
		}
		for _, i := range list {
			if created[i] = began[versions[i].Identity]; created[i] == 0 {
				return nil, noVersion(&versions[i])
			}
		}
	}
	return created, nil
}

// lives returns when the lives began that the identities of versions have as of a commit; 0 for
// those that do not live then.
func (v View) lives(ctx context.Context, versions []onto.Version, at int64) (map[onto.Identity]int64, error) {
	ids := make([]onto.Identity, len(versions))
	for i := range versions {
		ids[i] = versions[i].Identity
	}
	slices.SortFunc(ids, onto.Identity.Compare)
	ids = slices.Compact(ids)
	began := make(map[onto.Identity]int64, len(ids))
	for len(ids) > 0 {
		n := 1
		for n < min(len(ids), mostAsked) && ids[n].TypeName() == ids[0].TypeName() {
			n++
		}
		if err := v.livesOf(ctx, ids[:n], at, began); err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	return began, nil
}

// livesOf is lives for identities of one type. A life that began with the commit by which the
// type got its name may have begun under the name before.
func (v View) livesOf(ctx context.Context, ids []onto.Identity, at int64, began map[onto.Identity]int64) error {
	t, err := v.catalog().Life(ids[0].Kind, ids[0].Type, at)
	if err != nil {
		return err
	}
	spans := spansOf(t)
	for i := len(spans) - 1; i >= 0 && len(ids) > 0; i-- {
		span := spans[i]
		if span.First > at { // perhaps the type had the name in no commit at all
			continue
		}
		q := backend.FirstsQuery{Kind: ids[0].Kind, Type: span.Name, At: at}
		for _, id := range ids {
			id.Type = span.Name
			q.IDs = append(q.IDs, id)
		}
		firsts, err := v.s.b.Firsts(ctx, &q)
		if err != nil {
			return err
		}
		var before []onto.Identity
		for n, first := range firsts {
			if first > 0 {
				began[ids[n]] = first
			}
			if first > 0 && first == span.First {
				before = append(before, ids[n])
			}
		}
		ids, at = before, span.First-1
	}
	return v.s.stands(ctx, v.catalog(), t)
}

// spansOf is the names that a type has had.
func spansOf(t *catalog.Type) []lineage.Span {
	if t.Chain == nil {
		return []lineage.Span{{Name: t.Schema.Name}}
	}
	return t.Chain.Spans()
}
