package archive_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
)

// A file with a version that is not as it was written is copied up to the commit before it.
// Otherwise the copy, and a comparison, end with the damage by name, and the target has what
// was durable before.
func TestUntilBeforeDamage(t *testing.T) {
	for name, damage := range map[string]string{
		"a checksum":          `UPDATE entity_history SET onto_sum = onto_sum + 1 WHERE commit_id = 6 AND entity_type = 'person'`,
		"fields":              `UPDATE entity_history SET fields_json = replace(fields_json, 'Ada', 'Eve') WHERE commit_id = 6 AND entity_type = 'person'`,
		"a relation":          `UPDATE relation_history SET onto_sum = onto_sum + 1 WHERE commit_id = 6`,
		"the type of a row":   `UPDATE entity_history SET schema_version_id = 2 WHERE commit_id = 6 AND entity_type = 'person'`,
		"the last of many":    `UPDATE entity_history SET onto_sum = onto_sum + 1 WHERE commit_id = 6 AND entity_key = 'n99'`,
		"the first of a type": `UPDATE entity_history SET onto_sum = onto_sum + 1 WHERE commit_id = 6 AND entity_key = 'n0'`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "source.db")
			b, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := openStore(t, b)
			for i := range 9 {
				id := fmt.Sprint("p", i)
				d := onto.Draft{}.Ensure(person{ID: id, Name: "Ada " + id, Age: i}, knows{Link: onto.Between[person, person](id, "p0"), Since: i})
				for n := range 100 {
					d = d.Ensure(note{ID: fmt.Sprint("n", n), Text: fmt.Sprint("of ", i)})
				}
				if _, err := s.Commit(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite3", path)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := db.Exec(damage); err != nil {
				t.Fatal(err)
			} else if n, _ := r.RowsAffected(); n != 1 {
				t.Fatalf("%d rows are damaged, want 1", n)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			from, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()

			to := memory.New(nil).OpenTarget()
			defer to.Close()
			damaged := func(what string, err error) {
				t.Helper()
				wantError(t, err, onto.Corrupt, "6")
				if onto.HintOf(err).Text == "" {
					t.Errorf("%s: the error %v has no hint", what, err)
				}
			}
			_, err = (&archive.Job{From: from, To: to}).Apply(t.Context())
			damaged("in one batch", err)
			if size, err := to.LogSize(t.Context(), 0, backend.Head); err != nil || size.Head != 0 {
				t.Errorf("in one batch: got the head %d and error %v, want an empty target", size.Head, err)
			}
			_, err = (&archive.Job{From: from, To: to, Batch: 2}).Apply(t.Context())
			damaged("in several", err)
			if size, err := to.LogSize(t.Context(), 0, backend.Head); onto.CodeOf(err) != "" || size.Head != 4 {
				t.Errorf("in several: got the head %d and error %v, want the commits up to 4", size.Head, err)
			}
			until := &archive.Job{From: from, To: to, Until: 5}
			if res := apply(t, until); res.Until != 5 {
				t.Errorf("got %+v, want the commits up to 5", res)
			}
			same(t, until, 5)
			if state, err := to.CopyState(t.Context()); err != nil || state.Unfinished {
				t.Errorf("got %+v and error %v, want a complete copy", state, err)
			}
			_, err = (&archive.Job{From: from, To: to, Until: 6}).Apply(t.Context())
			damaged("up to it", err)
			same(t, until, 5)
			apply(t, &archive.Job{From: until.From, To: memory.New(nil).OpenTarget(), Until: 5})
		})
	}
}
