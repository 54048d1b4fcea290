package protocol

import (
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto/internal/codec"
)

// LastUntil returns the last commit whose time is not after a time, or 0. It
// finds the first round that ends after that time: the commit is in it, or is the
// one before it.
func (l *Log) LastUntil(ctx context.Context, t *Tip, at time.Time) (int64, error) {
	if t.Manifest == nil {
		return 0, nil
	}
	switch year := at.UTC().Year(); { // no stored time is outside of these
	case year > 9999:
		return t.Manifest.CommitID, nil
	case year < 0:
		return 0, nil
	}
	limit := codec.FormatTime(at.UTC().Truncate(time.Microsecond)) // stored times have no finer precision
	if t.Manifest.Entry().Time <= limit {
		return t.Manifest.CommitID, nil
	}
	first, err := l.firstAfter(ctx, t, limit)
	if err != nil {
		return 0, err
	}
	m, err := l.RoundOf(ctx, t, first)
	if err != nil {
		return 0, err
	}
	id := m.First - 1
	for _, c := range m.Commits {
		if c.Time <= limit {
			id = c.ID
		}
	}
	return id, nil
}

// firstAfter returns a commit of the first round that ends after a time. There is
// one.
func (l *Log) firstAfter(ctx context.Context, t *Tip, limit string) (int64, error) {
	m, found := t.Manifest, t.Manifest.CommitID
	for {
		for _, a := range m.Ancestors { // newest first
			if a.Time <= limit {
				return found, nil
			}
			found = a.Last
		}
		if len(m.Ancestors) == 0 {
			return found, nil
		}
		if found-1 <= t.Catalog.covered() {
			return l.firstListed(ctx, t.Catalog.Checkpoints, limit, found)
		}
		var err error
		if m, err = l.readManifest(ctx, m.Ancestors[len(m.Ancestors)-1].Path, m.StoreID); err != nil {
			return 0, err
		}
	}
}

// firstListed does the same in checkpoints. Found is what was found after them.
func (l *Log) firstListed(ctx context.Context, entries []CheckpointEntry, limit string, found int64) (int64, error) {
	i, _ := slices.BinarySearchFunc(entries, limit, func(e CheckpointEntry, limit string) int {
		if e.From <= limit {
			return -1
		}
		return 1
	})
	if i < len(entries) { // the first round of this one ends after the time
		found = entries[i].First
	}
	if i == 0 {
		return found, nil
	}
	doc, err := l.readCheckpoint(ctx, &entries[i-1])
	if err != nil {
		return 0, err
	}
	if len(doc.Children) > 0 {
		return l.firstListed(ctx, doc.Children, limit, found)
	}
	for _, r := range doc.Rounds {
		if r.Time > limit {
			return r.Last, nil
		}
	}
	return found, nil
}

// commitsHeld is how many commits the manifests have that are held at once to go through
// the log, if those are several.
const commitsHeld = 8 << 10

// RoundsAt returns the round of a commit and some that come before it, newest
// first, or after it.
func (l *Log) RoundsAt(ctx context.Context, t *Tip, commit int64, newest bool) ([]*Manifest, error) {
	m, err := l.RoundOf(ctx, t, commit)
	if err != nil {
		return nil, err
	}
	list := []*Manifest{m}
	var more []RoundEntry
	if newest {
		more = m.Ancestors
	} else if more, err = l.following(ctx, t, m.CommitID); err != nil {
		return nil, err
	}
	more = more[:min(len(more), AtOnce)]
	rest := make([]*Manifest, within(more, max(1, commitsHeld-int64(len(m.Commits)))))
	err = SideBySide(len(rest), func(i int) (err error) {
		rest[i], err = l.readManifest(ctx, more[i].Path, m.StoreID)
		return err
	})
	return append(list, rest...), err
}

// following lists some rounds that come after a commit, oldest first.
func (l *Log) following(ctx context.Context, t *Tip, commit int64) ([]RoundEntry, error) {
	var list []RoundEntry
	doc, err := l.leaf(ctx, t.Catalog.Checkpoints, commit+1)
	if err != nil {
		return nil, err
	}
	if doc != nil {
		for _, r := range doc.Rounds {
			if r.Last > commit {
				list = append(list, r.RoundEntry)
			}
		}
		return list, nil
	}
	for _, a := range slices.Backward(t.Manifest.Ancestors) {
		if a.Last > commit {
			list = append(list, a)
		}
	}
	if len(list) > 0 && list[0].First == commit+1 {
		return list, nil
	}
	return nil, nil // one by one until the newest manifest lists them
}
