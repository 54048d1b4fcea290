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

// member is one caller of Append. Callers share transactions, and so one fsync.
type member struct {
	groupcommit.Member
	draft *backend.Draft
	until time.Time // when to stop waiting for the lock

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
	var err error
	if lease.KeepsOut(d.Lease) { // all callers in the queue may be waiting for that lease
		err = b.appendGroup(ctx, m, func() []*member { return []*member{m} })
	} else {
		err = b.queue.Do(ctx, m, groupcommit.Size{Writes: len(d.Writes)})
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

// appendGroup commits a group of callers as soon as the lock is held, for which the
// leader waits. All verdicts depend on the commit of the group.
func (b *Backend) appendGroup(ctx context.Context, first *member, take func() []*member) error {
	w, s, err := b.writer.beginWrite(ctx, first.until, starter{lease: first.draft.Lease})
	if err != nil {
		return err
	}
	defer b.writer.writing.release()
	group := take()
	if err := newRound(b.writer, w, s).run(group); err != nil {
		for _, m := range group {
			m.err = err
		}
	}
	return nil
}
