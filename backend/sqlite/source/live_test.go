package source_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"original": writeAsOriginal, "copy": copyUntilKilled, "reject": rejectTwice})
	os.Exit(m.Run())
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

// A log shows whole commits while the program that has made the file commits all the time, in
// either mode, closes the file and opens it again: all that it had when the log was asked for,
// and a log that is continued goes on where the one before has ended.
func TestBesideTheOriginal(t *testing.T) {
	i := -1
	for _, mode := range []string{"WAL", "DELETE"} {
		for _, name := range []string{"plain", "original-v1", "original-v2", "format1", "format2", "format3", "format4", "format5", "format6"} {
			if i++; !effort.Includes(t, i) {
				continue
			}
			t.Run(name+" "+mode, func(t *testing.T) {
				var more []string
				if name == "plain" {
					more = []string{emptied, many}
				}
				path := load(t, name, rollback, more...)
				f := opened(t, path, source.Options{Scratch: t.TempDir(), Rejects: filepath.Join(t.TempDir(), "rejects")})
				size, err := f.LogSize(t.Context(), 0, backend.Head)
				if err != nil {
					t.Fatal(err)
				}
				beside(t, f, size.Head, name == "plain", child.Start(t, "original", path, mode))
			})
		}
	}
}

// beside reads what a log has after a commit, while a child adds to it. Every is whether it
// has made every version.
func beside(t *testing.T, f *source.File, head int64, every bool, p *child.Process) {
	t.Helper()
	written := make(chan struct{}, 1<<20)
	go func() {
		defer close(written)
		for range p.Lines() {
			written <- struct{}{}
		}
	}()
	<-written
	since, first, newest, all := int64(0), head, head+1, []string{}
	for range 20 {
		for len(written) > 0 {
			<-written
			newest++
		}
		for e, err := range f.Log(t.Context(), since) {
			if err != nil {
				t.Fatalf("after %d: %v", since, err)
			}
			all = append(all, line(&e))
			if e.Commit == nil {
				if every {
					checkMade(t, &e.Version, since)
				}
				continue
			}
			if since++; e.Commit.ID != since || (every || since > first) && e.Commit.Operations != perCommit {
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
	t.Logf("%d commits were read while they were made", since-first)
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
