package check

import (
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/disk"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/volume"
)

// Limits are the thresholds of a survey.
type Limits struct {
	WAL   int64                           // bytes of the WAL that are too many
	Pages int64                           // a file with fewer pages may have any number of free ones
	Rows  int64                           // a type with no more live rows may have any index
	Clock time.Duration                   // how far the head may be ahead of the clock
	Free  func(path string) (int64, bool) // how many bytes the volume of a file has free, if that is known
}

// UsualLimits are those of a store in use.
func UsualLimits() Limits {
	return Limits{WAL: 100 << 20, Pages: 1024, Rows: 1000, Clock: time.Second, Free: volume.Free}
}

// Survey examines the circumstances of a store against limits.
func Survey(of *Store, m *layout.Moment, l Limits, push func(onto.Finding) error) error {
	s := &surveyor{newChecker(of, m, push), l}
	for _, step := range []checkStep{
		{"the WAL", s.wal}, {"the frames of the WAL", s.frames}, {"the journal mode", s.journal}, {"free pages", s.freePages}, {"free space", s.room},
		{"what others have put on the tables", s.extras}, {"locks", s.locks}, {"the clock", s.clock}, {"times that are ahead", s.ahead}, {"restores", s.restores}, {"plans", s.plans}, {"the use of indexes", s.indexUse},
	} {
		if err := s.take(step); err != nil {
			return err
		}
	}
	return nil
}

// surveyor is a survey under way. It reports as a check does.
type surveyor struct {
	*checker
	limits Limits
}

func (s *surveyor) wal() error {
	size, err := disk.FileSize(s.of.File + "-wal")
	if err != nil || size <= s.limits.WAL {
		return err
	}
	return s.report(audit.WALLarge, "the WAL has %s, more than %s", megabytes(size), megabytes(s.limits.WAL))
}

// StuckWAL is the finding that a WAL of so many bytes could not be emptied.
func StuckWAL(size int64) onto.Finding {
	return audit.WALStuck.Finding("another reader or writer keeps the WAL from being emptied: it has %s", megabytes(size))
}

// megabytes is a number of bytes for messages.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// frames finds commits that a damaged WAL cuts off.
func (s *surveyor) frames() error {
	found, err := disk.FindCutOff(s.of.File + "-wal")
	if err != nil || found.Commits == 0 {
		return err
	}
	return s.report(audit.WALCutOff, "%s", found)
}

// journal finds a file that was taken out of WAL mode. Opening it for writing brings it
// back. SQLite does not tell the mode of a file that is opened as immutable.
func (s *surveyor) journal() error {
	if s.r.Stale != nil {
		return nil
	}
	row, ok, err := s.r.QueryRow(`PRAGMA journal_mode`)
	if err != nil || !ok || row.Text(0) == "wal" {
		return err
	}
	return s.report(audit.JournalMode, "the journal mode is %s, not wal", row.Text(0))
}

func (s *surveyor) freePages() error {
	pages, err := s.r.QueryInt(`PRAGMA page_count`)
	if err != nil {
		return err
	}
	free, err := s.r.QueryInt(`PRAGMA freelist_count`)
	if err != nil || pages < s.limits.Pages || free*2 <= pages {
		return err
	}
	return s.report(audit.FreelistLarge, "%d of the file's %d pages are free", free, pages)
}

// room finds a volume that is almost full. The WAL may take as much as should be
// free before it is reset.
func (s *surveyor) room() error {
	size, err := disk.FileSize(s.of.File)
	if err != nil {
		return err
	}
	free, known := s.limits.Free(s.of.File)
	if f, low := volume.Low(free, size); known && low {
		return s.push(f)
	}
	return nil
}

// extras finds additions of others to our tables, which prevent writes.
func (s *surveyor) extras() error {
	found, err := layout.SoundShape(s.r.Conn, s.of.Path)
	if err != nil {
		return err
	}
	for _, o := range found.Extras {
		f := audit.TableExtra.Finding("%s", o.Refusal())
		f.Remedy = onto.NewHint(o.Remedy())
		if err := s.push(f); err != nil {
			return err
		}
	}
	return nil
}

// locks finds leases that block other writers, or that were not released.
func (s *surveyor) locks() error {
	now := s.of.Now
	return s.r.Each(`SELECT lock_name, owner_id, expires_at FROM locks ORDER BY lock_name`, nil, func(rows *driver.Rows) error {
		f, found := audit.Lease(onto.Lease{Name: rows.Text(0), Owner: rows.Text(1), Expires: layout.StoredTime(rows.Text(2))}, now)
		if !found {
			return nil
		}
		if f.Remedy.Text == "" {
			f.Remedy = onto.NewHint("delete its row from the table locks")
		}
		return s.push(f)
	})
}

// clock finds a head that is later than now.
func (s *surveyor) clock() error {
	row, _, err := s.r.QueryRow(`SELECT (SELECT id FROM commits ORDER BY id DESC LIMIT 1), (SELECT created_at FROM commits ORDER BY id DESC LIMIT 1),
		(SELECT last_at FROM onto_bus), (SELECT last_at FROM onto_work)`)
	if err != nil {
		return err
	}
	newest, at := fmt.Sprintf("commit %d", row.Int(0)), layout.TimeAt(row, 1)
	for i, name := range []string{"the newest event", "the newest work item"} {
		if other := layout.TimeAt(row, 2+i); other.After(at) {
			newest, at = name, other
		}
	}
	if f, ahead := audit.Clock(newest, at, s.of.Now, s.limits.Clock); ahead {
		return s.push(f)
	}
	return nil
}

// restores tells of commits that restores have taken away.
func (s *surveyor) restores() error {
	list, err := layout.Restores(s.r)
	if err != nil {
		return err
	}
	for i := range list {
		r := &list[i]
		if r.Lost == 0 {
			continue
		}
		text := fmt.Sprintf("a restore at %s took away %d commits, up to commit %d, and went on from commit %d", codec.FormatTime(r.Time), r.Lost, r.Before, r.Head)
		if r.Actor != (onto.Actor{}) {
			text += ", on behalf of " + r.Actor.String()
		}
		if r.Comment != "" {
			text += fmt.Sprintf(": %.200q", r.Comment)
		}
		if err := s.report(audit.CommitsLost, "%s", text); err != nil {
			return err
		}
	}
	return nil
}

// ahead finds what is taken up to a time that only a wrong clock can have stored.
func (s *surveyor) ahead() error {
	limit := codec.FormatTime(s.of.Now.Add(backend.MaxLease))
	for _, q := range []struct{ message, sql string }{
		{"the handler %s has claims up to %s, %s in number",
			`SELECT handler_id, max(lease_until), count(*) FROM event_claims WHERE ack_at IS NULL AND dead_lettered_at IS NULL AND lease_until > ? GROUP BY handler_id`},
		{"items of source %s of system %s are in progress up to %s, %s in number",
			`SELECT source_name, source_system, max(lease_until), count(*) FROM work_items WHERE status = 'in_progress' AND lease_until > ? GROUP BY source_system, source_name`},
		{"retries of source %s of system %s were put off at %s, %s in number",
			`SELECT source_name, source_system, max(updated_at), count(*) FROM work_items WHERE status = 'pending' AND not_before IS NOT NULL AND attempt > 0 AND updated_at > ?
			GROUP BY source_system, source_name`},
		{"the rate of source %s of system %s is used up to %s", `SELECT source_name, source_system, free_at FROM onto_work_sources WHERE free_at > ?`},
	} {
		err := s.r.Each(q.sql, []any{limit}, func(r *driver.Rows) error {
			args := make([]any, len(r.Vals))
			for i, v := range r.Vals {
				args[i] = fmt.Sprint(v)
			}
			return s.report(audit.TimeAhead, q.message, args...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
