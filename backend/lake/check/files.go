package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
)

// livePaths are the paths of files that the catalog names.
func (c *checker) livePaths() map[string]bool {
	live := map[string]bool{}
	if c.catalog != nil {
		for _, t := range c.catalog.Tables {
			for _, f := range t.Files {
				live[f.Path] = true
			}
		}
	}
	return live
}

// through is the commit up to which the catalog names the files.
func (c *checker) through() int64 {
	if c.catalog == nil {
		return 0
	}
	return c.catalog.Through
}

// own checks the files that a round has written. Those that a compaction has replaced
// may be gone.
func (w *walk) own(m *protocol.Manifest) error {
	path, folder := m.Entry().Path, fmt.Sprintf("commits/%d-", m.CommitID)
	rows, held := map[onto.TypeName]int64{}, map[onto.TypeName]int64{}
	for _, f := range m.Files {
		held[f.TypeName()] += f.Rows
	}
	for i := range m.Commits {
		for _, t := range m.Commits[i].Touched {
			rows[t.TypeName()] += int64(t.Operations)
		}
	}
	for _, f := range m.Files {
		t := f.TypeName()
		if f.First != m.First || f.Last != m.CommitID || !strings.HasPrefix(f.Path, folder) || rows[t] != held[t] {
			w.left.Hide(m.First, m.CommitID)
			err := w.report(audit.FileDiffers, "%s: what it says of %s (%d rows of commits %d to %d) does not go with its commits", path, f.Path, f.Rows, f.First, f.Last)
			if err != nil {
				return err
			}
		}
		switch {
		case f.Version <= w.purged[t]: // it is not read
		case f.Last > w.through():
			w.files[t] = append(w.files[t], f)
		case !w.live[f.Path]:
			w.old = append(w.old, f)
		}
	}
	for t, n := range rows {
		if held[t] > 0 {
			continue
		}
		w.left.Hide(m.First, m.CommitID)
		if err := w.report(audit.FileDiffers, "%s: its commits have %d versions of %s and no file", path, n, t); err != nil {
			return err
		}
	}
	if len(w.old) < protocol.AtOnce {
		return nil
	}
	return w.replaced()
}

// replaced checks files that a compaction has replaced and that are still there,
// several at a time.
func (w *walk) replaced() error {
	bad := make([]bool, len(w.old))
	err := protocol.SideBySide(len(w.old), func(i int) error {
		f := &w.old[i]
		if _, err := w.lake.Bucket.Get(w.ctx, f.Path, bucket.Range{Length: 1, Max: max(1, f.Bytes)}, ""); errors.Is(err, bucket.ErrNotFound) {
			return nil
		}
		there, fits, err := w.fetch(f, protocol.NewUnkept())
		bad[i] = there && !fits
		return err
	})
	for i, f := range w.old {
		if err == nil && bad[i] {
			damaged := audit.ObjectDamaged.Mild("%s: it is not what was written; it was compacted before", f.Path)
			damaged.Remedy.Text = "none needed: another file has taken its place"
			err = w.push(damaged)
		}
	}
	w.old = w.old[:0]
	return err
}

// tables checks what the catalog says of files, and puts those before what the
// rounds since then have written.
func (c *checker) tables() error {
	if c.catalog == nil {
		what := "catalog"
		if c.head.Catalog == "" {
			what = "head"
		}
		return c.report(audit.CheckStopped, "files and versions could not be checked without the %s", what)
	}
	if c.catalog.Through > c.head.CommitID {
		err := c.report(audit.CatalogDiffers, "%s: it names the files up to commit %d, and the newest commit is %d", c.head.Catalog, c.catalog.Through, c.head.CommitID)
		if err != nil {
			return err
		}
	}
	for _, t := range c.catalog.Tables {
		name, last := t.TypeName(), protocol.FileEntry{}
		var files []protocol.FileEntry
		for _, f := range t.Files {
			part := f.First == last.First && f.Last == last.Last && f.Path != last.Path
			if f.TypeName() != name || f.First <= last.Last && !part || f.Last < f.First || f.Last > c.catalog.Through {
				c.left.Hide(min(f.First, last.Last), max(f.Last, last.Last))
				err := c.report(audit.CatalogDiffers, "%s: %s with commits %d to %d does not go with the other files of %s", c.head.Catalog, f.Path, f.First, f.Last, t.Type)
				if err != nil {
					return err
				}
			}
			if f.Version > c.purged[name] && f.Path != last.Path {
				files = append(files, f)
			}
			last = f
		}
		c.files[name] = append(files, c.files[name]...)
	}
	return nil
}

// versions checks every version, type by type.
func (c *checker) versions() error {
	if c.catalog == nil {
		c.left.Hide(1, c.head.CommitID)
		return nil
	}
	damaged := map[onto.TypeName]bool{}
	for _, t := range slices.SortedFunc(maps.Keys(c.files), onto.TypeName.Compare) {
		c.step(fmt.Sprintf("%s %s", t.Kind, t.Name))
		h := newHistory(c, t)
		if err := h.run(); err != nil {
			return err
		}
		damaged[t] = h.versions.Loose
		if t.Kind == onto.KindEntity || h.versions.Loose {
			continue
		}
		if err := c.endpoints(h, damaged); err != nil {
			return err
		}
	}
	return nil
}

// batchBytes is how much of files is read side by side.
const batchBytes = 64 << 20

// run reads the files of a type, oldest first, several at a time.
func (h *history) run() error {
	for len(h.files) > 0 {
		n, size := 0, int64(0)
		for n < min(len(h.files), protocol.AtOnce) && (n == 0 || size+h.files[n].Bytes <= batchBytes) {
			size += h.files[n].Bytes
			n++
		}
		batch := h.files[:n]
		h.files = h.files[n:]
		if err := h.batch(batch); err != nil {
			return err
		}
	}
	return nil
}

// batch checks files that are read side by side.
func (h *history) batch(files []protocol.FileEntry) error {
	bodies, err := h.bodies(files)
	defer func() {
		for _, b := range bodies {
			b.close()
		}
	}()
	for i := range files {
		if err != nil {
			return err
		}
		var again bool
		if again, err = h.take(&files[i], &bodies[i]); again {
			break
		}
	}
	return err
}

// take checks a file. It reports true if a compaction has changed the files of the type
// meanwhile, so that others are to be read.
func (h *history) take(f *protocol.FileEntry, b *body) (bool, error) {
	if at := (span{f.First, f.Last}); at != h.at { // those of one range are parts of one file
		h.done, h.at = max(h.done, h.at.last), at
	}
	switch {
	case b.refused != nil:
		h.lose(f)
		return false, h.push(checkStopped(b.refused))
	case !b.there:
		if again, err := h.resume(f); err != nil || again {
			return again, err
		}
		h.lose(f)
		return false, h.missing(f.Path)
	case !b.fits:
		h.lose(f)
		return false, h.flawed(f.Path, fmt.Errorf("it has %d bytes that are not the %d that were written", b.came, f.Bytes))
	}
	err := h.file(f, b.data)
	h.read = append(h.read, *f)
	if onto.CodeOf(err) == onto.Corrupt {
		h.lose(f)
		return false, h.report(audit.FileDiffers, "%s: %s", f.Path, firstLine(err))
	}
	return false, err
}

// lose notes that the versions of a file are not known.
func (h *history) lose(f *protocol.FileEntry) {
	h.left.Hide(f.First, f.Last)
	h.versions.Loose = true
}

// resume finds other files that have taken the place of one that is gone.
func (h *history) resume(gone *protocol.FileEntry) (bool, error) {
	if h.lake.Log.Last() == nil {
		return false, nil // the lake cannot be opened, so nothing compacts it
	}
	s, err := h.lake.Newest(h.ctx)
	if err != nil {
		if onto.CodeOf(err) == onto.Corrupt {
			err = nil // it is reported where it is found
		}
		return false, err
	}
	files := s.Of(h.name, h.done, h.head.CommitID) // all that was there before is there
	if slices.ContainsFunc(files, func(f protocol.FileEntry) bool { return f.Path == gone.Path }) {
		return false, nil
	}
	h.files = files
	others := len(h.read)
	h.read = slices.DeleteFunc(h.read, func(f protocol.FileEntry) bool { return span{f.First, f.Last} == h.at })
	if len(h.read) < others { // their rows come again
		h.again = h.at.last
	}
	h.at = span{}
	return true, nil
}
