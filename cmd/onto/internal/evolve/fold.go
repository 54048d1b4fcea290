package evolve

import (
	"context"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/schemafile"
)

// newFolds is which folds of a file the store does not have, or has in an earlier version.
func newFolds(ctx context.Context, c *session.Session, loc place.Location, cfg place.Settings, folds []schemafile.Fold) ([]document.FoldVersion, error) {
	list := []document.FoldVersion{}
	if len(folds) == 0 {
		return list, nil
	}
	var stored []store.FoldStatus
	err := c.WithStoreAt(ctx, place.Reading, loc, cfg, func(s *store.Store) (err error) {
		stored, err = s.Folds(ctx)
		return err
	})
	if err != nil && onto.CodeOf(err) != onto.Uninitialized {
		return list, err
	}
	for _, f := range folds {
		i := slices.IndexFunc(stored, func(o store.FoldStatus) bool { return o.Name == f.Name && o.Facts == f.Facts })
		switch {
		case i < 0 || stored[i].Version < f.Version:
			list = append(list, document.FoldVersion{Name: f.Name, Version: f.Version})
		case stored[i].Version > f.Version:
			return list, onto.Errorf(onto.SchemaOutdated, "fold %s has version %d in the store, the file has version %d", f.Name, stored[i].Version, f.Version).
				WithHint("take the newer file; see what is stored").WithCommand("fold", "list")
		case stored[i].Program != f.Program || stored[i].State != f.State:
			return list, onto.Errorf(onto.SchemaOutdated, "fold %s version %d is another one in the store", f.Name, f.Version).
				WithHint("raise the version in the file, so that states are rebuilt")
		}
	}
	return list, nil
}

// foldKind is what folds are called where types have a kind.
const foldKind onto.Kind = "fold"

// compareFolds compares the folds that are kept as programs with those of a file, by name.
func compareFolds(ctx context.Context, s *store.Store, given []schemafile.Fold) ([]comparison, error) {
	all, err := s.Folds(ctx)
	if err != nil {
		return nil, err
	}
	stored := slices.DeleteFunc(all, func(f store.FoldStatus) bool { return f.Program == "" })
	row := func(name, status string, version *int) comparison {
		r := comparison{Compared: document.NewCompared(onto.Schema{Kind: foldKind, Name: name}, status)}
		r.Fold = version
		return r
	}
	var rows []comparison
	for _, g := range given {
		i := slices.IndexFunc(stored, func(f store.FoldStatus) bool { return f.Name == g.Name && f.Facts == g.Facts })
		if i < 0 {
			rows = append(rows, row(g.Name, "only in the file", nil))
			continue
		}
		status, is := "same", stored[i]
		if is.State != g.State || is.Version != g.Version || is.Program != g.Program {
			status = "different"
		}
		rows = append(rows, row(g.Name, status, &is.Version))
		stored = slices.Delete(stored, i, i+1)
	}
	for _, f := range stored {
		rows = append(rows, row(f.Name, "only stored", &f.Version))
	}
	slices.SortFunc(rows, func(a, b comparison) int { return strings.Compare(a.Type, b.Type) })
	return rows, nil
}
