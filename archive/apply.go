package archive

import (
	"cmp"
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// The limits of a batch. A commit is never divided.
const (
	batchCommits  = 5000
	batchVersions = 100_000
	batchBytes    = 32 << 20
)

// copy copies what the target lacks.
func (r *run) copy(ctx context.Context) error {
	if r.complete() {
		return nil
	}
	if err := r.mark(ctx); err != nil {
		return r.explain(err)
	}
	entries, stop := readAhead(ctx, r.From.Log(ctx, r.head))
	defer stop()
	b := &batch{run: r, entries: entries, meter: meter{sum: r.sum}}
	for first := true; first || r.done.Commit < r.plan.Until || r.state.Unfinished; first = false {
		if err := b.restore(ctx); err != nil {
			return r.explain(err)
		}
	}
	return nil
}

// complete reports whether there is nothing to do.
func (r *run) complete() bool {
	s := r.state
	return !s.Unfinished && s.Origin == r.plan.Origin && s.Commit == r.plan.Until && s.Sum == r.sum.String() &&
		r.types.difference(r.stored) == nil
}

// mark marks a target that is empty as a copy, so that nothing else is written to it should
// the first batch not come to its end.
func (r *run) mark(ctx context.Context) error {
	if r.head > 0 || r.state.Origin != "" {
		return nil
	}
	state := backend.CopyState{Origin: r.plan.Origin, Flags: r.Flags, Sum: r.sum.String(), Unfinished: true}
	err := r.To.Restore(ctx, &backend.Restoration{Types: r.stored, Copy: func() backend.CopyState { return state }})
	if err == nil {
		r.state = state
	}
	return err
}

// explain names the reason where another program has changed the target meanwhile.
func (r *run) explain(err error) error {
	if onto.CodeOf(err) != onto.HeadMismatch {
		return err
	}
	return onto.Errorf(onto.HeadMismatch, "another program has written to the target meanwhile: %w", err).
		WithHint("if that was another copy, wait for it and copy again; otherwise copy to another place")
}

// batch is the part of the log that is being copied.
type batch struct {
	*run
	entries *ahead
	next    *backend.LogEntry // read already, for the next batch
	meter   meter

	last     int64 // the last commit that it may have
	commits  int
	versions int
	bytes    int
	commit   int64 // the last commit that it has
}

// restore copies the next batch.
func (b *batch) restore(ctx context.Context) error {
	r := b.run
	types := r.types
	if b.last = r.plan.Until; r.done.Commit < r.plan.Until {
		// Types change between batches only, so that a batch has those of its first commit.
		types = r.types.at(r.done.Commit + 1)
		b.last = min(b.last, r.types.change(r.done.Commit+1)-1)
	}
	b.commits, b.versions, b.bytes, b.commit = 0, 0, 0, r.done.Commit
	var state backend.CopyState
	err := r.To.Restore(ctx, &backend.Restoration{
		Since: r.done.Commit, Log: b.log(ctx), Types: types,
		Copy: func() backend.CopyState {
			state = backend.CopyState{
				Origin: r.plan.Origin, Flags: r.Flags, Commit: b.commit, Sum: b.meter.end().String(),
				Unfinished: b.commit < r.plan.Until || types.difference(r.types) != nil,
			}
			return state
		},
	})
	if err != nil {
		return err
	}
	r.state, r.sum = state, b.meter.sum
	r.done.Commit = b.commit
	r.done.Versions += int64(b.versions)
	if r.Progress != nil {
		r.Progress(r.done)
	}
	return nil
}

// log yields the entries of the batch.
func (b *batch) log(ctx context.Context) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for b.commit < b.last || b.inCommit() {
			e, err := b.read(ctx)
			if err == nil && e == nil {
				err = b.short()
			}
			if onto.CodeOf(err) == onto.Corrupt {
				err = b.damaged(err)
			}
			if err != nil {
				yield(backend.LogEntry{}, err)
				return
			}
			if e.Commit != nil && (e.Commit.ID > b.last || b.full()) {
				b.next = e
				return
			}
			b.count(e)
			if !yield(*e, nil) {
				return
			}
		}
		if b.Until == 0 && b.last == b.plan.Until && b.next == nil {
			if err := b.readEnd(ctx); err != nil {
				yield(backend.LogEntry{}, err)
			}
		}
	}
}

// readEnd reads what follows the last commit: nothing, a commit that the source has made
// meanwhile, or damage.
func (b *batch) readEnd(ctx context.Context) (err error) {
	if b.next, err = b.read(ctx); onto.CodeOf(err) == onto.Corrupt {
		err = b.damaged(err)
	}
	return err
}

// short is the error for a log that ends before its head.
func (b *batch) short() error {
	if b.inCommit() {
		return onto.Errorf(onto.Corrupt, "commit %d has %d versions, and its header says %d", b.commit, b.meter.seen, b.meter.begun.Operations)
	}
	return onto.Errorf(onto.Corrupt, "the log ends after commit %d, and its newest commit is %d", b.commit, b.plan.Until)
}

// read returns the next entry, or nil at the end of the log.
func (b *batch) read(ctx context.Context) (*backend.LogEntry, error) {
	if e := b.next; e != nil {
		b.next = nil
		return e, nil
	}
	return b.entries.read(ctx)
}

// inCommit reports whether versions of the last commit are still to come.
func (b *batch) inCommit() bool {
	return b.meter.begun != nil && b.meter.seen < b.meter.begun.Operations
}

// full reports whether the batch ends with the commits that it has.
func (b *batch) full() bool {
	return b.commits >= cmp.Or(b.Batch, batchCommits) || b.versions >= batchVersions || b.bytes >= batchBytes
}

func (b *batch) count(e *backend.LogEntry) {
	b.meter.take(e)
	b.bytes += e.Size()
	if c := e.Commit; c != nil {
		b.commit = c.ID
		b.commits++
		return
	}
	b.versions++
}

// damaged tells what can be done about a source that is damaged after the last whole commit.
func (b *batch) damaged(err error) error {
	whole := b.commit
	if b.inCommit() {
		whole--
	}
	if whole == 0 {
		return onto.Errorf(onto.Corrupt, "%w", err).WithHint("restore a backup of the source, and copy that")
	}
	return onto.Errorf(onto.Corrupt, "%w", err).WithHint("restore a backup of the source, or copy what comes before the damage: --until %d", whole)
}
