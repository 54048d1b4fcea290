package protocol

import (
	"context"
	"fmt"
	"slices"
)

const (
	// CheckpointRounds is how many rounds a checkpoint of the lowest level lists.
	CheckpointRounds = 64
	// CheckpointBranches is how many checkpoints of one level become one of the next.
	CheckpointBranches = 256
)

// Checkpoint lists rounds, so that the log need not be walked. It is derived from
// manifests and never changed. The catalog names the checkpoints; one of a higher
// level names others.
type Checkpoint struct {
	StoreID  string            `json:"store_id"`
	First    int64             `json:"first_commit_id"`
	Last     int64             `json:"commit_id"`
	Rounds   []RoundFiles      `json:"rounds,omitempty"`      // oldest first; at the lowest level
	Children []CheckpointEntry `json:"checkpoints,omitempty"` // oldest first; at higher levels
	Keys     []KeyEntry        `json:"idempotency,omitempty"` // of all its rounds
}

// RoundFiles is what a checkpoint tells about a round.
type RoundFiles struct {
	RoundEntry
	Files []FileEntry `json:"files"`
}

// KeyEntry is an idempotency key, as a hash, and the commit that used it.
type KeyEntry struct {
	Hash   string `json:"key_hash"`
	Commit int64  `json:"commit_id"`
}

// CheckpointEntry names a checkpoint.
type CheckpointEntry struct {
	First  int64  `json:"first_commit_id"`
	Last   int64  `json:"commit_id"`
	From   string `json:"first_created_at"` // of its first round
	Path   string `json:"path"`
	SHA256 string `json:"content_sha256"`
	Level  int    `json:"level,omitempty"`
}

// maxLevel is more levels than any number of commits needs.
const maxLevel = 8

// check tells what is wrong with the entry of a checkpoint of up to a level; nil for
// nothing.
func (e *CheckpointEntry) check(level int) error {
	n, ok := parseKey(e.Path)
	switch {
	case !isRange(e.First, e.Last) || e.Level < 0 || e.Level > level || !isHex(e.SHA256, 64):
		return fmt.Errorf("the checkpoint of commits %d to %d has the level %d, or a hash that is none", e.First, e.Last, e.Level)
	case !ok || n.role != checkpointRole || n.number != e.Last:
		return fmt.Errorf("%.200q is not where the checkpoint of commits %d to %d can be", e.Path, e.First, e.Last)
	}
	return nil
}

// Fits tells why a checkpoint is not the one that an entry names; nil if it is. Its
// ranges are consecutive, and levels decrease, so that a walk down ends.
func (d *Checkpoint) Fits(e *CheckpointEntry) error {
	if d.First != e.First || d.Last != e.Last || (e.Level == 0) != (len(d.Children) == 0) || (e.Level > 0) != (len(d.Rounds) == 0) {
		return fmt.Errorf("it lists commits %d to %d with %d rounds and %d checkpoints, where %d to %d of level %d are due",
			d.First, d.Last, len(d.Rounds), len(d.Children), e.First, e.Last, e.Level)
	}
	next := d.First
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if err := r.check(); err != nil {
			return err
		}
		for j := range r.Files {
			if err := r.Files[j].check(); err != nil {
				return err
			}
		}
		if r.First != next {
			return fmt.Errorf("the round of commits %d to %d does not follow the one before", r.First, r.Last)
		}
		next = r.Last + 1
	}
	for i := range d.Children {
		c := &d.Children[i]
		if err := c.check(e.Level - 1); err != nil {
			return err
		}
		if c.First != next {
			return fmt.Errorf("the checkpoint of commits %d to %d does not follow the one before", c.First, c.Last)
		}
		next = c.Last + 1
	}
	if next != d.Last+1 {
		return fmt.Errorf("what it lists ends with commit %d, not %d", next-1, d.Last)
	}
	for _, k := range d.Keys {
		if k.Commit < d.First || k.Commit > d.Last || !isHex(k.Hash, 16) {
			return fmt.Errorf("it has an idempotency key of commit %d", k.Commit)
		}
	}
	return nil
}

// Holds reports whether a commit is one of those that the checkpoint lists.
func (e *CheckpointEntry) Holds(commit int64) bool { return e.First <= commit && commit <= e.Last }

func checkpointPath(last int64, attempt string) string {
	return fmt.Sprintf("meta/checkpoints/%d-%s.json", last, attempt)
}

// keyHash is how checkpoints name an idempotency key. Keys can collide.
func keyHash(key string) string { return HashOf([]byte(key))[:16] }

// Keys are the idempotency keys of a round.
func (m *Manifest) Keys() []KeyEntry {
	var list []KeyEntry
	for _, c := range m.Commits {
		if c.Key != "" {
			list = append(list, KeyEntry{keyHash(c.Key), c.ID})
		}
	}
	return list
}

// covered is the last commit that checkpoints cover.
func (c *Catalog) covered() int64 {
	if n := len(c.Checkpoints); n > 0 {
		return c.Checkpoints[n-1].Last
	}
	return 0
}

// Checkpoint writes checkpoints for full batches of rounds that have none. It is not
// part of a commit; the first writer to do it saves the others the work.
func (l *Publisher) Checkpoint(ctx context.Context) error {
	for {
		t, err := l.current(ctx)
		if err != nil || t.Manifest == nil {
			return err
		}
		doc, level, err := l.nextCheckpoint(ctx, t)
		if err != nil || doc == nil {
			return err
		}
		if err := l.addCheckpoint(ctx, doc, level); err != nil {
			return err
		}
	}
}

// nextCheckpoint returns the checkpoint that is due, and its level; nil if none
// is.
func (l *Publisher) nextCheckpoint(ctx context.Context, t *Tip) (*Checkpoint, int, error) {
	if level, ok := t.Catalog.fullLevel(); ok {
		doc, err := l.branch(ctx, t, t.Catalog.Checkpoints[len(t.Catalog.Checkpoints)-CheckpointBranches:])
		if err != nil || len(doc.Keys) <= maxKeys {
			return doc, level + 1, err
		}
	}
	if t.Head.CommitID-t.Catalog.covered() < CheckpointRounds { // there are no more rounds than commits
		return nil, 0, nil
	}
	rounds, err := l.since(ctx, t, t.Catalog.covered())
	if err != nil || len(rounds) < CheckpointRounds {
		return nil, 0, err
	}
	rounds = rounds[:CheckpointRounds]
	doc := &Checkpoint{StoreID: t.Head.StoreID, First: rounds[0].First, Last: rounds[len(rounds)-1].Last}
	for i := range rounds {
		doc.Rounds = append(doc.Rounds, RoundFiles{rounds[i].RoundEntry, rounds[i].files})
		doc.Keys = append(doc.Keys, rounds[i].keyEntries()...)
	}
	return doc, 0, nil
}

// maxKeys is how many idempotency keys a checkpoint has room for. Checkpoints that have
// more in total are not merged.
const maxKeys = MaxDocument / 96

// fullLevel reports whether the newest checkpoints are enough for one of the next
// level, and which level they have.
func (c *Catalog) fullLevel() (int, bool) {
	n := len(c.Checkpoints)
	if n < CheckpointBranches {
		return 0, false
	}
	newest, oldest := c.Checkpoints[n-1], c.Checkpoints[n-CheckpointBranches]
	return newest.Level, newest.Level == oldest.Level
}

// branch is the checkpoint of the next level that replaces others.
func (l *Publisher) branch(ctx context.Context, t *Tip, children []CheckpointEntry) (*Checkpoint, error) {
	docs := make([]*Checkpoint, len(children))
	err := SideBySide(len(docs), func(i int) (err error) {
		docs[i], err = l.readCheckpoint(ctx, &children[i])
		return err
	})
	doc := &Checkpoint{StoreID: t.Head.StoreID, First: children[0].First, Last: children[len(children)-1].Last, Children: slices.Clone(children)}
	for _, d := range docs {
		if err == nil {
			doc.Keys = append(doc.Keys, d.Keys...)
		}
	}
	return doc, err
}

// addCheckpoint writes a checkpoint and lets the catalog name it, unless another
// writer was faster.
func (l *Publisher) addCheckpoint(ctx context.Context, doc *Checkpoint, level int) error {
	body := Encode(doc)
	entry := CheckpointEntry{
		First: doc.First, Last: doc.Last, Path: checkpointPath(doc.Last, l.set.Attempt()), SHA256: HashOf(body), Level: level,
	}
	if level == 0 {
		entry.From = doc.Rounds[0].Time
	} else {
		entry.From = doc.Children[0].From
	}
	if err := l.Create(ctx, Object{entry.Path, body}); err != nil {
		return err
	}
	_, err := l.change(ctx, func(c *Catalog, _ int64) (bool, error) {
		keep := len(c.Checkpoints)
		if level > 0 {
			keep -= CheckpointBranches
			if got, full := c.fullLevel(); !full || got != level-1 || c.Checkpoints[keep].First != doc.First {
				return false, nil
			}
		} else if c.covered() != doc.First-1 {
			return false, nil
		}
		c.Checkpoints = append(slices.Clone(c.Checkpoints[:keep]), entry)
		return true, nil
	})
	return err
}

// readCheckpoint reads a checkpoint that the catalog or another checkpoint names.
func (l *Log) readCheckpoint(ctx context.Context, e *CheckpointEntry) (*Checkpoint, error) {
	var doc *Checkpoint
	err := l.readWhole(ctx, e.Path, func(body []byte) error {
		if HashOf(body) != e.SHA256 {
			return Damaged(e.Path, "it is not what was written")
		}
		doc = new(Checkpoint)
		if err := Decode(e.Path, body, doc); err != nil {
			return err
		}
		if err := doc.Fits(e); err != nil {
			return Damaged(e.Path, "%w", err)
		}
		if t := l.Last(); t != nil && doc.StoreID != t.Head.StoreID {
			return Damaged(e.Path, "it belongs to another store")
		}
		return nil
	})
	return doc, err
}

// leaves returns the checkpoints of the lowest level that list rounds after a commit,
// oldest first, with one round trip for each level.
func (l *Log) leaves(ctx context.Context, entries []CheckpointEntry, commit int64) ([]*Checkpoint, error) {
	var wanted []CheckpointEntry
	for _, e := range entries {
		if e.Last > commit {
			wanted = append(wanted, e)
		}
	}
	docs := make([][]*Checkpoint, len(wanted))
	err := SideBySide(len(wanted), func(i int) error {
		doc, err := l.readCheckpoint(ctx, &wanted[i])
		switch {
		case err != nil:
			return err
		case len(doc.Children) == 0:
			docs[i] = []*Checkpoint{doc}
		default:
			docs[i], err = l.leaves(ctx, doc.Children, commit)
		}
		return err
	})
	return slices.Concat(docs...), err
}

// leaf returns the checkpoint of the lowest level that lists the round of a
// commit, or nil if none does.
func (l *Log) leaf(ctx context.Context, entries []CheckpointEntry, commit int64) (*Checkpoint, error) {
	i := slices.IndexFunc(entries, func(e CheckpointEntry) bool { return e.Holds(commit) })
	if i < 0 {
		return nil, nil
	}
	doc, err := l.readCheckpoint(ctx, &entries[i])
	if err != nil || len(doc.Children) == 0 {
		return doc, err
	}
	return l.leaf(ctx, doc.Children, commit)
}
