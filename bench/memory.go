package main

import (
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func memoryBenchmarks() []benchmark {
	return []benchmark{{"B11", "heap growth while streaming", "sqlite", streaming}}
}

// streaming is B11. It writes the rows as one commit and reads them again.
func streaming(e *env) []row {
	n := e.pick(1_000_000, 200_000)
	s := e.openStore(e.fresh("stream.db"))
	writing := watch(func() { e.commitStream(s, n) })
	finding := watch(func() { e.assert(e.findAll(s) == n, "Find did not yield %d rows", n) })
	history := watch(func() { e.assert(e.historyAll(s) == n, "Past did not yield %d rows", n) })
	rows := thousands(int64(n)) + " rows"
	return []row{
		finding.row("heap growth: reading "+rows+" by Find", n, atMost(32, " MB")),
		history.row("heap growth: reading "+rows+" by Versions", n, noGoal()),
		writing.row("heap growth: writing "+rows+" by CommitStream", n, noGoal()),
	}
}

func (e *env) commitStream(s *store.Store, n int) {
	var things iter.Seq2[any, error] = func(yield func(any, error) bool) {
		w := plain()
		for i := range n {
			if !yield(w.thing(i, 0), nil) {
				return
			}
		}
	}
	res, err := s.CommitStream(e.ctx, onto.Draft{}, things)
	e.must(err)
	e.assert(res.Operations == n, "CommitStream wrote %d rows", res.Operations)
}

func (e *env) findAll(s *store.Store) (n int) {
	for _, err := range store.Find[Customer](s.Now()).All(e.ctx) {
		e.must(err)
		n++
	}
	return n
}

func (e *env) historyAll(s *store.Store) (n int) {
	for _, err := range s.Now().Find(typeName).Versions(e.ctx, 0) {
		e.must(err)
		n++
	}
	return n
}

// usage is what a stream needed.
type usage struct {
	heap int64 // most bytes in use beyond those from before
	took time.Duration
}

// watch samples the heap while f runs. SQLite's own cache, which is bounded
// by a setting, is not on it.
func watch(f func()) usage {
	runtime.GC()
	runtime.GC() // what the first one made free
	var peak int64
	before := heapInUse()
	stop := every(2*time.Millisecond, func() { peak = max(peak, heapInUse()-before) })
	defer stop()
	start := time.Now()
	f()
	took := time.Since(start)
	stop()
	return usage{peak, took}
}

// every calls f now and then until stop is called, which waits for it.
func every(pause time.Duration, f func()) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-end:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(end); <-ended })
}

func (u usage) row(what string, n int, g goal) row {
	subject := megabytes(u.heap).note("%s rows/s", thousands(int64(float64(n)/u.took.Seconds())))
	return row{What: what, Subject: subject}.judge(subject.Value, g)
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}
