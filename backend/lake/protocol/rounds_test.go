package protocol

import (
	"context"
	"iter"
)

// rounds yields the manifests that a tip leads to, newest first, one by one. It uses
// nothing but the parents.
func (l *peer) rounds(ctx context.Context, t *Tip) iter.Seq2[*Manifest, error] {
	return func(yield func(*Manifest, error) bool) {
		m := t.Manifest
		for m != nil {
			if !yield(m, nil) || m.ParentPath == nil {
				return
			}
			before, err := l.readManifest(ctx, *m.ParentPath, m.StoreID)
			if err == nil && before.CommitID != m.First-1 {
				err = Damaged(*m.ParentPath, "it ends with commit %d, and the round after it begins with %d", before.CommitID, m.First)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			m = before
		}
	}
}
