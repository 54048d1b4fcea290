package backup

import (
	"errors"
	"fmt"
	"sort"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// Shared returns the last commit up to a limit that both have. Logs that have diverged
// stay different.
func Shared(a, b *driver.Conn, limit int64) (int64, error) {
	const sql = `SELECT created_at, runtime_id, metadata_json, comment, draft_hash, operations FROM commits WHERE id = ?`
	var failed error
	first := sort.Search(int(limit), func(i int) bool {
		rowA, okA, errA := a.QueryRow(sql, i+1)
		rowB, okB, errB := b.QueryRow(sql, i+1)
		if failed = errors.Join(failed, errA, errB); failed != nil || !okA || !okB {
			return true
		}
		for i := range rowA.Vals {
			if rowA.Null(i) != rowB.Null(i) || rowA.Text(i) != rowB.Text(i) || rowA.Int(i) != rowB.Int(i) {
				return true
			}
		}
		return false
	})
	return int64(first), failed
}

// Resize gives a copy pages of another size, if its size differs.
func Resize(c *driver.Conn, size int64) error {
	if err := settleCopy(c); err != nil {
		return err
	}
	now, err := c.QueryInt(`PRAGMA page_size`)
	if err != nil || now == size {
		return err
	}
	return c.Script(fmt.Sprintf(`PRAGMA page_size = %d; VACUUM`, size))
}

// Outdo makes the epochs of a copy larger than those of the store that it replaces, and
// also the counter by which other processes notice that what they know is stale.
func Outdo(now *layout.Moment, src *driver.Conn) error {
	derived, err := now.QueryInt(`SELECT derived FROM onto_meta`)
	if err != nil {
		return err
	}
	if err := src.Exec(`UPDATE onto_meta SET derived = max(derived, ?) + 1`, derived); err != nil {
		return err
	}
	err = now.Each(`SELECT name, epoch FROM onto_leases`, nil, func(rows *driver.Rows) error {
		return src.Exec(`INSERT INTO onto_leases (name, epoch) VALUES (?, ?)
			ON CONFLICT DO UPDATE SET epoch = max(epoch, excluded.epoch)`, rows.Text(0), rows.Int(1))
	})
	if err != nil {
		return err
	}
	return src.Exec(`UPDATE onto_leases SET epoch = epoch + 1`)
}
