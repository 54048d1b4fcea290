package laketest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/internal/flock"
)

// lineOf is the line of a lake on disk, in which the holder of the turn stands too.
func lineOf(dir string) *backendtest.Line {
	return &backendtest.Line{
		Place: dir, File: flock.Line{Path: filepath.Join(dir, "~line"), Keep: true},
		Open: func(t *testing.T) backend.Backend { return openPatient(t, dir, time.Minute) },
		Hold: func(t *testing.T) func() { return holdTurn(t, dir) }, Holds: 1,
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
	lineOf(newThings(t, t.TempDir())).InOrder(t, func(key string, _ int) *backend.Draft { return thing(key) })
}

// A caller that gives up while its process waits for its turn returns at once, and the
// other callers of the process are published.
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
	lineOf(dir).Await(t, 1)
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

// A writer whose turn does not come is told how long it stood in line. A process that
// has the turn and does nothing is skipped.
func TestTurnThatDoesNotCome(t *testing.T) {
	t.Parallel()
	dir := newThings(t, t.TempDir())
	const patience = 500 * time.Millisecond
	idle := 0
	for range 8 { // more than are passed in time
		line := &flock.Line{Path: filepath.Join(dir, "~line"), Keep: true}
		p, err := line.Join(time.Now(), time.Minute)
		if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
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
	t.Parallel()
	lineOf(newThings(t, t.TempDir())).Herd(t)
}

// Processes that wait for their turn are killed, and so is one that may have it. The
// others are published.
func TestKilledInLine(t *testing.T) {
	t.Parallel()
	lineOf(newThings(t, t.TempDir())).Killed(t)
}

// A process that is stopped while it waits for its turn delays the others for a limited
// time only. When it continues it is published too.
func TestStoppedInLine(t *testing.T) {
	t.Parallel()
	lineOf(newThings(t, t.TempDir())).Stopped(t, 1)
}
