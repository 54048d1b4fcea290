package datafile

import (
	"bytes"
	"cmp"
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// All yields the rows of a file, but for those of schema versions that were purged.
func (r *Reader) All(ctx context.Context, f *protocol.FileEntry, purged int) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		file, done, err := r.Use(ctx, f)
		if err != nil {
			yield(onto.Version{}, err)
			return
		}
		defer done()
		for v, err := range file.All(ctx) {
			if err != nil {
				yield(onto.Version{}, onto.Errorf(onto.CodeOf(err), "%s: %w", f.Path, err))
				return
			}
			if v.SchemaVersion > purged && !yield(v, nil) {
				return
			}
		}
	}
}

// LayoutOf is the columns of the files of a type.
func LayoutOf(types *protocol.Types, t onto.TypeName) *parquet.Layout {
	l := parquet.NewLayout(t.Kind, t.Name, types.All)
	l.Store = types.Catalog.StoreID
	return l
}

// Layout is LayoutOf, kept until it is asked for with other types.
func (r *Reader) Layout(types *protocol.Types, t onto.TypeName) *parquet.Layout {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.types != types {
		r.types, r.layouts = types, map[onto.TypeName]*parquet.Layout{}
	}
	if r.layouts[t] == nil {
		r.layouts[t] = LayoutOf(types, t)
	}
	return r.layouts[t]
}

// Compare is the order of the rows of a file.
func Compare(a, b *onto.Version) int {
	return cmp.Or(a.Identity.Compare(b.Identity), cmp.Compare(a.Commit, b.Commit))
}

// CopyOf returns a version that its receiver may change.
func CopyOf(v *onto.Version) *onto.Version {
	if v == nil {
		return nil
	}
	c := *v
	c.Fields = bytes.Clone(v.Fields)
	return &c
}
