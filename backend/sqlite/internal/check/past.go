package check

import (
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/audit"
)

// past compares the tables of the past with history.
func (c *checker) past() error {
	if c.r.Format < 2 || c.r.Foreign.Until > 0 || !c.r.Foreign.Covers() {
		return nil
	}
	for _, t := range c.of.Tables {
		n, err := c.r.QueryInt(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, t.Past)
		if err == nil && n == 0 {
			err = c.stale(audit.PastMissing, "the table %s is missing", t.Past)
		}
		if err != nil || n == 0 {
			return err
		}
		for _, side := range []struct {
			code      audit.Fault
			what, sql string
		}{
			{audit.PastMissing, "lacks", t.Supersessions() + ` EXCEPT SELECT * FROM ` + t.Past},
			{audit.PastExtra, "has a row for", `SELECT * FROM ` + t.Past + ` EXCEPT ` + t.Supersessions()},
		} {
			err := c.each(side.sql, nil, func(rows *driver.Rows) error {
				return c.stale(side.code, "%s %s the version of %s in row %d of %s, superseded by commit %d",
					t.Past, side.what, rows.Text(0), rows.Int(3), t.History, rows.Int(1))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
