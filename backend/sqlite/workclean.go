package sqlite

import (
	"context"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
)

// CleanWork implements [backend.WorkQueue]. It looks for what is old without a lock, and
// removes it in many transactions, so that work goes on between them.
func (b *Backend) CleanWork(ctx context.Context, c *backend.WorkCleaning, progress func(done, total int64)) (backend.WorkCleanPlan, error) {
	var plan backend.WorkCleanPlan
	var k *work.Cleaner
	err := b.readWork(ctx, func(r *reading) (err error) {
		if k, err = work.NewCleaner(&r.Moment, c); err == nil {
			plan, err = k.Plan(&r.Moment)
		}
		return err
	})
	if err != nil || !c.Apply {
		return plan, err
	}
	d := &cleaningWork{Backend: b, Cleaner: k, total: plan.Items + plan.Attempts + plan.Runs, progress: progress}
	if err := d.items(ctx); err != nil || !c.Runs {
		return d.done, err
	}
	var runs int64
	err = d.step(ctx, func(t *work.Tx) (err error) {
		runs, err = k.RemoveRuns(t)
		return err
	})
	if err == nil {
		d.done.Runs = runs
		d.report()
	}
	return d.done, err
}

// cleaningWork is a cleaning of work that is applied.
type cleaningWork struct {
	*Backend
	*work.Cleaner
	done     backend.WorkCleanPlan
	total    int64
	progress func(done, total int64) // may be nil
}

// items removes items and attempts.
func (d *cleaningWork) items(ctx context.Context) error {
	for after := ""; ; {
		var ids []string
		err := d.readWork(ctx, func(r *reading) (err error) {
			ids, err = d.Next(&r.Moment, after)
			return err
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		var rows []backend.WorkCleanSource
		err = d.step(ctx, func(t *work.Tx) (err error) {
			rows, err = d.Remove(t, ids)
			return err
		})
		if err != nil {
			return err
		}
		for _, row := range rows {
			d.done.Add(row)
		}
		d.report()
	}
}

// step makes a transaction.
func (d *cleaningWork) step(ctx context.Context, f func(t *work.Tx) error) error {
	return d.writer.changeLeases(ctx, d.deadline(), func(w *driver.Conn) error { return f(work.Begin(w, d.now())) })
}

// report tells how far the cleaning has come.
func (d *cleaningWork) report() {
	if n := d.done.Items + d.done.Attempts + d.done.Runs; d.progress != nil {
		d.progress(n, max(d.total, n))
	}
}
