package sqlite

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
)

// Operations of the work queue join the queue of commits like those of the bus.

var _ backend.WorkQueue = (*Backend)(nil)

// labour is what a member wants of the work queue, and the answer.
type labour struct {
	enqueue  []onto.WorkItem
	imports  []backend.WorkState
	fresh    []bool
	dequeue  *backend.WorkRequest
	taken    backend.WorkTaken
	more     bool // the dequeue is to be repeated
	finish   []backend.WorkOutcome
	verdicts []backend.WorkVerdict
	run      *onto.WorkRun
	start    bool
}

// size is how much it writes, about.
func (l *labour) size() int {
	n := len(l.enqueue) + len(l.imports) + len(l.finish)
	for i := range l.finish {
		n += len(l.finish[i].Discovered)
	}
	if l.dequeue != nil {
		n += l.dequeue.Limit
	}
	return n
}

// Enqueue implements [backend.WorkQueue].
func (b *Backend) Enqueue(ctx context.Context, items []onto.WorkItem) ([]bool, error) {
	if len(items) == 0 {
		return nil, ctx.Err()
	}
	l := &labour{enqueue: items}
	err := b.do(ctx, &operation{work: l})
	return l.fresh, err
}

// ImportItems implements [backend.WorkQueue].
func (b *Backend) ImportItems(ctx context.Context, items []backend.WorkState) ([]bool, error) {
	if len(items) == 0 {
		return nil, ctx.Err()
	}
	l := &labour{imports: items}
	err := b.do(ctx, &operation{work: l})
	return l.fresh, err
}

// Dequeue implements [backend.WorkQueue].
func (b *Backend) Dequeue(ctx context.Context, r *backend.WorkRequest) (backend.WorkTaken, error) {
	l := &labour{dequeue: r, finish: r.Finish}
	lost := 0
	for {
		if err := b.do(ctx, &operation{work: l}); err != nil {
			return backend.WorkTaken{Verdicts: l.verdicts}, err
		}
		lost += l.taken.Lost
		if !l.more {
			l.taken.Lost, l.taken.Verdicts = lost, l.verdicts
			return l.taken, nil
		}
		l.finish = nil // finished by now
	}
}

// Finish implements [backend.WorkQueue].
func (b *Backend) Finish(ctx context.Context, list []backend.WorkOutcome) ([]backend.WorkVerdict, error) {
	if len(list) == 0 {
		return nil, ctx.Err()
	}
	l := &labour{finish: list}
	err := b.do(ctx, &operation{work: l})
	return l.verdicts, err
}

// SaveRun implements [backend.WorkQueue].
func (b *Backend) SaveRun(ctx context.Context, r onto.WorkRun, start bool) error {
	return b.do(ctx, &operation{work: &labour{run: &r, start: start}})
}

// Revise implements [backend.WorkQueue]. It revises items in many transactions, so that
// work goes on between them.
func (b *Backend) Revise(ctx context.Context, r *backend.WorkRevision) (int64, error) {
	var total int64
	for {
		var n int64
		err := b.writer.changeLeases(ctx, b.deadline(), func(w *driver.Conn) (err error) {
			n, err = work.Begin(w, b.now()).Revise(r)
			return err
		})
		if err != nil {
			return total, err
		}
		if total += n; n == 0 {
			return total, nil
		}
	}
}

// WorkItems implements [backend.WorkQueue].
func (b *Backend) WorkItems(ctx context.Context, q *backend.WorkQuery) iter.Seq2[backend.WorkState, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(backend.WorkState) error) error {
		return work.Items(&r.Moment, q, push)
	})
}

// WorkStats implements [backend.WorkQueue].
func (b *Backend) WorkStats(ctx context.Context, q *backend.WorkQuery) ([]backend.WorkCount, error) {
	var list []backend.WorkCount
	err := b.readWork(ctx, func(r *reading) (err error) {
		list, err = work.Stats(&r.Moment, q)
		return err
	})
	return list, err
}

// WorkRuns implements [backend.WorkQueue].
func (b *Backend) WorkRuns(ctx context.Context) ([]onto.WorkRun, error) {
	var list []onto.WorkRun
	err := b.readWork(ctx, func(r *reading) (err error) {
		list, err = work.Runs(&r.Moment)
		return err
	})
	return list, err
}

// readWork runs f in a read transaction.
func (b *Backend) readWork(ctx context.Context, f func(r *reading) error) error {
	return b.reader.read(ctx, f)
}

// writeWork carries out operations of the work queue.
func (g *round) writeWork(members []*member) error {
	for _, m := range members {
		if m.op == nil || m.op.work == nil || m.err != nil {
			continue
		}
		if g.work == nil {
			g.work = work.Begin(g.w, g.Now())
		}
		if err := m.op.work.do(g.work, m); err != nil {
			return err
		}
	}
	return nil
}

func (l *labour) do(t *work.Tx, m *member) (err error) {
	if len(l.enqueue) > 0 {
		l.fresh, err = t.Enqueue(l.enqueue)
	}
	if len(l.imports) > 0 {
		l.fresh, m.err, err = t.Import(l.imports)
	}
	if err == nil && len(l.finish) > 0 {
		l.verdicts, err = t.Finish(l.finish)
	}
	if err == nil && l.dequeue != nil {
		l.taken, l.more, err = t.Dequeue(l.dequeue)
	}
	if err == nil && l.run != nil {
		m.err, err = t.SaveRun(*l.run, l.start)
	}
	return err
}
