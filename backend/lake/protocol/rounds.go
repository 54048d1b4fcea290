package protocol

import (
	"context"
	"slices"
)

// listedRound is what is known of a round without its manifest, which may be large.
type listedRound struct {
	RoundEntry
	files []FileEntry
	keys  []usedKey // not of rounds that checkpoints list
}

// usedKey is an idempotency key, and the commit that used it.
type usedKey struct {
	key    string
	commit int64
}

// listed is what is told of the round of a manifest.
func (m *Manifest) listed() listedRound {
	r := listedRound{RoundEntry: m.Entry(), files: m.Files}
	for i := range m.Commits {
		if c := &m.Commits[i]; c.Key != "" {
			r.keys = append(r.keys, usedKey{c.Key, c.ID})
		}
	}
	return r
}

// keyEntries are the idempotency keys as checkpoints list them.
func (r *listedRound) keyEntries() []KeyEntry {
	list := make([]KeyEntry, len(r.keys))
	for i, k := range r.keys {
		list[i] = KeyEntry{keyHash(k.key), k.commit}
	}
	return list
}

// since returns the rounds after a commit, oldest first. What the newest manifest and
// the checkpoints list is read side by side, in one round trip, and more only where
// checkpoints lag or have several levels. The manifests of rounds that checkpoints list
// are not read.
func (l *Log) since(ctx context.Context, t *Tip, commit int64) ([]listedRound, error) {
	var recent []listedRound // newest first
	var leaves []*Checkpoint
	err := SideBySide(2, func(i int) (err error) {
		if i == 0 {
			recent, err = l.uncovered(ctx, t, commit)
		} else {
			leaves, err = l.leaves(ctx, t.Catalog.Checkpoints, commit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var rounds []listedRound
	for _, doc := range leaves {
		for _, r := range doc.Rounds {
			if r.Last > commit {
				rounds = append(rounds, listedRound{RoundEntry: r.RoundEntry, files: r.Files})
			}
		}
	}
	slices.Reverse(recent)
	return append(rounds, recent...), nil
}

// uncovered returns the rounds after a commit that no checkpoint lists, newest
// first.
func (l *Log) uncovered(ctx context.Context, t *Tip, commit int64) ([]listedRound, error) {
	floor := max(commit, t.Catalog.covered())
	if t.Manifest == nil || t.Manifest.CommitID <= floor {
		return nil, nil
	}
	recent := []listedRound{t.Manifest.listed()}
	for m := t.Manifest; m.First > floor+1; {
		var next []RoundEntry
		for _, a := range m.Ancestors {
			if a.Last > floor {
				next = append(next, a)
			}
		}
		if len(next) == 0 {
			return nil, Damaged(m.Entry().Path, "nothing leads from it to commit %d", m.First-1)
		}
		rounds := make([]listedRound, len(next))
		err := someAtOnce(next, func(i int) error {
			read, err := l.readManifest(ctx, next[i].Path, t.Head.StoreID)
			if err == nil {
				rounds[i] = read.listed()
			}
			if i == len(next)-1 {
				m = read
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		recent = append(recent, rounds...)
	}
	for i := 1; i < len(recent); i++ {
		if after := &recent[i-1]; recent[i].Last != after.First-1 {
			return nil, Damaged(recent[i].Path, "it ends with commit %d, and the round after it begins with %d", recent[i].Last, after.First)
		}
	}
	return recent, nil
}

// commitsAtOnce is how many commits the manifests have that are read side by side: some
// 25 MB of memory.
const commitsAtOnce = 32 << 10

// someAtOnce calls f for each round, for several at a time that have no more commits than
// that.
func someAtOnce(rounds []RoundEntry, f func(i int) error) error {
	for from := 0; from < len(rounds); {
		n := within(rounds[from:], commitsAtOnce)
		if err := SideBySide(n, func(i int) error { return f(from + i) }); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// within is how many of the first rounds have no more than so many commits together: one,
// if that has more.
func within(rounds []RoundEntry, commits int64) int {
	for i, r := range rounds {
		if commits -= r.Last - r.First + 1; commits < 0 && i > 0 {
			return i
		}
	}
	return len(rounds)
}

// RoundOf returns the round that holds a commit: out of the newest manifest, out of
// what it lists, or out of a checkpoint; else it walks back from there. That takes a
// few requests, however long the log is.
func (l *Log) RoundOf(ctx context.Context, t *Tip, commit int64) (*Manifest, error) {
	entry, m, err := l.entryOf(ctx, t, commit)
	if err != nil || m != nil {
		return m, err
	}
	if m = l.recent.of(entry.Path, commit); m != nil {
		return m, nil
	}
	if m, err = l.readManifest(ctx, entry.Path, t.Head.StoreID); err == nil && (m.First > commit || m.CommitID < commit) {
		err = Damaged(entry.Path, "commit %d is not in it", commit)
	}
	if err == nil {
		l.recent.keep(m)
	}
	return m, err
}

// entryOf finds the round that holds a commit, with its manifest if it was read.
func (l *Log) entryOf(ctx context.Context, t *Tip, commit int64) (RoundEntry, *Manifest, error) {
	holds := func(e RoundEntry) bool { return e.First <= commit && commit <= e.Last }
	for m := t.Manifest; m != nil; {
		if commit >= m.First {
			return m.Entry(), m, nil
		}
		if i := slices.IndexFunc(m.Ancestors, holds); i >= 0 {
			return m.Ancestors[i], nil, nil
		}
		doc, err := l.leaf(ctx, t.Catalog.Checkpoints, commit)
		if err != nil {
			return RoundEntry{}, nil, err
		}
		if doc != nil {
			if i := slices.IndexFunc(doc.Rounds, func(r RoundFiles) bool { return holds(r.RoundEntry) }); i >= 0 {
				return doc.Rounds[i].RoundEntry, nil, nil
			}
			break
		}
		if len(m.Ancestors) == 0 {
			break
		}
		if m, err = l.readManifest(ctx, m.Ancestors[len(m.Ancestors)-1].Path, m.StoreID); err != nil {
			return RoundEntry{}, nil, err
		}
	}
	return RoundEntry{}, nil, Damaged(HeadKey, "no round leads to commit %d", commit)
}

// purged reports whether no row of a file exists any more.
func (c *Catalog) purged(f *FileEntry) bool {
	return slices.ContainsFunc(c.Types, func(e SchemaEntry) bool {
		return e.Kind == f.Kind && e.Name == f.Type && e.End != nil && e.End.Purged && f.Version <= e.Version
	})
}

// names reports whether a catalog lists a file.
func (c *Catalog) names(f *FileEntry) bool {
	return slices.ContainsFunc(c.Tables, func(t TableEntry) bool {
		return t.TypeName() == f.TypeName() && slices.ContainsFunc(t.Files, func(o FileEntry) bool { return o.Path == f.Path })
	})
}
