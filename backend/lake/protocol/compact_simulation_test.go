package protocol

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
)

// compact merges files now and then.
func (s *simulation) compact(ctx context.Context, l *peer, client int) {
	if !s.begin(ctx, l) {
		return
	}
	for n := range 6 {
		time.Sleep(time.Duration(400+300*client) * time.Millisecond)
		s.compactOnce(ctx, l, n%3)
	}
}

// compactOnce merges all files but some of the oldest.
func (s *simulation) compactOnce(ctx context.Context, l *peer, but int) {
	t, err := l.Load(ctx)
	if err != nil {
		return
	}
	shelf, err := l.Shelve(ctx, t, nil)
	if err != nil {
		return
	}
	files := shelf.Files[onto.TypeName{Kind: onto.KindEntity, Name: "T"}]
	if files = files[min(len(files), but):]; len(files) >= 2 {
		s.merge(ctx, l, shelf, files)
	}
}

// merge replaces files by one.
func (s *simulation) merge(ctx context.Context, l *peer, shelf *Shelf, files []FileEntry) {
	var rows []row
	for i := range files {
		body, err := l.Data(ctx, &files[i])
		if err != nil {
			return
		}
		list, err := decoded(body)
		if err != nil {
			return
		}
		rows = append(rows, list...)
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Key, b.Key) })
	if _, replaced, err := l.Replace(ctx, files, []DataFile{encoded(rows)}, shelf); err == nil && replaced {
		s.mu.Lock()
		s.compacted++
		s.mu.Unlock()
	}
}
