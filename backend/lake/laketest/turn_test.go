package laketest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/internal/flock"
)

// inLine is how many processes and handles wait for their turn, or have it.
func inLine(t *testing.T, dir string) int {
	t.Helper()
	p, err := (&flock.Line{Path: filepath.Join(dir, "~line"), Keep: true}).Join(time.Now(), time.Second)
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

func waitInLine(t *testing.T, dir string, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); inLine(t, dir) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d are in the line, want %d", inLine(t, dir), n)
		}
	}
}

// holdTurn has the turn until it is over.
func holdTurn(t *testing.T, dir string) (over func()) {
	t.Helper()
	b, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	over, err = b.Turn(t.Context(), time.Minute, func() { t.Error("somebody has the turn") })
	if err != nil {
		t.Fatal(err)
	}
	return over
}

// openPatient opens the lake in a directory.
func openPatient(t *testing.T, dir string, patience time.Duration) *lake.Backend {
	t.Helper()
	b, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lake.Open(t.Context(), b, &lake.Options{Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Writers of one directory publish in the order in which they came.
func TestWritersTakeTurns(t *testing.T) {
	dir := newThings(t, t.TempDir())
	over := holdTurn(t, dir)
	const writers = 12
	got := make(chan string, writers)
	for i := range writers {
		l := openPatient(t, dir, time.Minute) // a handle of its own, as if it were another process
		go func() {
			r, err := l.Append(t.Context(), thing(fmt.Sprint("k", i)))
			got <- fmt.Sprintf("writer %d: commit %d, error %v", i, r.ID, err)
		}()
		waitInLine(t, dir, i+2)
	}
	over()
	want := map[string]bool{}
	for i := range writers {
		want[fmt.Sprintf("writer %d: commit %d, error <nil>", i, i+1)] = true
	}
	for range writers {
		if r := <-got; !want[r] {
			t.Errorf("got %s, want them in order", r)
		}
	}
}

// A caller that leaves while the process waits for its turn leaves at once, and the
// others of the process are published.
func TestCallerLeavesBeforeItsTurn(t *testing.T) {
	dir := newThings(t, t.TempDir())
	over := holdTurn(t, dir)
	l := openPatient(t, dir, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	left, stays := make(chan error), make(chan error)
	go func() {
		_, err := l.Append(ctx, thing("leaves"))
		left <- err
	}()
	waitInLine(t, dir, 2)
	go func() {
		_, err := l.Append(t.Context(), thing("stays"))
		stays <- err
	}()
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	over()
	if err := <-stays; err != nil {
		t.Error(err)
	}
	if n := wantAll(t, dir, map[string]int64{"stays": 1}); n != 1 {
		t.Errorf("got %d commits, want 1", n)
	}
}

// A writer whose turn does not come is told how long it stood in line. One that has
// the turn and does nothing is passed.
func TestTurnThatDoesNotCome(t *testing.T) {
	dir := newThings(t, t.TempDir())
	const patience = 500 * time.Millisecond
	idle := 0
	for range 8 { // more than are passed in time
		line := &flock.Line{Path: filepath.Join(dir, "~line"), Keep: true}
		p, err := line.Join(time.Now(), time.Minute)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Leave)
		l := openPatient(t, dir, patience)
		_, err = l.Append(t.Context(), thing(fmt.Sprint("k", idle)))
		if idle++; err == nil {
			continue
		}
		if !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), fmt.Sprintf("in line with %d ahead", idle)) {
			t.Errorf("got %v, want LockContention and where it stood", err)
		}
		t.Log(err)
		return
	}
	t.Errorf("nobody had to give up behind %d that have the turn and do nothing", idle)
}

// Many processes put one thing each at the same moment. All are acknowledged.
func TestHerd(t *testing.T) {
	n := 40
	if backendtest.Soak() {
		n = 500
	}
	dir := newThings(t, t.TempDir())
	all := backendtest.StartPutters(t, dir, "p", n)
	began := time.Now()
	all.Begin()
	acknowledged := all.Wait()
	t.Logf("%d processes with one put each: %d acknowledged in %v", n, acknowledged, time.Since(began).Round(time.Millisecond))
	for _, p := range all.All {
		if p.Commit == 0 {
			t.Errorf("%s: %s", p.Key, p.Failure)
		}
	}
	backendtest.WantPut(t, openPatient(t, dir, time.Minute), all)
}

// Processes that wait for their turn are killed, and so is the one that may have it.
// The others are published.
func TestKilledInLine(t *testing.T) {
	dir := newThings(t, t.TempDir())
	over := holdTurn(t, dir)
	all := backendtest.StartPutters(t, dir, "p", 16)
	all.Begin()
	waitInLine(t, dir, 17)
	killed := map[int]bool{}
	for _, i := range rand.Perm(16)[:8] {
		killed[i] = true
		if err := all.All[i].Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	over()
	all.Wait()
	for i, p := range all.All {
		if (p.Commit == 0) != killed[i] {
			t.Errorf("%s: commit %d, killed %t: %s", p.Key, p.Commit, killed[i], p.Failure)
		}
	}
	backendtest.WantPut(t, openPatient(t, dir, time.Minute), all)
}

// A process that is stopped while it waits for its turn, wherever, holds up the
// others for a while only. When it goes on it is published too.
func TestStoppedInLine(t *testing.T) {
	dir := newThings(t, t.TempDir())
	over := holdTurn(t, dir)
	all := backendtest.StartPutters(t, dir, "p", 6)
	all.Begin()
	waitInLine(t, dir, 7)
	stopped := &backendtest.Putters{All: all.All[:1]}
	backendtest.Stop(t, stopped.All[0].Process)
	over()
	others := &backendtest.Putters{All: all.All[1:]}
	if n := others.Wait(); n != 5 {
		for _, p := range others.All {
			t.Log(p.Key, p.Commit, p.Failure)
		}
		t.Errorf("%d of 5 were published beside a stopped process", n)
	}
	backendtest.Continue(t, stopped.All[0].Process)
	if n := stopped.Wait(); n != 1 {
		t.Errorf("the process that went on: %s", stopped.All[0].Failure)
	}
	backendtest.WantPut(t, openPatient(t, dir, time.Minute), all)
}
