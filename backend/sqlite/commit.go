package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/refusal"
)

// Resolve returns the commit a point refers to.
func (b *Backend) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	var found onto.Commit
	err := b.reader.read(ctx, func(r *reading) error {
		id := r.Head
		if n, ok := p.Commit(); ok {
			id = n
		} else if t, ok := p.Time(); ok {
			var err error
			if id, err = r.commitAt(t); err != nil {
				return err
			}
		}
		if id == 0 {
			return nil
		}
		row, ok, err := r.QueryRow(`SELECT `+layout.CommitList+` FROM commits c WHERE c.id = ?`, id)
		if err != nil {
			return err
		}
		if !ok {
			return refusal.NoCommit(id, r.Head)
		}
		c := layout.ReadCommit(row)
		found, err = c.HandOut(nil)
		return err
	})
	return found, err
}

// commitAt returns the last commit whose time is not after t, by binary search.
func (r *reading) commitAt(t time.Time) (int64, error) {
	var found int64
	low, high := int64(1), r.Head
	for low <= high {
		middle := low + (high-low)/2
		row, ok, err := r.QueryRow(`SELECT id, created_at FROM commits WHERE id >= ? ORDER BY id LIMIT 1`, middle)
		if err != nil || !ok {
			return found, err
		}
		if layout.StoredTime(row.Text(1)).After(t) {
			high = middle - 1
		} else {
			found, low = row.Int(0), row.Int(0)+1
		}
	}
	return found, nil
}

// Commits yields commits.
func (b *Backend) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(onto.Commit) error) error {
		where, args := `c.id > ? AND c.id <= ?`, []any{q.Since, r.commitID(q.Until)}
		if q.IDs != nil {
			chosen, err := json.Marshal(q.Chosen(r.Head))
			if err != nil {
				return err
			}
			where, args = `c.id IN (SELECT value FROM json_each(?))`, []any{string(chosen)}
		}
		if q.Key != "" {
			where, args = where+` AND c.idempotency_key = ?`, append(args, q.Key)
		}
		order, limit := "ASC", -1 // no limit
		if q.Newest {
			order = "DESC"
		}
		if q.Limit > 0 {
			limit = q.Limit
		}
		sql := fmt.Sprintf(`SELECT %s FROM commits c WHERE %s ORDER BY c.id %s LIMIT ? + 0`, layout.CommitList, where, order)
		return r.Each(sql, append(args, limit), func(rows *driver.Rows) error {
			kept := layout.ReadCommit(rows)
			c, err := kept.HandOut(nil)
			if err != nil {
				return err
			}
			return push(c)
		})
	})
}
