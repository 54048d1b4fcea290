package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/snapshot"
	"github.com/ontologia/onto/internal/child"
)

// damage writes zeroes over the root page of the schema of a file that a connection has open.
func damage(t testing.TB, path string) {
	t.Helper()
	connect(t, path, `INSERT INTO t VALUES (2)`, `PRAGMA wal_checkpoint(TRUNCATE)`)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.WriteAt(make([]byte, 12), 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A damaged file that is in use is not tried again and again, and the error is that of SQLite.
func TestDamagedInUse(t *testing.T) {
	path := made(t, "WAL")
	damage(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // for all; a file that changes is tried for longer
	defer cancel()
	p := find(t, path)
	for range 3 {
		c, _, err := p.Dial(ctx)
		if err == nil {
			c.Close()
		}
		if err := driver.Wrap(path, err); !errors.Is(err, onto.Corrupt) || onto.HintOf(err).Text == "" {
			t.Fatalf("got %v, want Corrupt with a hint", err)
		}
		err = p.Look(ctx, func(*driver.Conn) (bool, error) { return true, nil })
		if err := driver.Wrap(path, err); !errors.Is(err, onto.Corrupt) {
			t.Fatalf("a look: got %v, want Corrupt", err)
		}
	}
}

// A damaged file that changes all the time is tried again, but not for long.
func TestDamagedAndWritten(t *testing.T) {
	path := made(t, "WAL")
	damage(t, path)
	now := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	changing := &asked{Context: ctx, done: func(n int) {
		now = now.Add(time.Second)
		if err := os.Chtimes(path, now, now); err != nil {
			t.Error(err)
		}
	}}
	_, _, err := find(t, path).Dial(changing)
	if err := driver.Wrap(path, err); !errors.Is(err, onto.Corrupt) {
		t.Errorf("got %v, want Corrupt", err)
	}
}

// A file without WAL and journal is looked at once, in place. Otherwise the schema of the WAL
// is seen too, unless the function has seen enough without it.
func TestLook(t *testing.T) {
	tables := func(p *snapshot.Place, enough bool) (seen []int64) {
		t.Helper()
		err := p.Look(t.Context(), func(c *driver.Conn) (bool, error) {
			n, err := c.QueryInt(`SELECT count(*) FROM sqlite_master`)
			seen = append(seen, n)
			return enough, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	closedScratch := t.TempDir()
	closed := findIn(t, made(t, "WAL"), closedScratch)
	if got := tables(closed, false); len(got) != 1 || got[0] != 1 || copies(t, closedScratch) != 0 {
		t.Errorf("closed: got %d, %d copies; want one look without a copy", got, copies(t, closedScratch))
	}
	path, other := made(t, "WAL"), made(t, "WAL")
	connect(t, other, `PRAGMA wal_autocheckpoint = 0`, `CREATE TABLE u (n)`)
	copyFile(t, other, path)
	copyFile(t, other+"-wal", path+"-wal")
	leftScratch := t.TempDir()
	left := findIn(t, path, leftScratch)
	if got := tables(left, true); len(got) != 1 || got[0] != 1 || copies(t, leftScratch) != 0 {
		t.Errorf("left, enough: got %d, %d copies; want one look without a copy", got, copies(t, leftScratch))
	}
	if got := tables(left, false); len(got) != 2 || got[1] != 2 || copies(t, leftScratch) != 1 {
		t.Errorf("left: got %d, %d copies; want a second look, at a copy", got, copies(t, leftScratch))
	}
	inUseScratch := t.TempDir()
	inUse := findIn(t, other, inUseScratch)
	if got := tables(inUse, true); len(got) != 1 || got[0] != 1 || copies(t, inUseScratch) != 0 {
		t.Errorf("in use, enough: got %d, %d copies; want one look without the WAL", got, copies(t, inUseScratch))
	}
	if got := tables(inUse, false); len(got) != 2 || got[1] != 2 || copies(t, inUseScratch) != 0 {
		t.Errorf("in use: got %d, %d copies; want a second look, in place", got, copies(t, inUseScratch))
	}
}

// copies counts the private copies in a scratch directory.
func copies(t testing.TB, scratch string) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(scratch, "*", "copy-*.db"))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// dialAndWait is the job of a child that makes a private copy, and waits.
func dialAndWait(args []string) error {
	p, err := snapshot.Find(args[0], args[1])
	if err != nil {
		return err
	}
	c, err := dialed(p)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println("dialed")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// Private copies of a process that was killed are removed when the next copy is made there;
// those of a process that lives are not.
func TestCopiesOfTheKilled(t *testing.T) {
	path, scratch := made(t, "DELETE"), t.TempDir()
	var children []*child.Process
	for range 2 {
		p := child.Start(t, "dial", path, scratch)
		p.Until(t, "dialed")
		children = append(children, p)
	}
	children[0].End()
	if n := copies(t, scratch); n != 2 {
		t.Fatalf("got %d copies, want that of the killed process and the other one", n)
	}
	p := findIn(t, path, scratch)
	wantMax(t.Context(), t, p, 1)
	if n := copies(t, scratch); n != 2 {
		t.Errorf("got %d copies, want two of processes that live", n)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if n := copies(t, scratch); n != 1 {
		t.Errorf("got %d copies once the place was closed, want that of the other process", n)
	}
	children[1].End()
	wantMax(t.Context(), t, findIn(t, path, scratch), 1)
	if left, err := os.ReadDir(scratch); err != nil || len(left) != 1 {
		t.Errorf("got %v, error %v; want one directory", left, err)
	}
}

// An older copy goes when a newer one is made, and connections to it go on.
func TestOneCopy(t *testing.T) {
	path, scratch := made(t, "DELETE"), t.TempDir()
	p := findIn(t, path, scratch)
	before, err := dialed(p)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	wantMax(t.Context(), t, p, 1)
	connect(t, path, `INSERT INTO t VALUES (2)`)
	wantMax(t.Context(), t, p, 2)
	if n := copies(t, scratch); n != 1 {
		t.Errorf("got %d copies, want the newest", n)
	}
	if n, err := before.QueryInt(`SELECT max(n) FROM t`); err != nil || n != 1 {
		t.Errorf("got %d, error %v, from the connection to the copy before", n, err)
	}
}

// What begins to read a file in use is called again where SQLite could not read it, and only
// then.
func TestBegin(t *testing.T) {
	path := made(t, "WAL")
	connect(t, path, `INSERT INTO t VALUES (2)`)
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"recovered meanwhile", sqlite3.Error{Code: sqlite3.ErrReadonly}, 3},
		{"locked", fmt.Errorf("wrapped: %w", sqlite3.Error{Code: sqlite3.ErrBusy}), 3},
		{"damaged", sqlite3.Error{Code: sqlite3.ErrCorrupt}, 1},
		{"another file that cannot be opened", onto.Errorf(onto.Unavailable, "%w", sqlite3.Error{Code: sqlite3.ErrCantOpen}), 1},
	} {
		calls := 0
		conn, live, err := find(t, path).Begin(t.Context(), func(*driver.Conn) error {
			if calls++; calls < 3 {
				return c.err
			}
			return nil
		})
		if calls != c.want || (err == nil) != (c.want == 3) || err != nil && !errors.Is(err, c.err) || err == nil && !live {
			t.Errorf("%s: got %d calls and error %v, want %d", c.name, calls, err, c.want)
		}
		if err == nil {
			conn.Close()
		}
	}
}
