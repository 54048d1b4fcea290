package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
)

// makeOlder gives a closed file format 7.
func makeOlder(t *testing.T, path string) {
	t.Helper()
	runSQL(t, path, `ALTER TABLE entity_current DROP COLUMN created_commit_id;
		ALTER TABLE fact_current DROP COLUMN created_commit_id;
		ALTER TABLE relation_current DROP COLUMN created_commit_id;
		UPDATE onto_meta SET format = format - 1; PRAGMA wal_checkpoint(TRUNCATE)`)
}

// lived is past with many lives after it: also deletes of what is deleted or never was, which
// a log can have.
func lived(t *testing.T) *memory.Backend {
	t.Helper()
	b := past(t)
	head, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 8))
	var list []backend.LogEntry
	for id := head.ID + 1; id <= head.ID+40; id++ {
		commit := &backend.LogCommit{Commit: onto.Commit{ID: id, Time: head.Time.Add(time.Duration(id) * time.Hour)}}
		list = append(list, backend.LogEntry{Commit: commit})
		for _, key := range strings.Split("abcdefgh", "") {
			v := onto.Version{Identity: onto.EntityID("Memo", key), Commit: id, Op: onto.Put, SchemaVersion: 1, Fields: fmt.Appendf(nil, `{"id":%q,"title":"%d"}`, key, id)}
			switch random.IntN(8) {
			case 0:
				v.Op, v.Fields = onto.Delete, []byte(`{}`)
			case 1:
			default:
				continue
			}
			commit.Operations++
			list = append(list, backend.LogEntry{Version: v})
		}
	}
	err = b.Restore(t.Context(), &backend.Restoration{Since: head.ID, Types: all, Copy: func() backend.CopyState { return backend.CopyState{} }, Log: logOf(list)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// makeLived copies such a store to a file.
func makeLived(t *testing.T, source *memory.Backend) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Target: true})
	if err != nil {
		t.Fatal(err)
	}
	copyAll(t, source, b, 7)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantLives compares when all lives began, as of each commit.
func wantLives(t *testing.T, got, want backend.Backend) {
	t.Helper()
	all, err := want.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head, err := want.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		q := backend.FirstsQuery{Kind: s.Schema.Kind, Type: s.Schema.Name}
		for v, err := range want.Scan(t.Context(), &backend.Query{Kind: q.Kind, Type: q.Type, Mode: backend.History, At: backend.Head}) {
			if err != nil {
				t.Fatal(err)
			}
			q.IDs = append(q.IDs, v.Identity)
		}
		slices.SortFunc(q.IDs, onto.Identity.Compare)
		q.IDs = slices.Compact(q.IDs)
		for q.At = backend.Head; q.At <= head.ID+1; q.At++ {
			g, err := got.Firsts(t.Context(), &q)
			w, wantErr := want.Firsts(t.Context(), &q)
			if err != nil || wantErr != nil || !slices.Equal(g, w) {
				t.Fatalf("%s as of %d: got %v, error %v; want %v, error %v", q.Type, q.At, g, err, w, wantErr)
			}
		}
	}
}

// formatOf reads the format, and leaves the file as it is.
func formatOf(t *testing.T, path string) string {
	t.Helper()
	return query(t, path, `SELECT format FROM onto_meta`)
}

// columnsOf is the columns of the tables of a file, sorted.
func columnsOf(t *testing.T, path string) string {
	t.Helper()
	return query(t, path, `SELECT m.name, x.name, x.type, x."notnull", x.dflt_value, x.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) x WHERE m.type = 'table' ORDER BY 1, 2`)
}

// A file of format 7 is read as it is, and no byte of it changes.
func TestOlderFormatIsRead(t *testing.T) {
	source := lived(t)
	path := makeLived(t, source)
	makeOlder(t, path)
	runSQL(t, path, `PRAGMA journal_mode = DELETE`)
	before := folder(t, path)
	b := opened(t, path, &sqlite.Options{ReadOnly: true})
	wantLives(t, b, source)
	wantSame(t, b, source)
	backendtest.Check(t, b)
	copied := filepath.Join(t.TempDir(), "copy.db")
	if _, err := b.CopyTo(t.Context(), copied, nil); err != nil || formatOf(t, copied) != "7" {
		t.Errorf("a copy has format %s, error %v; want 7", formatOf(t, copied), err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if after := folder(t, path); after != before {
		t.Errorf("the files were\n%s, and are\n%s", before, after)
	}
}

// The first opening for writing upgrades a file of format 7, beside handles that read it:
// they see the same before and after.
func TestUpgrade(t *testing.T) {
	source := lived(t)
	path := makeLived(t, source)
	fresh := columnsOf(t, path)
	made := query(t, path, `SELECT entity_type, entity_key, created_commit_id FROM entity_current ORDER BY 1, 2`)
	if !strings.Contains(made, "|2") && strings.Count(made, "|\n") == strings.Count(made, "\n") {
		t.Fatalf("nothing was created again: %s", made)
	}
	makeOlder(t, path)
	reading := open(t, path, &sqlite.Options{ReadOnly: true})
	wantLives(t, reading, source)
	next, stop := scanningMemos(t, reading)
	defer stop()
	next()
	b := open(t, path, nil)
	if got := formatOf(t, path); got != "8" {
		t.Errorf("the format is %s, want 8", got)
	}
	if got := columnsOf(t, path); got != fresh {
		t.Errorf("the columns are\n%s, and those of a new file\n%s", got, fresh)
	}
	if got := query(t, path, `SELECT entity_type, entity_key, created_commit_id FROM entity_current ORDER BY 1, 2`); got != made {
		t.Errorf("the projection has\n%s, want\n%s", got, made)
	}
	next()
	for _, handle := range []*sqlite.Backend{b, reading, open(t, path, nil)} {
		wantLives(t, handle, source)
		wantSame(t, handle, source)
	}
}

// scanningMemos reads memos one by one in one read.
func scanningMemos(t *testing.T, b *sqlite.Backend) (next, stop func()) {
	t.Helper()
	pull, stop := iter.Pull2(b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Memo", Mode: backend.History, At: backend.Head}))
	return func() {
		t.Helper()
		if _, err, ok := pull(); err != nil || !ok {
			t.Fatalf("the read has ended, error %v", err)
		}
	}, stop
}

// A copy that has not ended is upgraded only by the one that continues it.
func TestUpgradeOfAnUnfinishedCopy(t *testing.T) {
	source := lived(t)
	path := filepath.Join(t.TempDir(), "store.db")
	b := opened(t, path, &sqlite.Options{Target: true})
	if err := b.Restore(t.Context(), restoration(t, source, 0, 20)); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	makeOlder(t, path)
	runSQL(t, path, `PRAGMA journal_mode = DELETE`)
	before := read(t, path)
	if _, err := sqlite.Open(t.Context(), path, nil); !errors.Is(err, onto.CopyUnfinished) {
		t.Errorf("got error %v, want CopyUnfinished", err)
	}
	if string(read(t, path)) != string(before) {
		t.Error("the refused file was changed")
	}
	b = open(t, path, &sqlite.Options{Target: true})
	if got := formatOf(t, path); got != "1000008" {
		t.Errorf("the format is %s, want 1000008", got)
	}
	copyAll(t, source, b, 0)
	wantLives(t, b, source)
}

// What a file of format 7 lacks besides is brought back with the upgrade, and so is the column
// if it was dropped.
func TestUpgradeOfWhatLacksMore(t *testing.T) {
	source := lived(t)
	for name, damage := range map[string]string{
		"an index":        `DROP INDEX onto_entity_history_commit`,
		"a table":         `DROP TABLE onto_entity_past`,
		"a column":        `ALTER TABLE onto_leases DROP COLUMN note`,
		"two tables":      `DROP TABLE fact_current; DROP TABLE onto_leases`,
		"one new column":  `ALTER TABLE relation_current DROP COLUMN created_commit_id`,
		"all new columns": `UPDATE onto_meta SET format = 8`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := makeLived(t, source)
			if name != "one new column" {
				makeOlder(t, path)
			}
			runSQL(t, path, damage)
			b := open(t, path, nil)
			if got := formatOf(t, path); got != "8" {
				t.Errorf("the format is %s, want 8", got)
			}
			wantLives(t, b, source)
		})
	}
}

// An upgrade that fails or is cancelled leaves the file as it was.
func TestUpgradeThatFails(t *testing.T) {
	source := lived(t)
	path := makeLived(t, source)
	makeOlder(t, path)
	schema := query(t, path, `SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	boom := errors.New("boom")
	for _, c := range []struct {
		point string
		fail  func() error
		want  error
	}{
		{"upgrade", func() error { cancel(); return nil }, context.Canceled},
		{"upgrade", func() error { return boom }, boom},
		{"commit", func() error { return boom }, boom},
	} {
		with := t.Context()
		if c.want == context.Canceled {
			with = ctx
		}
		_, err := sqlite.OpenReaching(with, path, func(point string) error {
			if point == c.point {
				return c.fail()
			}
			return nil
		})
		if !errors.Is(err, c.want) {
			t.Errorf("at %s: got error %v, want %v", c.point, err, c.want)
		}
		if got := formatOf(t, path); got != "7" {
			t.Errorf("at %s: the format is %s, want 7", c.point, got)
		}
		if got := query(t, path, `SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2`); got != schema {
			t.Errorf("at %s: the tables are\n%s, and were\n%s", c.point, got, schema)
		}
	}
	wantLives(t, open(t, path, nil), source)
}

// While a program of the older format writes, the upgrade waits for it; what it wrote is there,
// and it is refused from then on.
func TestUpgradeBesideAnOlderWriter(t *testing.T) {
	source := lived(t)
	path := makeLived(t, source)
	makeOlder(t, path)
	other, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	exec := func(statement string) {
		t.Helper()
		if _, err := other.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	exec(`BEGIN IMMEDIATE; UPDATE onto_meta SET derived = 4711`)
	if _, err := sqlite.Open(t.Context(), path, &sqlite.Options{LockTimeout: 20 * time.Millisecond}); !errors.Is(err, onto.LockContention) {
		t.Errorf("got error %v, want LockContention", err)
	}
	done := make(chan error)
	go func() {
		b, err := sqlite.Open(context.Background(), path, &sqlite.Options{LockTimeout: time.Minute})
		if err == nil {
			err = b.Close()
		}
		done <- err
	}()
	exec(`COMMIT`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := query(t, path, `SELECT format, derived FROM onto_meta`); got != "8|4711" {
		t.Errorf("got %s, want the upgraded file with what the other program wrote", got)
	}
	wantLives(t, open(t, path, nil), source)
}

// A handle that meets format 7 after it was opened, as when an older program has restored a
// backup, reads on and writes nothing.
func TestOlderFormatUnderAHandle(t *testing.T) {
	source := lived(t)
	path := makeLived(t, source)
	b := opened(t, path, nil)
	wantLives(t, b, source)
	makeOlder(t, path)
	wantLives(t, b, source)
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{asMemo(putNote("new", ""))}}); !errors.Is(err, onto.Unsupported) || !errors.Is(err, backend.ErrReopen) || onto.HintOf(err).Text == "" {
		t.Errorf("got error %v, want Unsupported with a hint to open it again", err)
	}
	wantLives(t, open(t, path, nil), source)
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{asMemo(putNote("new", ""))}}); err != nil {
		t.Errorf("after the upgrade: %v", err)
	}
}

// A backup of format 7 is restored to a new place and over a store, and stays as it is. A plan
// changes nothing, also where the store is of format 7.
func TestRestoreOfAnOlderFormat(t *testing.T) {
	source := lived(t)
	saved, present, to := makeLived(t, source), makeLived(t, past(t)), filepath.Join(t.TempDir(), "new.db")
	for _, path := range []string{saved, present} {
		makeOlder(t, path)
		runSQL(t, path, `PRAGMA journal_mode = DELETE`)
	}
	before := read(t, saved)
	if _, err := sqlite.PlanRestore(t.Context(), saved, present); err != nil || formatOf(t, present) != "7" {
		t.Errorf("after a plan: format %s, error %v", formatOf(t, present), err)
	}
	for _, target := range []string{to, present} {
		if _, err := sqlite.Restore(t.Context(), saved, target, nil); err != nil {
			t.Fatal(err)
		}
		if got := formatOf(t, target); got != "8" {
			t.Errorf("the format is %s, want 8", got)
		}
		wantLives(t, open(t, target, nil), source)
	}
	if string(read(t, saved)) != string(before) {
		t.Error("the backup has changed")
	}
}

// A wrong value in the projection is found, and a rebuild mends it.
func TestCheckOfCreatedCommits(t *testing.T) {
	source := lived(t)
	sound := makeLived(t, source)
	again := query(t, sound, `SELECT entity_key FROM entity_current WHERE created_commit_id > 0 LIMIT 1`)
	gone := query(t, sound, `SELECT entity_key FROM entity_current WHERE entity_type = 'Memo' AND op = 'delete' LIMIT 1`)
	if again == "" || gone == "" {
		t.Fatalf("none was created again, or none is deleted")
	}
	for _, damage := range []string{
		`UPDATE entity_current SET created_commit_id = created_commit_id + 1 WHERE entity_key = '` + again + `'`,
		`UPDATE entity_current SET created_commit_id = NULL WHERE entity_key = '` + again + `'`,
		`UPDATE entity_current SET created_commit_id = x'ff' WHERE entity_key = '` + again + `'`,
		`UPDATE entity_current SET created_commit_id = 3 WHERE entity_key = '` + gone + `'`,
		`UPDATE entity_current SET created_commit_id = 1 WHERE entity_type = 'Person'`,
		`UPDATE fact_current SET created_commit_id = 2 WHERE fact_id = 'f1'`,
		`UPDATE relation_current SET created_commit_id = 'x' WHERE left_key = 'c'`,
	} {
		path := copyStore(t, sound)
		runSQL(t, path, damage)
		if got := findings(t, path); !slices.Contains(got, "projection_differs") {
			t.Errorf("%s: got findings %v, want projection_differs", damage, got)
		}
		b := open(t, path, nil)
		if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		wantLives(t, b, source)
	}
}
