//go:build linux

package flock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/flock"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"join": joinForever})
	goleak.VerifyTestMain(m)
}

// joinForever stands in the line at a path until the process is killed.
func joinForever(args []string) error {
	p, err := (&flock.Line{Path: args[0]}).Join(time.Now(), time.Hour)
	if err != nil {
		return err
	}
	fmt.Println("joined")
	_, err = io.Copy(io.Discard, os.Stdin) // which stays open
	runtime.KeepAlive(p)
	return err
}

const patience = 10 * time.Second

func newLine(t *testing.T) *flock.Line {
	t.Helper()
	return &flock.Line{Path: filepath.Join(t.TempDir(), "line")}
}

func join(t *testing.T, l *flock.Line) *flock.Place {
	t.Helper()
	p, err := l.Join(time.Now().Add(patience), patience)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantEmpty(t *testing.T, l *flock.Line) {
	t.Helper()
	if formed(l) {
		t.Errorf("%s is still there", l.Path)
	}
}

func formed(l *flock.Line) bool {
	_, err := os.Lstat(l.Path)
	return err == nil
}

// Processes are served in the order in which they came, one at a time.
func TestLineKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 200
		l := newLine(t)
		var mu sync.Mutex // guards served; the race detector does not know about lines
		var served []int
		var wg sync.WaitGroup
		for i := range waiters {
			p := join(t, l)
			wg.Go(func() {
				defer p.Leave()
				if err := p.Wait(t.Context()); err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
				mu.Lock()
				served = append(served, i)
				mu.Unlock()
				p.Served()
				time.Sleep(time.Duration(i*7%20) * time.Millisecond)
			})
		}
		wg.Wait()
		if len(served) != waiters || !slices.IsSorted(served) {
			t.Errorf("got the order %v", served)
		}
		wantEmpty(t, l)
	})
}

// Places are taken and released all the time, also the only one, with which the file is
// removed. There are never two that are first.
func TestLineComesAndGoes(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLine(t)
			l.Keep = keep
			var first atomic.Int32
			var turns atomic.Int64
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(1, uint64(i)))
					for range 500 {
						p := join(t, l)
						if err := p.Wait(t.Context()); err != nil {
							t.Error(err)
						}
						if n := first.Add(1); n != 1 {
							t.Errorf("%d are first", n)
						}
						time.Sleep(time.Duration(r.IntN(2)) * time.Microsecond)
						first.Add(-1)
						turns.Add(1)
						p.Leave()
						time.Sleep(time.Duration(r.IntN(2)) * time.Millisecond)
					}
				})
			}
			wg.Wait()
			t.Logf("%d turns", turns.Load())
			if formed(l) != keep {
				t.Errorf("the file is there: got %t, want %t", formed(l), keep)
			}
		})
	}
}

// A first that insists is not overtaken, until it is served.
func TestLineIsStrict(t *testing.T) {
	l := newLine(t)
	if l.Strict() {
		t.Errorf("no line is strict")
	}
	p := join(t, l)
	if l.Strict() {
		t.Errorf("nobody insists, and the line is strict")
	}
	p.Insist()
	if !l.Strict() {
		t.Errorf("the first insists, and the line is not strict")
	}
	p.Served()
	if l.Strict() {
		t.Errorf("the first was served, and the line is strict")
	}
	p.Leave()
	wantEmpty(t, l)
}

// A waiter whose context ends leaves at once, and the others move up.
func TestLineIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		first, second, third := join(t, l), join(t, l), join(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- second.Wait(ctx) }()
		time.Sleep(time.Second)
		began := time.Now()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) || !time.Now().Equal(began) {
			t.Errorf("got %v after %v, want the end of the context at once", err, time.Since(began))
		}
		second.Leave()
		first.Leave()
		if err := third.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		third.Leave()
		wantEmpty(t, l)
	})
}

// A first that does not move is skipped after a part of the patience: a stopped process
// does not block the others. It stays the first of those that come later.
func TestLinePassesTheStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		stopped := join(t, l)
		for range 3 {
			p, began := join(t, l), time.Now()
			if err := p.Wait(t.Context()); err != nil || time.Since(began) > patience/2 {
				t.Errorf("got %v after %v, want to be the first", err, time.Since(began))
			}
			p.Leave()
		}
		stopped.Leave()
		wantEmpty(t, l)
	})
}

// While the line moves its waiters stay. One that leaves in the end is told what
// happened meanwhile.
func TestLineThatMovesIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		const ahead = 120
		var wg sync.WaitGroup
		for range ahead {
			p := join(t, l)
			wg.Go(func() {
				defer p.Leave()
				if p.Wait(t.Context()) == nil {
					time.Sleep(time.Second)
					p.Served()
				}
			})
		}
		p, began := join(t, l), time.Now()
		err := p.Wait(t.Context())
		var late *flock.LateError
		if !errors.As(err, &late) {
			t.Fatalf("got %v, want a late error", err)
		}
		t.Log(err)
		if stood := time.Since(began); stood != flock.Patiences*patience || late.Stood != stood {
			t.Errorf("stood %v, and the error says %v; want %v", stood, late.Stood, flock.Patiences*patience)
		}
		if late.Served < 95 || late.Served > 100 || late.Ahead < 1 || late.First != os.Getpid() || late.Last != os.Getpid() {
			t.Errorf("got %+v", late)
		}
		p.Leave()
		wg.Wait()
		wantEmpty(t, l)
	})
}

// Waiters that give up do not count as progress: they do not extend the patience of the
// others.
func TestLineThatStandsIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		var wg sync.WaitGroup
		for range 20 {
			p := join(t, l)
			wg.Go(func() {
				defer p.Leave()
				began := time.Now()
				err := p.Wait(t.Context())
				for ; err == nil; err = p.Late() { // it is first, and does not get the resource
					time.Sleep(time.Millisecond)
				}
				var late *flock.LateError
				if !errors.As(err, &late) || late.Served != 0 || time.Since(began) > patience+time.Second {
					t.Errorf("got %v after %v, want a late error after %v", err, time.Since(began), patience)
				}
			})
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		wantEmpty(t, l)
	})
}

// startChild starts a process that joins the line.
func startChild(t *testing.T, l *flock.Line) *child.Process {
	t.Helper()
	p := child.Start(t, "join", l.Path)
	p.Until(t, "joined")
	return p
}

// Killed processes leave no places behind, and their file is removed by the next
// process.
func TestLineOfKilledProcesses(t *testing.T) {
	l := newLine(t)
	first, second := startChild(t, l), startChild(t, l)
	p, err := l.Join(time.Now(), patience)
	if err != nil {
		t.Fatal(err)
	}
	var late *flock.LateError
	if err := p.Wait(t.Context()); !errors.As(err, &late) || late.Ahead != 2 || late.First != first.Process.Pid {
		t.Errorf("got %v, want 2 ahead, the first of them process %d", err, first.Process.Pid)
	}
	for _, cmd := range []*child.Process{second, first} {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	if err := p.Wait(t.Context()); err != nil {
		t.Errorf("both are dead: %v", err)
	}
	p.Leave()
	wantEmpty(t, l)

	last := startChild(t, l)
	_ = last.Process.Kill()
	_ = last.Wait()
	if !formed(l) {
		t.Errorf("a killed process has removed its line")
	}
	join(t, l).Leave()
	wantEmpty(t, l)
}

// Anything else in the place of the file is not opened, followed, or written.
func TestLineIsAPlainFile(t *testing.T) {
	for what, put := range map[string]func(path, other string) error{
		"link":      func(path, other string) error { return os.Symlink(other, path) },
		"pipe":      func(path, _ string) error { return syscall.Mkfifo(path, 0o666) },
		"directory": func(path, _ string) error { return os.Mkdir(path, 0o777) },
	} {
		t.Run(what, func(t *testing.T) {
			l := newLine(t)
			other := filepath.Join(t.TempDir(), "other")
			if err := os.WriteFile(other, []byte("precious"), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := put(l.Path, other); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Join(time.Now(), patience); err == nil || !strings.Contains(err.Error(), l.Path) {
				t.Errorf("got %v, want an error that names the file", err)
			}
			if text, err := os.ReadFile(other); err != nil || string(text) != "precious" {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

// An invalid record counts as none.
func TestLineIgnoresDamage(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("9", 1000), "-3 served, the last was process 99999999999999999999\n"} {
		l := newLine(t)
		if err := os.WriteFile(l.Path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		p := join(t, l)
		p.Served()
		p.Served()
		if err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		p.Leave()
		wantEmpty(t, l)
	}
}
