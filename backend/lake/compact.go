package lake

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// Compaction merges files of a type whose commits follow each other into one. It
// loses nothing: every version keeps its commit. It is published as everything
// else is, by a head that names another catalog.

const (
	// DefaultFileBytes is how large a file may become when others are merged into
	// it.
	DefaultFileBytes = 256 << 20
	// compactFan is how many files of one level become one of the next. With it
	// ten thousand rounds leave about forty files, and a row is written again
	// about three times.
	compactFan = 12
)

// CompactionOptions tell what to compact. Nil and the zero value mean what is due.
type CompactionOptions = backend.CompactionOptions

// CompactionPlan is what a compaction would do.
type CompactionPlan = backend.CompactionPlan

// CompactionItem is files of one type that become one.
type CompactionItem = backend.CompactionItem

// PlanCompaction tells what a compaction would do. It changes nothing.
func (b *Backend) PlanCompaction(ctx context.Context, o *CompactionOptions) (*CompactionPlan, error) {
	if o == nil {
		o = &CompactionOptions{}
	}
	s, err := b.newestShelf(ctx)
	if err != nil {
		return nil, err
	}
	plan := &CompactionPlan{}
	known := o.Type == ""
	for _, t := range s.Names() {
		if o.Type != "" && t.Name != o.Type {
			continue
		}
		known = true
		files := s.Files[t]
		if !o.All {
			files = due(files, b.opts.FileBytes)
		}
		if len(files) > 1 && !sameRange(files) {
			plan.Items = append(plan.Items, newItem(files))
		}
	}
	if !known && !s.types.Has(o.Type) {
		return nil, onto.Errorf(onto.Invalid, "type %s does not exist in this store", o.Type).WithHint("see the types with: onto info --schema")
	}
	return plan, nil
}

// sameRange reports whether files are the parts of one.
func sameRange(files []protocol.FileEntry) bool {
	return files[0].First == files[len(files)-1].First
}

func newItem(files []protocol.FileEntry) CompactionItem {
	first, last := files[0], files[len(files)-1]
	item := CompactionItem{Kind: first.Kind, Type: first.Type, Files: len(files), First: first.First, Last: last.Last}
	for _, f := range files {
		item.Rows += f.Rows
		item.Bytes += f.Bytes
		item.Paths = append(item.Paths, f.Path)
	}
	return item
}

// due returns the newest files of a type that are to be merged, or none. The
// levels of files fall from the oldest to the newest, like the digits of a
// number: enough of the lowest level become one of the next, which may then be
// enough there.
//
// A file that is too large to be merged parts those before it from those after it.
func due(files []protocol.FileEntry, limit int64) []protocol.FileEntry {
	for len(files) > 0 {
		if group := dueAtEnd(files, limit); len(group) > 0 {
			return group
		}
		for len(files) > 0 && files[len(files)-1].Bytes <= limit/compactFan {
			files = files[:len(files)-1]
		}
		files = withoutLast(files)
	}
	return nil
}

// withoutLast leaves out the last file and all parts of it.
func withoutLast(files []protocol.FileEntry) []protocol.FileEntry {
	n := len(files)
	for n > 0 && files[n-1].First == files[len(files)-1].First {
		n--
	}
	return files[:n]
}

// dueAtEnd returns those of the newest files that are to be merged, or none.
func dueAtEnd(files []protocol.FileEntry, limit int64) []protocol.FileEntry {
	begin, bytes := len(files), int64(0)
	for level := 0; ; level++ {
		i := begin
		for i > 0 && files[i-1].Level <= level && bytes+files[i-1].Bytes <= limit {
			i--
			bytes += files[i].Bytes
		}
		have := begin - i
		if begin < len(files) {
			have++ // what the lower levels become
		}
		if have < compactFan {
			return wholeRanges(files, begin)
		}
		begin = i
	}
}

// wholeRanges returns the files from one on. Parts of a file before it are left
// out, so that ranges stay the same or follow each other.
func wholeRanges(files []protocol.FileEntry, begin int) []protocol.FileEntry {
	for begin > 0 && begin < len(files) && files[begin-1].First == files[begin].First {
		begin++
	}
	if len(files)-begin < 2 {
		return nil
	}
	return files[begin:]
}

// levelOf is the level of what files become.
func levelOf(files []protocol.FileEntry) int {
	level := 0
	for _, f := range files {
		level = max(level, f.Level)
	}
	for n := len(files); n >= compactFan*compactFan; n /= compactFan { // a backlog counts as if it had been merged in time
		level++
	}
	return level + 1
}

// Compact does what a plan tells, type by type. Writers and readers go on
// meanwhile. What another compaction has done since is left out. Progress, if not
// nil, is called with the rows that are done.
func (b *Backend) Compact(ctx context.Context, plan *CompactionPlan, progress func(done, total int64)) (merged int, err error) {
	var done, total int64
	for _, item := range plan.Items {
		total += item.Rows
	}
	for i := range plan.Items {
		item := &plan.Items[i]
		if err := b.usable(ctx); err != nil {
			return merged, err
		}
		replaced, err := b.compactItem(ctx, item)
		if err != nil {
			return merged, onto.Errorf(onto.CodeOf(err), "compaction of %s: %w", item.Type, err)
		}
		if replaced {
			merged++
		}
		if done += item.Rows; progress != nil {
			progress(done, total)
		}
	}
	return merged, nil
}

func (b *Backend) compactItem(ctx context.Context, item *CompactionItem) (bool, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return false, err
	}
	files := entriesOf(s.Shelf, item)
	if len(files) == 0 || len(files) < len(item.Paths) { // another compaction was faster
		return false, nil
	}
	disk, err := b.files.Disk()
	if err != nil {
		return false, err
	}
	defer disk.Close()
	merged, err := b.merge(ctx, s, files, disk)
	if errors.Is(err, protocol.ErrReplaced) { // another compaction was faster
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range merged {
		merged[i].Level = levelOf(files)
	}
	entries, replaced, err := b.publisher.Replace(ctx, files, merged, s.Shelf)
	if err != nil || !replaced {
		return false, err
	}
	for i := range merged {
		if body, err := merged[i].Content(); err == nil {
			b.files.Adopt(&entries[i], body)
		}
	}
	if s, err := b.newestShelf(ctx); err == nil {
		b.deriver.Announce()
		b.aside.Go(func() {
			b.deriver.Derive(context.WithoutCancel(ctx), s.Shelf, []onto.TypeName{item.TypeName()}, false)
		})
	}
	return true, nil
}

// entriesOf are the files of an item that a shelf has.
func entriesOf(s *protocol.Shelf, item *CompactionItem) []protocol.FileEntry {
	wanted := make(map[string]bool, len(item.Paths))
	for _, path := range item.Paths {
		wanted[path] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Files[item.TypeName()]), func(f protocol.FileEntry) bool { return !wanted[f.Path] })
}

// CompactEvery compacts what is due, again and again until the context ends, for
// programs that run for long. Failed, if not nil, is told what went wrong; the
// next turn tries again.
func (b *Backend) CompactEvery(ctx context.Context, interval time.Duration, failed func(error)) {
	for {
		plan, err := b.PlanCompaction(ctx, nil)
		if err == nil && len(plan.Items) > 0 {
			_, err = b.Compact(ctx, plan, nil)
		}
		if ctx.Err() != nil || onto.CodeOf(err) == onto.Closed {
			return
		}
		if err != nil && failed != nil {
			failed(err)
		}
		timer := time.NewTimer(interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
