package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/flock"
)

// inLine is how many writers stand in the line of a store.
func inLine(t *testing.T, path string) int {
	t.Helper()
	p, err := (&flock.Line{Path: path + "-queue"}).Join(time.Now(), time.Second)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err) // this system has no lines
	}
	if err != nil {
		t.Fatal(err)
	}
	defer p.Leave()
	var late *flock.LateError
	if err := p.Wait(t.Context()); !errors.As(err, &late) {
		return 0
	}
	return late.Ahead
}

func waitInLine(t *testing.T, path string, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); inLine(t, path) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d writers are in the line, want %d", inLine(t, path), n)
		}
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
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	release := holdLock(t, path)
	const writers = 12
	got := make(chan string, writers)
	for i := range writers {
		b := open(t, path, nil) // a writer of its own, as if it were another process
		go func() {
			r, err := b.Append(t.Context(), thingDraft(fmt.Sprint(i), i))
			got <- fmt.Sprintf("writer %d: commit %d, error %v", i, r.ID, err)
		}()
		waitInLine(t, path, i+1)
	}
	release()
	want := map[string]bool{}
	for i := range writers {
		want[fmt.Sprintf("writer %d: commit %d, error <nil>", i, i+1)] = true
	}
	for range writers {
		if r := <-got; !want[r] {
			t.Errorf("got %s, want them in order", r)
		}
	}
	wantNoLine(t, path)
}

// A writer that gives up is told how long it stood in line and where. Those behind
// it do not wait longer because it has given up.
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
func TestHerd(t *testing.T) {
	n := 40
	if backendtest.Soak() {
		n = 500
	}
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	all := backendtest.StartPutters(t, path, "p", n)
	began := time.Now()
	all.Begin()
	acknowledged := all.Wait()
	t.Logf("%d processes with one put each: %d acknowledged in %v", n, acknowledged, time.Since(began).Round(time.Millisecond))
	for _, p := range all.All {
		if p.Commit == 0 {
			t.Errorf("%s: %s", p.Key, p.Failure)
		}
	}
	backendtest.WantPut(t, open(t, path, nil), all)
	wantNoLine(t, path)
}

// Processes that stand in line are killed. The others are served.
func TestKilledInLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	release := holdLock(t, path)
	all := backendtest.StartPutters(t, path, "p", 16)
	all.Begin()
	waitInLine(t, path, 16)
	killed := map[int]bool{}
	for _, i := range rand.Perm(16)[:8] {
		killed[i] = true
		if err := all.All[i].Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	release()
	all.Wait()
	for i, p := range all.All {
		if (p.Commit == 0) != killed[i] {
			t.Errorf("%s: commit %d, killed %t: %s", p.Key, p.Commit, killed[i], p.Failure)
		}
	}
	backendtest.WantPut(t, open(t, path, nil), all)
	wantNoLine(t, path)
}

// A process that is stopped while it stands in line, wherever, holds up the others
// for a while only. When it goes on it is served too.
func TestStoppedInLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	release := holdLock(t, path)
	all := backendtest.StartPutters(t, path, "p", 6)
	all.Begin()
	waitInLine(t, path, 6)
	stopped := &backendtest.Putters{All: all.All[:2]}
	for _, p := range stopped.All {
		backendtest.Stop(t, p.Process)
	}
	release()
	others := &backendtest.Putters{All: all.All[2:]}
	if n := others.Wait(); n != 4 {
		for _, p := range others.All {
			t.Log(p.Key, p.Commit, p.Failure)
		}
		t.Errorf("%d of 4 were served beside stopped processes", n)
	}
	for _, p := range stopped.All {
		backendtest.Continue(t, p.Process)
	}
	if n := stopped.Wait(); n != 2 {
		t.Errorf("%d of 2 were served after they went on: %s%s", n, stopped.All[0].Failure, stopped.All[1].Failure)
	}
	backendtest.WantPut(t, open(t, path, nil), all)
	wantNoLine(t, path)
}

// The holder of the write lease does not stand in the line, in which others wait for
// it: it commits, renews and releases, and then they are served.
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
	waitInLine(t, path, writers)
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

// A process is stopped while it has the lock. The others give up after their
// patience. When it goes on, so do they.
func TestStoppedHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	writer := startChild(t, path, "w", 1, "")
	<-writer.first
	b := open(t, path, &sqlite.Options{LockTimeout: 50 * time.Millisecond})
	for tries := 1; ; tries++ {
		backendtest.Stop(t, writer.cmd.Process)
		_, err := b.Append(t.Context(), thingDraft(fmt.Sprint("stopped", tries), 1))
		backendtest.Continue(t, writer.cmd.Process)
		if err == nil { // it was stopped between two commits
			continue
		}
		if !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "first in line") {
			t.Errorf("got %v, want LockContention", err)
		}
		t.Logf("try %d: %v", tries, err)
		break
	}
	patient := open(t, path, nil)
	if _, err := patient.Append(t.Context(), thingDraft("goes on", 1)); err != nil {
		t.Error(err)
	}
	if err := writer.stop(); err != nil {
		t.Error(err)
	}
	wantAcknowledged(t, b, writer.acks)
	wantNoLine(t, path)
}
