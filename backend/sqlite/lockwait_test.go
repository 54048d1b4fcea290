package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/flock"
)

// lineOf is the line of a store.
func lineOf(path string) *backendtest.Line {
	return &backendtest.Line{
		Place: path, File: flock.Line{Path: path + "-queue"},
		Open: func(t *testing.T) backend.Backend { return open(t, path, nil) },
		Hold: func(t *testing.T) func() { return holdLock(t, path) },
	}
}

func wantNoLine(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path + "-queue"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the line is still there: %v", err)
	}
}

// holdLock takes the write lock of a store until it is released.
func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	b := open(t, path, nil)
	inside, over, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, err := b.AppendStream(t.Context(), &backend.Draft{}, func(func(backend.Write, error) bool) {
			close(inside)
			<-over
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-inside
	return func() { close(over); <-ended }
}

// Writers that wait for the lock get it in the order in which they came.
func TestWritersAreServedInOrder(t *testing.T) {
	onLine(t, func(l *backendtest.Line, t *testing.T) { l.InOrder(t, thingDraft) })
}

// A writer that gives up is told how long it stood in line and where. Its leaving does
// not extend the wait of those behind it.
func TestWriterThatGivesUpIsToldItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	release := holdLock(t, path)
	errs := make(chan error, 3)
	for i := range 3 {
		b := open(t, path, &sqlite.Options{LockTimeout: 200 * time.Millisecond})
		go func() {
			_, err := b.Append(t.Context(), thingDraft(fmt.Sprint(i), i))
			errs <- err
		}()
	}
	for range 3 {
		err := <-errs
		if !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "in line") || !strings.Contains(err.Error(), "waited") {
			t.Errorf("got %v, want LockContention and where it stood", err)
		}
		t.Log(err)
	}
	release()
	wantNoLine(t, path)
}

// Where no line can be made, writers wait without one.
func TestWritersWithoutALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	if err := os.Mkdir(path+"-queue", 0o777); err != nil {
		t.Fatal(err)
	}
	release := holdLock(t, path)
	b := open(t, path, nil)
	done := make(chan error)
	go func() {
		_, err := b.Append(t.Context(), thingDraft("a", 1))
		done <- err
	}()
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Many processes put one thing each at the same moment. All are acknowledged.
func TestHerd(t *testing.T) { onLine(t, (*backendtest.Line).Herd) }

// Processes in the line are killed. The others are served.
func TestKilledInLine(t *testing.T) { onLine(t, (*backendtest.Line).Killed) }

// A process that is stopped while it is in the line delays the others for a limited
// time only. When it continues it is served too.
func TestStoppedInLine(t *testing.T) {
	onLine(t, func(l *backendtest.Line, t *testing.T) { l.Stopped(t, 2) })
}

func onLine(t *testing.T, test func(*backendtest.Line, *testing.T)) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	test(lineOf(path), t)
	wantNoLine(t, path)
}

// The holder of the write lease does not join the line, in which others wait for it: it
// commits, renews and releases, and then they are served.
func TestLeaseHolderIsNotInLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	holder := open(t, path, nil)
	l := acquire(t, holder, onto.WriteLease, "migration")
	const writers = 12
	got := make(chan int64, writers)
	for i := range writers {
		b := open(t, path, &sqlite.Options{LockTimeout: time.Minute})
		go func() {
			r, err := b.Append(t.Context(), thingDraft(fmt.Sprint(i), i))
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
			got <- r.ID
		}()
	}
	lineOf(path).Await(t, writers)
	for i := range 3 {
		if r, err := holder.Append(t.Context(), leased(fmt.Sprint("h", i), l)); err != nil || r.ID != int64(i+1) {
			t.Errorf("the holder: got commit %d, error %v; want %d", r.ID, err, i+1)
		}
	}
	l, err := holder.Renew(t.Context(), l, time.Hour)
	if err == nil {
		err = holder.Release(t.Context(), l)
	}
	if err != nil {
		t.Error(err)
	}
	for range writers {
		if id := <-got; id <= 3 {
			t.Errorf("got commit %d before the lease was released", id)
		}
	}
	wantNoLine(t, path)
}

// A process is stopped while it holds the lock. The others fail at their deadlines.
// When it continues, so do they.
func TestStoppedHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	writer := backendtest.StartWriter(t, path, "w", 1)
	<-writer.First
	b := open(t, path, &sqlite.Options{LockTimeout: 50 * time.Millisecond})
	for tries := 1; ; tries++ {
		child.Stop(t, writer.Process.Process)
		_, err := b.Append(t.Context(), thingDraft(fmt.Sprint("stopped", tries), 1))
		child.Continue(t, writer.Process.Process)
		if err == nil { // it was stopped between two commits
			continue
		}
		if !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "in line") { // first, or behind the stopped one
			t.Errorf("got %v, want LockContention", err)
		}
		t.Logf("try %d: %v", tries, err)
		break
	}
	patient := open(t, path, nil)
	if _, err := patient.Append(t.Context(), thingDraft("goes on", 1)); err != nil {
		t.Error(err)
	}
	acked, err := writer.Stop()
	if err != nil {
		t.Error(err)
	}
	wantAcknowledged(t, b, acked)
	wantNoLine(t, path)
}
