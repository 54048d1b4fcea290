// Package groupcommit lets callers share one commit.
//
// Callers join a queue. The first one leads: it waits for the backend's lock, takes
// the callers that wait by then, commits them as one group, and passes the lead to
// the next caller. All of it happens in the goroutines of the callers.
package groupcommit

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
)

// Member is a caller's place in the queue. Requests of a backend's callers embed it.
type Member struct {
	ctx   context.Context // of the caller
	size  Size
	wake  chan bool // true: it leads; false: its group has ended. Nil if it leads from the start
	leads bool      // the lead was passed to it
	taken bool      // by Take

	err      error // why it is in no group
	panicked any   // what its code panicked with
}

func (m *Member) member() *Member { return m }

// item is a pointer to a struct that embeds [Member].
type item interface {
	comparable
	member() *Member
}

// Size is how much a caller writes.
type Size struct{ Writes, Bytes int }

// Bounds bound a group, which ends with the member that reaches one. 0 is no bound.
type Bounds struct{ Callers, Writes, Bytes int }

// Queue is the callers that want to commit.
type Queue[T item] struct {
	bounds Bounds
	lead   func(leader T) error

	group []T // of the leader, which alone uses it

	mu      sync.Mutex // guards what follows
	waiting []T        // the first one leads
	led     bool
	closed  bool
}

// New makes a queue. A leader calls lead, which waits for the lock, calls Take, and
// gives each member of that group its verdict. Its error, such as for a lock that could
// not be taken, is the leader's alone: the followers have deadlines of their own.
func New[T item](bounds Bounds, lead func(leader T) error) *Queue[T] {
	return &Queue[T]{bounds: bounds, lead: lead}
}

// ErrClosed is the error of Do on a closed queue.
var ErrClosed = errors.New("the queue is closed")

// Do returns when the caller has its verdict from a group. It fails if the caller was
// in none: the queue is closed, the context ended before its turn, or it had to lead
// and could not. If the caller's own code panicked, so does Do.
func (q *Queue[T]) Do(ctx context.Context, caller T, size Size) error {
	m := caller.member()
	*m = Member{ctx: ctx, size: size}
	leads, err := q.join(caller, m)
	if err != nil {
		return err
	}
	if !leads {
		select {
		case leads = <-m.wake:
		case <-ctx.Done():
			if q.leave(caller, m) {
				return ctx.Err()
			}
			<-m.wake // it was taken, and stays to the end
		}
	}
	if leads {
		q.leadGroup(caller, m)
	}
	if m.panicked != nil {
		panic(m.panicked)
	}
	return m.err
}

// join appends a caller to the queue and reports whether it leads.
func (q *Queue[T]) join(caller T, m *Member) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, ErrClosed
	}
	q.waiting = append(q.waiting, caller)
	if q.led {
		m.wake = make(chan bool, 1)
		return false, nil
	}
	q.led = true
	return true, nil
}

// leave takes a caller out of the queue. It reports false if the caller was taken.
func (q *Queue[T]) leave(caller T, m *Member) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.taken {
		return false
	}
	q.remove(caller)
	if m.leads {
		q.pass()
	}
	return true
}

func (q *Queue[T]) remove(caller T) {
	i := slices.Index(q.waiting, caller)
	q.waiting = slices.Delete(q.waiting, i, i+1)
}

// pass passes the lead to the next caller, if there is one.
func (q *Queue[T]) pass() {
	if q.led = len(q.waiting) > 0; q.led {
		next := q.waiting[0].member()
		next.leads = true
		next.wake <- true
	}
}

// errAborted is for the group of a leader that has panicked.
var errAborted = onto.Errorf(onto.OutcomeUnknown, "it is not known whether the commit was made: the leader of its group has panicked").
	WithHint("look for the commit before you try again")

// leadGroup leads a group to its end. If lead does not return, the members of the group
// get an unknown outcome.
func (q *Queue[T]) leadGroup(leader T, m *Member) {
	returned := false
	defer func() {
		q.end(m, !returned)
		q.mu.Lock()
		defer q.mu.Unlock()
		if !m.taken {
			q.remove(leader)
		}
		q.pass()
	}()
	if q.Len() > 1 {
		runtime.Gosched() // the callers of the last group may want to join
	}
	if err := q.lead(leader); err != nil {
		m.err = err
	}
	returned = true
}

// end wakes the members of the group.
func (q *Queue[T]) end(leader *Member, aborted bool) {
	for _, caller := range q.group {
		m := caller.member()
		if aborted {
			m.err = errAborted
		}
		if m != leader {
			m.wake <- false
		}
	}
	if len(q.group) > 1 {
		runtime.Gosched() // they may want to join again before the next group is taken
	}
	clear(q.group)
	q.group = q.group[:0]
}

// Take begins the leader's group: callers in their order, as many as the bounds allow.
// They stay to the end of it. A caller whose context has ended is not taken; if that is
// the leader, the group may be empty. The slice is good until lead returns or calls
// Done.
func (q *Queue[T]) Take() []T { return q.TakeIf(func(T) bool { return true }) }

// TakeIf is Take of the callers for which ok is true. The others go on waiting.
func (q *Queue[T]) TakeIf(ok func(T) bool) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	var size Size
	rest := q.waiting[:0]
	for i, caller := range q.waiting {
		m := caller.member()
		if !q.bounds.allow(len(q.group), size) {
			rest = append(rest, q.waiting[i:]...)
			break
		}
		if !ok(caller) {
			rest = append(rest, caller)
			continue
		}
		m.taken = true
		if m.err = m.ctx.Err(); m.err != nil {
			if m.wake != nil && !m.leads {
				m.wake <- false
			}
			continue
		}
		size.Writes += m.size.Writes
		size.Bytes += m.size.Bytes
		q.group = append(q.group, caller)
	}
	clear(q.waiting[len(rest):])
	q.waiting = rest
	return q.group
}

// Done ends the group early, so that its leader can take another one. The leader, if it
// is in the group, must not.
func (q *Queue[T]) Done(leader T) { q.end(leader.member(), false) }

// allow reports whether a group of so many callers has room for one more.
func (b *Bounds) allow(callers int, s Size) bool {
	below := func(n, bound int) bool { return bound == 0 || n < bound }
	return callers == 0 || below(callers, b.Callers) && below(s.Writes, b.Writes) && below(s.Bytes, b.Bytes)
}

// Len returns how many callers wait, the leader included until it takes them.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Close refuses new callers. Waiting ones are still served.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// Run runs code of the member's caller. It reports false if that has panicked: then Do
// panics with the same value, in the goroutine of the caller.
func (m *Member) Run(f func()) (ok bool) {
	defer func() {
		if m.panicked = recover(); m.panicked != nil {
			ok = false
		}
	}()
	f()
	return true
}

// Context returns the context of the caller.
func (m *Member) Context() context.Context { return m.ctx }

// Wanted returns a context that ends when the contexts of all members of a group have
// ended.
func Wanted[T item](group []T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	var waiting atomic.Int64
	waiting.Store(int64(len(group)))
	stops := make([]func() bool, len(group))
	for i, caller := range group {
		stops[i] = context.AfterFunc(caller.member().ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
