package store_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// pebble is a thing.
type pebble struct {
	ID string `onto:"key"`
	N  int
}

// A program that runs for long compares the store with what it was when the last one ended, and
// keeps what it is when it ends itself, unless there is a difference.
func TestRecheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	run := func(commit bool) (codes []string) {
		t.Helper()
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), b, onto.TypeOf[pebble]())
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		s.Recheck(func(f onto.Finding) {
			mu.Lock()
			defer mu.Unlock()
			codes = append(codes, f.Code)
		})
		s.Recheck(func(onto.Finding) { t.Error("a second call begins anew") })
		s.AwaitRecheck()
		if commit {
			head, err := s.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Commit(t.Context(), onto.Draft{}.Ensure(pebble{"a", int(head.ID) + 1})); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return codes
	}
	kept := func() (commit int64) {
		t.Helper()
		b, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		_, commit, err = b.Checksum(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return commit
	}
	for i := int64(1); i <= 3; i++ {
		if got := run(true); got != nil || kept() != i {
			t.Fatalf("run %d: found %v, and kept the checksum of commit %d", i, got, kept())
		}
	}
	if got := run(false); got != nil || kept() != 3 {
		t.Errorf("a run without a commit: found %v", got)
	}
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE entity_current SET fields = jsonb('{"id":"a","n":99}')`); err != nil {
		t.Fatal(err)
	}
	if got := run(true); !slices.Equal(got, []string{"projection_checksum"}) || kept() != 3 {
		t.Errorf("after an edit: found %v, and kept the checksum of commit %d, want that of commit 3", got, kept())
	}
}

// A store whose backend keeps no checksums is fine.
func TestRecheckOfNothing(t *testing.T) {
	s, err := store.Open(t.Context(), memory.New(nil).Open(), onto.TypeOf[pebble]())
	if err != nil {
		t.Fatal(err)
	}
	s.Recheck(func(f onto.Finding) { t.Errorf("found %v", f) })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
