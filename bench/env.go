package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// env is the environment of a benchmark.
type env struct {
	ctx     context.Context // never cancelled: watching a context costs both sides something
	dir     string
	short   bool
	cpu     bool // measure processor time
	random  *rand.Rand
	started time.Time
	running string // the benchmark's number, for profiles

	cleanups []func()
	fixtures map[string]string // path of each file that was built, by name
	files    int
}

func newEnv(dir string, short bool) *env {
	return &env{
		ctx: context.Background(), dir: dir, short: short, started: time.Now(),
		random: rand.New(rand.NewPCG(1, 2)), fixtures: map[string]string{},
	}
}

// failure is what must panics with, so that benchmarks read without error
// handling in every line.
type failure struct{ err error }

// must ends the benchmark if err is not nil. It is not for other goroutines.
func (e *env) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// assert ends the benchmark if a condition does not hold.
func (e *env) assert(ok bool, format string, args ...any) {
	if !ok {
		panic(failure{fmt.Errorf(format, args...)})
	}
}

// runOne runs one benchmark and cleans up after it.
func (e *env) runOne(b benchmark) (rows []row, err error) {
	defer e.runCleanups()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			panic(p)
		}
	}()
	return b.Run(e), nil
}

func (e *env) runCleanups() {
	for _, f := range slices.Backward(e.cleanups) {
		f()
	}
	e.cleanups = nil
}

// cleanup has f called after the benchmark, last first.
func (e *env) cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

// pick returns the first number, or the second for a short run.
func (e *env) pick(full, short int) int {
	if e.short {
		return short
	}
	return full
}

func (e *env) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(e.started).Seconds(), fmt.Sprintf(format, args...))
}

// fixture returns the path of a closed database that build has filled. It is built
// once; benchmarks that write take a copy.
func (e *env) fixture(name string, build func(path string)) string {
	if path, ok := e.fixtures[name]; ok {
		return path
	}
	e.logf("   building %s", name)
	path := filepath.Join(e.dir, name)
	build(path)
	e.fixtures[name] = path
	return path
}

// copied returns the path of a copy that lasts as long as the benchmark.
func (e *env) copied(path string) string {
	e.files++
	to := fmt.Sprintf("%s.%d", path, e.files)
	e.cleanup(func() { e.removeDatabase(to) })
	e.must(copyFile(to, path))
	return to
}

// fresh returns a path for a new database that lasts as long as the benchmark.
func (e *env) fresh(name string) string {
	e.files++
	path := filepath.Join(e.dir, fmt.Sprintf("%s.%d", name, e.files))
	e.cleanup(func() { e.removeDatabase(path) })
	return path
}

func (e *env) removeDatabase(path string) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(path + suffix)
	}
}

// copyFile copies a database and waits until it is on disk, so that a
// benchmark does not pay for writing it back.
func copyFile(to, from string) error {
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s has a write-ahead log: it was not closed", from)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
