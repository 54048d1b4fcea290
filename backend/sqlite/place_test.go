package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// public makes a directory that other users can enter and not write to.
func public(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A link leads to the file and to its WAL, also where nothing can be written.
func TestLinksLeadToTheWAL(t *testing.T) {
	dir := public(t)
	path, link := filepath.Join(dir, "real.db"), filepath.Join(public(t), "link.db")
	makeThings(t, path)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	b := open(t, link, nil)
	if _, err := b.Append(t.Context(), thingDraft("k", 1)); err != nil {
		t.Fatal(err)
	}
	asOtherUser(t, func() {
		r, err := sqlite.Open(t.Context(), link, &sqlite.Options{ReadOnly: true})
		if err != nil {
			return // an error is fine; a stale answer is not
		}
		defer r.Close()
		wantFields(t, r, onto.EntityID("Thing", "k"), backend.Head, `{"id":"k","n":1}`)
	})
}

// A read-only reader follows a writer that comes later.
func TestReadOnlyFollowsALaterWriter(t *testing.T) {
	path := filepath.Join(public(t), "store.db")
	makeThings(t, path)
	var r *sqlite.Backend
	asOtherUser(t, func() {
		var err error
		if r, err = sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true}); err != nil {
			t.Fatal(err)
		}
	})
	defer r.Close()
	for round := range 3 {
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			if _, err := b.Append(t.Context(), thingDraft(fmt.Sprintf("k%d-%d", round, i), i)); err != nil {
				t.Fatal(err)
			}
		}
		b.Close() // the WAL is gone, the file has changed
		asOtherUser(t, func() {
			head, err := r.Resolve(t.Context(), onto.Point{})
			if want := int64(50 * (round + 1)); err != nil || head.ID != want {
				t.Errorf("round %d: got head %d, error %v; want %d", round, head.ID, err, want)
			}
		})
	}
}

// A file that was replaced or removed is not written to.
func TestReplacedFile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			makeThings(t, path)
			b, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			_, err = b.Append(t.Context(), thingDraft("k", 1))
			if !errors.Is(err, onto.Unavailable) || !errors.Is(err, backend.ErrReopen) || !strings.Contains(err.Error(), "removed or replaced") {
				t.Errorf("got %v, want Unavailable", err)
			}
		})
	}
}

// Opening waits no longer than its timeout.
func TestOpenHonoursItsLimits(t *testing.T) {
	path := makeDocumentedFile(t)
	runSQL(t, path, `DROP INDEX onto_entity_history_commit; PRAGMA journal_mode = DELETE`)
	release := lockExclusively(t, path)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ctx, path, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	if _, err := sqlite.Open(t.Context(), path, &sqlite.Options{LockTimeout: 20 * time.Millisecond}); !errors.Is(err, onto.LockContention) {
		t.Errorf("locked: got %v, want LockContention", err)
	}
}

func TestEmptyPath(t *testing.T) {
	if _, err := sqlite.Open(t.Context(), "", nil); !errors.Is(err, onto.Invalid) {
		t.Errorf("got %v, want Invalid", err)
	}
}

// A file that is opened as immutable and then changes is not shown as one snapshot.
func TestReadOnlyNoticesAChange(t *testing.T) {
	path := filepath.Join(public(t), "store.db")
	makeThings(t, path)
	fill := func(n int) {
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for i := range 40 {
			if _, err := b.Append(t.Context(), thingDraft(fmt.Sprintf("k%02d", i), n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(1)
	if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
		t.Fatal(err)
	}
	var r *sqlite.Backend
	asOtherUser(t, func() {
		var err error
		if r, err = sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true}); err != nil {
			t.Fatal(err)
		}
	})
	defer r.Close()
	if err := os.Chmod(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var last error
	rows := 0
	for _, err := range r.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head}) {
		if rows++; rows == 3 {
			fill(2)
		}
		last = err
	}
	if !errors.Is(last, onto.Unavailable) {
		t.Errorf("after %d rows: got %v, want Unavailable", rows, last)
	}
}
