package jq

import (
	"context"
	"fmt"
	"runtime/metrics"
	"time"
)

// MaxMemory is how many bytes the heap may grow while a program runs on one
// object. The heap is the whole process's, so what others allocate meanwhile
// counts too; runs of less than a few milliseconds are measured only before large allocations.
const MaxMemory = 256 << 20

const (
	lookEvery = 8                     // steps between checks of the clock: in fewer, no value can double twice
	tickEvery = 1 << 14               // the same for small steps in Go
	lookAfter = 2 * time.Millisecond  // how long a run takes before the heap is measured first
	lookAgain = 10 * time.Millisecond // and how long between measurements
)

// watch is a context that also ends when memory runs short. The interpreter calls Done
// before each step, which makes the checks.
type watch struct {
	context.Context
	done  <-chan struct{}
	steps int
	ticks int

	start, last time.Time
	heap        uint64 // at the first measurement
	err         error  // why the run has to stop, apart from the context
}

// Done is called before each step.
func (w *watch) Done() <-chan struct{} {
	if w.steps++; w.steps%lookEvery == 0 {
		w.look()
	}
	return w.done
}

// tick is called by Go functions in each round of a long loop, with the number of small
// steps of the round. It panics with stopped when the run has to stop.
func (w *watch) tick(steps int) {
	if w.ticks += steps; w.ticks < tickEvery {
		return
	}
	w.ticks = 0
	w.look()
	select {
	case <-w.done:
		panic(stopped{})
	default:
	}
}

// stop ends the run; the program cannot catch it.
func (w *watch) stop(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
		ended := make(chan struct{})
		close(ended)
		w.done = ended
	}
	panic(stopped{})
}

// stopped ends a Go function; the interpreter then finds that the run is over.
type stopped struct{}

func (stopped) Error() string { return "stopped" }

// Err tells why the run has to stop.
func (w *watch) Err() error {
	if w.err != nil {
		return w.err
	}
	return w.Context.Err()
}

func (w *watch) look() {
	now := time.Now()
	switch {
	case w.start.IsZero():
		w.start = now
	case w.last.IsZero() && now.Sub(w.start) > lookAfter:
		w.last, w.heap = now, heapSize()
	case !w.last.IsZero() && now.Sub(w.last) > lookAgain:
		w.weigh(now)
	}
}

// large is called before much is allocated at once: a few such steps between two measurements
// would go far beyond the limit.
func (w *watch) large() {
	if now := time.Now(); w.last.IsZero() {
		w.start, w.last, w.heap = now, now, heapSize()
	} else {
		w.weigh(now)
	}
	if w.err != nil {
		panic(stopped{})
	}
}

// weigh compares the heap with the limit.
func (w *watch) weigh(now time.Time) {
	w.last = now
	if size := heapSize(); w.err == nil && size > w.heap+MaxMemory {
		w.err = fmt.Errorf("it took more than %d MiB of memory", MaxMemory>>20)
		ended := make(chan struct{})
		close(ended)
		w.done = ended
	}
}

// heapSize is how many bytes the objects on the heap take, garbage included.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
