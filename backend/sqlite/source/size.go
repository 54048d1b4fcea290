package source

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/refusal"
)

// counts is how often each kind of thing was met.
type counts map[[2]string]int64

// maxCounts bounds how many types are told apart. Rows of any number of types can be in a
// file that was made for this; those of further ones are counted as of "".
const maxCounts = 10_000

func (c counts) add(code backend.NoteCode, of string) {
	k := [2]string{string(code), of}
	if _, ok := c[k]; !ok && len(c) >= maxCounts {
		k[1] = ""
	}
	c[k]++
}

// notes is the counts in order.
func (c counts) notes() []backend.LogNote {
	var list []backend.LogNote
	for _, k := range slices.SortedFunc(maps.Keys(c), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		list = append(list, backend.LogNote{Code: backend.NoteCode(k[0]), Of: k[1], Count: c[k]})
	}
	return list
}

// inOrder orders notes by code.
func inOrder(notes []backend.LogNote) []backend.LogNote {
	codes := []backend.NoteCode{backend.EventsStay, backend.ClaimsStay, backend.WorkStays, backend.CommitsRenumbered, backend.TimesRaised, backend.CommitsAdded,
		backend.TextsRewritten, backend.RowsRewritten, backend.KeysRewritten, backend.NamesChanged, backend.RowsDropped, backend.RowsRejected, backend.UpgraderLacking}
	slices.SortStableFunc(notes, func(a, b backend.LogNote) int {
		return cmp.Compare(slices.Index(codes, a.Code), slices.Index(codes, b.Code))
	})
	return notes
}

// sized is what was found about the versions after a commit, up to another one.
type sized struct {
	turn, until     int64
	versions, bytes int64
	counts          counts
}

// maxSizes is how many answers of LogSize are kept.
const maxSizes = 16

// LogHead implements [backend.LogSource].
func (f *File) LogHead(ctx context.Context) (int64, error) {
	m, err := f.begin(ctx)
	if err != nil {
		return 0, driver.Wrap(f.place.Path, err)
	}
	return m.plan.head, m.close()
}

// LogSize implements [backend.LogSource]. The numbers are exact, so the file is read, once;
// later only what was appended is. Rows that cannot be stored are counted as rejected even if
// there is no file for them.
func (f *File) LogSize(ctx context.Context, since, until int64) (backend.LogSize, error) {
	size, err := f.logSize(ctx, since, until)
	return size, driver.Wrap(f.place.Path, err)
}

func (f *File) logSize(ctx context.Context, since, until int64) (size backend.LogSize, err error) {
	f.sizing.Lock()
	defer f.sizing.Unlock()
	m, err := f.begin(ctx)
	if err != nil {
		return size, err
	}
	defer m.close()
	p := &m.plan
	if until, err = refusal.LogSpan(since, until, p.head); err != nil {
		return size, err
	}
	s := f.sizes[since]
	if s == nil || s.turn != p.turn || s.until > until {
		if len(f.sizes) >= maxSizes {
			clear(f.sizes)
		}
		s = &sized{turn: p.turn, until: since, counts: counts{}}
	}
	if err := m.measure(ctx, s, until); err != nil {
		delete(f.sizes, since) // it has counted a part
		return size, err
	}
	f.sizes[since] = s
	size = backend.LogSize{Head: p.head, Commits: until - since, Versions: s.versions, Bytes: s.bytes}
	if size.Notes, err = m.staying(ctx); err != nil {
		return size, err
	}
	changed, err := m.changed(ctx, since, until)
	if err != nil {
		return size, err
	}
	size.Notes = inOrder(slices.Concat(size.Notes, changed, s.counts.notes(), m.types.names.notes(), m.types.lacking()))
	size.Scratch, err = f.scratch()
	return size, err
}

// measure reads what follows the commits that were counted already, up to another one.
func (m *moment) measure(ctx context.Context, s *sized, until int64) error {
	r := &reading{moment: m, ctx: ctx, counts: s.counts}
	err := r.commits(s.until, until, func(e backend.LogEntry, _ error) bool {
		if v := &e.Version; e.Commit == nil {
			s.versions++
			s.bytes += int64(len(v.Key) + len(v.Left) + len(v.Right) + len(v.Instance) + len(v.Fields))
		}
		return true
	})
	s.until = until
	return err
}

// changed counts the commits that are not as they were in the file.
func (m *moment) changed(ctx context.Context, since, until int64) (list []backend.LogNote, err error) {
	const sql = `SELECT count(*) FILTER (WHERE id <> was), count(*) FILTER (WHERE how & 1), count(*) FILTER (WHERE how & 2) FROM plan.log WHERE id > ? AND id <= ?`
	row, _, err := m.QueryRowContext(ctx, sql, since, until)
	if err != nil {
		return nil, err
	}
	for i, code := range []backend.NoteCode{backend.CommitsRenumbered, backend.TimesRaised, backend.CommitsAdded} {
		if n := row.Int(i); n > 0 {
			list = append(list, backend.LogNote{Code: code, Count: n})
		}
	}
	return list, nil
}

// scratch is how many bytes of temporary files are there.
func (f *File) scratch() (total int64, err error) {
	entries, err := os.ReadDir(f.dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // otherwise it was removed meanwhile
			total += info.Size()
		}
	}
	return total, err
}

// staying counts what a copy will not have.
func (m *moment) staying(ctx context.Context) (list []backend.LogNote, err error) {
	claims := fmt.Sprintf(`SELECT handler_id || ' ' || CASE WHEN %[2]s IS NOT NULL THEN 'dead_lettered' WHEN %[1]s IS NOT NULL THEN 'acked' ELSE 'claimed' END, count(*)
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
