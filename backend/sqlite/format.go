package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// Format is the version of what this package adds to the original's tables.
const Format = 3

// fileKind is what a file turns out to be.
type fileKind uint8

const (
	fileEmpty      fileKind = iota
	fileOurs                // has our tables
	fileOriginal            // written by the original program, first engine
	fileOriginalV2          // written by the original program, second engine
	fileForeign             // some other database
)

type file struct {
	kind   fileKind
	format int64
	shape  *shape // nil where only the format is judged
}

// inspect finds out what a file is. It writes nothing, and reads no table before
// it knows that it is one.
func inspect(c *driver.Conn, path string) (file, error) {
	s, err := readShape(c, path)
	if err != nil {
		return file{}, err
	}
	found, err := s.kind(c)
	found.shape = s
	return found, err
}

// kind tells by the tables of a file what it is.
func (s *shape) kind(c *driver.Conn) (file, error) {
	has := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(n string) bool { return !slices.Contains(s.names, n) })
	}
	switch {
	case len(s.names) == 0:
		return file{kind: fileEmpty}, nil
	case has("onto_meta"):
		if err := s.sound(); err != nil {
			return file{}, err
		}
		format, err := presentFormat(c, has, sumColumns(s.names))
		return file{kind: fileOurs, format: format}, err
	case has("storage_meta"):
		v2, err := false, s.odd["storage_meta"]
		if err == nil {
			v2, err = isOriginalV2(c)
		}
		if v2 || err != nil {
			return file{kind: fileOriginalV2}, err
		}
	}
	if has("commits", "entity_history", "relation_history") {
		return file{kind: fileOriginal}, s.sound()
	}
	return file{kind: fileForeign}, nil
}

// presentFormat is the format of a file of ours. If somebody has dropped what a
// format added, it is the one before: an upgrade brings it back.
func presentFormat(c *driver.Conn, has func(tables ...string) bool, sums []column) (int64, error) {
	format, err := c.QueryInt(`SELECT format FROM onto_meta`)
	if err != nil || format > Format {
		return format, err
	}
	if !has("onto_derived", "onto_entity_past", "onto_relation_past") {
		return min(format, 1), nil
	}
	whole := has("onto_leases", "onto_lease_breaks")
	for _, add := range slices.Concat(evolvingColumns(), sums) {
		found, err := hasColumns(c, add.table, add.column)
		if err != nil {
			return 0, err
		}
		whole = whole && found
	}
	if !whole {
		return min(format, 2), nil
	}
	return format, nil
}

// isOriginalV2 looks for the engine version, whichever way the table keeps it:
// as a column of that name or as a row with that key.
func isOriginalV2(c *driver.Conn) (bool, error) {
	r, err := c.Query(context.Background(), `SELECT * FROM storage_meta LIMIT 100`)
	if err != nil {
		return false, err
	}
	v2 := false
	for r.Next() {
		for i := range r.Vals {
			v2 = v2 || r.Text(i) == "v2"
		}
	}
	return v2, r.Close()
}

// check refuses what cannot be opened.
func (f file) check(path string) error {
	switch {
	case f.kind == fileForeign:
		return onto.Errorf(onto.Unsupported, "%s: a SQLite database of another program", path).
			WithHint("name another file with --db")
	case f.kind == fileOriginalV2:
		return onto.Errorf(onto.Unsupported, "%s: written by the original Ontologia's v2 engine, which keeps data in tables of its own", path).
			WithHint("export it there as JSON Lines and import that here")
	case f.kind == fileOurs && f.format > Format:
		return onto.Errorf(onto.Unsupported, "%s: format %d, this program reads up to %d", path, f.format, Format).
			WithHint("use a newer onto")
	}
	return nil
}

// prepareFile makes the file ours: creates the tables in an empty one, adopts
// one of the original program, upgrades one of an older format, refuses
// anything else.
func (wr *writer) prepareFile(ctx context.Context, w *driver.Conn) error {
	var found file
	err := wr.retryBusy(ctx, func() (err error) {
		found, err = inspect(w, wr.at.Path)
		return err
	})
	if err != nil {
		return err
	}
	if err := found.check(wr.at.Path); err != nil {
		return err
	}
	if found.kind == fileEmpty && wr.opts.MustExist {
		return onto.Errorf(onto.Uninitialized, "%s: the database has no tables", wr.at.Path).
			WithHint("make a store in it with: onto init --db %s", wr.at.Path)
	}
	if err := wr.retryBusy(ctx, func() error { return w.Script(`PRAGMA journal_mode = WAL`) }); err != nil {
		return err
	}
	if found.kind == fileOurs && found.format == Format {
		return nil
	}
	return wr.transact(ctx, w, func() error {
		found, err := inspect(w, wr.at.Path) // again: another process may have been faster
		if err == nil {
			err = found.shape.writable(wr.at.Path)
		}
		if err != nil {
			return err
		}
		switch {
		case found.kind == fileEmpty:
			return create(w)
		case found.kind == fileOriginal:
			return wr.adopt(ctx, w, found)
		case found.kind == fileOurs && found.format < Format:
			return wr.upgrade(ctx, w, found)
		}
		return found.check(wr.at.Path)
	})
}

// create makes the tables of an empty file.
func create(w *driver.Conn) error {
	if err := w.Script(createTables); err != nil {
		return err
	}
	return insertMeta(w)
}

func insertMeta(w *driver.Conn) error {
	var id [16]byte
	rand.Read(id[:])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	return w.Exec(`INSERT INTO onto_meta (id, format, store_id, foreign_until, times_ordered) VALUES (1, ?, ?, 0, 1)`, Format, text)
}

// adopt adds to a file of the original program what ours have: columns that
// its oldest files lack, columns and tables of our own, and the projection.
func adopt(w *driver.Conn, found file, now time.Time) error {
	err := addColumns(w, []column{
		{"entity_history", "schema_version_id", "INTEGER"},
		{"relation_history", "schema_version_id", "INTEGER"},
		{"entity_history", "op", "TEXT NOT NULL DEFAULT 'put'"},
		{"relation_history", "op", "TEXT NOT NULL DEFAULT 'put'"},
		{"commits", "metadata_json", "TEXT"},
		{"commits", "runtime_id", "TEXT"},
		{"commits", "actor_kind", "TEXT"},
		{"commits", "actor_id", "TEXT"},
		{"commits", "causation_id", "INTEGER"},
		{"commits", "correlation_id", "TEXT"},
		{"commits", "signature_ref", "TEXT"},
		{"commits", "comment", "TEXT"},
		{"commits", "idempotency_key", "TEXT"},
		{"commits", "draft_hash", "TEXT"},
		{"commits", "operations", "INTEGER"},
	})
	if err != nil {
		return err
	}
	added, err := addColumn(w, "relation_history", "instance_key", "TEXT NOT NULL DEFAULT ''")
	if err != nil {
		return err
	}
	if added {
		err = w.Script(`DROP INDEX IF EXISTS idx_relation_history_lookup`)
	}
	if err == nil {
		err = w.Script(createLookup + createSchemas + createOwn)
	}
	if err == nil {
		err = addColumns(w, slices.Concat(evolvingColumns(), sumColumns(found.shape.names)))
	}
	if err == nil {
		err = insertMeta(w)
	}
	if err == nil {
		err = bootstrapSchemas(w, now)
	}
	if err == nil {
		err = fillSince(w)
	}
	return err
}

// adopt makes a file of the original program ours.
func (wr *writer) adopt(ctx context.Context, w *driver.Conn, found file) error {
	if err := adopt(w, found, wr.now()); err != nil {
		return err
	}
	if err := wr.catchUp(w); err != nil {
		return err
	}
	return deriveAll(ctx, w, nil)
}

// upgrade adds to a file of an older format what ours have, but for what is derived.
func upgrade(w *driver.Conn, found file) error {
	err := addColumns(w, slices.Concat(evolvingColumns(), sumColumns(found.shape.names)))
	if err == nil {
		err = w.Script(createLeases)
	}
	if err == nil {
		err = fillSince(w)
	}
	if err == nil {
		err = w.Exec(`UPDATE onto_meta SET format = ?`, Format)
	}
	return err
}

// upgrade brings a file of an older format to ours.
func (wr *writer) upgrade(ctx context.Context, w *driver.Conn, found file) error {
	err := upgrade(w, found)
	if err == nil && found.format < 2 {
		err = wr.upgradeDerived(ctx, w)
	}
	return err
}

// addDerived adds the tables that format 2 added: of what is derived, which is empty
// then, and of the past.
func addDerived(ctx context.Context, w *driver.Conn, tables [2]*table) error {
	_, err := addColumn(w, "onto_meta", "derived", "INTEGER NOT NULL DEFAULT 0")
	if err == nil {
		err = w.Script(createDerived)
	}
	if err == nil {
		err = dropDerived(w)
	}
	if err == nil {
		err = fillPast(ctx, w, tables)
	}
	return err
}

// upgradeDerived adds what format 2 added: what is derived. If the projection is
// too damaged for that, it is made anew.
func (wr *writer) upgradeDerived(ctx context.Context, w *driver.Conn) error {
	if err := addDerived(ctx, w, wr.tables); err != nil {
		return err
	}
	s, err := wr.readState(w)
	if err == nil && !s.covered {
		err = wr.catchUp(w)
	}
	if err == nil {
		err = deriveAll(ctx, w, nil)
	}
	if onto.CodeOf(driver.Wrap(wr.at.Path, err)) == onto.Corrupt {
		_, err = wr.rebuild(ctx, w, nil)
	}
	return err
}

// column is a column that older files lack.
type column struct{ table, column, declaration string }

// evolvingColumns are the columns that format 3 added.
func evolvingColumns() []column {
	return []column{
		{"schema_versions", "onto_since", "INTEGER"},
		{"schema_versions", "onto_upgrader", "TEXT"},
		{"schema_versions", "onto_end", "TEXT"},
		{"onto_meta", "checksum", "TEXT"},
		{"onto_meta", "checksum_commit", "INTEGER"},
	}
}

// addColumns adds those columns that the tables lack.
func addColumns(c *driver.Conn, list []column) error {
	for _, add := range list {
		if _, err := addColumn(c, add.table, add.column, add.declaration); err != nil {
			return err
		}
	}
	return nil
}

// addColumn adds a column unless the table has it.
func addColumn(c *driver.Conn, table, column, declaration string) (bool, error) {
	has, err := hasColumns(c, table, column)
	if err != nil || has {
		return false, err
	}
	return true, c.Script(fmt.Sprintf(`ALTER TABLE %s ADD COLUMN %s %s`, table, column, declaration))
}

// hasColumns reports whether the table has all these columns.
func hasColumns(c *driver.Conn, table string, columns ...string) (bool, error) {
	for _, name := range columns {
		n, err := c.QueryInt(`SELECT count(*) FROM pragma_table_info(?) WHERE name = ?`, table, name)
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// now is the wall clock in the precision that is stored.
func (s *store) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// storedTime reads a time column. Other programs may leave out the fraction or
// the offset, and write a space for the T; what cannot be read is the zero
// time.
func storedTime(s string) time.Time {
	if t, err := codec.ParseTime(s); err == nil {
		return t
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999-07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC().Truncate(time.Microsecond)
		}
	}
	return time.Time{}
}
