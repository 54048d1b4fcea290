package protocol

import (
	"context"
	"iter"
	"slices"
	"sort"
)

// RoundsOf yields the rounds that hold certain commits, in their order, which is the order
// of the log or its reverse. It reads the manifests of no other rounds, unless it has to
// walk back to where checkpoints begin.
func (l *Log) RoundsOf(ctx context.Context, t *Tip, commits []int64) iter.Seq2[*Manifest, error] {
	return func(yield func(*Manifest, error) bool) {
		rounds, err := l.entriesOf(ctx, t, commits)
		if err != nil {
			yield(nil, err)
			return
		}
		for len(rounds) > 0 {
			n := min(AtOnce, within(rounds, commitsHeld))
			read := make([]*Manifest, n)
			err := SideBySide(n, func(i int) (err error) {
				read[i], err = l.roundAt(ctx, t, rounds[i])
				return err
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range read {
				if !yield(m, nil) {
					return
				}
			}
			rounds = rounds[n:]
		}
	}
}

// roundAt returns the manifest of a listed round.
func (l *Log) roundAt(ctx context.Context, t *Tip, r RoundEntry) (*Manifest, error) {
	if t.Manifest.Entry().Path == r.Path {
		return t.Manifest, nil
	}
	if m := l.recent.of(r.Path, r.First); m != nil {
		return m, nil
	}
	m, err := l.readManifest(ctx, r.Path, t.Head.StoreID)
	if err == nil && (m.First != r.First || m.CommitID != r.Last) {
		err = Damaged(r.Path, "it has commits %d to %d, not %d to %d", m.First, m.CommitID, r.First, r.Last)
	}
	return m, err
}

// entriesOf finds the rounds that hold commits, in their order: among those that the newest
// manifest lists, and in checkpoints; else it walks back from there.
func (l *Log) entriesOf(ctx context.Context, t *Tip, commits []int64) ([]RoundEntry, error) {
	backwards := len(commits) > 1 && commits[0] > commits[1]
	left := slices.Sorted(slices.Values(commits))
	var found []RoundEntry // newest first
	take := func(r RoundEntry) {
		n := sort.Search(len(left), func(i int) bool { return left[i] >= r.First })
		if n < len(left) && left[len(left)-1] <= r.Last {
			found, left = append(found, r), left[:n]
		}
	}
	for m := t.Manifest; len(left) > 0; {
		if m == nil {
			return nil, Damaged(HeadKey, "no round leads to commit %d", left[len(left)-1])
		}
		take(m.Entry())
		for _, a := range m.Ancestors {
			take(a)
		}
		if err := l.takeListed(ctx, t, &left, take); err != nil {
			return nil, err
		}
		if len(left) == 0 || len(m.Ancestors) == 0 {
			m = nil
			continue
		}
		var err error
		if m, err = l.readManifest(ctx, m.Ancestors[len(m.Ancestors)-1].Path, m.StoreID); err != nil {
			return nil, err
		}
	}
	if !backwards {
		slices.Reverse(found)
	}
	return found, nil
}

// takeListed calls take with the rounds that checkpoints list, as long as they have the last
// of the commits that are left.
func (l *Log) takeListed(ctx context.Context, t *Tip, left *[]int64, take func(RoundEntry)) error {
	for n := -1; len(*left) > 0 && len(*left) != n; {
		n = len(*left)
		doc, err := l.leaf(ctx, t.Catalog.Checkpoints, (*left)[n-1])
		if err != nil || doc == nil {
			return err
		}
		for _, r := range slices.Backward(doc.Rounds) {
			take(r.RoundEntry)
		}
	}
	return nil
}
