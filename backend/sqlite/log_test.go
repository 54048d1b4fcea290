package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

func putTag(t *testing.T, b *sqlite.Backend, n int) {
	t.Helper()
	w := backend.Write{Identity: onto.EntityID("Tag", fmt.Sprint("t", n)), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":"t%d"}`, n), SchemaVersion: 1}
	if _, err := b.Append(t.Context(), &backend.Draft{Header: backend.Header{Actor: onto.Operator("ana")}, Writes: []backend.Write{w}}); err != nil {
		t.Fatal(err)
	}
}

// A log that is read slowly is that of its start, and does not keep the WAL from being
// written back to the file.
func TestLogInParts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	b := open(t, path, nil)
	b.ReadLogsInParts(3)
	register(t, b, tagType())
	commit := func(n int) { t.Helper(); putTag(t, b, n) }
	for n := range 20 {
		commit(n)
	}
	want, n, last := len(entries(t, b, 0)), 0, 0
	for _, err := range b.Log(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		commit(100 + n)
		if n++; n%10 != 0 {
			continue
		}
		if n == want {
			break
		}
		// What was committed before this part began can be written back.
		before := query(t, path, `PRAGMA wal_checkpoint(PASSIVE)`)
		var busy, frames, done int
		if _, err := fmt.Sscanf(before, "%d|%d|%d", &busy, &frames, &done); err != nil || done <= last {
			t.Errorf("after %d entries: got the checkpoint %q, want more frames than %d to be written back", n, before, last)
		}
		last = done
	}
	if n != want {
		t.Errorf("got %d entries, want the %d of the start", n, want)
	}
}

// A log does not go on in another store that was put in the place of the first.
func TestLogOfAReplacedStore(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "store.db"), filepath.Join(dir, "other.db")
	for _, file := range []string{backup, path} {
		b := open(t, file, nil)
		register(t, b, tagType())
		for n := range 9 {
			putTag(t, b, n)
		}
	}
	b := open(t, path, nil)
	b.ReadLogsInParts(2)
	n, failed := 0, error(nil)
	for _, err := range b.Log(t.Context(), 0) {
		if failed = err; err != nil {
			break
		}
		if n++; n == 4 {
			if _, err := sqlite.Restore(t.Context(), backup, path, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if onto.CodeOf(failed) != onto.Stale {
		t.Errorf("got %d entries and error %v, want the code %q", n, failed, onto.Stale)
	}
}
