package snapshot_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/snapshot"
	"github.com/ontologia/onto/internal/child"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"lock": lockUntilTold, "dial": dialAndWait})
	os.Exit(m.Run())
}

// made makes a file with a table t in the given journal mode, and runs more statements.
func made(t testing.TB, mode string, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.db")
	if err := connect(t, path, append([]string{`PRAGMA journal_mode = ` + mode, `CREATE TABLE t (n INTEGER)`, `INSERT INTO t VALUES (1)`}, more...)...).Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// connect runs statements on a connection that is open until it is closed or the test ends.
func connect(t testing.TB, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return db
}

// find finds a file, with a scratch directory of its own.
func find(t testing.TB, path string) *snapshot.Place {
	t.Helper()
	return findIn(t, path, t.TempDir())
}

func findIn(t testing.TB, path, scratch string) *snapshot.Place {
	t.Helper()
	p, err := snapshot.Find(path, scratch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// wantMax dials, and fails unless the greatest number is the given one and the file is whole.
func wantMax(ctx context.Context, t testing.TB, p *snapshot.Place, want int64) {
	t.Helper()
	c, _, err := p.Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.QueryInt(`SELECT max(n) FROM t`)
	if err != nil || got != want {
		t.Errorf("got %d, error %v; want %d", got, err, want)
	}
	if row, _, err := c.QueryRow(`PRAGMA integrity_check`); err != nil || row.Text(0) != "ok" {
		t.Errorf("the copy is damaged: %v", err)
	}
}

// asked is a context that calls functions when it is asked for its error, as a copy does
// before each piece, and when it is asked for its end, as each pause does.
type asked struct {
	context.Context
	err, done func(n int)
	mu        sync.Mutex
	errs      int
	dones     int
}

func (a *asked) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.errs++; a.err != nil {
		a.err(a.errs)
	}
	return a.Context.Err()
}

func (a *asked) Done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dones++; a.done != nil {
		a.done(a.dones)
	}
	return a.Context.Done()
}

// A file that changes while it is copied is copied again.
func TestChangedWhileCopied(t *testing.T) {
	t.Run("without locks", func(t *testing.T) { // such as over a network
		const large = `INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i FROM n`
		path := made(t, "DELETE", large)
		later := filepath.Join(t.TempDir(), "later.db")
		copyFile(t, path, later)
		if err := connect(t, later, `UPDATE t SET n = n + 7`).Close(); err != nil {
			t.Fatal(err)
		}
		ctx := &asked{Context: t.Context(), err: func(n int) {
			if n == 2 { // the first piece was copied
				copyFile(t, later, path)
			}
		}}
		wantMax(ctx, t, find(t, path), 1000007)
		if ctx.errs < 5 {
			t.Errorf("got %d pieces, want two in each copy", ctx.errs)
		}
	})
	t.Run("in a WAL", func(t *testing.T) {
		path := made(t, "WAL")
		ctx := &asked{Context: t.Context(), err: func(n int) {
			if n == 1 {
				connect(t, path, `INSERT INTO t VALUES (2)`).Close()
			}
		}}
		wantMax(ctx, t, find(t, path), 2)
	})
}

// lockUntilTold is the job of a child that has the file for itself, until it reads a line.
func lockUntilTold(args []string) error {
	db, err := sql.Open("sqlite3", args[0])
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{`BEGIN EXCLUSIVE`, `INSERT INTO t VALUES (2)`} {
		if _, err := db.Exec(statement); err != nil {
			return err
		}
	}
	fmt.Println("locked")
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		return err
	}
	_, err = db.Exec(`COMMIT`)
	return err
}

// A file in rollback mode whose writer has it for itself is copied when that has ended.
func TestWaitsForTheWriter(t *testing.T) {
	t.Run("another process", func(t *testing.T) {
		path := made(t, "DELETE")
		p := child.Start(t, "lock", path)
		p.Until(t, "locked")
		ctx := &asked{Context: t.Context(), done: func(n int) {
			if n == 5 {
				_, _ = io.WriteString(p.Stdin, "\n")
			}
		}}
		wantMax(ctx, t, find(t, path), 2)
		if ctx.dones < 5 {
			t.Errorf("the file was read after %d pauses, while a writer had it for itself", ctx.dones)
		}
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("this process", func(t *testing.T) {
		needLocksOfDescriptors(t)
		path := made(t, "DELETE")
		db := connect(t, path, `BEGIN EXCLUSIVE`, `INSERT INTO t VALUES (2)`)
		ctx := &asked{Context: t.Context(), done: func(n int) {
			if n == 5 {
				if _, err := db.Exec(`COMMIT`); err != nil {
					t.Error(err)
				}
			}
		}}
		wantMax(ctx, t, find(t, path), 2)
		if ctx.dones < 5 {
			t.Errorf("the file was read after %d pauses, while a writer had it for itself", ctx.dones)
		}
		if _, err := db.Exec(`PRAGMA busy_timeout = 1; INSERT INTO t VALUES (3)`); err != nil {
			t.Errorf("after the copy: %v", err)
		}
	})
}

// Places of one file share a descriptor, and the lock ends with the last copy: a copy that
// ends does not let a writer in while another one is under way.
func TestCopiesAtOnce(t *testing.T) {
	needLocksOfDescriptors(t)
	path := made(t, "DELETE")
	first, second := find(t, path), find(t, path)
	var failed error
	ctx := &asked{Context: t.Context(), err: func(n int) {
		if n > 1 {
			return
		}
		c, err := dialed(second)
		if err != nil {
			t.Error(err)
			return
		}
		c.Close()
		db := connect(t, path, `PRAGMA busy_timeout = 1`)
		_, failed = db.Exec(`INSERT INTO t VALUES (2)`)
		db.Close()
	}}
	wantMax(ctx, t, first, 1)
	if failed == nil || !strings.Contains(failed.Error(), "locked") {
		t.Errorf("a commit during a copy: got error %v, want that the file is locked", failed)
	}
	connect(t, path, `PRAGMA busy_timeout = 1`, `INSERT INTO t VALUES (3)`)
	wantMax(t.Context(), t, first, 3)
	wantMax(t.Context(), t, second, 3)
}

// needLocksOfDescriptors skips a test on systems where all locks of a process are one.
func needLocksOfDescriptors(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("locks belong to the process")
	}
}

func dialed(p *snapshot.Place) (*driver.Conn, error) {
	c, _, err := p.Dial(context.Background())
	return c, err
}

// There is one descriptor for each file, and none for a file that was removed.
func TestDescriptors(t *testing.T) {
	open := func() (n int) {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		for _, name := range names {
			if to, _ := os.Readlink(filepath.Join("/proc/self/fd", name.Name())); strings.Contains(to, t.Name()) {
				n++
			}
		}
		return n
	}
	use := func(path string) {
		p := find(t, path)
		wantMax(t.Context(), t, p, 1)
		p.Close()
	}
	kept, gone := made(t, "DELETE"), made(t, "DELETE")
	for range 3 {
		use(kept)
		use(gone)
	}
	if n := open(); n != 2 {
		t.Errorf("got %d descriptors of two files, want one each", n)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	use(kept)
	if n := open(); n != 1 {
		t.Errorf("got %d descriptors once a file was removed, want one", n)
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
