package check

import (
	"fmt"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
	"github.com/ontologia/onto/internal/audit"
)

// summed is a table whose rows have checksums.
type summed struct {
	table   string
	columns string // that the checksum covers, and the checksum
	width   int    // how many it covers
	name    func(r *driver.Rows) string
}

func summedTables() []summed {
	named := func(format string, columns ...int) func(r *driver.Rows) string {
		return func(r *driver.Rows) string {
			var args []any
			for _, i := range columns {
				args = append(args, fmt.Sprint(r.Vals[i]))
			}
			return fmt.Sprintf(format, args...)
		}
	}
	return []summed{
		{"onto_meta", layout.MetaSums, layout.MetaSumsWidth, named("the identity of the store")},
		{"onto_restores", layout.RestoreSums, layout.RestoreSumsWidth, named("the restore at %s", 1)},
		{"schema_versions", layout.SchemaSums, layout.SchemaSumsWidth, named("version %s of %s %s", 2, 0, 1)},
		{"commits", layout.CommitSums, layout.CommitSumsWidth, named("commit %s", 0)},
		{"events", layout.EventColumns + `, onto_sum`, backend.EventWidth, named("event %s", 0)},
		{"work_items", work.ItemSums, work.ItemSumsWidth, named("item %s", 0)},
	}
}

// sums checks the checksums of rows that are written once.
func (c *checker) sums() error {
	for _, t := range summedTables() {
		where := ""
		if t.table == "commits" {
			where = ` WHERE operations IS NOT NULL` // others are found by the step of the log
		}
		err := c.r.Each(`SELECT `+t.columns+` FROM `+t.table+where, nil, func(r *driver.Rows) error {
			switch layout.CheckSum(r, t.width) {
			case layout.SumMissing:
				return c.report(audit.RowDamaged, "%s has no checksum", t.name(r))
			case layout.SumWrong:
				return c.report(audit.RowDamaged, "%s is not as it was written: its checksum is another", t.name(r))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, step := range []func() error{c.versionSums, c.riding, c.held} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// versionSums compares the versions of each commit with what the commit has made.
func (c *checker) versionSums() error {
	sql := `SELECT id FROM commits c WHERE onto_versions IS NOT NULL AND onto_versions <> ` + layout.SumVersions("c.id")
	return c.r.Each(sql, nil, func(r *driver.Rows) error {
		return c.report(audit.RowDamaged, "commit %d: the checksums of its versions are others than those that it was written with", r.Int(0))
	})
}

// riding compares the events of each commit with those that it has emitted. Some may have been
// removed since.
func (c *checker) riding() error {
	const sql = `SELECT c.id, coalesce(c.onto_events, 0), e.n, coalesce(c.onto_event_sum, 0), e.s FROM
		(SELECT commit_id, count(*) AS n, coalesce(sum(onto_sum), 0) AS s FROM events WHERE commit_id IS NOT NULL GROUP BY commit_id) e
		CROSS JOIN commits c ON c.id = e.commit_id WHERE e.n > coalesce(c.onto_events, 0) OR e.n = c.onto_events AND e.s <> c.onto_event_sum`
	return c.r.Each(sql, nil, func(r *driver.Rows) error {
		if emitted, there := r.Int(1), r.Int(2); there > emitted {
			return c.report(audit.RowDamaged, "commit %d has emitted %d events, and %d say that they ride in it", r.Int(0), emitted, there)
		}
		return c.report(audit.RowDamaged, "commit %d: the checksums of its events are others than those that it was written with", r.Int(0))
	})
}

// held compares how many events and work items there are with how many there should be.
func (c *checker) held() error {
	for _, t := range []struct{ table, counted, what string }{{"events", "onto_bus", "events"}, {"work_items", "onto_work", "work items"}} {
		r, ok, err := c.r.QueryRow(fmt.Sprintf(`SELECT b.held, b.held_sum, x.n, x.s FROM %s b, (SELECT count(*) AS n, coalesce(sum(onto_sum), 0) AS s FROM %s) x`, t.counted, t.table))
		switch {
		case err != nil:
			return err
		case !ok || r.Null(0) || r.Null(1):
			err = c.report(audit.RowsMissing, "it is not known how many %s there should be", t.what)
		case !r.Is(0, r.Int(2)):
			err = c.report(audit.RowsMissing, "there are %d %s, and there should be %s", r.Int(2), t.what, fmt.Sprint(r.Vals[0]))
		case !r.Is(1, r.Int(3)):
			err = c.report(audit.RowsMissing, "there are as many %s as there should be, and some are others", t.what)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
