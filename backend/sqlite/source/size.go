package source

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/refusal"
)

// counts is how often each kind of thing was met.
type counts map[[2]string]int64

func (c *counts) add(code backend.NoteCode, of string) { (*c)[[2]string{string(code), of}]++ }

// notes is the counts in order.
func (c counts) notes() []backend.LogNote {
	var list []backend.LogNote
	for _, k := range slices.SortedFunc(maps.Keys(c), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		list = append(list, backend.LogNote{Code: backend.NoteCode(k[0]), Of: k[1], Count: c[k]})
	}
	return list
}

// sized is an answer of LogSize, and what it was given for.
type sized struct {
	since, head, was int64
	seen             [kinds]int64
	size             backend.LogSize
}

// LogSize implements [backend.LogSource]. The numbers are exact, so the file is read, once
// for each of its states. Rows that cannot be stored are counted as rejected even if there is
// no file for them.
func (f *File) LogSize(ctx context.Context, since int64) (backend.LogSize, error) {
	size, err := f.logSize(ctx, since)
	return size, driver.Wrap(f.place.path, err)
}

func (f *File) logSize(ctx context.Context, since int64) (backend.LogSize, error) {
	f.sizing.Lock()
	defer f.sizing.Unlock()
	m, err := f.begin(ctx)
	if err != nil {
		return backend.LogSize{}, err
	}
	defer m.close()
	p := &m.plan
	if since < 0 || since > p.head {
		return backend.LogSize{}, refusal.NoCommit(since, p.head)
	}
	if s := f.size; s == nil || s.since != since || s.head != p.head || s.was != p.was || s.seen != p.seen {
		s = &sized{since: since, head: p.head, was: p.was, seen: p.seen}
		if s.size, err = m.measure(ctx, since); err != nil {
			return backend.LogSize{}, err
		}
		f.size = s
	}
	size := f.size.size
	stay, err := m.staying(ctx)
	size.Notes = slices.Concat(stay, size.Notes, m.types.names.notes(), m.types.lacking())
	return size, err
}

// measure reads the log after a commit.
func (m *moment) measure(ctx context.Context, since int64) (backend.LogSize, error) {
	size := backend.LogSize{Head: m.plan.head, Commits: m.plan.head - since}
	found := counts{}
	r := &reading{moment: m, ctx: ctx, counts: &found}
	err := r.commits(since, func(e backend.LogEntry, _ error) bool {
		if v := &e.Version; e.Commit == nil {
			size.Versions++
			size.Bytes += int64(len(v.Key) + len(v.Left) + len(v.Right) + len(v.Instance) + len(v.Fields))
		}
		return true
	})
	if err != nil {
		return size, err
	}
	const list = `SELECT count(*) FILTER (WHERE id <> was), count(*) FILTER (WHERE how & 1), count(*) FILTER (WHERE how & 2) FROM plan.log WHERE id > ?`
	row, _, err := m.QueryRowContext(ctx, list, since)
	if err != nil {
		return size, err
	}
	for i, code := range []backend.NoteCode{backend.CommitsRenumbered, backend.TimesRaised, backend.CommitsAdded} {
		if n := row.Int(i); n > 0 {
			size.Notes = append(size.Notes, backend.LogNote{Code: code, Count: n})
		}
	}
	size.Notes = append(size.Notes, found.notes()...)
	size.Scratch, err = m.f.scratch()
	return size, err
}

// scratch is how many bytes of temporary files are there.
func (f *File) scratch() (total int64, err error) {
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	paths := []string{f.dir}
	if f.place.copy != nil {
		paths = append(paths, f.place.copy.dir)
	}
	for _, dir := range paths {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
				total += info.Size()
			}
		}
	}
	return total, nil
}

// staying counts what a copy will not have.
func (m *moment) staying(ctx context.Context) (list []backend.LogNote, err error) {
	claims := fmt.Sprintf(`SELECT handler_id || ' ' || CASE WHEN %[2]s IS NOT NULL THEN 'dead' WHEN %[1]s IS NOT NULL THEN 'acked' ELSE 'open' END, count(*)
		FROM main.event_claims GROUP BY 1 ORDER BY 1`, m.f.columns("event_claims", "ack_at", "dead_lettered_at")...)
	for _, of := range []struct {
		code       backend.NoteCode
		table, sql string
	}{
		{backend.EventsStay, "events", `SELECT namespace, count(*) FROM main.events GROUP BY 1 ORDER BY 1`},
		{backend.ClaimsStay, "event_claims", claims},
		{backend.WorkStays, "work_items", `SELECT status, count(*) FROM main.work_items GROUP BY 1 ORDER BY 1`},
	} {
		if !m.f.shape.has(of.table) || err != nil {
			continue
		}
		err = m.Each(ctx, of.sql, nil, func(r *driver.Rows) error {
			list = append(list, backend.LogNote{Code: of.code, Of: r.Text(0), Count: r.Int(1)})
			return nil
		})
	}
	return list, err
}
