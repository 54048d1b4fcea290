package parquet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
)

// candidate is a row that may be of an identity.
type candidate struct {
	id     int // its number among those asked for
	group  int
	row    int
	commit int64
}

// Find returns the newest version up to a commit of each identity that the file
// has one of, in their order. The identities are sorted by Identity.Compare,
// each once.
//
// It builds an index of each row group that may have one, at the first call that
// needs it, and then reads only the pages of the rows it returns.
func (f *File) Find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error) {
	best, err := f.newest(ctx, ids, at)
	if err != nil || len(best) == 0 {
		return nil, err
	}
	found, missed, err := f.read(ctx, ids, best)
	if err != nil {
		return nil, err
	}
	for _, id := range missed { // another identity has the same hash
		v, err := f.findSlowly(ctx, ids, id, at)
		if err != nil {
			return nil, err
		}
		found = append(found, v...)
	}
	if len(missed) > 0 {
		slices.SortFunc(found, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	}
	return found, nil
}

// newest returns the likely row of each identity that seems to have one.
func (f *File) newest(ctx context.Context, ids []onto.Identity, at int64) ([]candidate, error) {
	var best []candidate
	place := map[int]int{} // in best, of each identity
	err := f.candidates(ctx, ids, at, func(c candidate) {
		i, ok := place[c.id]
		switch {
		case !ok:
			place[c.id] = len(best)
			best = append(best, c)
		case c.commit > best[i].commit:
			best[i] = c
		}
	})
	return best, err
}

// candidates calls a function with every row up to a commit that may be of one
// of the identities.
func (f *File) candidates(ctx context.Context, ids []onto.Identity, at int64, do func(candidate)) error {
	first := sort.Search(len(ids), func(i int) bool { return ids[i].Compare(onto.Identity{Kind: f.kind, Type: f.typ}) >= 0 })
	last := first + sort.Search(len(ids)-first, func(i int) bool {
		id := &ids[first+i]
		return id.Kind != f.kind || id.Type != f.typ
	})
	for number, g := range f.groups {
		from, to := first, last
		if g.bounded {
			from += sort.Search(to-from, func(i int) bool { return keyOf(&ids[first+i], 0) >= g.min })
			start := from
			to = from + sort.Search(to-from, func(i int) bool { return keyOf(&ids[start+i], 0) > g.max })
		}
		if from == to {
			continue
		}
		x, err := f.indexOf(ctx, number)
		if err != nil {
			return err
		}
		for i := from; i < to; i++ {
			x.rows(&ids[i], at, func(row int, commit int64) { do(candidate{i, number, row, commit}) })
		}
	}
	return nil
}

// findSlowly reads all rows that may be of an identity, newest first.
func (f *File) findSlowly(ctx context.Context, ids []onto.Identity, id int, at int64) ([]onto.Version, error) {
	var list []candidate
	err := f.candidates(ctx, ids[id:id+1], at, func(c candidate) { list = append(list, c) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(b.commit, a.commit) })
	for _, c := range list {
		found, _, err := f.read(ctx, ids[id:id+1], []candidate{c})
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, nil
}

// read reads rows. It returns the versions of those that are of their identity,
// by identity, and the identities of the others.
func (f *File) read(ctx context.Context, ids []onto.Identity, rows []candidate) (found []onto.Version, missed []int, err error) {
	slices.SortFunc(rows, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.row, b.row))
	})
	for len(rows) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		n := 1
		for n < len(rows) && rows[n].group == rows[0].group {
			n++
		}
		list, others, err := f.readGroup(ids, rows[:n])
		if err != nil {
			return nil, nil, err
		}
		found, missed = append(found, list...), append(missed, others...)
		rows = rows[n:]
	}
	if !slices.IsSortedFunc(found, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) }) {
		slices.SortFunc(found, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	}
	return found, missed, nil
}

// readGroup is read for rows of one row group.
func (f *File) readGroup(ids []onto.Identity, rows []candidate) (found []onto.Version, missed []int, err error) {
	defer f.guard(&err)
	r := &rowReader{file: f, group: f.groups[rows[0].group]}
	if rows, missed, err = r.matching(ids, rows); err != nil {
		return nil, nil, err
	}
	found, err = r.versions(ids, rows)
	return found, missed, err
}

// rowReader reads single rows of a row group.
type rowReader struct {
	file  *File
	group *group
}

// matching returns the rows that are of their identity, and the identities of the others.
func (r *rowReader) matching(ids []onto.Identity, rows []candidate) (_ []candidate, missed []int, err error) {
	for part := range keyColumns(r.file.kind) {
		matching := rows[:0:0]
		err = r.texts(keyColumn+part, rows, func(i int, key []byte) error {
			if string(key) == keyOf(&ids[rows[i].id], part) {
				matching = append(matching, rows[i])
			} else {
				missed = append(missed, rows[i].id)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		rows = matching
	}
	return rows, missed, nil
}

// versions reads the rest of rows whose identities are known.
func (r *rowReader) versions(ids []onto.Identity, rows []candidate) ([]onto.Version, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	list := make([]onto.Version, len(rows))
	for i, c := range rows {
		list[i] = onto.Version{Identity: ids[c.id], Commit: c.commit}
	}
	after := keyColumn + keyColumns(r.file.kind)
	err := r.integers(after, rows, func(i int, n int64) { list[i].SchemaVersion = int(n) })
	if err != nil {
		return nil, err
	}
	err = r.texts(after+1, rows, func(i int, op []byte) (err error) {
		list[i].Op, err = r.file.op(op)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = r.texts(after+2, rows, func(i int, fields []byte) error {
		list[i].Fields = slices.Clone(fields)
		return r.file.checkFields(fields)
	})
	return list, err
}

// texts calls a function with the value of a column in each row. It is only good
// until it returns.
func (r *rowReader) texts(column int, rows []candidate, do func(i int, value []byte) error) error {
	return r.each(column, rows, func(c *flat.Reader, i int) (int, error) {
		var value [1][]byte
		n, _, err := c.Texts(value[:], nil)
		if err != nil || n != 1 {
			return n, err
		}
		return n, do(i, value[0])
	})
}

// integers is texts for integers.
func (r *rowReader) integers(column int, rows []candidate, do func(i int, value int64)) error {
	return r.each(column, rows, func(c *flat.Reader, i int) (int, error) {
		var value [1]int64
		n, _, err := c.Ints(value[:], nil)
		do(i, value[0])
		return n, err
	})
}

// each puts a column to each row in turn and reads a value there.
func (r *rowReader) each(column int, rows []candidate, read func(c *flat.Reader, i int) (int, error)) error {
	name := System(r.file.kind)[column]
	c := flat.NewReader(r.group.parts[column])
	for i := range rows {
		n := 0
		err := c.SeekRow(int64(rows[i].row))
		if err == nil {
			n, err = read(c, i)
		}
		switch {
		case errors.Is(err, onto.Corrupt):
			return err
		case err != nil:
			return r.file.damaged("column %s: %w", name, err)
		case n != 1:
			return r.file.damaged("column %s has no row %d in its row group", name, rows[i].row+1)
		}
	}
	return nil
}
