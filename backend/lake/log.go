package lake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/spool"
)

// Log implements [backend.LogSource]. It shows one snapshot, unless the files of a purged
// type are removed meanwhile.
func (b *Backend) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		s, err := b.newestShelf(ctx)
		if err == nil && (since < 0 || since > s.Tip.Head.CommitID) {
			err = refusal.NoCommit(since, s.Tip.Head.CommitID)
		}
		if err != nil {
			yield(backend.LogEntry{}, err)
			return
		}
		r := &logReader{backend: b, pinned: s, shelf: s, since: since, commit: since, yield: yield}
		for !r.ended {
			if err = r.read(ctx); err != nil {
				err = r.again(ctx, err)
			}
			if err != nil {
				yield(backend.LogEntry{}, err)
				return
			}
		}
	}
}

// logReader reads the log up to one head.
type logReader struct {
	backend *Backend
	pinned  *protocol.Shelf // of that head
	shelf   *protocol.Shelf // whose files are read: that, or a later one with the same versions
	since   int64           // commits after this one are wanted
	yield   func(backend.LogEntry, error) bool
	ended   bool // at the end of the log, or by the caller

	commit  int64         // that was yielded last; since before the first
	last    onto.Identity // of it, that was yielded last; the zero value for none
	resumed bool          // what comes next may have been yielded already
	tick    int           // versions since the lake was found open

	reading *protocol.FileEntry // last
	doubted string              // the path of a file whose local copy was in doubt
}

// compareLog is the order of versions in a log.
func compareLog(a, b *onto.Version) int {
	return cmp.Or(cmp.Compare(a.Commit, b.Commit), a.Identity.Compare(b.Identity))
}

// read yields what was not yielded yet.
func (r *logReader) read(ctx context.Context) error {
	since, head := max(r.since, r.commit-1), r.pinned.Tip.Head.CommitID
	r.resumed = r.commit > r.since
	var failed error
	next, stop := iter.Pull2(commitsOf(ctx, r.backend.log, r.pinned.Tip, since, head, false, &failed))
	defer stop()
	// upTo yields the commits up to one. It reports whether to go on.
	upTo := func(commit int64) (bool, error) {
		for r.commit < commit {
			id, m, ok := next()
			if !ok {
				return false, cmp.Or(failed, protocol.Damaged(protocol.HeadKey, "no round leads to commit %d", r.commit+1))
			}
			if err := r.begin(ctx, m, id); err != nil || r.ended {
				return false, err
			}
		}
		return true, nil
	}
	if r.resumed {
		if _, _, ok := next(); !ok { // the commit that was yielded
			return failed
		}
	}
	for w := range logWindows(r.shelf, since, head, r.backend.opts.StreamBytes/2) {
		for v, err := range r.versions(ctx, w) {
			if err != nil {
				return err
			}
			if ok, err := upTo(v.Commit); !ok {
				return err
			}
			if err := r.version(ctx, v); err != nil || r.ended {
				return err
			}
		}
	}
	ok, err := upTo(head)
	r.ended = r.ended || ok
	return err
}

// begin yields a commit.
func (r *logReader) begin(ctx context.Context, m *protocol.Manifest, id int64) error {
	if err := r.backend.usable(ctx); err != nil {
		return err
	}
	c, err := kept(&m.Commits[id-m.First])
	if err != nil {
		return protocol.Damaged(m.Entry().Path, "%w", err)
	}
	r.commit, r.last, r.resumed = id, onto.Identity{}, false
	r.ended = !r.yield(backend.LogEntry{Commit: logCommit(&c, r.pinned.Types.Purged)}, nil)
	return nil
}

// logCommit is a commit as a log has it, without what was purged.
func logCommit(c *decide.Commit, purged map[onto.TypeName]int) *backend.LogCommit {
	l := &backend.LogCommit{Commit: c.Commit, Metadata: bytes.Clone(c.Metadata), Digest: c.Digest, EventSum: c.EventSum}
	l.Operations = c.Left(purged)
	return l
}

// openEvery is after how many versions it is looked whether the lake is still open.
const openEvery = 256

// version yields a version of the commit that was yielded last.
func (r *logReader) version(ctx context.Context, v *onto.Version) error {
	if r.resumed && v.Identity.Compare(r.last) <= 0 || v.Identity == r.last {
		return nil
	}
	if r.tick++; r.tick%openEvery == 0 {
		if err := r.backend.usable(ctx); err != nil {
			return err
		}
	}
	r.last, r.resumed = v.Identity, false
	r.ended = !r.yield(backend.LogEntry{Version: *v}, nil)
	return nil
}

// versions yields the versions of a window in the order of the log.
func (r *logReader) versions(ctx context.Context, w *logWindow) iter.Seq2[*onto.Version, error] {
	if w.sorted() {
		return r.rows(ctx, w)
	}
	return func(yield func(*onto.Version, error) bool) {
		s := spool.NewSorter(spool.Versions(compareLog), r.backend.opts.StreamBytes, func() (spool.File, error) { return r.backend.files.Scratch() })
		defer s.Close()
		for v, err := range r.rows(ctx, w) {
			if err == nil {
				err = s.Add(v)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if err := s.End(); err != nil {
			yield(nil, err)
			return
		}
		s.Sorted(ctx)(yield)
	}
}

// aheadBytes is how much of the files of a window is fetched at a time.
const aheadBytes = 32 << 20

// rows yields the versions of a window, file by file.
func (r *logReader) rows(ctx context.Context, w *logWindow) iter.Seq2[*onto.Version, error] {
	return func(yield func(*onto.Version, error) bool) {
		var files []protocol.FileEntry
		for f := range w.files() {
			files = append(files, *f)
		}
		for len(files) > 0 {
			n, bytes := 0, int64(0)
			for n < min(len(files), protocol.AtOnce) && (n == 0 || bytes+files[n].Bytes <= aheadBytes) {
				bytes += files[n].Bytes
				n++
			}
			if !r.some(ctx, w, files[:n], yield) {
				return
			}
			files = files[n:]
		}
	}
}

// some yields the versions of some files, which are fetched side by side. It reports
// whether to go on.
func (r *logReader) some(ctx context.Context, w *logWindow, files []protocol.FileEntry, yield func(*onto.Version, error) bool) bool {
	release, err := r.backend.files.Fetch(ctx, files)
	if err != nil {
		yield(nil, err)
		return false
	}
	defer release()
	for i := range files {
		r.reading = &files[i]
		for v, err := range r.backend.files.All(ctx, &files[i], r.pinned.Types.Purged[files[i].TypeName()]) {
			if err == nil && (v.Commit <= w.since || v.Commit > w.last) {
				continue
			}
			if !yield(&v, err) || err != nil {
				return false
			}
		}
	}
	return true
}

// again finds out whether what could not be read can be read otherwise: from the files that
// a compaction has made meanwhile, or from the object of which the local copy was damaged.
func (r *logReader) again(ctx context.Context, err error) error {
	b := r.backend
	if errors.Is(err, protocol.ErrReplaced) {
		s, err := b.newestShelf(ctx)
		switch {
		case err != nil:
			return err
		case !maps.Equal(s.Types.Purged, r.pinned.Types.Purged):
			return onto.Errorf(onto.Stale, "a type was purged while the log was read: the log up to commit %d is another now", r.pinned.Tip.Head.CommitID).
				WithHint("read the log again")
		}
		r.shelf = s
		return nil
	}
	code := onto.CodeOf(err)
	if f := r.reading; f != nil && f.Path != r.doubted && (code == onto.Unavailable || code == onto.Corrupt) && b.files.Doubt(f) {
		r.doubted = f.Path
		return nil
	}
	return err
}
