package lake

import (
	"context"
	"iter"
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
