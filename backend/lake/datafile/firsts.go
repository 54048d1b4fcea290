package datafile

import (
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// Firsts returns for each identity of a type the commit with which its life as of a commit
// began; 0 if it does not live then. The newest files are searched first, and for no
// identity any that come before its last delete. The ids are sorted, each once.
func (r *Reader) Firsts(ctx context.Context, s *protocol.Shelf, t onto.TypeName, ids []onto.Identity, at int64) ([]int64, error) {
	files := r.likely(s.Of(t, 0, at), ids)
	if err := r.fetchAll(ctx, files, len(ids)); err != nil {
		return nil, err
	}
	l := lives{firsts: make([]int64, len(ids)), left: ids, places: make([]int, len(ids))}
	for i := range l.places {
		l.places[i] = i
	}
	for i := len(files) - 1; i >= 0 && len(l.left) > 0; i-- {
		file, done, err := r.Use(ctx, &files[i])
		if err != nil {
			return nil, err
		}
		list, err := file.states(ctx, l.left, at, s.Types.Purged[t])
		r.learn(file)
		done()
		if err != nil {
			return nil, err
		}
		l.add(list)
	}
	return l.firsts, nil
}

// lives is what is known of the lives of identities when the newest files were read.
type lives struct {
	firsts []int64
	left   []onto.Identity // of which no delete was found
	places []int           // of these among all
}

// add takes the versions that an older file has of the identities that are left, by
// identity, then commit.
func (l *lives) add(list []parquet.State) {
	ended := make([]bool, len(l.left)) // a delete was found
	for len(list) > 0 {
		id, n, first := list[0].ID, 0, int64(0)
		for ; n < len(list) && list[n].ID == id; n++ {
			switch {
			case list[n].Op != onto.Put:
				first, ended[id] = 0, true
			case first == 0:
				first = list[n].Commit
			}
		}
		if first > 0 {
			l.firsts[l.places[id]] = first
		}
		list = list[n:]
	}
	var left []onto.Identity
	var places []int
	for i, id := range l.left {
		if !ended[i] {
			left, places = append(left, id), append(places, l.places[i])
		}
	}
	l.left, l.places = left, places
}

// states returns the versions up to a commit that the file has of some identities, by
// identity, then commit, without those of schema versions up to a purged one.
func (o *File) states(ctx context.Context, ids []onto.Identity, at int64, purged int) ([]parquet.State, error) {
	all, small, err := o.small(ctx)
	if err != nil {
		return nil, err
	}
	if !small {
		list, err := o.States(ctx, ids, at, purged)
		if err != nil {
			return nil, onto.Errorf(onto.CodeOf(err), "%s: %w", o.entry.Path, err)
		}
		return list, nil
	}
	var list []parquet.State
	for i, id := range ids {
		n, _ := slices.BinarySearchFunc(all, id, func(v onto.Version, id onto.Identity) int { return v.Identity.Compare(id) })
		for ; n < len(all) && all[n].Identity == id && all[n].Commit <= at; n++ {
			if all[n].SchemaVersion > purged {
				list = append(list, parquet.State{ID: i, Commit: all[n].Commit, Op: all[n].Op})
			}
		}
	}
	return list, nil
}
