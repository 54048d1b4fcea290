package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/sqlite"
)

func copyBenchmarks() []benchmark {
	return []benchmark{{"B39", "copy between backends", "copy", copies}}
}

// copies is B39: stores with commits of 1,000 versions, ten of each key, and stores with
// commits of one version.
func copies(e *env) []row {
	w, keys := plain(), e.keysOf(10)
	bulk := e.history(w, keys, 10)
	total := 10 * keys
	toLake, lakeDir, heap := e.copyOf(bulk, "bulk", true)
	toSQLite, _, heapBack := e.copyOf(lakeDir, "bulk-back", false)
	byHand := e.handMade(w, keys)
	singles := e.singles(w, e.pick(50_000, 10_000))
	n := e.pick(50_000, 10_000)
	oneToLake, oneDir, _ := e.copyOf(singles, "one", true)
	oneToSQLite, _, _ := e.copyOf(oneDir, "one-back", false)
	verify, read := e.verified(bulk, lakeDir)
	rate := func(what string, took time.Duration, n int, g goal) row {
		each := took / time.Duration(n)
		r := row{What: what, Subject: perOp(each), Rounds: 1}
		return r.judge(float64(time.Second)/float64(each), g)
	}
	return []row{
		rate("copy of 1,000-version commits, SQLite to a lake on files", toLake, total, goal{true, 60_000, "/s", true}),
		single("copy of 1,000-version commits, a lake to SQLite / the versions by hand", toSQLite/time.Duration(total), byHand, atLeast(0.7)),
		rate("copy of one-version commits, SQLite to a lake on files", oneToLake, n, goal{true, 10_000, "/s", true}),
		rate("copy of one-version commits, a lake to SQLite", oneToSQLite, n, goal{true, 10_000, "/s", true}),
		single("verification of a copy / reading both logs", verify/time.Duration(total), read/time.Duration(total), atLeast(0.8)),
		heapRow("heap growth: copy from SQLite to a lake", heap),
		heapRow("heap growth: copy from a lake to SQLite", heapBack),
	}
}

func heapRow(what string, heap int64) row {
	r := row{What: what, Subject: megabytes(heap), Rounds: 1}
	return r.judge(float64(heap)/(1<<20), atMost(64, " MB"))
}

// single is a row of one round.
func single(what string, subject, control time.Duration, g goal) row {
	ratio := float64(control) / float64(subject)
	r := row{What: what, Subject: perOp(subject), Control: perOp(control), Ratio: &spread{ratio, ratio, ratio}, Rounds: 1}
	return r.judge(ratio, g)
}

// openArchive opens a SQLite file, or a lake in a directory.
func (e *env) openArchive(path string, isLake, target bool) (backend.Archive, func()) {
	if !isLake {
		b, err := sqlite.Open(e.ctx, path, &sqlite.Options{Target: target})
		e.must(err)
		return b, func() { e.must(b.Close()) }
	}
	files, err := file.Open(path, &file.Options{Create: target})
	e.must(err)
	l, err := lake.Open(e.ctx, files, &lake.Options{Target: target})
	e.must(err)
	return l, func() { e.must(l.Close()) }
}

// copyOf copies a store to a lake, or from one, and returns how long that took, where the
// copy is, and how much the heap grew.
func (e *env) copyOf(source, name string, toLake bool) (took time.Duration, target string, heap int64) {
	target = filepath.Join(e.dir, "copy-"+name)
	e.cleanup(func() { os.RemoveAll(target) })
	from, closeFrom := e.openArchive(source, !toLake, false)
	defer closeFrom()
	to, closeTo := e.openArchive(target, toLake, true)
	defer closeTo()
	used := watch(func() { e.must(archive.Copy(e.ctx, from, to)) })
	return used.took, target, used.heap
}

// handMade returns how long a version takes that is written by hand, 1,000 in a commit.
func (e *env) handMade(w workload, keys int) time.Duration {
	h := e.openByHand(w, keys)
	batches := [][]rawRow{}
	for version := 1; version <= 9; version++ {
		for from := 0; from < keys; from += commitSize {
			batches = append(batches, w.rows(from, min(commitSize, keys-from), version))
		}
	}
	start := time.Now()
	e.each(batches, h.append)
	return time.Since(start) / time.Duration(9*keys)
}

// singles is a store with commits of one version.
func (e *env) singles(w workload, n int) string {
	path := e.fresh(fmt.Sprintf("singles-%d.db", n))
	s := e.store(path)
	for i := range n {
		_, err := s.Commit(e.ctx, onto.Draft{}.Ensure(w.thing(i, 0)))
		e.must(err)
	}
	e.must(s.Close())
	return path
}

// verified returns how long a verification takes, and reading both logs.
func (e *env) verified(source, copied string) (verify, read time.Duration) {
	from, closeFrom := e.openArchive(source, false, false)
	defer closeFrom()
	to, closeTo := e.openArchive(copied, true, false)
	defer closeTo()
	start := time.Now()
	for _, side := range []backend.Archive{from, to} {
		for _, err := range side.Log(e.ctx, 0) {
			e.must(err)
		}
	}
	read = time.Since(start)
	start = time.Now()
	got, err := (&archive.Job{From: from, To: to}).Verify(e.ctx)
	e.must(err)
	e.assert(got.First == nil, "the copy differs: %v", got.First)
	return time.Since(start), read
}
