package lake

import (
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/refusal"
)

// Resolve implements [backend.Backend].
func (b *Backend) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return onto.Commit{}, err
	}
	head := s.Tip.Head.CommitID
	id := head
	if c, ok := p.Commit(); ok {
		if c < 0 || c > head {
			return onto.Commit{}, refusal.NoCommit(c, head)
		}
		id = c
	}
	if at, ok := p.Time(); ok {
		if id, err = b.log.LastUntil(ctx, s.Tip, at); err != nil {
			return onto.Commit{}, err
		}
	}
	if id == 0 {
		return onto.Commit{}, nil
	}
	m, err := b.log.RoundOf(ctx, s.Tip, id)
	if err != nil {
		return onto.Commit{}, err
	}
	return commitOf(m, id, s)
}

// commitOf returns one of a round's commits.
func commitOf(m *protocol.Manifest, id int64, s *protocol.Shelf) (onto.Commit, error) {
	c, err := handOut(&m.Commits[id-m.First], s.Types.Purged)
	if err != nil {
		return c, protocol.Damaged(m.Entry().Path, "%w", err)
	}
	return c, nil
}

// Commits implements [backend.Backend].
func (b *Backend) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	return func(yield func(onto.Commit, error) bool) {
		s, err := b.newestShelf(ctx)
		if err != nil {
			yield(onto.Commit{}, err)
			return
		}
		until := s.Tip.Head.CommitID
		if q.Until != backend.Head {
			until = min(until, q.Until)
		}
		if q.Key != "" {
			c, err := b.keyed(ctx, s, q.Key)
			if err != nil || c.ID > q.Since && c.ID <= until && (q.IDs == nil || slices.Contains(q.IDs, c.ID)) {
				yield(c, err)
			}
			return
		}
		commits := commitsOf(ctx, b.log, s.Tip, q.Since, until, q.Newest, &err)
		if q.IDs != nil {
			commits = theCommits(ctx, b.log, s.Tip, q.Chosen(until), q, &err)
		}
		n := 0
		for id, m := range commits {
			c, err := commitOf(m, id, s)
			if err == nil {
				err = b.usable(ctx)
			}
			if err != nil {
				yield(onto.Commit{}, err)
				return
			}
			if n++; !yield(c, nil) || n == q.Limit {
				return
			}
		}
		if err != nil {
			yield(onto.Commit{}, err)
		}
	}
}

// keyed returns the commit that used an idempotency key, the zero Commit if none did.
func (b *Backend) keyed(ctx context.Context, s *protocol.Shelf, key string) (onto.Commit, error) {
	e, err := b.writer.keys.Find(ctx, s.Tip, key)
	if err != nil || e == nil {
		return onto.Commit{}, err
	}
	return handOut(e, s.Types.Purged)
}

// theCommits yields certain commits, in their order, with their rounds.
func theCommits(ctx context.Context, l *protocol.Log, t *protocol.Tip, ids []int64, q *backend.CommitQuery, failed *error) iter.Seq2[int64, *protocol.Manifest] {
	if q.Limit > 0 {
		ids = ids[:min(len(ids), q.Limit)]
	}
	return func(yield func(int64, *protocol.Manifest) bool) {
		for m, err := range l.RoundsOf(ctx, t, ids) {
			if err != nil {
				*failed = err
				return
			}
			for len(ids) > 0 && m.First <= ids[0] && ids[0] <= m.CommitID {
				if !yield(ids[0], m) {
					return
				}
				ids = ids[1:]
			}
		}
	}
}

// commitsOf yields commits after one and up to another, with their rounds. The
// manifests of several rounds are read at a time.
func commitsOf(ctx context.Context, l *protocol.Log, t *protocol.Tip, since, until int64, newest bool, failed *error) iter.Seq2[int64, *protocol.Manifest] {
	return func(yield func(int64, *protocol.Manifest) bool) {
		for since < until {
			from := since + 1
			if newest {
				from = until
			}
			rounds, err := l.RoundsAt(ctx, t, from, newest)
			if err != nil {
				*failed = err
				return
			}
			for _, m := range rounds {
				low, high := max(m.First, since+1), min(m.CommitID, until)
				for i := low; i <= high; i++ {
					id := i
					if newest {
						id = high - (i - low)
					}
					if !yield(id, m) {
						return
					}
				}
				if newest {
					until = m.First - 1
				} else {
					since = m.CommitID
				}
			}
		}
	}
}
