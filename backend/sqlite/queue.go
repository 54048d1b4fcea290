package sqlite

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Group commit: callers that want to append stand in a queue. Whoever comes to
// an empty one leads: he waits for the lock, takes everybody who stands there
// by then, commits them all with one fsync, gives each his verdict, and hands
// the lead to the next who waits. There is no goroutine to look after.

// queue is the callers that want to append.
type queue struct {
	mu      sync.Mutex // guards what follows
	waiting []*member
	led     bool // somebody leads
	closed  bool
}

// member is one caller in the queue.
type member struct {
	ctx   context.Context
	draft *backend.Draft
	until time.Time // when to stop waiting for the lock

	turn atomic.Int32  // waits, or runs, or has left; see below
	lead chan struct{} // closed when this member has to lead
	done chan struct{} // closed when result and err are set

	result onto.Result
	err    error
}

const (
	waits int32 = iota
	runs        // its writes are being decided: it stays to the end
	left        // its context ended before its turn
)

// start begins the member's turn. It reports false if the member has left.
func (m *member) start() bool {
	if m.ctx.Err() != nil {
		m.turn.CompareAndSwap(waits, left)
	}
	return m.turn.CompareAndSwap(waits, runs)
}

func (m *member) finish(r onto.Result, err error) {
	m.result, m.err = r, err
	close(m.done)
}

// These bound what shares one transaction: how many callers, and how many
// writes they have together.
const (
	maxGroup       = 512
	maxGroupWrites = 16_384
)

// Append applies a draft as one commit, or none if it changes nothing.
func (b *Backend) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if err := ctx.Err(); err != nil {
		return onto.Result{}, err
	}
	if d.Evolve != nil {
		return onto.Result{}, onto.Errorf(onto.Invalid, "only a stream can evolve types").WithHint("append the draft as a stream")
	}
	m := &member{ctx: ctx, draft: d, until: b.deadline(), lead: make(chan struct{}), done: make(chan struct{})}
	if carriesWriteLease(d.Lease) {
		b.appendAlone(m)
		return m.result, m.err
	}
	leads, err := b.queue.join(m)
	if err != nil {
		return onto.Result{}, b.closedError()
	}
	if !leads {
		select {
		case <-m.done:
			return m.result, m.err
		case <-m.lead:
		case <-ctx.Done():
			return b.leave(m)
		}
	}
	b.leadGroup(m)
	<-m.done
	return m.result, m.err
}

// join puts the member at the end and reports whether it has to lead.
func (q *queue) join(m *member) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, onto.Closed
	}
	q.waiting = append(q.waiting, m)
	if q.led {
		return false, nil
	}
	q.led = true
	return true, nil
}

// leave is what a member does whose context ended while it waited.
func (b *Backend) leave(m *member) (onto.Result, error) {
	if !m.turn.CompareAndSwap(waits, left) {
		<-m.done // too late: the verdict is on its way
		return m.result, m.err
	}
	b.queue.mu.Lock()
	b.queue.remove(m)
	b.queue.mu.Unlock()
	select {
	case <-m.lead: // made leader at the same moment: pass it on
		b.queue.passLead()
	default:
	}
	return onto.Result{}, m.ctx.Err()
}

func (q *queue) remove(m *member) {
	q.waiting = slices.DeleteFunc(q.waiting, func(o *member) bool { return o == m })
}

// crowded reports whether the leader is not alone.
func (q *queue) crowded() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) > 1
}

// take removes and returns the members that will share one transaction.
func (q *queue) take() []*member {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, writes := 0, 0
	for n < min(len(q.waiting), maxGroup) && (n == 0 || writes < maxGroupWrites) {
		writes += len(q.waiting[n].draft.Writes)
		n++
	}
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// passLead lets the next in line lead. Who has left is skipped.
func (q *queue) passLead() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 {
		next := q.waiting[0]
		if next.turn.Load() != left {
			close(next.lead)
			return
		}
		q.waiting = q.waiting[1:]
	}
	q.led = false
}

// leadGroup commits the queue on behalf of everybody in it. If the leader
// cannot get the lock, only he fails: the others have deadlines of their own.
func (b *Backend) leadGroup(leader *member) {
	defer b.queue.passLead()
	if b.queue.crowded() {
		runtime.Gosched() // those who were just served may want to join
	}
	w, s, err := b.beginWrite(leader.ctx, leader.until)
	if err != nil {
		b.giveUp(leader, wrap(b.path, err))
		return
	}
	defer b.writing.release()
	b.settle(w, s, b.queue.take())
}

// appendAlone commits the draft of whoever holds the write lease. He does not
// queue, since everybody there may be waiting for him.
func (b *Backend) appendAlone(m *member) {
	w, s, err := b.beginFor(m.ctx, m.until, m.draft.Lease)
	if err != nil {
		m.finish(onto.Result{}, wrap(b.path, err))
		return
	}
	defer b.writing.release()
	b.settle(w, s, []*member{m})
}

// settle commits a group and gives each member its verdict.
func (b *Backend) settle(w *conn, s state, group []*member) {
	g := newGroup(b, w, s)
	err := g.run(group)
	for _, m := range group {
		switch {
		case m.turn.Load() == left:
			m.finish(onto.Result{}, m.ctx.Err())
		case err != nil: // verdicts rest on what the group would have written
			m.finish(onto.Result{}, wrap(b.path, err))
		case m.err != nil:
			m.finish(onto.Result{}, wrap(b.path, m.err))
		default:
			m.finish(m.result, nil)
		}
	}
}

// giveUp ends a leader who could not get the lock.
func (b *Backend) giveUp(leader *member, err error) {
	b.queue.mu.Lock()
	b.queue.remove(leader)
	b.queue.mu.Unlock()
	leader.finish(onto.Result{}, err)
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
}
