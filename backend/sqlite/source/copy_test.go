package source_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite/source"
)

// A file is copied as any log is, in pieces and with the plan's notes, and the copy compares
// equal. Copying again once the file has grown goes on from there.
func TestCopy(t *testing.T) {
	for _, name := range []string{"format6", "adopted-v1", "original-v2", "unreadable"} {
		for _, as := range []left{walClosed, walInUse} {
			path := load(t, name, as)
			f := opened(t, path, source.Options{Rejects: filepath.Join(t.TempDir(), "rejects")})
			b := memory.New(nil).OpenTarget()
			job := archive.Job{From: f, To: b}
			plan, err := job.Plan(t.Context())
			if err != nil || len(plan.Notes) == 0 {
				t.Fatalf("%s: got the plan %+v, error %v", name, plan, err)
			}
			for range 2 {
				if _, err := job.Apply(t.Context()); err != nil {
					t.Fatalf("%s, left as %s: %v", name, as, err)
				}
				if got, err := job.Verify(t.Context()); err != nil || got.First != nil || got.Source != got.Commit {
					t.Fatalf("%s, left as %s: the copy differs: %+v, error %v", name, as, got, err)
				}
				connect(t, path, as, `INSERT INTO commits (created_at) VALUES ('2099-01-01T00:00:00+00:00');
					INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) SELECT entity_type, entity_key, fields_json, (SELECT max(id) FROM commits) FROM entity_history
					WHERE id = (SELECT max(id) FROM entity_history WHERE json_valid(fields_json) AND fields_json <> '{}')`)
			}
		}
	}
}

// Logs, sizes and types are read at once.
func TestAtOnce(t *testing.T) {
	path := load(t, "unreadable", walInUse)
	f := opened(t, path, source.Options{Rejects: filepath.Join(t.TempDir(), "rejects")})
	want := strings.Join(lines(t, f.Log(t.Context(), 0)), "\n")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			var got []string
			for e, err := range f.Log(t.Context(), 0) {
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 0 {
					if _, err := f.LogSize(t.Context(), int64(len(got)%2), backend.Head); err != nil {
						t.Error(err)
					}
				} else if _, err := f.Schemas(t.Context()); err != nil {
					t.Error(err)
				}
				got = append(got, line(&e))
			}
			if strings.Join(got, "\n") != want {
				t.Errorf("reader %d has got another log", i)
			}
		})
	}
	wg.Wait()
}

// What a transaction has changed that was cut off is not seen, and its journal stays.
func TestHotJournal(t *testing.T) {
	path := load(t, "plain", rollback, big(9, 500))
	want := lines(t, opened(t, path, source.Options{}).Log(t.Context(), 0))
	db := connect(t, path, rollback, `PRAGMA cache_size = 2; PRAGMA cache_spill = 2; BEGIN IMMEDIATE;
		UPDATE commits SET created_at = '2099-01-01T00:00:00+00:00'; UPDATE entity_history SET fields_json = replace(fields_json, '"N"', '"cut off"')`)
	cut := filepath.Join(t.TempDir(), "cut.db")
	copyFile(t, path, cut)
	copyFile(t, path+"-journal", cut+"-journal")
	if _, err := db.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(read(t, cut)), "cut off") {
		t.Fatal("the transaction has changed nothing")
	}
	before := bytesOf(t, cut, hotJournal)
	if got := lines(t, opened(t, cut, source.Options{}).Log(t.Context(), 0)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !maps.Equal(bytesOf(t, cut, hotJournal), before) {
		t.Error("the file, or its journal, has changed")
	}
}
