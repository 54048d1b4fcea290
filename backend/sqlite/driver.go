package sqlite

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
)

// This file is the only one that knows the SQLite driver. It uses the driver's
// connections directly: they are pooled by role (one writer, many readers),
// and each keeps its prepared statements.

// oldest is the first SQLite without the WAL-reset bug.
const oldest = 3_051_003

// checkLibrary refuses a SQLite library that can corrupt a file.
func checkLibrary() error {
	version, number, _ := sqlite3.Version()
	if number < oldest {
		return onto.Errorf(onto.Unsupported, "SQLite %s can damage files in WAL mode; 3.51.3 or newer is needed", version)
	}
	return nil
}

// access is how a connection opens its file.
type access string

const (
	accessCreate    access = "rwc"
	accessWrite     access = "rw"
	accessRead      access = "ro"
	accessIndexless access = "ro&readonly_shm=1" // the index of the WAL is in memory, unless a writer shares its own
	accessImmutable access = "ro&immutable=1"    // no other process writes; no WAL is read
)

// conn is one connection. It serves one goroutine at a time.
type conn struct {
	stale func() bool // of an immutable file: whether it has changed; nil otherwise
	raw   *sqlite3.SQLiteConn
	stmts map[string]*list.Element // of prepared, by their SQL
	used  *list.List               // of prepared, the last used first
	args  []driver.NamedValue      // reused between calls

	scratch []byte // for checksums, reused between rows
}

// prepared is a statement that a connection keeps.
type prepared struct {
	*sqlite3.SQLiteStmt
	sql  string
	open int // how many queries of it are under way
}

// maxPrepared is how many statements a connection keeps. Those of filters and
// orders come in any number.
const maxPrepared = 200

// dial opens a connection. Waiting for locks is set before anything else.
// SQLite need not lock a connection that only one goroutine uses at a time.
func dial(path string, how access, wait time.Duration) (*conn, error) {
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	d := &sqlite3.SQLiteDriver{}
	raw, err := d.Open(fmt.Sprintf("file:%s?mode=%s&_busy_timeout=%d&_mutex=no", escaped, how, wait.Milliseconds()))
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw.(*sqlite3.SQLiteConn), stmts: map[string]*list.Element{}, used: list.New()}
	if err := c.guard(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// maxValue is how many bytes a value or a row may have. The largest of ours are
// the fields of a version, the keys that a query names, and a search table's list
// of the rows that have a word.
const maxValue = 64 << 20

// guard bounds what a file from elsewhere can make SQLite do: its schema calls
// only functions without side effects, its CHECKs do not run, its pages are
// looked at before they are used, and its values are of limited length. The
// driver cannot set SQLITE_DBCONFIG_DEFENSIVE, which is against statements that
// come from elsewhere; all of ours are our own.
func (c *conn) guard() error {
	c.raw.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
	return c.script(`PRAGMA trusted_schema = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA cell_size_check = ON`)
}

// isStale reports whether the file has changed under an immutable connection.
func (c *conn) isStale() bool { return c.stale != nil && c.stale() }

func (c *conn) close() error {
	for e := c.used.Front(); e != nil; e = e.Next() {
		e.Value.(*prepared).Close()
	}
	return c.raw.Close()
}

// inTransaction reports whether a transaction is open.
func (c *conn) inTransaction() bool { return !c.raw.AutoCommit() }

// prepare returns the connection's prepared statement for the SQL text.
func (c *conn) prepare(sql string) (*prepared, error) {
	if e, ok := c.stmts[sql]; ok {
		c.used.MoveToFront(e)
		return e.Value.(*prepared), nil
	}
	s, err := c.raw.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", sql, err)
	}
	p := &prepared{SQLiteStmt: s.(*sqlite3.SQLiteStmt), sql: sql}
	c.stmts[sql] = c.used.PushFront(p)
	c.forget()
	return p, nil
}

// forget closes the statements that were not used for longest. Those under way
// stay, whatever their number.
func (c *conn) forget() {
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

func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a prepared statement. It cannot be interrupted.
func (c *conn) exec(sql string, args ...any) error {
	_, err := c.insert(sql, args...)
	return err
}

// execContext runs a statement that may take long. The end of ctx interrupts it.
func (c *conn) execContext(ctx context.Context, sql string, args ...any) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(ctx, c.bind(args))
	return err
}

// insert runs a prepared statement and returns the last row id it made.
func (c *conn) insert(sql string, args ...any) (int64, error) {
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

// script runs several statements that take no arguments and are not kept.
func (c *conn) script(sql string) error {
	_, err := c.raw.ExecContext(context.Background(), sql, nil)
	return err
}

// query runs a prepared statement. Cancelling ctx interrupts it.
func (c *conn) query(ctx context.Context, sql string, args ...any) (*rows, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	raw, err := s.QueryContext(ctx, c.bind(args))
	if err != nil {
		return nil, err
	}
	s.open++
	return &rows{raw: raw, of: s, scratch: &c.scratch, vals: make([]driver.Value, len(raw.Columns()))}, nil
}

// queryRow runs a prepared statement and reads its first row, if there is one.
// It cannot be interrupted.
func (c *conn) queryRow(sql string, args ...any) (*rows, bool, error) {
	return c.queryRowContext(context.Background(), sql, args...)
}

// queryRowContext is queryRow that the end of ctx interrupts, which costs more
// than a seek does.
func (c *conn) queryRowContext(ctx context.Context, sql string, args ...any) (*rows, bool, error) {
	r, err := c.query(ctx, sql, args...)
	if err != nil {
		return nil, false, err
	}
	ok := r.next()
	return r, ok, r.close()
}

// queryInt runs a prepared statement whose only value is a number; 0 stands
// for no row and for NULL.
func (c *conn) queryInt(sql string, args ...any) (int64, error) {
	return c.queryIntContext(context.Background(), sql, args...)
}

// queryIntContext is queryInt that the end of ctx interrupts.
func (c *conn) queryIntContext(ctx context.Context, sql string, args ...any) (int64, error) {
	r, ok, err := c.queryRowContext(ctx, sql, args...)
	if err != nil || !ok {
		return 0, err
	}
	return r.int(0), nil
}

// rows is a running query.
type rows struct {
	raw  driver.Rows
	of   *prepared
	vals []driver.Value
	err  error

	scratch *[]byte // the connection's
}

// next reads the next row and reports whether there was one.
func (r *rows) next() bool {
	err := r.raw.Next(r.vals)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err == nil
}

// close ends the query and returns what went wrong in it.
func (r *rows) close() error {
	err := r.raw.Close()
	if r.of != nil {
		r.of.open--
		r.of = nil
	}
	if r.err != nil {
		return r.err
	}
	return err
}

func (r *rows) null(i int) bool { return r.vals[i] == nil }

// int returns column i, or 0 if it is not an integer.
func (r *rows) int(i int) int64 {
	n, _ := r.vals[i].(int64)
	return n
}

// text returns column i, or "" if it is NULL.
func (r *rows) text(i int) string {
	switch v := r.vals[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// bytes returns column i, or nil if it is NULL.
func (r *rows) bytes(i int) []byte {
	switch v := r.vals[i].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// pageCopy is a copy of one database over another that is under way.
type pageCopy struct{ *sqlite3.SQLiteBackup }

// backup begins to copy the pages of another connection's database over its own.
func (c *conn) backup(src *conn) (pageCopy, error) {
	b, err := c.raw.Backup("main", src.raw, "main")
	return pageCopy{b}, err
}

// step copies so many pages and reports whether that was the end.
func (p pageCopy) step(pages int) (bool, error) {
	done, err := p.SQLiteBackup.Step(pages)
	return done, stepError(err)
}

// isBusy reports whether err says that another connection has the lock.
func isBusy(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked)
}

// noRoom reports whether the operating system refused to let a file grow.
func noRoom(e sqlite3.Error) bool {
	return e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EFBIG || e.SystemErrno == syscall.EDQUOT
}

// isUnsure reports whether after a COMMIT that failed with err the commit may
// still appear. SQLite writes the frames of a commit to the WAL, syncs the WAL
// and then lists the frames in the index of the WAL. If the sync or the index
// fails, others go on without the commit, but the next recovery reads the WAL
// and finds it. So the refusal is certain only where no sync was tried: when a
// write found no room, or before anything was written.
func isUnsure(err error) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case sqlite3.ErrIoErr:
		return e.ExtendedCode != sqlite3.ErrIoErrWrite || !noRoom(e)
	case sqlite3.ErrNomem, sqlite3.ErrCorrupt, sqlite3.ErrCantOpen, sqlite3.ErrProtocol:
		return true
	}
	return false
}

// stepError gives an error of the backup API the form of all others: the driver
// puts the extended code where the code belongs.
func stepError(err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) && e.ExtendedCode == 0 {
		e.ExtendedCode = sqlite3.ErrNoExtended(e.Code)
		e.Code &= 0xff
		return e
	}
	return err
}

// wrap gives a driver's error its code, message and hint. Errors that have a
// code, and those of a context, stay as they are.
func wrap(path string, err error) error {
	if err == nil || onto.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return onto.Errorf(onto.Unavailable, "%s: %w", path, err)
	}
	if e.Code == sqlite3.ErrFull || noRoom(e) {
		return onto.Errorf(onto.Full, "%s: no room left to write: %w", path, err).
			WithHint("free disk space; what did not fit was not kept")
	}
	if e.SystemErrno == syscall.EMFILE || e.SystemErrno == syscall.ENFILE {
		return onto.Errorf(onto.Unavailable, "%s: too many open files: %w", path, err).
			WithHint("finish some of the reads under way, or raise the limit of open files")
	}
	if e.Code == sqlite3.ErrError && strings.Contains(e.Error(), "malformed JSON") {
		return onto.Errorf(onto.Corrupt, "%s: the projection is damaged: %w", path, err).
			WithHint("make it anew with: onto projection rebuild")
	}
	if e.Code == sqlite3.ErrError && strings.Contains(e.Error(), "no such table: onto_search_") {
		return onto.Errorf(onto.Corrupt, "%s: a search table is missing: %w", path, err).
			WithHint("make it anew with: onto projection rebuild")
	}
	if e.Code == sqlite3.ErrError && lacksTable(err) {
		return onto.Errorf(onto.Corrupt, "%s: a table or a column of the store is missing: %w", path, err).
			WithHint("find out what is missing with: onto doctor")
	}
	switch e.Code {
	case sqlite3.ErrTooBig:
		return onto.Errorf(onto.Corrupt, "%s: a value has more than %d MiB, more than anything that is stored here: %w", path, maxValue>>20, err).
			WithHint("see which rows other programs have written with: onto doctor")
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return onto.Errorf(onto.LockContention, "%s: the database is locked: %w", path, err).
			WithHint("another process is writing; try again")
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrAuth:
		return onto.Errorf(onto.ReadOnly, "%s: cannot be written: %w", path, err).
			WithHint("check the permissions of the file and its directory; SQLite needs both")
	case sqlite3.ErrCantOpen:
		return onto.Errorf(onto.ReadOnly, "%s: cannot be opened: %w", path, err).
			WithHint("check that the directory exists and can be written; SQLite keeps two more files there")
	case sqlite3.ErrCorrupt:
		return onto.Errorf(onto.Corrupt, "%s: the file is damaged: %w", path, err).
			WithHint("restore a backup, or save what is readable with: sqlite3 FILE .recover")
	case sqlite3.ErrNotADB:
		return onto.Errorf(onto.Unsupported, "%s: not a SQLite database: %w", path, err).
			WithHint("name another file with --db")
	}
	return onto.Errorf(onto.Unavailable, "%s: %w", path, err)
}
