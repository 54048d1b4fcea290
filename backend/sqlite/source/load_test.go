package source_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

// left is the state in which a program has left a file.
type left string

// The states of a file. What is in a WAL is in it only.
const (
	rollback   left = "rollback"    // of rollback mode, closed
	hotJournal left = "hot journal" // of rollback mode; a transaction was cut off, and its journal is there
	walClosed  left = "wal closed"  // of WAL mode, closed: there is nothing beside it
	walLeft    left = "wal left"    // of WAL mode; the program was cut off, and -wal and -shm are there
	walAlone   left = "wal alone"   // the same without -shm
	walInUse   left = "wal in use"  // another connection has it open until the test ends
)

// everyLeft is each state of a file.
func everyLeft() []left {
	return []left{rollback, hotJournal, walClosed, walLeft, walAlone, walInUse}
}

// fixtures are the names of the files that can be loaded: one for each script.
func fixtures(t testing.TB) []string {
	t.Helper()
	names := []string{"original-v1", "original-v2"}
	files, err := filepath.Glob(filepath.Join("testdata", "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".sql"); name != "tables" { // others begin with it
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// script is the SQL that makes a file. A first line "-- after: FILE" names a script that
// is run before it.
func script(t testing.TB, name string) string {
	t.Helper()
	dir := "testdata"
	if strings.HasPrefix(name, "original-") {
		dir = filepath.Join("..", "testdata")
	}
	text, err := os.ReadFile(filepath.Join(dir, name+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if before, ok := strings.CutPrefix(first, "-- after: "); ok {
		return script(t, strings.TrimSuffix(before, ".sql")) + string(text)
	}
	return string(text)
}

// load makes the file of a script in a new directory, left in the given state, and returns
// its path. More SQL is run after the script.
func load(t testing.TB, name string, as left, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name+".db")
	text := script(t, name) + "\n" + strings.Join(more, "\n")
	switch as {
	case rollback, walClosed:
		build(t, path, as, text)
	case hotJournal:
		build(t, path, rollback, text)
		interrupt(t, path)
	case walInUse:
		connect(t, path, walInUse, text)
	case walLeft, walAlone:
		elsewhere := filepath.Join(t.TempDir(), name+".db")
		connect(t, elsewhere, as, text)
		copyFile(t, elsewhere, path)
		copyFile(t, elsewhere+"-wal", path+"-wal")
		if as == walLeft {
			copyFile(t, elsewhere+"-shm", path+"-shm")
		}
	}
	wantCompanions(t, path, as)
	return path
}

// build makes a file with a connection of its own, and closes it.
func build(t testing.TB, path string, as left, text string) {
	t.Helper()
	if err := connect(t, path, as, text).Close(); err != nil {
		t.Fatal(err)
	}
}

// connect makes a file, and returns the connection, which is open until it is closed or
// the test ends. In WAL mode nothing is checkpointed before.
func connect(t testing.TB, path string, as left, text string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	mode := "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0"
	if as == rollback {
		mode = "PRAGMA journal_mode = DELETE"
	}
	for _, statement := range []string{"PRAGMA synchronous = OFF", mode, text} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return db
}

// interrupt begins a transaction that changes every page, and leaves the file as it is
// when the program that runs it is cut off: changed, with a journal that leads back.
func interrupt(t testing.TB, path string) {
	t.Helper()
	work := filepath.Join(t.TempDir(), "work.db")
	copyFile(t, path, work)
	db, err := sql.Open("sqlite3", work)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		`PRAGMA cache_size = 2`, `PRAGMA cache_spill = 2`, `BEGIN IMMEDIATE`,
		`CREATE TABLE cut_off AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, hex(randomblob(400)) AS text FROM n`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	before := read(t, path)
	copyFile(t, work, path)
	copyFile(t, work+"-journal", path+"-journal")
	if bytes.Equal(before, read(t, path)) {
		t.Fatalf("%s: the transaction that was cut off has changed nothing", path)
	}
	if journal := read(t, path+"-journal"); len(journal) < 12 || binary.BigEndian.Uint32(journal[8:]) == 0 {
		t.Fatalf("%s: the journal is not hot", path)
	}
}

// wantCompanions fails unless exactly those files are beside one that its state has.
func wantCompanions(t testing.TB, path string, as left) {
	t.Helper()
	want := map[left][]string{hotJournal: {"-journal"}, walLeft: {"-wal", "-shm"}, walAlone: {"-wal"}, walInUse: {"-wal", "-shm"}}[as]
	for _, suffix := range []string{"-journal", "-wal", "-shm"} {
		_, err := os.Stat(path + suffix)
		if slices.Contains(want, suffix) != (err == nil) {
			t.Fatalf("%s, left as %s: %s: %v", path, as, suffix, err)
		}
	}
}

// bytesOf is what is in the directory of a file, by name. In use, the index of a WAL
// holds the marks of readers, which come and go: it is left out.
func bytesOf(t testing.TB, path string, as left) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(path), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[filepath.Base(name)] = string(read(t, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if as == walInUse {
		all[filepath.Base(path)+"-shm"] = ""
	}
	return all
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every file can be made in every state, and SQLite reads the same from each.
func TestLoad(t *testing.T) {
	for _, name := range fixtures(t) {
		var want string
		for _, as := range everyLeft() {
			got := tables(t, load(t, name, as))
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s, left as %s: got\n%s\nwant\n%s", name, as, got, want)
			}
		}
	}
}

// tables is every row of the tables that are not derived, as SQLite shows them.
func tables(t testing.TB, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	column := func(statement string) []string {
		rows, err := db.QueryContext(context.Background(), statement)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer rows.Close()
		var list []string
		for rows.Next() {
			var text sql.NullString
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			list = append(list, text.String)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return list
	}
	all := column(`PRAGMA integrity_check`)
	for _, name := range []string{"commits", "entity_history", "relation_history", "schema_registry", "work_items", "cut_off"} {
		for _, columns := range column(`SELECT group_concat('quote("' || name || '")', ' || '','' || ') FROM pragma_table_info('` + name + `') HAVING count(*) > 0`) {
			all = append(all, name)
			all = append(all, column(`SELECT `+columns+` FROM "`+name+`" ORDER BY rowid`)...)
		}
	}
	return strings.Join(all, "\n")
}
