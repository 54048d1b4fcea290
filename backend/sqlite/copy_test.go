package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// storeWith makes a store with so many commits.
func storeWith(t *testing.T, path string, commits int) *sqlite.Backend {
	t.Helper()
	makeThings(t, path)
	b := open(t, path, nil)
	for i := range commits {
		if _, err := b.Append(t.Context(), thingDraft(fmt.Sprintf("k%d", i+1), i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// wantFiles fails unless a directory has exactly these files, companions of
// open stores aside.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-wal") && !strings.HasSuffix(e.Name(), "-shm") {
			got = append(got, e.Name())
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got files %v, want %v", got, want)
	}
}

// A copy holds everything up to its head in one file, and no leases.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "store.db"), filepath.Join(dir, "copy.db")
	b := storeWith(t, path, 3)
	l := acquire(t, b, "nightly", "ana")
	var last, total int64
	head, err := b.CopyTo(t.Context(), copied, func(done, all int64) { last, total = done, all })
	if err != nil || head.ID != 3 {
		t.Fatalf("got head %d, error %v; want 3", head.ID, err)
	}
	info, err := os.Stat(copied)
	if err != nil || last != total || total != info.Size() {
		t.Errorf("told %d of %d bytes, error %v; want the size %d", last, total, err, info.Size())
	}
	if original, err := os.Stat(path); err != nil || original.Mode() != info.Mode() {
		t.Errorf("the copy has mode %v, want that of the original", info.Mode())
	}
	wantFiles(t, dir, "copy.db", "store.db")
	if _, err := os.Stat(copied + "-wal"); err == nil {
		t.Error("the copy has a WAL beside it")
	}
	if got := query(t, copied, `SELECT count(*), (SELECT epoch FROM onto_leases) FROM locks`); got != "0|1" {
		t.Errorf("leases and epoch in the copy: got %s, want 0|1", got)
	}
	c := open(t, copied, &sqlite.Options{ReadOnly: true})
	wantHead(t, c, 3)
	wantFields(t, c, onto.EntityID("Thing", "k2"), backend.Head, `{"id":"k2","n":2}`)
	if held, err := b.Leases(t.Context()); err != nil || len(held) != 1 || held[0] != l {
		t.Errorf("the original has leases %v, error %v; want %v", held, err, l)
	}
}

// Copies that are made during writes are whole stores of one snapshot.
func TestCopyWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	b := storeWith(t, path, 200)
	other := open(t, path, nil)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for g, handle := range []*sqlite.Backend{b, other} {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if _, err := handle.Append(t.Context(), thingDraft(fmt.Sprintf("w%d-%d", g, i), i)); err != nil {
					t.Errorf("writer %d: %v", g, err)
					return
				}
			}
		})
	}
	for i := range 5 {
		name := filepath.Join(dir, fmt.Sprintf("copy%d.db", i))
		head, err := b.CopyTo(t.Context(), name, nil)
		if err != nil {
			t.Errorf("copy %d: %v", i, err)
			continue
		}
		wantHead(t, open(t, name, nil), head.ID) // and it is checked when the test ends
	}
	stop()
	wg.Wait()
}

// A copy that cannot be finished leaves nothing behind; what exists stays.
func TestCopyRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	b := storeWith(t, path, 3)
	big := &backend.Draft{Writes: []backend.Write{{Identity: onto.EntityID("Thing", "big"), Op: onto.Put, SchemaVersion: 1,
		Fields: fmt.Appendf(nil, `{"id":"big","pad":%q}`, strings.Repeat("x", 5<<20))}}} // more pages than one step copies
	if _, err := b.Append(t.Context(), big); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(dir, "there")
	write(t, there, []byte("precious"))
	write(t, filepath.Join(dir, "lost-wal"), []byte("of another"))
	taken := filepath.Join(dir, "taken")
	cancelled, cancel := context.WithCancel(t.Context())
	for _, c := range []struct {
		name, path string
		ctx        context.Context
		progress   func(done, total int64)
		want       error
	}{
		{"exists", there, t.Context(), nil, onto.Refused},
		{"is the store", path, t.Context(), nil, onto.Refused},
		{"a WAL without its file", filepath.Join(dir, "lost"), t.Context(), nil, onto.Refused},
		{"no directory", filepath.Join(dir, "no", "copy.db"), t.Context(), nil, onto.Uninitialized},
		{"taken meanwhile", taken, t.Context(), func(int64, int64) { write(t, taken, nil) }, onto.Refused},
		{"cancelled", filepath.Join(dir, "copy.db"), cancelled, func(int64, int64) { cancel() }, context.Canceled},
		{"cancelled before", filepath.Join(dir, "copy2.db"), cancelled, nil, context.Canceled},
	} {
		_, err := b.CopyTo(c.ctx, c.path, c.progress)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	wantFiles(t, dir, "store.db", "taken", "there")
	if got := read(t, there); string(got) != "precious" {
		t.Errorf("the file that was there holds %q", got)
	}
}

// An error in the middle leaves no file.
func TestCopyFails(t *testing.T) {
	dir := t.TempDir()
	b := storeWith(t, filepath.Join(dir, "store.db"), 1)
	planted := errors.New("planted")
	b.FailAt("copy", planted)
	if _, err := b.CopyTo(t.Context(), filepath.Join(dir, "copy.db"), nil); !errors.Is(err, planted) {
		t.Errorf("got %v, want %v", err, planted)
	}
	wantFiles(t, dir, "store.db")
}
