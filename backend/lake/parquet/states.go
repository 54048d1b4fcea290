package parquet

import (
	"cmp"
	"context"
	"slices"

	"github.com/ontologia/onto"
)

// State is a version without its fields.
type State struct {
	ID     int // the number of its identity among those asked for
	Commit int64
	Op     onto.Op
}

// States returns the versions up to a commit that the file has of some identities, by
// identity, then commit, without those of schema versions up to one that is purged. The
// identities are those of Find. Fields are not read.
func (f *File) States(ctx context.Context, ids []onto.Identity, at int64, purged int) ([]State, error) {
	var rows []candidate
	if err := f.candidates(ctx, ids, at, func(c candidate) { rows = append(rows, c) }); err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.row, b.row)) })
	var list []State
	for len(rows) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := 1
		for n < len(rows) && rows[n].group == rows[0].group {
			n++
		}
		part, err := f.statesOf(ids, rows[:n], purged)
		if err != nil {
			return nil, err
		}
		list, rows = append(list, part...), rows[n:]
	}
	slices.SortFunc(list, func(a, b State) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Commit, b.Commit)) })
	return list, nil
}

// statesOf is States for rows of one row group.
func (f *File) statesOf(ids []onto.Identity, rows []candidate, purged int) (list []State, err error) {
	defer f.guard(&err)
	r := &rowReader{file: f, group: f.groups[rows[0].group]}
	if rows, _, err = r.matching(ids, rows); err != nil || len(rows) == 0 {
		return nil, err
	}
	after := keyColumn + keyColumns(f.kind)
	if purged > 0 {
		var kept []candidate
		err := r.integers(after, rows, func(i int, version int64) {
			if version > int64(purged) {
				kept = append(kept, rows[i])
			}
		})
		if err != nil {
			return nil, err
		}
		rows = kept
	}
	list = make([]State, 0, len(rows))
	err = r.texts(after+1, rows, func(i int, text []byte) error {
		op, err := f.op(text)
		list = append(list, State{rows[i].id, rows[i].commit, op})
		return err
	})
	return list, err
}
