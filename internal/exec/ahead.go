package exec

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// readAhead is how many values of a sequence wait at most; as many may be on their way to
// the consumer.
const readAhead = 64

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
	taken int // how many of these it has

	filled chan struct{} // has a token if values may be waiting, or the sequence has ended
	room   chan struct{} // has a token if the buffer may have room
	mu     sync.Mutex    // guards what follows
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

// put adds a value, and waits for room if there is none. It reports whether there may be
// further ones.
func (b *readBuffer[T]) put(v T) bool {
	for {
		b.mu.Lock()
		n := len(b.values)
		if n < readAhead {
			b.values = append(b.values, v)
		}
		b.mu.Unlock()
		if n == 0 {
			signal(b.filled)
		}
		if n < readAhead {
			return b.ctx.Err() == nil
		}
		select {
		case <-b.room:
		case <-b.ctx.Done():
			return false
		}
	}
}

// next returns the next value, or false at the end.
func (b *readBuffer[T]) next() (value T, err error, ok bool) {
	for {
		if b.ctx.Err() != nil {
			return value, b.failure(), false
		}
		if b.taken < len(b.ready) {
			value, b.ready[b.taken] = b.ready[b.taken], value
			b.taken++
			return value, nil, true
		}
		b.mu.Lock()
		b.ready, b.values, b.taken = b.values, b.ready[:0], 0
		ended := b.ended
		b.mu.Unlock()
		signal(b.room)
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
