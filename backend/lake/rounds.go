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

// since returns the manifests of the rounds after a commit, oldest first. Their
// paths are found in lists, so that they can be read side by side.
func (l *log) since(ctx context.Context, t *tip, commit int64) ([]*manifest, error) {
	paths, err := l.paths(ctx, t, commit)
	if err != nil {
		return nil, err
	}
	list := make([]*manifest, len(paths)+1)
	list[len(paths)] = t.manifest
	err = sideBySide(len(paths), func(i int) (err error) {
		list[i], err = l.readManifest(ctx, paths[i], t.head.StoreID)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, m := range list {
		if want := commit + 1; i == 0 && m.First != want || i > 0 && m.First != list[i-1].CommitID+1 {
			return nil, damaged(manifestPath(m.CommitID, m.Attempt), "its first commit is %d, which does not follow the round before", m.First)
		}
	}
	return list, nil
}

// paths returns where the manifests of the rounds after a commit are, oldest
// first, without the newest one.
func (l *log) paths(ctx context.Context, t *tip, commit int64) ([]string, error) {
	var newest []string // newest first
	m := t.manifest
	for first := m.First; first > commit+1; {
		if first-1 == t.catalog.covered() || len(m.Ancestors) == 0 {
			listed, err := l.listed(ctx, t, commit, first)
			if err != nil {
				return nil, err
			}
			slices.Reverse(newest)
			return append(listed, newest...), nil
		}
		for _, a := range m.Ancestors {
			if a.First >= first || first <= commit+1 || first-1 == t.catalog.covered() {
				continue
			}
			newest = append(newest, a.Path)
			first = a.First
		}
		if first > commit+1 && first-1 != t.catalog.covered() {
			before, err := l.readManifest(ctx, newest[len(newest)-1], t.head.StoreID)
			if err != nil {
				return nil, err
			}
			m = before
		}
	}
	slices.Reverse(newest)
	return newest, nil
}

// listed returns the paths that checkpoints list, of rounds after a commit and
// before another.
func (l *log) listed(ctx context.Context, t *tip, commit, before int64) ([]string, error) {
	var wanted []*checkpointEntry
	for i := range t.catalog.Checkpoints {
		if e := &t.catalog.Checkpoints[i]; e.Last > commit && e.First < before {
			wanted = append(wanted, e)
		}
	}
	docs := make([]*checkpoint, len(wanted))
	err := sideBySide(len(wanted), func(i int) (err error) {
		docs[i], err = l.readCheckpoint(ctx, wanted[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, doc := range docs {
		for _, r := range doc.Rounds {
			if r.Last > commit && r.First < before {
				paths = append(paths, r.Path)
			}
		}
	}
	return paths, nil
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
