package sqlite

import (
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// A stream may change the types in its transaction: the rows of the types come
// first, then the writes, which are judged by the types as they are then, and at
// the end whatever is derived. Readers see none of it before the commit.

// purgeRows is how many rows a purge removes with one statement.
const purgeRows = 10_000

// evolve changes the types as the draft says. What flags do not ask for any more
// goes before the writes, so that it need not be kept along with them.
func (s *stream) evolve() error {
	e := s.draft.Evolve
	all, err := readSchemas(s.w)
	if err == nil {
		err = backend.CheckEvolution(all, e)
	}
	if err != nil {
		return err
	}
	s.evolved = true
	if err := s.writeTypes(all, e); err != nil {
		return err
	}
	if err := s.b.failAt("evolve"); err != nil {
		return err
	}
	if err := s.dropDerived(); err != nil {
		return err
	}
	for _, t := range e.End {
		if !t.Purge {
			continue
		}
		if err := s.purge(t); err != nil {
			return err
		}
	}
	s.b.types = typeCache{}
	return s.b.types.refresh(s.w, state{})
}

// dropDerived removes what the flags of the changed types do not ask for any
// more, and all that is derived of purged types, also of those that begin anew.
// It tells others to look at the types again.
func (s *stream) dropDerived() error {
	all, err := readSchemas(s.w)
	if err != nil {
		return err
	}
	s.changed = changedTypes(backend.Last(all), s.draft.Evolve)
	types := slices.Clone(s.changed)
	for i, v := range types {
		name := v.Schema.TypeName()
		if slices.ContainsFunc(s.draft.Evolve.End, func(t backend.EndedType) bool { return t.Purge && name == t.TypeName() }) {
			types[i].End = &onto.End{Purged: true}
		}
	}
	plan, err := planDerived(s.w, types)
	if err == nil {
		err = plan.drop(s.w)
	}
	if err != nil {
		return err
	}
	return s.w.exec(`UPDATE onto_meta SET derived = derived + 1`)
}

// writeTypes writes the rows of the types: first those that end, since one of
// that name may begin anew. All is what is stored.
func (s *stream) writeTypes(all []onto.SchemaVersion, e *backend.Evolution) error {
	s.ended = map[onto.TypeName]int{}
	for _, t := range e.End {
		last := backend.NextVersion(all, t.TypeName()) - 1
		var before *onto.End
		for _, v := range all {
			if v.Schema.TypeName() == t.TypeName() && v.Version == last {
				before = v.End
			}
		}
		if err := s.endType(t, last, before); err != nil {
			return err
		}
		s.ended[t.TypeName()] = last
	}
	for _, a := range e.Add {
		row := s.b.newSchemaRow(a.Schema, s.head+1, e.Runtime, e.Reason)
		row.upgrader = a.Upgrader
		if err := row.insert(s.w); err != nil {
			return err
		}
		if err := s.w.exec(setRegistry, string(row.kind), row.name, string(row.text)); err != nil {
			return err
		}
		delete(s.ended, onto.TypeName{Kind: row.kind, Name: row.name})
	}
	for _, l := range e.Learn {
		if err := keep(s.w, "onto_upgrader", &l.Upgrader, l.Kind, l.Type, l.Version); err != nil {
			return err
		}
	}
	return nil
}

// endType ends a type, whose last version is given, with its end if it had
// ended before.
func (s *stream) endType(t backend.EndedType, last int, before *onto.End) error {
	end := onto.End{Commit: s.head + 1, RenamedTo: t.RenamedTo, Purged: t.Purge, Time: s.now, Runtime: s.draft.Evolve.Runtime}
	if before != nil { // it has ended before
		end = *before
		end.Purged = true
	}
	if t.Purge {
		rows := s.b.table(t.Kind)
		n, err := s.w.queryInt(fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s = ?`, rows.history, rows.columns[0]), t.Type)
		if err != nil {
			return err
		}
		end.Versions += n
	}
	err := s.w.exec(`DELETE FROM schema_registry WHERE type_kind = ? AND type_name = ?`, string(t.Kind), t.Type)
	if err != nil {
		return err
	}
	return keep(s.w, "onto_end", &end, t.Kind, t.Type, last)
}

// keep sets one of our columns of a version that is stored.
func keep[T onto.Upgrader | onto.End](w *conn, column string, v *T, kind onto.Kind, name string, version int) error {
	text, err := keptJSON(v)
	if err != nil {
		return err
	}
	return w.exec(`UPDATE schema_versions SET `+column+` = ? WHERE type_kind = ? AND type_name = ? AND schema_version_id = ?`,
		text, string(kind), name, version)
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

// purge removes every version of a type, and what the projection and the tables
// of the past have of it. The counts of the commits go down by as much; what
// another program has committed is not counted. A kept checksum would be about
// history that is gone.
func (s *stream) purge(of backend.EndedType) error {
	t := s.b.table(of.Kind)
	// What is removed is overwritten, not only unlinked.
	if err := s.w.script(`PRAGMA secure_delete = ON`); err != nil {
		return err
	}
	defer func() { _ = s.w.script(`PRAGMA secure_delete = OFF`) }()
	err := s.w.exec(fmt.Sprintf(`UPDATE commits SET operations = operations - h.n
		FROM (SELECT commit_id, count(*) AS n FROM %s WHERE %s = ? GROUP BY commit_id) h
		WHERE commits.id = h.commit_id AND commits.operations IS NOT NULL`, t.history, t.columns[0]), of.Type)
	if err == nil {
		err = s.purgeHistory(t, of.Type)
	}
	if err == nil {
		err = s.b.failAt("purge")
	}
	for _, table := range []string{t.current, t.past} {
		if err == nil {
			err = s.w.exec(fmt.Sprintf(`DELETE FROM %s WHERE %s = ?`, table, t.columns[0]), of.Type)
		}
	}
	if err != nil {
		return err
	}
	return s.w.exec(`UPDATE onto_meta SET checksum = NULL, checksum_commit = NULL`)
}

// purgeHistory removes the history rows of a type, some at a time: SQLite keeps
// in memory which rows one statement removes.
func (s *stream) purgeHistory(t *table, typ string) error {
	sql := fmt.Sprintf(`DELETE FROM %[1]s WHERE id IN (SELECT id FROM %[1]s WHERE %[2]s = ? LIMIT ?)`, t.history, t.columns[0])
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.w.exec(sql, typ, purgeRows); err != nil {
			return err
		}
		if n, err := s.w.queryInt(`SELECT changes()`); err != nil || n < purgeRows {
			return err
		}
	}
}

// checkStamp judges the version that a write was made for. What is left of a
// type that ends can only be deleted.
func (s *stream) checkStamp(w *backend.Write) error {
	last, ends := s.ended[w.TypeName()]
	switch {
	case !ends:
		return s.b.types.checkStamp(w)
	case w.Op == onto.Delete && w.SchemaVersion == last:
		return nil
	case w.Op == onto.Delete:
		return onto.Errorf(onto.Invalid, "%s was deleted for schema version %d of %s, whose last is %d", w.Identity, w.SchemaVersion, w.Type, last)
	}
	return onto.Errorf(onto.Invalid, "%s: %s ends with this commit, so it can only be deleted", w.Identity, w.Type).
		WithHint("put it under the type that takes its place")
}

// finish makes what the flags of the changed types ask for.
func (s *stream) finish() error {
	if !s.evolved {
		return nil
	}
	return derive(s.ctx, s.w, s.changed, nil)
}

// forget is called when the stream has ended. The types in memory are those of
// the transaction, whose numbers come again if it was rolled back. There may be
// fewer identities than before.
func (s *stream) forget() {
	if !s.evolved {
		return
	}
	s.b.types = typeCache{}
	s.b.counted.forget()
}

func (c *counted) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.least = nil
}
