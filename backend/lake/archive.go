package lake

import (
	"cmp"
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/refusal"
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

// LogHead implements [backend.LogSource].
func (b *Backend) LogHead(ctx context.Context) (int64, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return 0, err
	}
	return s.Tip.Head.CommitID, nil
}

// LogSize implements [backend.LogSource]. It reads the ends of the largest files and, if
// versions were purged or it is about a part of the log, the manifests.
func (b *Backend) LogSize(ctx context.Context, since, until int64) (backend.LogSize, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return backend.LogSize{}, err
	}
	head := s.Tip.Head.CommitID
	until, err = refusal.LogSpan(since, until, head)
	if err != nil {
		return backend.LogSize{}, err
	}
	size := backend.LogSize{Head: head, Commits: until - since}
	if size.Versions, err = b.versionsIn(ctx, s, since, until); err != nil {
		return backend.LogSize{}, err
	}
	unfolds := b.unfolding(ctx, s)
	for w := range logWindows(s, since, until, b.opts.StreamBytes/2) {
		var bytes, memory float64
		for f := range w.files() {
			of := float64(f.Bytes) * unfolds(f) * float64(min(f.Last, until)-max(f.First-1, since)) / float64(f.Last-f.First+1)
			bytes += of
			memory += of + float64(f.Rows*rowMemory)
		}
		size.Bytes += int64(bytes)
		if !w.sorted() && memory > float64(b.opts.StreamBytes)/2 {
			size.Scratch = max(size.Scratch, int64(memory))
		}
	}
	return size, ctx.Err()
}

// versionsIn counts the versions after a commit and up to another one that were not purged.
func (b *Backend) versionsIn(ctx context.Context, s *protocol.Shelf, since, until int64) (n int64, err error) {
	if since == 0 && until == s.Tip.Head.CommitID && len(s.Types.Purged) == 0 {
		for _, files := range s.Files {
			for i := range files {
				n += files[i].Rows
			}
		}
		return n, nil
	}
	for id, m := range commitsOf(ctx, b.log, s.Tip, since, until, false, &err) {
		for _, t := range m.Commits[id-m.First].Touched {
			if t.Version > s.Types.Purged[t.TypeName()] {
				n += int64(t.Operations)
			}
		}
	}
	return n, err
}

const (
	// usualUnfolding is how many bytes one of a file becomes where that is not known.
	usualUnfolding = 4
	// unfoldedFiles is of how many files the ends are read to find out, at most.
	unfoldedFiles = 256
)

// unfolding tells how many bytes one of a file becomes. The largest files are asked; others
// are taken to be like those of their type.
func (b *Backend) unfolding(ctx context.Context, s *protocol.Shelf) func(f *protocol.FileEntry) float64 {
	var all []*protocol.FileEntry
	for _, files := range s.Files {
		for i := range files {
			all = append(all, &files[i])
		}
	}
	slices.SortFunc(all, func(a, b *protocol.FileEntry) int { return cmp.Compare(b.Bytes, a.Bytes) })
	all = all[:min(len(all), unfoldedFiles)]
	unfolded := make([]int64, len(all))
	_ = protocol.SideBySide(len(all), func(i int) error {
		var err error
		if unfolded[i], err = datafile.Unfolded(ctx, b.bucket, all[i]); err != nil { // reading the log tells what is wrong
			unfolded[i] = all[i].Bytes * usualUnfolding
		}
		return nil
	})
	known := map[string]float64{}
	type sum struct{ unfolded, bytes int64 }
	likely := map[onto.TypeName]sum{}
	for i, f := range all {
		known[f.Path] = float64(unfolded[i]) / float64(max(1, f.Bytes))
		of := likely[f.TypeName()]
		likely[f.TypeName()] = sum{of.unfolded + unfolded[i], of.bytes + f.Bytes}
	}
	return func(f *protocol.FileEntry) float64 {
		if r, ok := known[f.Path]; ok {
			return r
		}
		if of := likely[f.TypeName()]; of.bytes > 0 {
			return float64(of.unfolded) / float64(of.bytes)
		}
		return usualUnfolding
	}
}
