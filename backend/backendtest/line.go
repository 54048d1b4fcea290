//go:build unix

package backendtest

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/flock"
)

// Line is a store whose writing processes wait in a line. Its tests need the jobs of
// [Children].
type Line struct {
	Place string // of a store with the type Thing
	File  flock.Line
	Open  func(t *testing.T) backend.Backend

	// Hold blocks other writers until it is released. If it stands in the line itself,
	// Holds is 1.
	Hold  func(t *testing.T) (release func())
	Holds int
}

// Ahead is how many processes are in the line.
func (l *Line) Ahead(t *testing.T) int {
	t.Helper()
	p, err := l.File.Join(time.Now(), time.Second)
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
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

// Await waits until so many processes are in the line beside the holder.
func (l *Line) Await(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); l.Ahead(t) < n+l.Holds; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d are in the line, want %d", l.Ahead(t)-l.Holds, n)
		}
	}
}

// InOrder starts writers one after the other, each with a handle of its own, as if it
// were another process: they are served in that order.
func (l *Line) InOrder(t *testing.T, draft func(key string, n int) *backend.Draft) {
	release := l.Hold(t)
	const writers = 12
	got := make(chan string, writers)
	want := map[string]bool{}
	for i := range writers {
		b := l.Open(t)
		go func() {
			r, err := b.Append(t.Context(), draft(fmt.Sprint("k", i), i))
			got <- fmt.Sprintf("writer %d: commit %d, error %v", i, r.ID, err)
		}()
		l.Await(t, i+1)
		want[fmt.Sprintf("writer %d: commit %d, error <nil>", i, i+1)] = true
	}
	release()
	for range writers {
		if r := <-got; !want[r] {
			t.Errorf("got %s, want them in order", r)
		}
	}
}

// Herd makes many processes put one entity each at the same moment: all are
// acknowledged. There are 500 in all.
func (l *Line) Herd(t *testing.T) {
	n := effort.Count(t, 500)
	all := StartPutters(t, l.Place, "p", n)
	began := time.Now()
	all.Begin()
	acknowledged := all.Wait()
	t.Logf("%d processes with one put each: %d acknowledged in %v", n, acknowledged, time.Since(began).Round(time.Millisecond))
	for _, p := range all.All {
		if p.Commit == 0 {
			t.Errorf("%s: %s", p.Key, p.Failure)
		}
	}
	WantPut(t, l.Open(t), all)
}

// wait starts processes and waits until they are in the line, which is held until
// release.
func (l *Line) wait(t *testing.T, n int) (all *Putters, release func()) {
	t.Helper()
	release = l.Hold(t)
	all = StartPutters(t, l.Place, "p", n)
	all.Begin()
	l.Await(t, n)
	return all, release
}

// Killed kills half of the processes in the line: the others are served.
func (l *Line) Killed(t *testing.T) {
	random := effort.Rand(t)
	all, release := l.wait(t, 16)
	killed := map[int]bool{}
	for _, i := range random.Perm(16)[:8] {
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
	WantPut(t, l.Open(t), all)
}

// Stopped stops so many of six processes in the line: they delay the others for a
// limited time only. When they continue they are served too.
func (l *Line) Stopped(t *testing.T, n int) {
	all, release := l.wait(t, 6)
	stopped, others := &Putters{All: all.All[:n]}, &Putters{All: all.All[n:]}
	for _, p := range stopped.All {
		child.Stop(t, p.Process)
	}
	release()
	others.wantServed(t, "beside stopped processes")
	for _, p := range stopped.All {
		child.Continue(t, p.Process)
	}
	stopped.wantServed(t, "after they went on")
	WantPut(t, l.Open(t), all)
}

func (p *Putters) wantServed(t *testing.T, when string) {
	t.Helper()
	if n := p.Wait(); n != len(p.All) {
		for _, o := range p.All {
			t.Log(o.Key, o.Commit, o.Failure)
		}
		t.Errorf("%d of %d were served %s", n, len(p.All), when)
	}
}
