package source_test

import (
	"path/filepath"
	"testing"

	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/store"
)

// A copy answers what the file was answered with, but for what its plan names.
func TestCopiesAnswerAlike(t *testing.T) {
	for _, name := range fixtures(t) {
		if _, failed := recorded(t, name).(map[string]any)["error"]; failed || name == "work-items" || name == "bare" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f := opened(t, load(t, name, rollback), source.Options{Rename: renames(name), Rejects: filepath.Join(t.TempDir(), "rejects")})
			s, err := store.Open(t.Context(), copied(t, f))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			wantRecorded(t, s, name, nil)
		})
	}
}
