package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
)

// A full disk fails the commit that does not fit, whole, and the store works when there
// is room again.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "full.db")
	makeThings(t, path)
	b := open(t, path, nil)
	if err := b.Exec(`PRAGMA max_page_count = 60`); err != nil {
		t.Fatal(err)
	}
	kept := int64(0)
	var err error
	for i := 0; err == nil; i++ {
		var r onto.Result
		if r, err = b.Append(t.Context(), thingDraft(fmt.Sprintf("k%d-%s", i, strings.Repeat("x", 500)), i)); err == nil {
			kept = r.ID
		}
	}
	if !errors.Is(err, onto.Full) || onto.HintOf(err).Text == "" {
		t.Fatalf("got %v, want Full with a hint", err)
	}
	if head, err := b.Resolve(t.Context(), onto.Point{}); err != nil || head.ID != kept {
		t.Errorf("head: got %d, error %v; want %d", head.ID, err, kept)
	}
	backendtest.Check(t, b)
	if err := b.Exec(`PRAGMA max_page_count = 100000`); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Append(t.Context(), thingDraft("after", 1)); err != nil || r.ID != kept+1 {
		t.Errorf("with room again: got commit %d, error %v; want %d", r.ID, err, kept+1)
	}
}

// A WAL that breaks off anywhere loses only what was not finished: the store
// is whole at some commit.
func TestTornWAL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torn.db")
	makeThings(t, path)
	b := open(t, path, nil)
	for i := range 30 {
		if _, err := b.Append(t.Context(), thingDraft(fmt.Sprint("k", i), i)); err != nil {
			t.Fatal(err)
		}
	}
	file, wal := read(t, path), read(t, path+"-wal")
	last := int64(-1)
	for cut := 0; cut <= len(wal); cut += max(1, len(wal)/40) {
		copied := filepath.Join(t.TempDir(), "copy.db")
		write(t, copied, file)
		write(t, copied+"-wal", wal[:cut])
		c, err := sqlite.Open(t.Context(), copied, nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		head, err := c.Resolve(t.Context(), onto.Point{})
		if err != nil || head.ID < last {
			t.Errorf("cut at %d: got head %d, error %v; want at least %d", cut, head.ID, err, last)
		}
		last = head.ID
		backendtest.Check(t, c)
		c.Close()
	}
}

// A damaged file is reported, or the damage is where nothing is kept: a file
// that passes the check gives back what was written.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := makeDocumented(t)
	func() {
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for i := range 40 {
			if _, err := b.Append(t.Context(), thingDraft(fmt.Sprintf("k%d-%s", i, strings.Repeat("x", 400)), i)); err != nil {
				t.Fatal(err)
			}
		}
	}()
	query(t, path, `PRAGMA wal_checkpoint(TRUNCATE)`)
	want, err := examine(t, path)
	if err != nil {
		t.Fatal(err)
	}
	whole := read(t, path)
	reported, total := 0, 0
	for at := 0; at < len(whole); at += 509 {
		if !effort.Includes(t, at/509) {
			continue
		}
		damaged := bytes.Clone(whole)
		for i := at; i < min(at+16, len(damaged)); i++ {
			damaged[i] ^= 0xa5
		}
		copied := filepath.Join(t.TempDir(), "copy.db")
		write(t, copied, damaged)
		total++
		got, err := examine(t, copied)
		if err != nil {
			reported++
		} else if got != want {
			t.Errorf("damage at byte %d passes the check and changes what is read", at)
		}
	}
	t.Logf("%d of %d damages reported; the others are in unused space", reported, total)
}

// examine opens a file, checks it and reads every version.
func examine(t *testing.T, path string) (string, error) {
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{LockTimeout: 10 * time.Millisecond})
	if err != nil {
		return "", err
	}
	defer b.Close()
	for f, err := range b.Check(t.Context()) {
		if err != nil {
			return "", err
		}
		if f.Severity == onto.SeverityError {
			return "", errors.New(f.String())
		}
	}
	var all strings.Builder
	for _, q := range []backend.Query{
		{Kind: onto.KindEntity, Type: "Thing", Mode: backend.History, At: backend.Head},
		{Kind: onto.KindRelation, Type: "Touches", Mode: backend.History, At: backend.Head},
		{Kind: onto.KindEntity, Type: "Thing", At: backend.Head},
		{Kind: onto.KindEntity, Type: "Thing", At: 1},
	} {
		for v, err := range b.Scan(t.Context(), &q) {
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&all, v.Identity, v.Op, v.Commit, string(v.Fields))
		}
	}
	return all.String(), nil
}

func TestReadOnlyPlaces(t *testing.T) {
	path := makeDocumented(t)
	query(t, path, `PRAGMA wal_checkpoint(TRUNCATE)`)
	dir := t.TempDir()
	copied := filepath.Join(dir, "copy.db")
	write(t, copied, read(t, path))
	if err := os.Chmod(copied, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o555), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	asOtherUser(t, func() {
		if _, err := sqlite.Open(t.Context(), filepath.Join(dir, "new.db"), nil); !errors.Is(err, onto.ReadOnly) {
			t.Errorf("making a store: got %v, want ReadOnly", err)
		}
		if _, err := sqlite.Open(t.Context(), copied, nil); !errors.Is(err, onto.ReadOnly) {
			t.Errorf("opening for writing: got %v, want ReadOnly", err)
		}
		b, err := sqlite.Open(t.Context(), copied, &sqlite.Options{ReadOnly: true})
		if err != nil {
			t.Fatalf("opening for reading: %v", err)
		}
		defer b.Close()
		wantFields(t, b, onto.EntityID("Thing", "a"), 1, `{"id":"a","n":1}`)
		wantScan(t, b, "Thing", "a")
		if _, err := b.Append(t.Context(), thingDraft("k", 1)); !errors.Is(err, onto.ReadOnly) {
			t.Errorf("append: got %v, want ReadOnly", err)
		}
	})
}

// asOtherUser runs f with the file permissions of an unprivileged user.
func asOtherUser(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setfsuid(0)
	f()
}

// Another process holds SQLite's own lock for longer than we wait.
func TestLockedDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked.db")
	makeThings(t, path)
	holder := open(t, path, nil)
	b := open(t, path, &sqlite.Options{LockTimeout: 30 * time.Millisecond})
	if err := holder.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	_, err := b.Append(t.Context(), thingDraft("k", 1))
	if !errors.Is(err, onto.LockContention) || onto.HintOf(err).Text == "" {
		t.Errorf("got %v, want LockContention with a hint", err)
	}
	if _, err := b.Get(t.Context(), onto.EntityID("Thing", "k"), backend.Head); !errors.Is(err, onto.NotFound) {
		t.Errorf("reads go on: got %v, want NotFound", err)
	}
	if err := holder.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Append(t.Context(), thingDraft("k", 1)); err != nil || r.ID != 1 {
		t.Errorf("afterwards: got commit %d, error %v; want 1", r.ID, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// When the disk fails at the very end of a commit, the outcome is unknown: the caller
// is told so, and nothing more is written before a restart.
func TestUnknownOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "unsure.db")
	makeThings(t, path)
	b := open(t, path, nil)
	b.FailAt("commit", sqlite3.Error{Code: sqlite3.ErrIoErr})
	for i, want := range []onto.Code{onto.OutcomeUnknown, onto.Unavailable} {
		_, err := b.Append(t.Context(), thingDraft("k", 1))
		if !errors.Is(err, want) || onto.HintOf(err).Text == "" {
			t.Errorf("append %d: got %v, want %s with a hint", i, err, want)
		}
	}
	if _, err := b.Get(t.Context(), onto.EntityID("Thing", "k"), backend.Head); !errors.Is(err, onto.NotFound) {
		t.Errorf("reads go on: got %v, want NotFound", err)
	}
	again := open(t, path, nil)
	if r, err := again.Append(t.Context(), thingDraft("k", 1)); err != nil || r.ID != 1 {
		t.Errorf("after a new start: got commit %d, error %v; want 1", r.ID, err)
	}
}
