// Package driver keeps connections to a SQLite file, with their prepared statements,
// and is the only package that knows the SQLite driver.
//
// It uses the driver's connections directly: they are pooled by role, one writer and
// many readers.
package driver

import (
	"container/list"
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	_ "github.com/ontologia/onto/internal/needcgo" // without cgo, the build says what it needs
)

// oldest is the first SQLite without the WAL-reset bug.
const oldest = 3_051_003

// CheckLibrary refuses a SQLite library that can corrupt a file.
func CheckLibrary() error {
	version, number, _ := sqlite3.Version()
	if number < oldest {
		return onto.Errorf(onto.Unsupported, "SQLite %s can damage files in WAL mode; 3.51.3 or newer is needed", version)
	}
	return nil
}

// Access is how a connection opens its file.
type Access string

// The ways to open a file.
const (
	AccessCreate    Access = "rwc"               // makes the file if there is none
	AccessWrite     Access = "rw"                // the file has to exist
	AccessRead      Access = "ro"                // makes missing companions
	AccessIndexless Access = "ro&readonly_shm=1" // the index of the WAL is in memory, unless a writer shares its own
	AccessImmutable Access = "ro&immutable=1"    // no other process writes; no WAL is read
)

// Conn is one connection. It serves one goroutine at a time.
type Conn struct {
	Stale func() bool // of an immutable file: whether it has changed; nil otherwise
	raw   *sqlite3.SQLiteConn
	stmts map[string]*list.Element // of prepared, by their SQL
	used  *list.List               // of prepared, the last used first
	args  []driver.NamedValue      // reused between calls

	Scratch []byte // for checksums, reused between rows

	Prepared func(sql string) // is called with each statement that is prepared; nil for none
}

// prepared is a statement that a connection keeps.
type prepared struct {
	*sqlite3.SQLiteStmt
	sql   string
	open  int  // how many queries of it are under way
	apart bool // no connection keeps it
}

// maxPrepared is how many statements a connection keeps. The number of different
// filters and orders is unlimited.
const maxPrepared = 200

// Dial opens a connection. The busy timeout is set before anything else. SQLite need
// not lock a connection that only one goroutine uses at a time.
func Dial(path string, how Access, wait time.Duration) (*Conn, error) {
	d := &sqlite3.SQLiteDriver{}
	raw, err := d.Open(fmt.Sprintf("file:%s?mode=%s&_busy_timeout=%d&_mutex=no", escape(path), how, wait.Milliseconds()))
	if err != nil {
		return nil, err
	}
	c := &Conn{raw: raw.(*sqlite3.SQLiteConn), stmts: map[string]*list.Element{}, used: list.New()}
	if err := c.guard(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// maxValue is how many bytes a value or a row may have. The largest values of ours are
// the fields of a version, the keys that a query names, and a search table's list of
// the rows that have a word.
const maxValue = 64 << 20

// guard bounds what an untrusted file can make SQLite do: its schema calls only
// functions without side effects, its CHECKs do not run, its pages are checked before
// they are used, and its values are of limited length. The driver cannot set
// SQLITE_DBCONFIG_DEFENSIVE, which protects against untrusted statements; all
// statements here are our own.
func (c *Conn) guard() error {
	c.raw.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
	return c.Script(`PRAGMA trusted_schema = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA cell_size_check = ON`)
}

// IsStale reports whether the file has changed under an immutable connection.
func (c *Conn) IsStale() bool { return c.Stale != nil && c.Stale() }

// Close closes the connection and its statements.
func (c *Conn) Close() error {
	for e := c.used.Front(); e != nil; e = e.Next() {
		e.Value.(*prepared).Close()
	}
	return c.raw.Close()
}

// InTransaction reports whether a transaction is open.
func (c *Conn) InTransaction() bool { return !c.raw.AutoCommit() }

// prepare returns the connection's prepared statement for the SQL text.
func (c *Conn) prepare(sql string) (*prepared, error) {
	if e, ok := c.stmts[sql]; ok {
		c.used.MoveToFront(e)
		return e.Value.(*prepared), nil
	}
	s, err := c.compile(sql)
	if err != nil {
		return nil, err
	}
	p := &prepared{SQLiteStmt: s, sql: sql}
	c.stmts[sql] = c.used.PushFront(p)
	c.forget()
	return p, nil
}

func (c *Conn) compile(sql string) (*sqlite3.SQLiteStmt, error) {
	if c.Prepared != nil {
		c.Prepared(sql)
	}
	s, err := c.raw.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", sql, err)
	}
	return s.(*sqlite3.SQLiteStmt), nil
}

// forget closes the least recently used statements. Those in use stay, whatever their
// number.
func (c *Conn) forget() {
	for e := c.used.Back(); e != c.used.Front() && c.used.Len() > maxPrepared; {
		old, p := e, e.Value.(*prepared)
		e = e.Prev()
		if p.open == 0 {
			c.used.Remove(old)
			delete(c.stmts, p.sql)
			p.Close()
		}
	}
}

func (c *Conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// Exec runs a prepared statement. It cannot be interrupted.
func (c *Conn) Exec(sql string, args ...any) error {
	_, err := c.Insert(sql, args...)
	return err
}

// ExecContext runs a statement that may take long. The end of ctx interrupts it.
func (c *Conn) ExecContext(ctx context.Context, sql string, args ...any) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(ctx, c.bind(args))
	return err
}

// Insert runs a prepared statement and returns the last row id it made.
func (c *Conn) Insert(sql string, args ...any) (int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	id, err := res.LastInsertId()
	return id, err
}

// Change runs a prepared statement and returns how many rows it has changed.
func (c *Conn) Change(sql string, args ...any) (int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Script runs several statements that take no arguments and are not kept.
func (c *Conn) Script(sql string) error {
	_, err := c.raw.ExecContext(context.Background(), sql, nil)
	return err
}

// Query runs a prepared statement. Cancelling ctx interrupts it.
func (c *Conn) Query(ctx context.Context, sql string, args ...any) (*Rows, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	raw, err := s.QueryContext(ctx, c.bind(args))
	if err != nil {
		return nil, err
	}
	s.open++
	return &Rows{raw: raw, of: s, Scratch: &c.Scratch, Vals: make([]driver.Value, len(raw.Columns()))}, nil
}

// QueryApart is Query with a statement of its own, so that the same SQL can run several
// times at once.
func (c *Conn) QueryApart(ctx context.Context, sql string, args ...any) (*Rows, error) {
	s, err := c.compile(sql)
	if err != nil {
		return nil, err
	}
	p := &prepared{SQLiteStmt: s, sql: sql, apart: true}
	raw, err := p.QueryContext(ctx, c.bind(args))
	if err != nil {
		p.Close()
		return nil, err
	}
	p.open++
	return &Rows{raw: raw, of: p, Scratch: &c.Scratch, Vals: make([]driver.Value, len(raw.Columns()))}, nil
}

// QueryRow runs a prepared statement and reads its first row, if there is one.
// It cannot be interrupted.
func (c *Conn) QueryRow(sql string, args ...any) (*Rows, bool, error) {
	return c.QueryRowContext(context.Background(), sql, args...)
}

// QueryRowContext is QueryRow that the end of ctx interrupts, which costs more
// than a seek does.
func (c *Conn) QueryRowContext(ctx context.Context, sql string, args ...any) (*Rows, bool, error) {
	r, err := c.Query(ctx, sql, args...)
	if err != nil {
		return nil, false, err
	}
	ok := r.Next()
	return r, ok, r.Close()
}

// QueryInt runs a prepared statement whose only value is a number; 0 stands
// for no row and for NULL.
func (c *Conn) QueryInt(sql string, args ...any) (int64, error) {
	return c.QueryIntContext(context.Background(), sql, args...)
}

// QueryIntContext is QueryInt that the end of ctx interrupts.
func (c *Conn) QueryIntContext(ctx context.Context, sql string, args ...any) (int64, error) {
	r, ok, err := c.QueryRowContext(ctx, sql, args...)
	if err != nil || !ok {
		return 0, err
	}
	return r.Int(0), nil
}

// PageCopy is a copy of one database over another that is under way.
type PageCopy struct{ *sqlite3.SQLiteBackup }

// Backup begins to copy the pages of another connection's database over its own.
func (c *Conn) Backup(src *Conn) (PageCopy, error) {
	b, err := c.raw.Backup("main", src.raw, "main")
	return PageCopy{b}, err
}

// Step copies so many pages and reports whether that was the end.
func (p PageCopy) Step(pages int) (bool, error) {
	done, err := p.SQLiteBackup.Step(pages)
	return done, stepError(err)
}

// BusyReader is how long a reader waits in the rare cases in which SQLite blocks it:
// while the WAL is recovered or removed.
const BusyReader = 5 * time.Second

// Attach adds another file to the connection, under a name of its own. It is made if there
// is none, and can be written even if the connection only reads.
func (c *Conn) Attach(path, as string) error {
	return c.Exec(`ATTACH ? AS `+as, "file:"+escape(path)+"?mode=rwc")
}

// escape is a path as a part of a URI.
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// DialTried opens a connection and tests it with a read.
func DialTried(path string, how Access) (*Conn, error) {
	c, err := Dial(path, how, BusyReader)
	if err != nil {
		return nil, err
	}
	if _, err := c.QueryInt(`SELECT count(*) FROM sqlite_master`); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
