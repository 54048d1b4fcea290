package laketest

import (
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/file"
)

// A log is restored and read in as much memory as a lake is allowed to take, however many
// versions a commit has, and also when its files hold many commits.
func TestArchiveMemory(t *testing.T) {
	dir, err := file.Open(t.TempDir(), nil)
	must(t, err)
	l := openPieces(t, dir, &lake.Options{StreamBytes: 1 << 20, CacheDir: t.TempDir()})
	defer l.Close()
	registerNotes(t, l)
	types, err := l.Schemas(t.Context())
	must(t, err)
	const n, bytes, commits = 12_000, 1_500, 2 // 36 MB
	before, most, seen := heap(), uint64(0), 0
	look := func() {
		if seen++; seen%5_000 == 0 {
			most = max(most, heap())
		}
	}
	for c := int64(1); c <= commits; c++ {
		must(t, l.Restore(t.Context(), &backend.Restoration{
			Since: c - 1, Types: types, Copy: func() backend.CopyState { return backend.CopyState{} },
			Log: func(yield func(backend.LogEntry, error) bool) {
				commit := onto.Commit{ID: c, Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Operations: n}
				if !yield(backend.LogEntry{Commit: &backend.LogCommit{Commit: commit}}, nil) {
					return
				}
				for w := range notes(0, n, bytes) {
					look()
					if !yield(backend.LogEntry{Version: onto.Version{Identity: w.Identity, Op: w.Op, Commit: c, SchemaVersion: 1, Fields: w.Fields}}, nil) {
						return
					}
				}
			},
		}))
	}
	for _, what := range []string{"as it was written", "compacted"} {
		got := 0
		for _, err := range l.Log(t.Context(), 0) {
			must(t, err)
			look()
			got++
		}
		if got != commits*(n+1) {
			t.Errorf("%s: got %d entries, want %d", what, got, commits*(n+1))
		}
		if what == "as it was written" {
			compactAll(t, l)
		}
	}
	if took := int64(most) - int64(before); took > 24<<20 {
		t.Errorf("it took %d MB for a log of %d MB with 1 MB allowed", took>>20, commits*n*bytes>>20)
	}
}
