package snapshot_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/snapshot"
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

// A file that says everything by itself is looked at without a copy. Otherwise the schema of
// the WAL is seen too, unless the function has seen enough.
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
	closed := find(t, made(t, "WAL"))
	if got := tables(closed, false); len(got) != 1 || got[0] != 1 || closed.CopyDir() != "" {
		t.Errorf("closed: got %d, a copy in %q; want one look without a copy", got, closed.CopyDir())
	}
	path, other := made(t, "WAL"), made(t, "WAL")
	connect(t, other, `PRAGMA wal_autocheckpoint = 0`, `CREATE TABLE u (n)`)
	copyFile(t, other, path)
	copyFile(t, other+"-wal", path+"-wal")
	left := find(t, path)
	if got := tables(left, true); len(got) != 1 || got[0] != 1 || left.CopyDir() != "" {
		t.Errorf("left, enough: got %d, a copy in %q; want one look without a copy", got, left.CopyDir())
	}
	if got := tables(left, false); len(got) != 2 || got[1] != 2 || left.CopyDir() == "" {
		t.Errorf("left: got %d, a copy in %q; want a second look, at a copy", got, left.CopyDir())
	}
	inUse := find(t, other)
	if got := tables(inUse, false); len(got) != 1 || got[0] != 2 || inUse.CopyDir() != "" {
		t.Errorf("in use: got %d, a copy in %q; want one look, in place", got, inUse.CopyDir())
	}
}
