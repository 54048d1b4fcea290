package lake

import (
	"context"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/spool"
)

// Origin implements [backend.LogSource].
func (b *Backend) Origin(ctx context.Context) (string, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return "", err
	}
	return s.Tip.Head.StoreID, nil
}

// CopyState implements [backend.Archive].
func (b *Backend) CopyState(ctx context.Context) (backend.CopyState, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return backend.CopyState{}, err
	}
	return s.Tip.Head.Copy.State(), nil
}

// LogSize implements [backend.LogSource]. It reads the end of a file of each type and, if
// versions were purged or since is not 0, the manifests.
func (b *Backend) LogSize(ctx context.Context, since int64) (backend.LogSize, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return backend.LogSize{}, err
	}
	head := s.Tip.Head.CommitID
	if since < 0 || since > head {
		return backend.LogSize{}, refusal.NoCommit(since, head)
	}
	size := backend.LogSize{Head: head, Commits: head - since}
	if size.Versions, err = b.versionsSince(ctx, s, since); err != nil {
		return backend.LogSize{}, err
	}
	unfolds := b.unfolding(ctx, s)
	for w := range logWindows(s, since, head) {
		var bytes, memory float64
		for f := range w.files() {
			of := float64(f.Bytes) * unfolds(f) * float64(min(f.Last, head)-max(f.First-1, since)) / float64(f.Last-f.First+1)
			bytes += of
			memory += of + float64(f.Rows*rowMemory)
		}
		size.Bytes += int64(bytes)
		if !w.sorted() && memory > spool.DefaultMemory/2 {
			size.Scratch = max(size.Scratch, int64(memory))
		}
	}
	return size, ctx.Err()
}

// versionsSince counts the versions after a commit that were not purged.
func (b *Backend) versionsSince(ctx context.Context, s *protocol.Shelf, since int64) (n int64, err error) {
	if since == 0 && len(s.Types.Purged) == 0 {
		for _, files := range s.Files {
			for i := range files {
				n += files[i].Rows
			}
		}
		return n, nil
	}
	for id, m := range commitsOf(ctx, b.log, s.Tip, since, s.Tip.Head.CommitID, false, &err) {
		for _, t := range m.Commits[id-m.First].Touched {
			if t.Version > s.Types.Purged[t.TypeName()] {
				n += int64(t.Operations)
			}
		}
	}
	return n, err
}

// usualUnfolding is how many bytes one of a file becomes where that is not known.
const usualUnfolding = 4

// unfolding tells how many bytes one of a file becomes, by the largest file of its type.
func (b *Backend) unfolding(ctx context.Context, s *protocol.Shelf) func(f *protocol.FileEntry) float64 {
	names := s.Names()
	ratios := make([]float64, len(names))
	_ = protocol.SideBySide(len(names), func(i int) error {
		ratios[i] = usualUnfolding
		largest := &s.Files[names[i]][0]
		for j := range s.Files[names[i]] {
			if f := &s.Files[names[i]][j]; f.Bytes > largest.Bytes {
				largest = f
			}
		}
		if n, err := datafile.Unfolded(ctx, b.bucket, largest); err == nil && largest.Bytes > 0 { // else reading the log tells what is wrong
			ratios[i] = float64(n) / float64(largest.Bytes)
		}
		return nil
	})
	return func(f *protocol.FileEntry) float64 {
		for i, t := range names {
			if t == f.TypeName() {
				return ratios[i]
			}
		}
		return usualUnfolding
	}
}
