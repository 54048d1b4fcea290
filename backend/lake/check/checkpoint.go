package check

import (
	"cmp"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
)

// listing is what checkpoints say of the rounds, to be compared with them.
type listing struct {
	leaves   []protocol.CheckpointEntry // of the lowest level, oldest first
	branches []*branch
	seed     maphash.Seed

	at  int                  // the leaf that was read last; -1 for none
	doc *protocol.Checkpoint // its document; nil if it cannot be used
}

// branch is a checkpoint of a higher level.
type branch struct {
	protocol.CheckpointEntry
	keys uint64 // the sum of what its keys hash to, without those that were found
}

// checkpoints reads the checkpoints of higher levels and finds those that are
// missing between others.
func (c *checker) checkpoints() error {
	c.lists = &listing{at: -1, seed: maphash.MakeSeed()}
	if c.catalog == nil {
		return nil
	}
	list := c.catalog.Checkpoints
	if n := len(list); n > 0 && (list[0].First != 1 || list[n-1].Last > c.head.CommitID) {
		err := c.report(audit.CheckpointDiffers, "%s: it says that checkpoints list commits %d to %d, and the newest commit is %d",
			c.head.Catalog, list[0].First, list[n-1].Last, c.head.CommitID)
		if err != nil {
			return err
		}
	}
	return c.lists.add(c, c.head.Catalog, list)
}

// add takes the checkpoints that an object names.
func (l *listing) add(c *checker, by string, entries []protocol.CheckpointEntry) error {
	for i := range entries {
		e := &entries[i]
		if i > 0 && e.First != entries[i-1].Last+1 || e.First > e.Last {
			if err := c.report(audit.CheckpointDiffers, "%s: the checkpoint of commits %d to %d does not follow the one before", by, e.First, e.Last); err != nil {
				return err
			}
		}
		if e.Level == 0 {
			l.leaves = append(l.leaves, *e)
			continue
		}
		doc, err := c.readCheckpoint(e)
		if err != nil {
			return err
		}
		if doc == nil {
			continue
		}
		if n := len(doc.Children); n == 0 || doc.Children[0].First != e.First || doc.Children[n-1].Last != e.Last || doc.Children[0].From != e.From {
			if err := c.report(audit.CheckpointDiffers, "%s: the checkpoints that it names do not list commits %d to %d", e.Path, e.First, e.Last); err != nil {
				return err
			}
		}
		b := &branch{CheckpointEntry: *e}
		for _, k := range doc.Keys {
			b.keys += maphash.Comparable(l.seed, k)
		}
		l.branches = append(l.branches, b)
		if err := l.add(c, e.Path, doc.Children); err != nil {
			return err
		}
	}
	return nil
}

// readCheckpoint reads a checkpoint. It is nil if it cannot be used, which was
// reported.
func (c *checker) readCheckpoint(e *protocol.CheckpointEntry) (*protocol.Checkpoint, error) {
	body, err := c.read(e.Path, func(body []byte) bool { return protocol.HashOf(body) == e.SHA256 })
	if err != nil {
		return nil, err
	}
	doc := new(protocol.Checkpoint)
	switch {
	case body == nil:
		return nil, c.missing(e.Path)
	case protocol.HashOf(body) != e.SHA256:
		return nil, c.flawed(e.Path, errors.New("it is not what was written"))
	case protocol.Decode(e.Path, body, doc) != nil:
		return nil, c.report(audit.ObjectDamaged, "%s: it is not a checkpoint", e.Path)
	case doc.StoreID != c.head.StoreID:
		return nil, c.foreign(e.Path, doc.StoreID)
	case slices.ContainsFunc(doc.Children, func(k protocol.CheckpointEntry) bool { return k.Level < 0 || k.Level >= e.Level }):
		return nil, c.report(audit.CheckpointDiffers, "%s: it is of level %d and names a checkpoint that cannot be below it", e.Path, e.Level)
	case doc.First != e.First || doc.Last != e.Last:
		return nil, c.report(audit.CheckpointDiffers, "%s: it lists commits %d to %d, where %d to %d are due", e.Path, doc.First, doc.Last, e.First, e.Last)
	}
	return doc, nil
}

// open reads the leaf that lists a commit, unless it was the last one. It is nil
// if none does or if it cannot be used.
func (l *listing) open(c *checker, commit int64) (*protocol.Checkpoint, error) {
	i, found := slices.BinarySearchFunc(l.leaves, commit, func(e protocol.CheckpointEntry, commit int64) int {
		if e.Holds(commit) {
			return 0
		}
		return cmp.Compare(e.First, commit)
	})
	if !found {
		return nil, nil
	}
	if i == l.at {
		return l.doc, nil
	}
	e := &l.leaves[i]
	doc, err := c.readCheckpoint(e)
	if err != nil {
		return nil, err
	}
	l.at, l.doc = i, doc
	if doc == nil {
		return nil, nil
	}
	if doc.Fits(e) != nil || doc.Rounds[0].Time != e.From {
		l.doc = nil
		return nil, c.report(audit.CheckpointDiffers, "%s: the rounds that it lists do not make up commits %d to %d", e.Path, e.First, e.Last)
	}
	return doc, nil
}

// compare compares a round with what a checkpoint says of it.
func (l *listing) compare(c *checker, m *protocol.Manifest) error {
	for _, k := range m.Keys() {
		for _, b := range l.branches {
			if b.Holds(k.Commit) {
				b.keys -= maphash.Comparable(l.seed, k)
			}
		}
	}
	doc, err := l.open(c, m.CommitID)
	if err != nil || doc == nil {
		return err
	}
	path := l.leaves[l.at].Path
	i := slices.IndexFunc(doc.Rounds, func(r protocol.RoundFiles) bool { return r.Last == m.CommitID })
	if i < 0 || doc.Rounds[i].RoundEntry != m.Entry() || !slices.Equal(doc.Rounds[i].Files, m.Files) {
		return c.report(audit.CheckpointDiffers, "%s: it lists the round that ends with commit %d otherwise than %s does", path, m.CommitID, m.Entry().Path)
	}
	var keys []protocol.KeyEntry
	for _, k := range doc.Keys {
		if m.First <= k.Commit && k.Commit <= m.CommitID {
			keys = append(keys, k)
		}
	}
	if !slices.Equal(keys, m.Keys()) {
		return c.report(audit.CheckpointDiffers, "%s: it lists other idempotency keys than %s has", path, m.Entry().Path)
	}
	return nil
}

// rounds lists some rounds up to a commit.
func (l *listing) rounds(c *checker, commit int64) ([]protocol.RoundEntry, error) {
	var list []protocol.RoundEntry
	if n := len(l.leaves); n > 0 {
		commit = min(commit, l.leaves[n-1].Last)
	}
	for range 2 { // the leaf may begin with the round that is missing
		doc, err := l.open(c, commit)
		if err != nil || doc == nil {
			return list, err
		}
		for _, r := range doc.Rounds {
			list = append(list, r.RoundEntry)
		}
		commit = doc.First - 1
	}
	return list, nil
}

// rest reports what is known only after all rounds were seen.
func (l *listing) rest(c *checker) error {
	for _, b := range l.branches {
		if b.keys == 0 || c.broken {
			continue
		}
		if err := c.report(audit.CheckpointDiffers, "%s: it lists other idempotency keys than its rounds have", b.Path); err != nil {
			return err
		}
	}
	return nil
}
