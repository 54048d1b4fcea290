package protocol

import (
	"context"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/segment"
)

// snapshotPath is where a merged file is, or a part of it; parts count from 0.
func snapshotPath(t onto.TypeName, first, last int64, attempt string, part int) string {
	if part > 0 {
		attempt = fmt.Sprintf("%s.%d", attempt, part+1)
	}
	return fmt.Sprintf("snapshots/%s/%s-%d-%d-%s.parquet", FolderOf(t.Kind), segment.Escape(t.Name), first, last, attempt)
}

// Replace publishes that files replace others; none, if those held nothing that still
// exists. It reports false if another compaction has replaced them before.
func (l *Publisher) Replace(ctx context.Context, old []FileEntry, files []DataFile, s *Shelf) (entries []FileEntry, replaced bool, err error) {
	t, first, last := old[0].TypeName(), old[0].First, old[len(old)-1].Last
	var written []Object
	attempt := l.set.Attempt()
	for i := range files {
		body, err := files[i].Content()
		if err != nil {
			return nil, false, err
		}
		entry := files[i].entry(snapshotPath(t, first, last, attempt, i), first, last)
		if err := l.Create(ctx, Object{entry.Path, body}); err != nil {
			l.Discard(ctx, written)
			return nil, false, err
		}
		entries, written = append(entries, entry), append(written, Object{Key: entry.Path})
	}
	proposed := false
	_, err = l.Publish(ctx, func(now *Tip, attempt string) (_ *Proposal, err error) {
		if s, err = l.Shelve(ctx, now, s); err != nil {
			return nil, err
		}
		var i int
		if i, replaced = place(s.Files[t], old); !replaced {
			replaced = len(entries) > 0 && slices.ContainsFunc(s.Files[t], func(f FileEntry) bool { return f.Path == entries[0].Path })
			return nil, nil // by another compaction, or by a proposal of this one that no head remembers
		}
		proposed = true
		c := *now.Catalog
		c.Through = now.Head.CommitID
		c.Tables = s.tables(t, slices.Replace(slices.Clone(s.Files[t]), i, min(i+len(old), len(s.Files[t])), entries...))
		return l.Propose(now, nil, &c, attempt), nil
	})
	if err == nil && !replaced && !proposed { // else a proposal may have named them
		l.Discard(ctx, written)
	}
	return entries, replaced, err
}

// place finds where files stand among those of their type. It reports false if
// they are not all there any more.
func place(files, old []FileEntry) (int, bool) {
	i := slices.IndexFunc(files, func(f FileEntry) bool { return f.Path == old[0].Path })
	if i < 0 || len(files) < i+len(old) {
		return 0, false
	}
	return i, slices.EqualFunc(files[i:i+len(old)], old, func(a, b FileEntry) bool { return a.Path == b.Path })
}

// tables lists the files of all types, those of one as given.
func (s *Shelf) tables(name onto.TypeName, files []FileEntry) []TableEntry {
	var list []TableEntry
	for _, t := range s.Names() {
		entry := TableEntry{t.Kind, t.Name, s.Files[t]}
		if t == name {
			entry.Files = files
		}
		entry.Files = slices.DeleteFunc(slices.Clone(entry.Files), func(f FileEntry) bool { return f.Version <= s.Types.Purged[t] })
		if len(entry.Files) > 0 {
			list = append(list, entry)
		}
	}
	return list
}
