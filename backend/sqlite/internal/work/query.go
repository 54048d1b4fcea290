package work

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// errEnough ends a query early.
var errEnough = errors.New("enough")

// conditions are what a query asks of items.
type conditions struct {
	sql  string
	args []any
}

func (c *conditions) and(sql string, args ...any) {
	c.sql += ` AND ` + sql
	c.args = append(c.args, args...)
}

// among adds that a column has one of some values.
func (c *conditions) among(column string, values []string) {
	if values != nil {
		text, _ := json.Marshal(values) // texts
		c.and(column+` IN (SELECT value FROM json_each(?))`, string(text))
	}
}

// equal adds that a column has a value, unless that is empty.
func (c *conditions) equal(column, value string) {
	if value != "" {
		c.and(column+` = ?`, value)
	}
}

// conditionsOf are those of a query, but for the status.
func conditionsOf(q *backend.WorkQuery) *conditions {
	c := &conditions{sql: `true`}
	c.among(`work_item_id`, q.IDs)
	c.among(`dedupe_key`, q.Keys)
	c.equal(`source_system`, q.System)
	c.equal(`source_name`, q.Source)
	c.equal(`resource_type`, q.Type)
	c.equal(`run_id`, q.Run)
	c.equal(`discovered_from`, q.Parent)
	if q.Error != "" {
		c.and(`instr(error_message, ?) > 0`, q.Error)
	}
	return c
}

// narrow is the index that leads to few items, or "" if a query has none.
func narrow(q *backend.WorkQuery) string {
	switch {
	case q.IDs != nil:
		return byItem
	case q.Keys != nil:
		return `INDEXED BY ix_work_items_dedupe`
	case q.Parent != "":
		return `INDEXED BY onto_work_parent`
	case q.Run != "":
		return `INDEXED BY ix_work_items_run_id`
	}
	return ""
}

func texts(list []onto.WorkStatus) []string {
	if list == nil {
		return nil
	}
	out := []string{}
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}

// Items pushes the items that a query asks for, in their order.
func Items(m *layout.Moment, q *backend.WorkQuery, push func(backend.WorkState) error) error {
	n := 0
	give := func(r *driver.Rows) error {
		s := backend.WorkState{WorkItem: itemAt(r)}
		if q.Attempts {
			var err error
			if s.Attempts, err = attemptsOf(m.Ctx, m.Conn, s.ID, 0); err != nil {
				return err
			}
		}
		if err := push(s); err != nil {
			return err
		}
		if n++; n == q.Limit {
			return errEnough
		}
		return nil
	}
	var err error
	if index := narrow(q); index != "" {
		c := conditionsOf(q)
		c.among(`status`, texts(q.Status))
		err = m.Each(`SELECT `+itemColumns+` FROM work_items `+index+` WHERE `+c.sql+` ORDER BY priority, created_at, work_item_id`, c.args, give)
	} else {
		err = eachByStatus(m, q, give)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// eachByStatus gives items of each status, merged.
func eachByStatus(m *layout.Moment, q *backend.WorkQuery, give func(r *driver.Rows) error) error {
	statuses, err := statusesOf(m, q)
	if err != nil {
		return err
	}
	c := conditionsOf(q)
	args := make([][]any, len(statuses))
	for i, status := range statuses {
		args[i] = append(slices.Clone(c.args), status)
	}
	sql := `SELECT ` + itemColumns + ` FROM work_items INDEXED BY ix_work_items_status WHERE ` + c.sql + ` AND status = ? ORDER BY priority, created_at, work_item_id`
	return m.EachMerged(m.Ctx, sql, args, func(a, b *driver.Rows) bool {
		one, other := itemAt(a), itemAt(b)
		return before(&one, &other)
	}, give)
}

// statusesOf are those that a query asks for, or all that there are. Each is one seek.
func statusesOf(m *layout.Moment, q *backend.WorkQuery) ([]string, error) {
	if q.Status != nil {
		return slices.Compact(slices.Sorted(slices.Values(texts(q.Status)))), nil
	}
	var list []string
	for at := ""; ; {
		r, ok, err := m.QueryRow(`SELECT status FROM work_items INDEXED BY ix_work_items_status WHERE status > ? ORDER BY status LIMIT 1`, at)
		if err != nil || !ok {
			return list, err
		}
		at = r.Text(0)
		list = append(list, at)
	}
}

// Stats counts items by system, source, run and status.
func Stats(m *layout.Moment, q *backend.WorkQuery) ([]backend.WorkCount, error) {
	c := conditionsOf(q)
	c.among(`status`, texts(q.Status))
	sql := `SELECT source_system, source_name, coalesce(run_id, ''), status, count(*) FROM work_items ` + narrow(q) + ` WHERE ` + c.sql + ` GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`
	return driver.List(m.Ctx, m.Conn, sql, c.args, func(r *driver.Rows) (backend.WorkCount, error) {
		return backend.WorkCount{System: r.Text(0), Source: r.Text(1), Run: r.Text(2), Status: onto.WorkStatus(r.Text(3)), Items: r.Int(4)}, nil
	})
}
