package work

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// Old is an item of which something is removed: all, or attempts.
type Old struct {
	ID   string
	row  backend.WorkCleanSource
	from int // the first attempt that stays, if the item does
	sum  int64
}

// Cleaner removes what is over step by step.
type Cleaner struct {
	*backend.WorkCleaning
	newest []itemAge // the newest items, which stay; the oldest of them first
}

// itemAge is where an item stands in the order of age.
type itemAge struct {
	at time.Time
	id string
}

func (a itemAge) before(b itemAge) bool {
	return a.at.Before(b.at) || a.at.Equal(b.at) && a.id < b.id
}

// ages is a heap with the oldest first.
type ages []itemAge

func (h ages) Len() int           { return len(h) }
func (h ages) Less(i, j int) bool { return h[i].before(h[j]) }
func (h ages) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ages) Push(x any)        { *h = append(*h, x.(itemAge)) }
func (h *ages) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// NewCleaner finds out which items are the newest, that stay.
func NewCleaner(m *layout.Moment, c *backend.WorkCleaning) (*Cleaner, error) {
	k := &Cleaner{WorkCleaning: c}
	if !c.Items || c.Keep == 0 {
		return k, nil
	}
	where := k.conditions()
	h := &ages{}
	err := m.Each(`SELECT updated_at, work_item_id FROM work_items `+byItem+` WHERE work_item_id > '' AND `+where.sql, where.args, func(r *driver.Rows) error {
		heap.Push(h, itemAge{layout.TimeAt(r, 0), r.Text(1)})
		if h.Len() > c.Keep {
			heap.Pop(h)
		}
		return nil
	})
	k.newest = *h
	return k, err
}

// conditions select the items that the cleaning is about.
func (k *Cleaner) conditions() *conditions {
	c := conditionsOf(&k.Of)
	c.among(`status`, texts(k.Over()))
	return c
}

// stays reports whether an item is one of the newest.
func (k *Cleaner) stays(a itemAge) bool {
	return k.Keep > 0 && (len(k.newest) < k.Keep || !a.before(k.newest[0]))
}

// oldSQL reads items with how many attempts there are at each, the number of the first one,
// and that of the first one that is not old.
const oldSQL = `SELECT work_item_id, source_system, source_name, status, updated_at, attempt, onto_sum,
	(SELECT count(*) FROM work_attempts a ` + ofItem + ` WHERE a.work_item_id = work_items.work_item_id),
	(SELECT min(attempt_no) FROM work_attempts a ` + ofItem + ` WHERE a.work_item_id = work_items.work_item_id),
	(SELECT min(attempt_no) FROM work_attempts a ` + ofItem + ` WHERE a.work_item_id = work_items.work_item_id AND (a.finished_at >= ? OR a.finished_at IS NULL))
	FROM work_items ` + byItem + ` WHERE work_item_id > ? AND `

// Each calls f with the items of which something is to be removed, after one in the order
// of ids.
func (k *Cleaner) Each(ctx context.Context, c *driver.Conn, after string, f func(*Old) error) error {
	if !k.Items && !k.Attempts {
		return nil
	}
	where := k.conditions()
	args := append([]any{stored(k.Before.Add(time.Microsecond - 1)), after}, where.args...) // rounded up
	if k.Before.IsZero() {
		args[0] = "~" // no time is as late
	}
	err := c.Each(ctx, oldSQL+where.sql+` ORDER BY work_item_id`, args, func(r *driver.Rows) error {
		if o := k.judge(r); o != nil {
			return f(o)
		}
		return nil
	})
	if err == errEnough {
		return nil
	}
	return err
}

// judge tells what of an item is to be removed; nil for nothing.
func (k *Cleaner) judge(r *driver.Rows) *Old {
	o := &Old{ID: r.Text(0), row: backend.WorkCleanSource{System: r.Text(1), Source: r.Text(2), Status: onto.WorkStatus(r.Text(3))}, sum: r.Int(6)}
	updated, there := layout.TimeAt(r, 4), r.Int(7)
	if k.Items && k.WorkCleaning.Old(updated) && !k.stays(itemAge{updated, o.ID}) {
		o.row.Items, o.row.Attempts = 1, there
		return o
	}
	if !k.Attempts || there == 0 {
		return nil
	}
	o.from = k.KeepFrom(layout.CountAt(r, 5), layout.CountAt(r, 9))
	o.row.Attempts = min(int64(o.from)-r.Int(8), there)
	if o.row.Attempts <= 0 {
		return nil
	}
	return o
}

// Plan tells what a cleaning would remove.
func (k *Cleaner) Plan(m *layout.Moment) (plan backend.WorkCleanPlan, err error) {
	err = k.Each(m.Ctx, m.Conn, "", func(o *Old) error {
		plan.Add(o.row)
		return nil
	})
	if err != nil {
		return plan, err
	}
	runs, err := k.runs(m)
	plan.Runs = int64(len(runs))
	return plan, err
}

// cleanStep is of how many items one transaction removes something.
const cleanStep = 500

// Next finds the next items, after one in the order of ids.
func (k *Cleaner) Next(m *layout.Moment, after string) (ids []string, err error) {
	err = k.Each(m.Ctx, m.Conn, after, func(o *Old) error {
		if ids = append(ids, o.ID); len(ids) == cleanStep {
			return errEnough
		}
		return nil
	})
	return ids, err
}

// Remove removes what is old of some items, and returns what that was. Items that were made
// pending since they were found stay.
func (k *Cleaner) Remove(t *Tx, ids []string) (done []backend.WorkCleanSource, err error) {
	c := *k.WorkCleaning
	c.Of.IDs = ids
	only := &Cleaner{WorkCleaning: &c, newest: k.newest}
	var list []*Old
	err = only.Each(context.Background(), t.w, "", func(o *Old) error {
		list = append(list, o)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var items, sum int64
	for _, o := range list {
		if err := t.remove(o); err != nil {
			return nil, err
		}
		items += o.row.Items
		sum += o.row.Items * o.sum
		done = append(done, o.row)
	}
	if items == 0 {
		return done, nil
	}
	return done, t.exec(`UPDATE onto_work SET held = held - ?, held_sum = held_sum - ?`, items, sum)
}

func (t *Tx) remove(o *Old) error {
	if o.row.Items == 0 {
		return t.exec(`DELETE FROM work_attempts `+ofItem+` WHERE work_item_id = ? AND attempt_no < ?`, o.ID, o.from)
	}
	if err := t.exec(`DELETE FROM work_attempts `+ofItem+` WHERE work_item_id = ?`, o.ID); err != nil {
		return err
	}
	return t.exec(`DELETE FROM work_items `+byItem+` WHERE work_item_id = ?`, o.ID)
}

// runs finds the runs that are to be removed.
func (k *Cleaner) runs(m *layout.Moment) ([]onto.WorkRun, error) {
	if !k.Runs {
		return nil, nil
	}
	all, err := Runs(m)
	if err != nil {
		return nil, err
	}
	var waiting []string
	for _, sql := range []string{
		`SELECT run_id FROM work_items INDEXED BY onto_work_due WHERE status = 'pending' AND not_before IS NOT NULL AND not_before > '' AND run_id IS NOT NULL`,
		`SELECT run_id FROM work_items INDEXED BY onto_work_leases WHERE status = 'in_progress' AND lease_until > '' AND run_id IS NOT NULL`,
		`SELECT a.run_id FROM work_items i INDEXED BY onto_work_leases CROSS JOIN work_attempts a ` + byAttempt + ` ON a.attempt_id = i.work_item_id || ':' || i.attempt
			WHERE i.status = 'in_progress' AND i.lease_until > '' AND a.run_id IS NOT NULL`,
	} {
		list, err := driver.List(m.Ctx, m.Conn, sql, nil, func(r *driver.Rows) (string, error) { return r.Text(0), nil })
		if err != nil {
			return nil, err
		}
		slices.Sort(list)
		waiting = append(waiting, slices.Compact(list)...)
	}
	return k.OldRuns(all, func(id string) (bool, error) {
		if slices.Contains(waiting, id) {
			return true, nil
		}
		const ready = `SELECT 1 FROM work_items INDEXED BY onto_work_run_ready WHERE status = 'pending' AND not_before IS NULL AND run_id IS NOT NULL AND run_id = ? LIMIT 1`
		_, ok, err := m.QueryRow(ready, id)
		return ok, err
	})
}

// RemoveRuns removes runs that are old, and returns how many.
func (k *Cleaner) RemoveRuns(t *Tx) (done int64, err error) {
	list, err := k.runs(&layout.Moment{Conn: t.w, Ctx: context.Background()})
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(list, bulk) {
		ids := make([]any, len(part))
		for i := range part {
			ids[i] = part[i].ID
		}
		in, args := places(ids)
		n, err := t.change(`DELETE FROM work_runs WHERE run_id IN (`+in+`)`, args...)
		if err != nil {
			return 0, err
		}
		done += n
	}
	return done, nil
}
