package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/typelist"
)

// A stream may change the types in its transaction: the rows of the types come first,
// then the writes, which are checked against the new types, and at the end what is
// derived. Readers see none of it before the commit.

// purgeRows is how many rows a purge removes with one statement.
const purgeRows = 10_000

// evolve changes the types as the draft says.
func (s *stream) evolve() error {
	s.evolved = true
	s.changed = changedTypes(typelist.Last(s.Candidate.Types.All), s.draft.Evolve)
	return s.retype(s.ctx, s.Candidate.Types.All, s.changed, slices.Collect(decide.Purges(s.draft)))
}

// retype changes the types to what they are after the round, and removes the versions of
// purged ones. Indexes and search tables that flags no longer ask for are dropped before
// versions are written, so that these need not maintain them.
func (g *round) retype(ctx context.Context, after, changed []onto.SchemaVersion, purged []onto.TypeName) error {
	if err := layout.WriteTypes(g.w, g.Types.All, after); err != nil {
		return err
	}
	if err := g.wr.reached("evolve"); err != nil {
		return err
	}
	if err := g.dropDerived(changed, purged); err != nil {
		return err
	}
	for _, t := range purged {
		if err := g.purge(ctx, t); err != nil {
			return err
		}
	}
	g.wr.types = typeCache{}
	return g.wr.types.refresh(g.w, state{})
}

// dropDerived removes what the flags of the changed types no longer ask for, and all
// that is derived of purged types, also of those that begin anew. It tells other
// processes to read the types again.
func (g *round) dropDerived(changed []onto.SchemaVersion, purged []onto.TypeName) error {
	types := slices.Clone(changed)
	for i, v := range types {
		if slices.Contains(purged, v.Schema.TypeName()) {
			types[i].End = &onto.End{Purged: true}
		}
	}
	plan, err := layout.PlanDerived(g.w, types)
	if err == nil {
		err = plan.Drop(g.w)
	}
	if err != nil {
		return err
	}
	return g.w.Exec(`UPDATE onto_meta SET derived = derived + 1`)
}

// changedTypes picks the types that an evolution adds a version to or ends.
func changedTypes(last []onto.SchemaVersion, e *backend.Evolution) []onto.SchemaVersion {
	named := map[onto.TypeName]bool{}
	for _, a := range e.Add {
		named[a.Schema.TypeName()] = true
	}
	for _, t := range e.End {
		named[t.TypeName()] = true
	}
	return slices.DeleteFunc(last, func(v onto.SchemaVersion) bool { return !named[v.Schema.TypeName()] })
}

// purge removes every version of a type, and what the projection and the tables of the
// past have of it. The operation counts of the commits decrease accordingly. The stored checksum is removed: it covers history that is
// gone.
func (g *round) purge(ctx context.Context, of onto.TypeName) error {
	t := g.wr.table(of.Kind)
	// What is removed is overwritten, not only unlinked.
	if err := g.w.Script(`PRAGMA secure_delete = ON`); err != nil {
		return err
	}
	defer func() { _ = g.w.Script(`PRAGMA secure_delete = OFF`) }()
	err := g.w.Each(ctx, fmt.Sprintf(`SELECT commit_id, count(*), coalesce(sum(onto_sum), 0) FROM %s WHERE %s = ? GROUP BY commit_id`, t.History, t.Columns[0]),
		[]any{of.Name}, func(r *driver.Rows) error { return layout.ShrinkCommit(g.w, r.Int(0), r.Int(1), r.Int(2)) })
	if err == nil {
		err = g.purgeHistory(ctx, t, of.Name)
	}
	if err == nil {
		err = g.wr.reached("purge")
	}
	for _, table := range []string{t.Current, t.Past} {
		if err == nil {
			err = g.w.Exec(fmt.Sprintf(`DELETE FROM %s WHERE %s = ?`, table, t.Columns[0]), of.Name)
		}
	}
	if err != nil {
		return err
	}
	return g.w.Exec(`UPDATE onto_meta SET checksum = NULL, checksum_commit = NULL`)
}

// purgeHistory removes the history rows of a type, some at a time: SQLite keeps
// in memory which rows one statement removes.
func (g *round) purgeHistory(ctx context.Context, t *layout.Table, typ string) error {
	sql := fmt.Sprintf(`DELETE FROM %[1]s WHERE id IN (SELECT id FROM %[1]s WHERE %[2]s = ? LIMIT ?)`, t.History, t.Columns[0])
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.w.Exec(sql, typ, purgeRows); err != nil {
			return err
		}
		if n, err := g.w.QueryInt(`SELECT changes()`); err != nil || n < purgeRows {
			return err
		}
	}
}

// forget is called when the stream has ended. The types in memory are those of the
// transaction, whose numbers are reused if it was rolled back. There may be fewer
// identities than before.
func (s *stream) forget() {
	if s.evolved {
		s.wr.forgetTypes()
	}
}

func (wr *writer) forgetTypes() {
	wr.types = typeCache{}
	wr.counted.Clear()
}
