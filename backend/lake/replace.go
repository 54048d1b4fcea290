package lake

import (
	"context"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// snapshotPath is where the file is that others became, or a part of it, which
// count from 0 on.
func snapshotPath(t onto.TypeName, first, last int64, attempt string, part int) string {
	if part > 0 {
		attempt = fmt.Sprintf("%s.%d", attempt, part+1)
	}
	return fmt.Sprintf("snapshots/%s/%s-%d-%d-%s.parquet", folderOf(t.Kind), bucket.Escape(t.Name), first, last, attempt)
}

// replace publishes that files have taken the place of others; none, if those held
// nothing that still exists. It reports false if somebody else has replaced them
// before.
func (l *publisher) replace(ctx context.Context, old []fileEntry, files []dataFile, s *tipFiles) (entries []fileEntry, replaced bool, err error) {
	t, first, last := old[0].TypeName(), old[0].First, old[len(old)-1].Last
	var written []object
	attempt := l.set.attempt()
	for i := range files {
		body, err := files[i].content()
		if err != nil {
			return nil, false, err
		}
		entry := files[i].entry(snapshotPath(t, first, last, attempt, i), first, last)
		if err := l.create(ctx, object{entry.Path, body}); err != nil {
			l.discard(ctx, written)
			return nil, false, err
		}
		entries, written = append(entries, entry), append(written, object{key: entry.Path})
	}
	proposed := false
	_, err = l.publish(ctx, func(now *tip, attempt string) (_ *proposal, err error) {
		if s, err = l.shelve(ctx, now, s); err != nil {
			return nil, err
		}
		var i int
		if i, replaced = place(s.files[t], old); !replaced {
			replaced = len(entries) > 0 && slices.ContainsFunc(s.files[t], func(f fileEntry) bool { return f.Path == entries[0].Path })
			return nil, nil // by another compaction, or by a proposal of this one that no head remembers
		}
		proposed = true
		c := *now.catalog
		c.Through = now.head.CommitID
		c.Tables = s.tables(t, slices.Replace(slices.Clone(s.files[t]), i, min(i+len(old), len(s.files[t])), entries...))
		return l.propose(now, nil, &c, attempt), nil
	})
	if err == nil && !replaced && !proposed { // else a proposal may have named them
		l.discard(ctx, written)
	}
	return entries, replaced, err
}

// place finds where files stand among those of their type. It reports false if
// they are not all there any more.
func place(files, old []fileEntry) (int, bool) {
	i := slices.IndexFunc(files, func(f fileEntry) bool { return f.Path == old[0].Path })
	if i < 0 || len(files) < i+len(old) {
		return 0, false
	}
	return i, slices.EqualFunc(files[i:i+len(old)], old, func(a, b fileEntry) bool { return a.Path == b.Path })
}

// tables lists the files of all types, those of one as given.
func (s *tipFiles) tables(name onto.TypeName, files []fileEntry) []tableEntry {
	var list []tableEntry
	for _, t := range s.names() {
		entry := tableEntry{t.Kind, t.Name, s.files[t]}
		if t == name {
			entry.Files = files
		}
		entry.Files = slices.DeleteFunc(slices.Clone(entry.Files), func(f fileEntry) bool { return f.Version <= s.types.purged[t] })
		if len(entry.Files) > 0 {
			list = append(list, entry)
		}
	}
	return list
}
