package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/backoff"
)

// LacksTable reports whether a statement failed because a table, a column or an index that it
// names was dropped.
func LacksTable(err error) bool {
	text := err.Error()
	return strings.Contains(text, "no such table") || strings.Contains(text, "no such column") || strings.Contains(text, "no such index")
}

// IsBusy reports whether err says that another connection has the lock.
func IsBusy(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked)
}

// IsNoDatabase reports whether err says that a file is no SQLite database, or an encrypted
// one.
func IsNoDatabase(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrNotADB
}

// MayPass reports whether an error of a read may be gone at the next attempt, since another
// connection has the lock, or makes or removes the WAL and its index.
func MayPass(err error) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrReadonly, sqlite3.ErrProtocol:
		return true
	case sqlite3.ErrCantOpen:
		return !errors.Is(e.SystemErrno, fs.ErrPermission) && e.SystemErrno != syscall.EMFILE && e.SystemErrno != syscall.ENFILE
	}
	return false
}

// noRoom reports whether the operating system refused to let a file grow.
func noRoom(e sqlite3.Error) bool {
	return e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EFBIG || e.SystemErrno == syscall.EDQUOT
}

// IsUnsure reports whether the commit may still appear after a COMMIT that failed with
// err. SQLite writes the frames of a commit to the WAL, syncs the WAL and then lists
// the frames in the index of the WAL. If the sync or the index fails, other connections
// continue without the commit, but the next recovery reads the WAL and finds it. So the
// failure is certain only if no sync was tried: when a write found no room, or before
// anything was written.
func IsUnsure(err error) bool {
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

// Wrap gives a driver's error its code, message and hint. Errors that have a
// code, and those of a context, stay as they are.
func Wrap(path string, err error) error {
	if err == nil || onto.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return onto.Errorf(onto.Unavailable, "%s: %w", path, err)
	}
	as := func(code onto.Code, what, hint string, command ...string) error {
		return onto.Errorf(code, "%s: %s: %w", path, what, err).WithHint("%s", hint).WithCommand(command...)
	}
	switch {
	case e.Code == sqlite3.ErrFull || noRoom(e):
		return as(onto.Full, "no room left to write", "free disk space; what did not fit was not kept")
	case e.SystemErrno == syscall.EMFILE || e.SystemErrno == syscall.ENFILE:
		return as(onto.Unavailable, "too many open files", "finish some of the reads under way, or raise the limit of open files")
	case e.Code == sqlite3.ErrError && strings.Contains(e.Error(), "malformed JSON"):
		return as(onto.Corrupt, "the projection is damaged", "make it anew", "projection", "rebuild")
	case e.Code == sqlite3.ErrError && strings.Contains(e.Error(), "no such table: onto_search_"):
		return as(onto.Corrupt, "a search table is missing", "make it anew", "projection", "rebuild")
	case e.Code == sqlite3.ErrConstraint && strings.Contains(e.Error(), "failed: onto_event_"):
		return as(onto.Corrupt, "what waits for handlers is not as it should be", "make it anew", "projection", "rebuild")
	case e.Code == sqlite3.ErrConstraint && strings.Contains(e.Error(), "failed: work_attempts."):
		return as(onto.Corrupt, "a work item is not what its attempts say", "make it anew", "projection", "rebuild")
	case e.Code == sqlite3.ErrError && LacksTable(err):
		return as(onto.Corrupt, "a table, a column or an index of the store is missing", "find out what is missing", "doctor")
	}
	switch e.Code {
	case sqlite3.ErrTooBig:
		return as(onto.Corrupt, fmt.Sprintf("a value has more than %d MiB, more than anything that is stored here", maxValue>>20),
			"find out what is damaged", "doctor")
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return as(onto.LockContention, "the database is locked", "another process is writing; try again")
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrAuth:
		return as(onto.ReadOnly, "cannot be written", "check the permissions of the file and its directory; SQLite needs both")
	case sqlite3.ErrCantOpen:
		return as(onto.ReadOnly, "cannot be opened", "check that the directory exists and can be written; SQLite keeps two more files there")
	case sqlite3.ErrCorrupt:
		return as(onto.Corrupt, "the file is damaged", "restore a backup, or save what is readable with: sqlite3 FILE .recover")
	case sqlite3.ErrNotADB:
		return as(onto.Unsupported, "not a SQLite database", "name another file with --db")
	}
	return onto.Errorf(onto.Unavailable, "%s: %w", path, err)
}

// WaitUntil paces attempts to get a lock. Short random pauses let competing processes
// take turns; with SQLite's own busy handler some of them starve.
func WaitUntil(until time.Time) backoff.Backoff {
	return backoff.Backoff{First: 200 * time.Microsecond, Longest: 5 * time.Millisecond, Until: until}
}
