package compact

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/backoff"
)

// fan is how many files of one level become one of the next. With it ten thousand
// rounds leave about forty files, and a row is written again about three times.
const fan = 12

// Compactor merges the files of a lake.
type Compactor struct {
	Log       *protocol.Publisher
	Files     *datafile.Reader
	FileBytes int64                                          // how large a file may become when others are merged into it
	Newest    func(context.Context) (*protocol.Shelf, error) // the shelf of the newest head
	Merged    func(context.Context, onto.TypeName)           // told of a type whose files were replaced
}

// Plan tells what a compaction would do. It changes nothing.
func (c *Compactor) Plan(ctx context.Context, o *backend.CompactionOptions) (*backend.CompactionPlan, error) {
	if o == nil {
		o = &backend.CompactionOptions{}
	}
	s, err := c.Newest(ctx)
	if err != nil {
		return nil, err
	}
	plan := &backend.CompactionPlan{}
	known := o.Type == ""
	for _, t := range s.Names() {
		if o.Type != "" && t.Name != o.Type {
			continue
		}
		known = true
		files := s.Files[t]
		if !o.All {
			files = due(files, c.FileBytes)
		}
		if len(files) > 1 && !protocol.SameRange(files) {
			plan.Items = append(plan.Items, newItem(files))
		}
	}
	if !known && !s.Types.Has(o.Type) {
		return nil, onto.Errorf(onto.Invalid, "type %s does not exist in this store", o.Type).WithHint("see the types").WithCommand("info", "--schema")
	}
	return plan, nil
}

func newItem(files []protocol.FileEntry) backend.CompactionItem {
	first, last := files[0], files[len(files)-1]
	item := backend.CompactionItem{Kind: first.Kind, Type: first.Type, Files: len(files), First: first.First, Last: last.Last}
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
// A file that is too large to be merged separates those before it from those after it.
func due(files []protocol.FileEntry, limit int64) []protocol.FileEntry {
	for len(files) > 0 {
		if group := dueAtEnd(files, limit); len(group) > 0 {
			return group
		}
		for len(files) > 0 && files[len(files)-1].Bytes <= limit/fan {
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
		if have < fan {
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
	for n := len(files); n >= fan*fan; n /= fan { // a backlog counts as if it had been merged in time
		level++
	}
	return level + 1
}

// Run does what a plan names, type by type. Writers and readers go on meanwhile. What
// another compaction has done since is skipped. Progress, if not nil, is called with
// the number of rows done.
func (c *Compactor) Run(ctx context.Context, plan *backend.CompactionPlan, progress func(done, total int64)) (merged int, err error) {
	var done, total int64
	for _, item := range plan.Items {
		total += item.Rows
	}
	for i := range plan.Items {
		item := &plan.Items[i]
		s, err := c.Newest(ctx)
		if err != nil && (onto.CodeOf(err) == onto.Closed || ctx.Err() != nil) {
			return merged, err
		}
		replaced := false
		if err == nil {
			replaced, err = c.item(ctx, s, item)
		}
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

// item merges the files of an item. It reports false if they were replaced meanwhile.
func (c *Compactor) item(ctx context.Context, s *protocol.Shelf, item *backend.CompactionItem) (bool, error) {
	files := entriesOf(s, item)
	if len(files) == 0 || len(files) < len(item.Paths) { // another compaction was faster
		return false, nil
	}
	disk, err := c.Files.Disk()
	if err != nil {
		return false, err
	}
	defer disk.Close()
	merged, err := c.merge(ctx, s, files, disk)
	if errors.Is(err, protocol.ErrReplaced) { // another compaction was faster
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range merged {
		merged[i].Level = levelOf(files)
	}
	entries, replaced, err := c.Log.Replace(ctx, files, merged, s)
	if err != nil || !replaced {
		return false, err
	}
	c.Files.Adopt(entries, merged)
	c.Merged(ctx, item.TypeName())
	return true, nil
}

// entriesOf are the files of an item that a shelf has.
func entriesOf(s *protocol.Shelf, item *backend.CompactionItem) []protocol.FileEntry {
	wanted := make(map[string]bool, len(item.Paths))
	for _, path := range item.Paths {
		wanted[path] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Files[item.TypeName()]), func(f protocol.FileEntry) bool { return !wanted[f.Path] })
}

// Every compacts what is due, again and again until the context ends, for programs that
// run for long. Failed, if not nil, is called with each error; the next run tries
// again.
func (c *Compactor) Every(ctx context.Context, interval time.Duration, failed func(error)) {
	for {
		plan, err := c.Plan(ctx, nil)
		if err == nil && len(plan.Items) > 0 {
			_, err = c.Run(ctx, plan, nil)
		}
		if ctx.Err() != nil || onto.CodeOf(err) == onto.Closed {
			return
		}
		if err != nil && failed != nil {
			failed(err)
		}
		if backoff.Sleep(ctx, interval) != nil {
			return
		}
	}
}
