package exec

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// Of a sequence, at most so many values are read that the consumer has not taken: a few at
// first, since it may want no more, and more with each that it takes.
const firstAhead, mostAhead = 8, 64

// MergeAhead merges sequences, each of which is in order, as [Merge] does. A goroutine reads
// each of them ahead of the consumer, up to a bound, so that slow sequences work side by side.
//
// The sequences are made with a context that is cancelled when the merge ends. It does not
// end before all goroutines have, so a sequence must heed its context. An error of a sequence
// ends the merge when the next value is asked for; lesser values that were read ahead may be
// lost. The error of the context of the merge does the same. A panic in a sequence becomes one
// of the consumer's goroutine.
func MergeAhead[T any](ctx context.Context, sequences []func(context.Context) iter.Seq2[T, error], compare func(a, b *T) int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		if len(sequences) == 1 {
			untilError(sequences[0](inner), yield)
			return
		}
		r := &readers{ctx: inner, cancel: cancel}
		defer r.stop()
		nexts := make([]func() (T, error, bool), len(sequences))
		for i, s := range sequences {
			b := &readBuffer[T]{readers: r, filled: make(chan struct{}, 1), room: make(chan struct{}, 1)}
			nexts[i] = b.next
			r.running.Go(func() { b.read(s) })
		}
		merge(nexts, compare, yield)
	}
}

// untilError yields a sequence up to its first error.
func untilError[T any](s iter.Seq2[T, error], yield func(T, error) bool) {
	for v, err := range s {
		if !yield(v, err) || err != nil {
			return
		}
	}
}

// readers is what the goroutines of a merge share.
type readers struct {
	ctx     context.Context // ends with the merge, and with the first failure
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // guards what follows
	err    error      // the first
	thrown func()     // panics as a sequence did, or ends the goroutine; nil if none has
	raised bool       // what was thrown has reached the consumer
}

// fail ends the merge.
func (r *readers) fail(err error, thrown func()) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	if r.thrown == nil {
		r.thrown = thrown
	}
	r.mu.Unlock()
	r.cancel()
}

// failure is why the merge has ended, for the consumer.
func (r *readers) failure() error {
	r.mu.Lock()
	err, thrown := r.err, r.thrown
	r.raised = r.raised || thrown != nil
	r.mu.Unlock()
	if thrown != nil {
		thrown()
	}
	if err == nil {
		err = r.ctx.Err()
	}
	return err
}

// stop ends the goroutines, and waits for them.
func (r *readers) stop() {
	r.cancel()
	r.running.Wait()
	if r.thrown != nil && !r.raised {
		r.thrown()
	}
}

// readBuffer is what was read of a sequence.
type readBuffer[T any] struct {
	*readers
	ready []T // for the consumer alone
	at    int // how many of these it has taken

	filled chan struct{} // has a token if values may be waiting, or the sequence has ended
	room   chan struct{} // has a token if the consumer may have taken enough
	taken  atomic.Int64  // how many values the consumer has taken
	enough atomic.Int64  // with how many taken reading goes on; 0 while it does
	count  int64         // how many values were read, for the goroutine that reads

	mu     sync.Mutex // guards what follows
	values []T
	ended  bool
}

// read reads the sequence to its end, or to that of the merge.
func (b *readBuffer[T]) read(make func(context.Context) iter.Seq2[T, error]) {
	returned := false
	defer func() {
		if !returned {
			thrown := runtime.Goexit
			if value := recover(); value != nil {
				thrown = func() { panic(value) }
			}
			b.fail(nil, thrown)
		}
		b.mu.Lock()
		b.ended = true
		b.mu.Unlock()
		signal(b.filled)
	}()
	for v, err := range make(b.ctx) {
		if err != nil {
			b.fail(err, nil)
			break
		}
		if !b.put(v) {
			break
		}
	}
	returned = true
}

// put adds a value, and waits until a further one may be read. It reports whether it may.
func (b *readBuffer[T]) put(v T) bool {
	b.mu.Lock()
	b.values = append(b.values, v)
	first := len(b.values) == 1
	b.mu.Unlock()
	if first {
		signal(b.filled)
	}
	b.count++
	taken := b.taken.Load()
	if most := min(mostAhead, firstAhead+taken); b.count-taken >= most {
		b.wait(b.count - most/4)
	}
	return b.ctx.Err() == nil
}

// wait waits until the consumer has taken so many values, or the merge has ended.
func (b *readBuffer[T]) wait(enough int64) {
	b.enough.Store(enough)
	for b.taken.Load() < enough && b.ctx.Err() == nil {
		select {
		case <-b.room:
		case <-b.ctx.Done():
		}
	}
	b.enough.Store(0)
}

// next returns the next value, or false at the end.
func (b *readBuffer[T]) next() (value T, err error, ok bool) {
	for {
		if b.ctx.Err() != nil {
			return value, b.failure(), false
		}
		if b.at < len(b.ready) {
			value, b.ready[b.at] = b.ready[b.at], value
			b.at++
			if taken := b.taken.Add(1); taken == b.enough.Load() {
				signal(b.room)
			}
			return value, nil, true
		}
		b.mu.Lock()
		b.ready, b.values, b.at = b.values, b.ready[:0], 0
		ended := b.ended
		b.mu.Unlock()
		if len(b.ready) > 0 {
			continue
		}
		if ended && b.ctx.Err() == nil {
			return value, nil, false
		}
		select {
		case <-b.filled:
		case <-b.ctx.Done():
		}
	}
}

// signal puts a token into a channel that has none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
