package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
)

// Finish implements [backend.WorkQueue].
func (b *Backend) Finish(ctx context.Context, list []backend.WorkOutcome) ([]backend.WorkVerdict, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return nil, err
	}
	return s.finish(list, s.stamp()), nil
}

// finish ends attempts one after the other. The store is locked.
func (s *Store) finish(list []backend.WorkOutcome, now time.Time) []backend.WorkVerdict {
	verdicts := make([]backend.WorkVerdict, len(list))
	for n := range list {
		o := &list[n]
		i := s.work.ids[o.Item]
		if i == nil || i.Status != onto.WorkInProgress || i.Owner != o.Worker || i.Attempt != o.Attempt {
			verdicts[n].Err = refusal.WorkLost(o)
			continue
		}
		i.finish(o, now)
		if o.Do == backend.WorkComplete || o.Do == backend.WorkSkip {
			verdicts[n].Fresh = s.work.enqueue(o.Discovered, now)
		}
		s.wrote()
	}
	return verdicts
}

// finish applies an outcome to an item that is held.
func (i *workItem) finish(o *backend.WorkOutcome, now time.Time) {
	var a *onto.WorkAttempt
	switch o.Do {
	case backend.WorkExtend:
		i.Until = stored(now.Add(o.Lease))
		return
	case backend.WorkComplete:
		a = i.end(onto.AttemptCompleted, onto.WorkCompleted, now)
		i.Error = ""
	case backend.WorkFail:
		a = i.end(onto.AttemptFailed, onto.WorkFailed, now)
		i.Error, a.Error = o.Error, o.Error
	case backend.WorkRetry:
		a = i.end(onto.AttemptFailed, onto.WorkPending, now)
		a.RetryAfter = stored(now.Add(o.Delay))
		i.NotBefore, i.Error, a.Error = a.RetryAfter, o.Error, o.Error
	case backend.WorkSkip:
		a = i.end(onto.AttemptSkipped, onto.WorkSkipped, now)
		i.Error, a.Error = o.Error, o.Error
	case backend.WorkReturn:
		a = i.end(onto.AttemptReturned, onto.WorkPending, now)
		i.Revised++
	}
	a.Class, a.Diagnostic = o.Class, bytes.Clone(o.Diagnostic)
	if o.Metadata != nil {
		i.Metadata = bytes.Clone(o.Metadata)
	}
}

// Revise implements [backend.WorkQueue].
func (b *Backend) Revise(ctx context.Context, r *backend.WorkRevision) (int64, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return 0, err
	}
	now := s.stamp()
	var revised int64
	for _, i := range s.work.items {
		if selects(&r.Items, i) && slices.Contains(revisable(r.Do), i.Status) {
			i.revise(r, now)
			revised++
		}
	}
	if revised > 0 {
		s.work.tried = now
		s.wrote()
	}
	return revised, nil
}

// revisable returns what a revision changes.
func revisable(do backend.WorkRevising) []onto.WorkStatus {
	return map[backend.WorkRevising][]onto.WorkStatus{
		backend.ReviseRetry:   {onto.WorkFailed},
		backend.ReviseRecrawl: {onto.WorkCompleted, onto.WorkFailed, onto.WorkSkipped},
		backend.ReviseSkip:    {onto.WorkPending, onto.WorkFailed},
	}[do]
}

// revise applies a revision to an item.
func (i *workItem) revise(r *backend.WorkRevision, now time.Time) {
	i.begin(onto.WorkAttempt{Worker: r.By.String(), Run: r.Run, Started: now, Diagnostic: r.Note(i.Status)})
	if r.Do == backend.ReviseSkip {
		a := i.end(onto.AttemptSkipped, onto.WorkSkipped, now)
		i.Error, a.Error = r.Reason, r.Reason
	} else {
		i.end(onto.AttemptRevised, onto.WorkPending, now)
		i.Error, i.Revised = "", i.Attempt
	}
	i.NotBefore = time.Time{}
	if r.Run != "" {
		i.Run = r.Run
	}
}
