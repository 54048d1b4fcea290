package sqlite

import (
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/typelist"
)

// A stream may change the types in its transaction: the rows of the types come first,
// then the writes, which are checked against the new types, and at the end what is
// derived. Readers see none of it before the commit.

// purgeRows is how many rows a purge removes with one statement.
const purgeRows = 10_000

// evolve changes the types as the draft says. Indexes and search tables that flags no
// longer ask for are dropped before the writes, so that these need not maintain them.
func (s *stream) evolve() error {
	s.evolved = true
	if err := layout.WriteTypes(s.w, s.round.Types.All, s.Candidate.Types.All); err != nil {
		return err
	}
	if err := s.wr.reached("evolve"); err != nil {
		return err
	}
	for _, t := range s.draft.Evolve.End {
		if !s.wr.schema.catalog {
			break
		}
		if err := layout.Deactivate(s.w, t.TypeName()); err != nil {
			return err
		}
	}
	if err := s.dropDerived(); err != nil {
		return err
	}
	for t := range decide.Purges(s.draft) {
		if err := s.purge(t); err != nil {
			return err
		}
	}
	s.wr.types = typeCache{}
	return s.wr.types.refresh(s.w, state{})
}

// dropDerived removes what the flags of the changed types no longer ask for, and all
// that is derived of purged types, also of those that begin anew. It tells other
// processes to read the types again.
func (s *stream) dropDerived() error {
	s.changed = changedTypes(typelist.Last(s.Candidate.Types.All), s.draft.Evolve)
	types := slices.Clone(s.changed)
	purged := slices.Collect(decide.Purges(s.draft))
	for i, v := range types {
		if slices.Contains(purged, v.Schema.TypeName()) {
			types[i].End = &onto.End{Purged: true}
		}
	}
	plan, err := layout.PlanDerived(s.w, types)
	if err == nil {
		err = plan.Drop(s.w)
	}
	if err != nil {
		return err
	}
	return s.w.Exec(`UPDATE onto_meta SET derived = derived + 1`)
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
// past have of it. The operation counts of the commits decrease accordingly; commits of
// other programs have none. The stored checksum is removed: it covers history that is
// gone.
func (s *stream) purge(of onto.TypeName) error {
	t := s.wr.table(of.Kind)
	// What is removed is overwritten, not only unlinked.
	if err := s.w.Script(`PRAGMA secure_delete = ON`); err != nil {
		return err
	}
	defer func() { _ = s.w.Script(`PRAGMA secure_delete = OFF`) }()
	err := s.w.Exec(fmt.Sprintf(`UPDATE commits SET operations = operations - h.n
		FROM (SELECT commit_id, count(*) AS n FROM %s WHERE %s = ? GROUP BY commit_id) h
		WHERE commits.id = h.commit_id AND commits.operations IS NOT NULL`, t.History, t.Columns[0]), of.Name)
	if err == nil {
		err = s.purgeHistory(t, of.Name)
	}
	if err == nil {
		err = s.wr.reached("purge")
	}
	for _, table := range []string{t.Current, t.Past} {
		if err == nil {
			err = s.w.Exec(fmt.Sprintf(`DELETE FROM %s WHERE %s = ?`, table, t.Columns[0]), of.Name)
		}
	}
	if err != nil {
		return err
	}
	return s.w.Exec(`UPDATE onto_meta SET checksum = NULL, checksum_commit = NULL`)
}

// purgeHistory removes the history rows of a type, some at a time: SQLite keeps
// in memory which rows one statement removes.
func (s *stream) purgeHistory(t *layout.Table, typ string) error {
	sql := fmt.Sprintf(`DELETE FROM %[1]s WHERE id IN (SELECT id FROM %[1]s WHERE %[2]s = ? LIMIT ?)`, t.History, t.Columns[0])
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.w.Exec(sql, typ, purgeRows); err != nil {
			return err
		}
		if n, err := s.w.QueryInt(`SELECT changes()`); err != nil || n < purgeRows {
			return err
		}
	}
}

// forget is called when the stream has ended. The types in memory are those of the
// transaction, whose numbers are reused if it was rolled back. There may be fewer
// identities than before.
func (s *stream) forget() {
	if !s.evolved {
		return
	}
	s.wr.types = typeCache{}
	s.wr.counted.Clear()
}
