package lake

import (
	"context"
	"iter"
	"slices"
)

// rounds yields the manifests that a tip leads to, newest first.
func (l *log) rounds(ctx context.Context, t *tip) iter.Seq2[*manifest, error] {
	return func(yield func(*manifest, error) bool) {
		m := t.manifest
		for m != nil {
			if !yield(m, nil) {
				return
			}
			if m.ParentPath == nil {
				return
			}
			before, err := l.readManifest(ctx, *m.ParentPath, m.StoreID)
			if err == nil && before.CommitID != m.First-1 {
				err = damaged(*m.ParentPath, "it ends with commit %d, and the round after it begins with %d", before.CommitID, m.First)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			m = before
		}
	}
}

// part is a round whose manifest or only whose files are known.
type part struct {
	path     string
	manifest *manifest // nil if it has not been read
	files    []fileEntry
}

// since returns the rounds after a commit, oldest first. What the newest manifest
// and the checkpoints list is read side by side, so that it takes one wait, and
// more only where checkpoints are behind.
func (l *log) since(ctx context.Context, t *tip, commit int64) ([]part, error) {
	floor := max(commit, t.catalog.covered())
	recent := []part{{manifestPath(t.manifest.CommitID, t.manifest.Attempt), t.manifest, t.manifest.Files}} // newest first
	var checkpoints []*checkpointEntry
	for i := range t.catalog.Checkpoints {
		if e := &t.catalog.Checkpoints[i]; e.Last > commit {
			checkpoints = append(checkpoints, e)
		}
	}
	docs := make([]*checkpoint, len(checkpoints))
	for m := t.manifest; ; {
		var next []part
		for _, a := range m.Ancestors {
			if a.Last > floor {
				next = append(next, part{path: a.Path})
			}
		}
		err := sideBySide(len(next)+len(docs), func(i int) (err error) {
			switch {
			case i < len(next):
				if next[i].manifest, err = l.readManifest(ctx, next[i].path, t.head.StoreID); err == nil {
					next[i].files = next[i].manifest.Files
				}
			case docs[i-len(next)] == nil:
				docs[i-len(next)], err = l.readCheckpoint(ctx, checkpoints[i-len(next)])
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		recent = append(recent, next...)
		if m = recent[len(recent)-1].manifest; len(next) == 0 || m.First <= floor+1 {
			break
		}
	}
	if t.manifest.CommitID <= floor { // a checkpoint lists it, too
		recent = nil
	}
	slices.Reverse(recent)
	return append(listedAfter(docs, commit), recent...), nil
}

// listedAfter returns the rounds after a commit that checkpoints list.
func listedAfter(docs []*checkpoint, commit int64) []part {
	var list []part
	for _, doc := range docs {
		for _, r := range doc.Rounds {
			if r.Last > commit {
				list = append(list, part{path: r.Path, files: r.Files})
			}
		}
	}
	return list
}

// follow fails unless rounds follow each other, the first after a commit.
func follow(parts []part, commit int64) error {
	for _, p := range parts {
		if p.manifest.First != commit+1 {
			return damaged(p.path, "its first commit is %d, which does not follow commit %d", p.manifest.First, commit)
		}
		commit = p.manifest.CommitID
	}
	return nil
}

// file reads a data file and makes sure that it is as it was written.
func (l *log) file(ctx context.Context, f *fileEntry) ([]byte, error) {
	var body []byte
	err := l.readWhole(ctx, f.Path, func(data []byte) error {
		if (int64(len(data)) != f.Bytes || hashOf(data) != f.SHA256) && !l.planted(unverifiedFiles) {
			return damaged(f.Path, "it has %d bytes that are not those that were written", len(data))
		}
		body = data
		return nil
	})
	return body, err
}
