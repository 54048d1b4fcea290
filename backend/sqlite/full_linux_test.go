package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
)

// layouts are files of a store as they may lie on a disk that has become full.
// The store has 5 commits; the WAL, where there is one, has some of them.
func layouts() map[string]map[string]int {
	const all, none = -1, 0 // bytes of the companion
	return map[string]map[string]int{
		"closed":                            {},
		"after an open that failed":         {"-wal": none, "-shm": 3},
		"killed":                            {"-wal": all, "-shm": all},
		"killed, after an open that failed": {"-wal": all, "-shm": 3},
		"killed, and the index is missing":  {"-wal": all},
	}
}

// layOut copies files of a store to a directory.
func layOut(t *testing.T, dir string, files map[string]int) string {
	t.Helper()
	seed := filepath.Join(t.TempDir(), "seed.db")
	b := storeWith(t, seed, 5)
	if len(files) == 0 || files["-wal"] == 0 { // a copy needs no WAL
		copied := seed + ".copy"
		if _, err := b.CopyTo(t.Context(), copied, nil); err != nil {
			t.Fatal(err)
		}
		runSQL(t, copied, `PRAGMA journal_mode = WAL`)
		seed = copied
	}
	path := filepath.Join(dir, "store.db")
	write(t, path, read(t, seed))
	for suffix, size := range files {
		var data []byte
		if size != 0 {
			data = read(t, filepath.Join(filepath.Dir(seed), "seed.db")+suffix)
		}
		if size > 0 {
			data = data[:size]
		}
		write(t, path+suffix, data)
	}
	return path
}

// listFiles returns names and sizes.
func listFiles(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "%s %d\n", e.Name(), info.Size())
	}
	return list.String()
}

// readFull reads a store on a full disk in all ways there are, and writes to it
// when there is room again. Elsewhere is a directory on another volume; "" if
// nothing can be written there either.
func readFull(t *testing.T, path, elsewhere string, fill func(t *testing.T) (free func())) {
	t.Helper()
	dir := filepath.Dir(path)
	free := fill(t)
	before := listFiles(t, dir)
	if info, err := os.Stat(path + "-shm"); err != nil || info.Size() < 32<<10 {
		if b, err := sqlite.Open(t.Context(), path, nil); !errors.Is(err, onto.Full) || onto.HintOf(err).Text == "" {
			t.Errorf("to write: got %v, %v; want Full with a hint", b, err)
		}
		if after := listFiles(t, dir); after != before {
			t.Errorf("an open that failed leaves\n%s, not\n%s", after, before)
		}
	}

	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("to read: %v", err)
	}
	things := 0
	for v, err := range b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Get(t.Context(), v.Identity, 5); err != nil { // beside the other read
			t.Error(err)
		}
		things++
	}
	if things != 6 {
		t.Errorf("got %d things, want 6", things)
	}
	backendtest.Check(t, b)
	if elsewhere != "" {
		copied := filepath.Join(elsewhere, "copy.db")
		if head, err := b.CopyTo(t.Context(), copied, nil); err != nil || head.ID != 5 || headOf(t, copied) != 5 {
			t.Errorf("the copy has head %d, error %v; want 5", head.ID, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	after := strings.Replace(listFiles(t, dir), "store.db-shm 0\n", "", 1)
	if after != before && !strings.Contains(before, fmt.Sprintf("-shm %d", 32<<10)) { // SQLite makes that one anew
		t.Errorf("reading leaves\n%s, not\n%s", after, before)
	}

	free()
	w := open(t, path, nil)
	if r, err := w.Append(t.Context(), thingDraft("after", 1)); err != nil || r.ID != 6 {
		t.Errorf("with room again: got commit %d, error %v; want 6", r.ID, err)
	}
}

// Where no file can grow, a store is read all the same.
func TestReadWithFileSizeLimit(t *testing.T) {
	if !child.Alone(t) {
		return
	}
	for name, files := range layouts() {
		t.Run(name, func(t *testing.T) {
			path := layOut(t, t.TempDir(), files)
			readFull(t, path, "", func(t *testing.T) func() { return child.LimitFiles(t, 4096) })
		})
	}
}

// The operating system refuses to let the files grow.
func TestFileSizeLimit(t *testing.T) {
	if !child.Alone(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "limited.db")
	makeThings(t, path)
	b := open(t, path, nil)
	free := child.LimitFiles(t, 200<<10)
	var err error
	kept := int64(0)
	for i := 0; err == nil && i < 1000; i++ {
		var r onto.Result
		if r, err = b.Append(t.Context(), thingDraft(fmt.Sprintf("k%d-%s", i, strings.Repeat("x", 500)), i)); err == nil {
			kept = r.ID
		}
	}
	free()
	if !errors.Is(err, onto.Full) {
		t.Fatalf("got %v, want Full", err)
	}
	if r, err := b.Append(t.Context(), thingDraft("after", 1)); err != nil || r.ID != kept+1 {
		t.Errorf("without the limit: got commit %d, error %v; want %d", r.ID, err, kept+1)
	}
}

// Without room for it there is no copy.
func TestCopyWithoutRoom(t *testing.T) {
	if !child.Alone(t) {
		return
	}
	dir := t.TempDir()
	b := storeWith(t, filepath.Join(dir, "store.db"), 300)
	free := child.LimitFiles(t, 100<<10)
	_, err := b.CopyTo(t.Context(), filepath.Join(dir, "copy.db"), nil)
	free()
	if !errors.Is(err, onto.Full) || onto.HintOf(err).Text == "" {
		t.Errorf("got %v, want Full with a hint", err)
	}
	wantFiles(t, dir, "store.db")
	if _, err := b.CopyTo(t.Context(), filepath.Join(dir, "copy.db"), nil); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// On a full disk a store is read, examined and copied to another one, and
// nothing is left behind. That needs a small volume; where none can be mounted
// this is left out, unless ONTO_REQUIRE names tmpfs.
func TestReadOnAFullDisk(t *testing.T) {
	dir, ok := child.Volumes(t)
	if !ok {
		return
	}
	for name, files := range layouts() {
		t.Run(name, func(t *testing.T) {
			child.Mount(t, dir, "1m")
			readFull(t, layOut(t, dir, files), t.TempDir(), func(t *testing.T) func() { return fillVolume(t, dir) })
		})
	}
}

// fillVolume takes all the room of a volume.
func fillVolume(t *testing.T, dir string) (free func()) {
	t.Helper()
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("to fill the volume: %v", err)
	}
	return func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}
