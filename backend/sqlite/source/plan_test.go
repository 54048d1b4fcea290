package source_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ontologia/onto/backend/sqlite/source"
)

// Rows and commits with the least of all ids are not passed over, and what refers to commits
// below 1 goes with them, also where the last commit keeps its id.
func TestTheLeastIds(t *testing.T) {
	script := fmt.Sprintf(`PRAGMA foreign_keys = OFF; ALTER TABLE commits ADD COLUMN causation_id INTEGER; DELETE FROM relation_history;
		UPDATE commits SET id = 3, causation_id = 1 WHERE id = 2; UPDATE entity_history SET commit_id = 3 WHERE commit_id = 2;
		INSERT INTO commits (id, created_at) VALUES (%[1]d, '2025-01-01T00:00:00+00:00'); UPDATE commits SET causation_id = %[1]d WHERE id = 1;
		UPDATE entity_history SET commit_id = %[1]d, id = %[1]d WHERE entity_key = 'c2'`, math.MinInt64)
	f := opened(t, load(t, "plain", rollback, script), source.Options{})
	var got []string
	for range 2 { // what is planned is not planned again
		got = nil
		for e, err := range f.Log(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Commit != nil {
				got = append(got, fmt.Sprintf("%d of %d:", e.Commit.ID, e.Commit.Causation))
			} else {
				got = append(got, e.Version.Key)
			}
		}
	}
	if got, want := strings.Join(got, " "), "1 of 0: c2 2 of 1: c1 3 of 2: c1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	copied(t, f)
}
