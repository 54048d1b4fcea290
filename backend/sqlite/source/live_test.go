package source_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"original": writeAsOriginal, "copy": copyUntilKilled})
	os.Exit(m.Run())
}

// perCommit is how many versions each commit of the child has, and mostCommits about how
// many it makes.
const (
	perCommit   = 6
	mostCommits = 8000
)

// writeAsOriginal commits to a file as the original program does, until it is killed, and
// prints the id of each commit. From time to time it closes the file and opens it again. It
// rests once there are mostCommits, or as many as are given, since a slower reader could not
// catch up.
func writeAsOriginal(args []string) error {
	path, mode, most := args[0], args[1], int64(mostCommits)
	if len(args) > 2 {
		most, _ = strconv.ParseInt(args[2], 10, 64)
	}
	for {
		db, err := sql.Open("sqlite3", path+"?_busy_timeout=30000&_foreign_keys=on")
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(`PRAGMA journal_mode = ` + mode + `; PRAGMA wal_autocheckpoint = 20; PRAGMA synchronous = OFF`); err != nil {
			return err
		}
		for range 200 {
			id, err := commitAsOriginal(db)
			if err != nil {
				return err
			}
			fmt.Println(id)
			if id > most {
				_, err := io.Copy(io.Discard, os.Stdin) // until it is killed
				return err
			}
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
}

// commitAsOriginal makes one commit, with its lock. The versions say which commit they are of.
func commitAsOriginal(db *sql.DB) (id int64, err error) {
	ctx := context.Background()
	c, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	now := func() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00") }
	run := func(statement string, args ...any) sql.Result {
		var r sql.Result
		if err == nil {
			r, err = c.ExecContext(ctx, statement, args...)
		}
		return r
	}
	run(`DELETE FROM locks WHERE lock_name = ? AND expires_at < ?`, "ontology_write", now())
	run(`INSERT OR REPLACE INTO locks (lock_name, owner_id, acquired_at, expires_at) VALUES ('ontology_write', 'python', ?, '9999')`, now())
	run(`BEGIN IMMEDIATE`)
	r := run(`INSERT INTO commits (created_at, metadata_json) VALUES (?, ?)`, now(), `{"namespace": "default"}`)
	if err == nil {
		id, err = r.LastInsertId()
	}
	for i := range perCommit {
		if i == 0 {
			run(`INSERT INTO relation_history (relation_type, left_key, right_key, instance_key, fields_json, commit_id, schema_version_id) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				"Likes", fmt.Sprint("c", id%7), "c1", "", "{}", id, 1)
			continue
		}
		run(`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES (?, ?, ?, ?, ?)`,
			"Customer", fmt.Sprintf("c%d-%d", id%7, i), fmt.Sprintf(`{"odd": 1.0, "tags": [%q], "name": "N %d", "id": "c%d-%d", "age": null}`, strings.Repeat("x", 900), id, id%7, i), id, 1)
	}
	run(`COMMIT`)
	run(`DELETE FROM locks WHERE lock_name = ? AND owner_id = ?`, "ontology_write", "python")
	return id, err
}

// emptied leaves a file its types only, and many gives it commits as the child makes them:
// reading them takes several transactions.
const (
	emptied = `DELETE FROM entity_history; DELETE FROM relation_history; DELETE FROM commits; DELETE FROM sqlite_sequence;`
	many    = `CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT i FROM n;
		INSERT INTO commits SELECT i, '2025-01-02T03:04:05.123456+00:00', NULL FROM n;
		INSERT INTO relation_history (relation_type, left_key, right_key, fields_json, commit_id) SELECT 'Likes', 'x', 'y', '{}', i FROM n;
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) SELECT 'Customer', 'e' || j.i, '{"id": "e' || j.i || '", "odd": 1, "tags": [], "name": "N ' || n.i || '"}', n.i
			FROM n JOIN n j ON j.i <= 5 ORDER BY n.i, j.i;`
)

// A log shows whole commits while the original program commits all the time, in either mode,
// closes the file and opens it again: all that it had when the log was asked for, and a log
// that is continued goes on where the one before has ended.
func TestBesideTheOriginal(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			path := load(t, "plain", rollback, emptied, many)
			p := child.Start(t, "original", path, mode)
			written := make(chan int64, 1<<20)
			go func() {
				defer close(written)
				for line := range p.Lines() {
					if id, err := strconv.ParseInt(line, 10, 64); err == nil {
						written <- id
					}
				}
			}()
			newest := <-written
			f, err := source.Open(t.Context(), path, &source.Options{Scratch: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			since, all := int64(0), []string{}
			for range effort.Count(t, 100) {
				for len(written) > 0 {
					newest = <-written
				}
				for e, err := range f.Log(t.Context(), since) {
					if err != nil {
						t.Fatalf("after %d: %v", since, err)
					}
					all = append(all, line(&e))
					if e.Commit == nil {
						checkMade(t, &e.Version, since)
						continue
					}
					if since++; e.Commit.ID != since || e.Commit.Operations != perCommit {
						t.Fatalf("got commit %d with %d versions, want %d with %d", e.Commit.ID, e.Commit.Operations, since, perCommit)
					}
				}
				if since < newest {
					t.Fatalf("the log ends with commit %d, and %d was there before", since, newest)
				}
			}
			p.End()
			rest := lines(t, f.Log(t.Context(), 0))
			if len(rest) < len(all) || strings.Join(rest[:len(all)], "\n") != strings.Join(all, "\n") {
				t.Error("what was read beside the original is not what the file has")
			}
			t.Logf("%d commits were read while they were made", since)
		})
	}
}

func checkMade(t testing.TB, v *onto.Version, commit int64) {
	t.Helper()
	if v.Commit != commit || v.Kind == onto.KindEntity && !strings.Contains(string(v.Fields), fmt.Sprintf(`"name":"N %d"`, commit)) {
		t.Fatalf("among those of commit %d: %s", commit, v)
	}
}

// A log whose commits or types are changed under it, while it is read in several
// transactions, ends with Stale.
func TestTheLogChangesMeanwhile(t *testing.T) {
	const deletes = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 11999)
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id, op)
		SELECT 'Customer', 'k' || i, '{}', 1 + i / 1000, 1, 'delete' FROM n;`
	for name, change := range map[string]string{
		"a commit":     `UPDATE commits SET created_at = '2099-01-01T00:00:00+00:00' WHERE id = (SELECT max(id) FROM commits)`,
		"another row":  `INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES ('Customer', 'late', '{}', 2)`,
		"a purge":      `UPDATE schema_versions SET onto_end = '{"commit": 44, "purged": true, "time": "2026-01-01T00:00:00Z"}' WHERE type_name = 'Product'`,
		"another file": `UPDATE onto_meta SET store_id = 'other'`,
	} {
		path := load(t, "format6", walInUse, deletes)
		f := opened(t, path, source.Options{})
		n := 0
		err := failure(func(yield func(backend.LogEntry, error) bool) {
			for e, err := range f.Log(t.Context(), 0) {
				if n++; n == 1 {
					connect(t, path, walInUse, change)
				}
				if !yield(e, err) {
					return
				}
			}
		})
		if !errors.Is(err, onto.Stale) || n < 5000 || onto.HintOf(err).Text == "" {
			t.Errorf("%s: after %d entries got %v (hint %q), want Stale", name, n, err, onto.HintOf(err))
		}
	}
}

// The original program is killed again and again. Whatever it leaves behind, its file is read
// to the last commit that it has acknowledged, and stays as it was.
func TestAfterTheOriginalWasKilled(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			path := load(t, "plain", rollback, emptied)
			random := effort.Rand(t)
			for range effort.Count(t, 50) {
				p := child.Start(t, "original", path, mode)
				newest, stop := int64(0), 1+random.IntN(60)
				for line := range p.Lines() {
					id, err := strconv.ParseInt(line, 10, 64)
					if err != nil {
						t.Fatalf("the child says %s", line)
					}
					if newest = id; stop == 0 {
						break
					}
					stop--
				}
				p.End()
				as := left(mode)
				before := bytesOf(t, path, as)
				f := opened(t, path, source.Options{Scratch: t.TempDir()})
				var last *backend.LogCommit
				for e, err := range f.Log(t.Context(), 0) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Commit != nil {
						last = e.Commit
					} else {
						checkMade(t, &e.Version, last.ID)
					}
				}
				if last.ID < newest || last.Operations != perCommit {
					t.Errorf("the log ends with commit %d, and %d was acknowledged", last.ID, newest)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				if after := bytesOf(t, path, as); fmt.Sprint(len(after)) != fmt.Sprint(len(before)) {
					t.Errorf("got %d files, and there were %d", len(after), len(before))
				} else {
					for name, data := range before {
						if after[name] != data {
							t.Errorf("%s has changed", name)
						}
					}
				}
				if _, err := os.Stat(filepath.Dir(path)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
