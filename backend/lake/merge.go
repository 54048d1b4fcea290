package lake

import (
	"cmp"
	"container/heap"
	"context"
	"iter"

	"github.com/ontologia/onto"
)

// merge reads files of a type and writes their rows into one, sorted by identity,
// then commit, or into several if one would be too large. Rows that were purged are
// left out. The caller closes what is returned.
func (b *Backend) merge(ctx context.Context, s *shelf, files []fileEntry) ([]dataFile, error) {
	t := files[0].typeName()
	_, release, err := b.files.locals(ctx, files) // side by side, before they are read one by one
	if err != nil {
		return nil, err
	}
	defer release()
	m := &merger{purged: s.types.purged[t]}
	defer m.close()
	for i := range files {
		if err := m.add(ctx, b.files, &files[i]); err != nil {
			return nil, err
		}
	}
	heap.Init(m)
	out := &partWriter{cache: b.files.cache, layout: s.types.layout(t), limit: b.opts.FileBytes + b.opts.FileBytes/4}
	defer out.abandon()
	var last onto.Version
	for {
		v, ok, err := m.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if v.Identity == last.Identity && v.Commit == last.Commit {
			continue // a version is kept once
		}
		last = v
		if err := out.write(&v); err != nil {
			return nil, err
		}
	}
	return out.end()
}

// merger yields the rows of files in order. It is a heap of the next row of each.
type merger struct {
	purged int
	heads  []mergeHead
	stops  []func()
}

// mergeHead is the next row of a file.
type mergeHead struct {
	version onto.Version
	path    string
	next    func() (onto.Version, error, bool)
}

// add begins to read a file.
func (m *merger) add(ctx context.Context, r *reader, f *fileEntry) error {
	file, done, err := r.use(ctx, f)
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(file.All(ctx))
	m.stops = append(m.stops, stop, done)
	h := mergeHead{path: f.Path, next: next}
	ok, err := m.advance(&h)
	if ok {
		m.heads = append(m.heads, h)
	}
	return err
}

// advance reads the next row that still exists.
func (m *merger) advance(h *mergeHead) (bool, error) {
	for {
		v, err, ok := h.next()
		if err != nil {
			return false, onto.Errorf(onto.CodeOf(err), "%s: %w", h.path, err)
		}
		if !ok || v.SchemaVersion > m.purged {
			h.version = v
			return ok, nil
		}
	}
}

// next returns the row that comes next of all.
func (m *merger) next() (onto.Version, bool, error) {
	if len(m.heads) == 0 {
		return onto.Version{}, false, nil
	}
	v := m.heads[0].version
	ok, err := m.advance(&m.heads[0])
	if ok {
		heap.Fix(m, 0)
	} else {
		heap.Pop(m)
	}
	return v, true, err
}

func (m *merger) close() {
	for _, stop := range m.stops {
		stop()
	}
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (m *merger) Len() int { return len(m.heads) }

func (m *merger) Less(i, j int) bool {
	a, b := &m.heads[i].version, &m.heads[j].version
	return cmp.Or(a.Identity.Compare(b.Identity), cmp.Compare(a.Commit, b.Commit)) < 0
}

func (m *merger) Swap(i, j int) { m.heads[i], m.heads[j] = m.heads[j], m.heads[i] }

func (m *merger) Push(x any) { m.heads = append(m.heads, x.(mergeHead)) }

func (m *merger) Pop() any {
	h := m.heads[len(m.heads)-1]
	m.heads = m.heads[:len(m.heads)-1]
	return h
}
