package lake

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// checkpointRounds is how many rounds a checkpoint covers.
const checkpointRounds = 64

// checkpoint lists rounds, so that the log need not be walked. It is derived from
// manifests and never changed. The catalog names the checkpoints.
type checkpoint struct {
	StoreID string      `json:"store_id"`
	First   int64       `json:"first_commit_id"`
	Last    int64       `json:"commit_id"`
	Rounds  []roundFull `json:"rounds"` // oldest first
}

// roundFull is what a checkpoint tells about a round.
type roundFull struct {
	roundEntry
	Files []fileEntry `json:"files"`
	Keys  []keyEntry  `json:"idempotency,omitempty"`
}

// keyEntry is an idempotency key, as a hash, and the commit that used it.
type keyEntry struct {
	Hash   string `json:"key_sha256"`
	Commit int64  `json:"commit_id"`
}

// checkpointEntry names a checkpoint.
type checkpointEntry struct {
	First  int64  `json:"first_commit_id"`
	Last   int64  `json:"commit_id"`
	From   string `json:"first_created_at"` // of its first round
	Path   string `json:"path"`
	SHA256 string `json:"content_sha256"`
}

func checkpointPath(last int64, attempt string) string {
	return fmt.Sprintf("meta/checkpoints/%d-%s.json", last, attempt)
}

// full is what a checkpoint tells about a round.
func (m *manifest) full() roundFull {
	r := roundFull{roundEntry: m.entry(), Files: m.Files}
	for _, c := range m.Commits {
		if c.Key != "" {
			r.Keys = append(r.Keys, keyEntry{hashOf([]byte(c.Key)), c.ID})
		}
	}
	return r
}

// covered is the last commit that checkpoints cover.
func (c *catalog) covered() int64 {
	if n := len(c.Checkpoints); n > 0 {
		return c.Checkpoints[n-1].Last
	}
	return 0
}

// checkpoint writes checkpoints for full batches of rounds that have none. It is
// not part of a commit, and whoever does it first spares others the work.
func (l *log) checkpoint(ctx context.Context) error {
	for {
		t, err := l.current(ctx)
		if err != nil || t.manifest == nil {
			return err
		}
		batch, err := l.uncovered(ctx, t)
		if err != nil || len(batch) < checkpointRounds {
			return err
		}
		batch = batch[:checkpointRounds]
		doc := &checkpoint{StoreID: t.head.StoreID, First: batch[0].First, Last: batch[len(batch)-1].Last, Rounds: batch}
		if err := l.addCheckpoint(ctx, doc); err != nil {
			return err
		}
	}
}

// uncovered returns the rounds that no checkpoint covers, oldest first.
func (l *log) uncovered(ctx context.Context, t *tip) ([]roundFull, error) {
	if t.head.CommitID == t.catalog.covered() {
		return nil, nil
	}
	parts, err := l.since(ctx, t, t.catalog.covered())
	if err != nil {
		return nil, err
	}
	list := make([]roundFull, len(parts))
	for i, p := range parts {
		list[i] = p.manifest.full()
	}
	return list, nil
}

// addCheckpoint writes a checkpoint and lets the catalog name it, unless somebody
// else was faster.
func (l *log) addCheckpoint(ctx context.Context, doc *checkpoint) error {
	body := encode(doc)
	entry := checkpointEntry{
		First: doc.First, Last: doc.Last, From: doc.Rounds[0].Time, Path: checkpointPath(doc.Last, l.set.attempt()), SHA256: hashOf(body),
	}
	if err := l.create(ctx, object{entry.Path, body}); err != nil {
		return err
	}
	_, err := l.change(ctx, func(c *catalog, _ int64) (bool, error) {
		if c.covered() != doc.First-1 {
			return false, nil
		}
		c.Checkpoints = append(slices.Clone(c.Checkpoints), entry)
		return true, nil
	})
	return err
}

// readCheckpoint reads a checkpoint that the catalog names.
func (l *log) readCheckpoint(ctx context.Context, e *checkpointEntry) (*checkpoint, error) {
	var doc *checkpoint
	err := l.readWhole(ctx, e.Path, func(body []byte) error {
		if hashOf(body) != e.SHA256 {
			return damaged(e.Path, "it is not what was written")
		}
		doc = new(checkpoint)
		if err := json.Unmarshal(body, doc); err != nil {
			return damaged(e.Path, "it is not JSON: %w", err)
		}
		return nil
	})
	return doc, err
}

// roundOf returns the round that holds a commit: out of the newest manifest, out
// of what it lists, or out of a checkpoint; else it walks back from there. That
// is at most two requests after the tip, and fewer than checkpointRounds more
// where checkpoints are behind.
func (l *log) roundOf(ctx context.Context, t *tip, commit int64) (*manifest, error) {
	m := t.manifest
	if commit >= m.First {
		return m, nil
	}
	holds := func(e roundEntry) bool { return e.First <= commit && commit <= e.Last }
	for m != nil {
		if i := slices.IndexFunc(m.Ancestors, holds); i >= 0 {
			return l.readManifest(ctx, m.Ancestors[i].Path, m.StoreID)
		}
		if i := slices.IndexFunc(t.catalog.Checkpoints, func(e checkpointEntry) bool { return e.First <= commit && commit <= e.Last }); i >= 0 {
			doc, err := l.readCheckpoint(ctx, &t.catalog.Checkpoints[i])
			if err != nil {
				return nil, err
			}
			j := slices.IndexFunc(doc.Rounds, func(r roundFull) bool { return holds(r.roundEntry) })
			if j < 0 {
				return nil, damaged(t.catalog.Checkpoints[i].Path, "commit %d is not in it", commit)
			}
			return l.readManifest(ctx, doc.Rounds[j].Path, m.StoreID)
		}
		if len(m.Ancestors) == 0 {
			break
		}
		oldest := m.Ancestors[len(m.Ancestors)-1]
		var err error
		if m, err = l.readManifest(ctx, oldest.Path, m.StoreID); err != nil {
			return nil, err
		}
	}
	return nil, damaged(headKey, "no round leads to commit %d", commit)
}
