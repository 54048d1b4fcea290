package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/groupcommit"
	"github.com/ontologia/onto/internal/lease"
)

// member is one caller, with a draft or an operation of the bus. Callers share
// transactions, and so one fsync.
type member struct {
	groupcommit.Member
	draft *backend.Draft // nil for an operation
	op    *operation     // nil for a draft
	until time.Time      // when to stop waiting for the lock

	result onto.Result
	err    error
}

// groupBounds bound one transaction.
func groupBounds() groupcommit.Bounds { return groupcommit.Bounds{Callers: 512, Writes: 16_384} }

// Append applies a draft as one commit, or none if it is a no-op.
func (b *Backend) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if err := ctx.Err(); err != nil {
		return onto.Result{}, err
	}
	if d.Evolve != nil {
		return onto.Result{}, onto.Errorf(onto.Invalid, "only a stream can evolve types").WithHint("append the draft as a stream")
	}
	m := &member{draft: d, until: b.deadline()}
	return b.submit(ctx, m, groupcommit.Size{Writes: len(d.Writes) + len(d.Events) + len(d.Acks)})
}

// submit puts a member into the queue, and waits for its verdict.
func (b *Backend) submit(ctx context.Context, m *member, size groupcommit.Size) (onto.Result, error) {
	var err error
	if m.op == nil && lease.KeepsOut(m.draft.Lease) { // all callers in the queue may be waiting for that lease
		err = b.appendAlone(ctx, m)
	} else {
		err = b.queue.Do(ctx, m, size)
	}
	switch {
	case errors.Is(err, groupcommit.ErrClosed):
		return onto.Result{}, b.closedError()
	case err == nil:
		err = m.err
	}
	if err != nil {
		return onto.Result{}, driver.Wrap(b.at.Path, err)
	}
	return m.result, nil
}

// appendAlone commits a draft in a transaction of its own.
func (b *Backend) appendAlone(ctx context.Context, m *member) error {
	w, s, err := b.writer.beginWrite(ctx, m.until, starter{lease: m.draft.Lease})
	if err != nil {
		return err
	}
	defer b.writer.writing.release()
	b.runGroup(w, s, []*member{m})
	return nil
}

// appendGroup commits a group of callers as soon as the lock is held, for which the
// leader waits. All verdicts depend on the commit of the group. While another holder has
// the write lease, operations of the bus are carried out and drafts wait.
func (b *Backend) appendGroup(ctx context.Context, leader *member) error {
	isOp := func(m *member) bool { return m.op != nil }
	as := starter{past: isOp(leader)}
	if leader.op == nil {
		as.lease = leader.draft.Lease
		as.serve = func(w *driver.Conn, s state) {
			if group := b.queue.TakeIf(isOp); len(group) > 0 {
				b.runGroup(w, s, group)
				b.queue.Done(leader)
			} else {
				b.writer.rollback(w)
			}
		}
	}
	w, s, err := b.writer.beginWrite(ctx, leader.until, as)
	if err != nil {
		return err
	}
	defer b.writer.writing.release()
	if s.held != nil {
		b.runGroup(w, s, b.queue.TakeIf(isOp))
	} else {
		b.runGroup(w, s, b.queue.Take())
	}
	return nil
}

// runGroup decides and commits a group.
func (b *Backend) runGroup(w *driver.Conn, s state, group []*member) {
	if err := newRound(b.writer, w, s).run(group); err != nil {
		for _, m := range group {
			m.err = err
		}
	}
}
