package lake

import (
	"iter"
	"slices"

	"github.com/ontologia/onto/backend/lake/protocol"
)

// The files of a lake are in order of identity, and a log is in order of commits. It is
// brought into order window by window: a window is some commits whose versions are in
// files that hold no others, such as the files of some rounds, or a file that a compaction
// has made of many rounds with all that were written meanwhile.

// logWindow is commits whose versions are brought into order together.
type logWindow struct {
	since, last int64                  // the commits after one, up to another
	byType      [][]protocol.FileEntry // by type, in their order; oldest first
	count       int                    // of the files
	memory      int64                  // that their versions take, roughly
}

const (
	// rowMemory is what a version takes in memory besides its texts.
	rowMemory = 256
	// windowFiles is how many files a window of several rounds has at most.
	windowFiles = 256
)

// files are those of all types.
func (w *logWindow) files() iter.Seq[*protocol.FileEntry] {
	return func(yield func(*protocol.FileEntry) bool) {
		for _, files := range w.byType {
			for i := range files {
				if !yield(&files[i]) {
					return
				}
			}
		}
	}
}

// sorted reports whether the files have the versions in the order of the log: those of
// one commit are in the order of identity, from file to file.
func (w *logWindow) sorted() bool { return w.last == w.since+1 }

// take adds a file.
func (w *logWindow) take(kind int, f *protocol.FileEntry, head int64) {
	w.byType[kind] = append(w.byType[kind], *f)
	w.count++
	w.memory += f.Bytes*usualUnfolding + f.Rows*rowMemory
	w.last = max(w.last, min(f.Last, head))
}

// join adds the window that follows.
func (w *logWindow) join(next *logWindow) {
	for i := range w.byType {
		w.byType[i] = append(w.byType[i], next.byType[i]...)
	}
	w.last, w.count, w.memory = next.last, w.count+next.count, w.memory+next.memory
}

// logWindows yields the windows of the commits after one up to another, those that are
// small several at a time, of about so many bytes in memory. Commits without versions are
// in none.
func logWindows(s *protocol.Shelf, since, head, memory int64) iter.Seq[*logWindow] {
	return func(yield func(*logWindow) bool) {
		var left [][]protocol.FileEntry
		for _, t := range s.Names() {
			if files := s.Of(t, since, head); len(files) > 0 {
				left = append(left, files)
			}
		}
		w := leastWindow(left, since, head)
		for w != nil {
			next := leastWindow(left, w.last, head)
			if next != nil && w.count+next.count <= windowFiles && w.memory+next.memory <= memory {
				w.join(next)
				continue
			}
			if !yield(w) {
				return
			}
			w = next
		}
	}
}

// leastWindow takes the files of the next window, which is as short as can be; nil if none
// are left.
func leastWindow(left [][]protocol.FileEntry, since, head int64) *logWindow {
	first := int64(0)
	for _, files := range left {
		if len(files) > 0 && (first == 0 || files[0].First < first) {
			first = files[0].First
		}
	}
	if first == 0 {
		return nil
	}
	since = max(since, first-1)
	w := &logWindow{since: since, last: since + 1, byType: make([][]protocol.FileEntry, len(left))}
	for grown := true; grown; {
		grown = false
		for i := range left {
			n := slices.IndexFunc(left[i], func(f protocol.FileEntry) bool { return f.First > w.last })
			if n < 0 {
				n = len(left[i])
			}
			for j := range n {
				w.take(i, &left[i][j], head)
			}
			left[i] = left[i][n:]
			grown = grown || n > 0
		}
	}
	return w
}
