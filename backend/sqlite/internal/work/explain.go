package work

import (
	"context"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/attempts"
	"github.com/ontologia/onto/internal/codec"
)

// Verdict is what the attempts at one item tell about it and about each other.
type Verdict struct {
	Item    string
	Broken  string // what is wrong with an attempt; then the item is not judged
	Differs string // what of the item the attempts do not explain

	of   onto.WorkItem
	want attempts.Fate
}

// Explain pushes a verdict for every item that has attempts, and then for those without that
// have a status which only attempts can give. A time to wait for may be gone: a dequeue has
// seen that it has come.
func Explain(ctx context.Context, c *driver.Conn, push func(*Verdict) error) error {
	const sql = `SELECT a.attempt_id, a.work_item_id, a.attempt_no, a.worker, a.started_at, a.finished_at, a.status, a.retry_after, a.error_message,
		i.work_item_id, i.status, i.attempt, i.onto_revised, i.error_message, i.lease_owner, i.lease_until, i.not_before
		FROM work_attempts a ` + ofItem + ` LEFT JOIN work_items i ` + byItem + ` ON i.work_item_id = a.work_item_id ORDER BY a.work_item_id, a.attempt_no`
	var v *Verdict
	var last onto.WorkAttempt
	end := func() error {
		if v == nil {
			return nil
		}
		if v.Broken == "" {
			v.Differs = v.want.Differs(&v.of)
		}
		return push(v)
	}
	err := c.Each(ctx, sql, nil, func(r *driver.Rows) error {
		a := onto.WorkAttempt{ID: r.Text(0), Item: r.Text(1), Number: int(r.Int(2)), Worker: r.Text(3), Started: timeAt(r, 4), Finished: timeAt(r, 5),
			Status: onto.AttemptStatus(r.Text(6)), RetryAfter: timeAt(r, 7), Error: r.Text(8)}
		if v == nil || v.Item != a.Item {
			if err := end(); err != nil {
				return err
			}
			v = &Verdict{Item: a.Item, of: onto.WorkItem{
				Status: onto.WorkStatus(r.Text(10)), Attempt: int(r.Int(11)), Revised: int(r.Int(12)), Error: r.Text(13), Owner: r.Text(14),
				Until: timeAt(r, 15), NotBefore: timeAt(r, 16),
			}}
			if r.Null(9) {
				v.Broken = "it does not exist, and has attempts"
			}
		} else if v.Broken == "" {
			switch {
			case a.Number > last.Number+1:
				v.Broken = fmt.Sprintf("attempt %s follows number %d", a.ID, last.Number)
			case last.Status == onto.AttemptRunning:
				v.Broken = fmt.Sprintf("attempt %s is under way, and there is a later one", last.ID)
			}
		}
		if fault := faultOf(&a); fault != "" && v.Broken == "" {
			v.Broken = fmt.Sprintf("attempt %s %s", a.ID, fault)
		}
		v.want = v.want.Follow(&a)
		last = a
		return nil
	})
	if err == nil {
		err = end()
	}
	if err != nil {
		return err
	}
	return explainUntried(ctx, c, push)
}

// explainUntried pushes a verdict for every item without attempts that is neither pending nor
// as an import has brought it.
func explainUntried(ctx context.Context, c *driver.Conn, push func(*Verdict) error) error {
	const sql = `SELECT ` + itemColumns + ` FROM work_items i WHERE status NOT IN ('pending', 'completed', 'failed', 'skipped')
		AND NOT EXISTS (SELECT 1 FROM work_attempts a ` + ofItem + ` WHERE a.work_item_id = i.work_item_id)`
	return c.Each(ctx, sql, nil, func(r *driver.Rows) error {
		i := itemAt(r)
		return push(&Verdict{Item: i.ID, Differs: fmt.Sprintf("status is %q, and there are no attempts", i.Status),
			of: i, want: attempts.Fate{Status: onto.WorkPending, Attempt: i.Attempt, Revised: i.Revised, Error: i.Error, NotBefore: i.NotBefore}})
	})
}

// timeAt is the time in column i. One that cannot be read is a time that no other is.
func timeAt(r *driver.Rows, i int) time.Time {
	at := layout.TimeAt(r, i)
	if at.IsZero() && !r.Null(i) {
		return at.Add(1)
	}
	return at
}

// faultOf tells why no program of ours has written an attempt; "" if one may have.
func faultOf(a *onto.WorkAttempt) string {
	if a.ID != attempts.ID(a.Item, a.Number) {
		return fmt.Sprintf("is stored as number %d", a.Number)
	}
	return attempts.Fault(a)
}

// Rebuild makes the columns of items anew that follow from attempts, where they differ. A
// lease that has no end has ended.
func Rebuild(ctx context.Context, w *driver.Conn, now time.Time) error {
	err := w.Exec(`UPDATE onto_work SET held = (SELECT count(*) FROM work_items), held_sum = (SELECT coalesce(sum(onto_sum), 0) FROM work_items)
		WHERE held IS NULL OR held_sum IS NULL`)
	if err != nil {
		return err
	}
	var list []*Verdict
	err = Explain(ctx, w, func(v *Verdict) error {
		if v.Differs != "" {
			list = append(list, v)
		}
		return nil
	})
	for _, v := range list {
		if err == nil {
			err = v.mend(w, codec.FormatTime(now))
		}
	}
	return err
}

func (v *Verdict) mend(c *driver.Conn, now string) error {
	f := v.want.Complete(&v.of)
	set, args := `status = ?, attempt = ?, onto_revised = ?, error_message = ?, lease_owner = ?, not_before = ?`,
		[]any{string(f.Status), int64(f.Attempt), int64(f.Revised), layout.OrNull(f.Error), layout.OrNull(f.Owner), layout.OrNullTime(f.NotBefore)}
	switch {
	case f.Owner == "":
		set += `, lease_until = NULL`
	case v.of.Until.IsZero():
		set, args = set+`, lease_until = ?`, append(args, now)
	}
	return c.Exec(`UPDATE work_items `+byItem+` SET `+set+` WHERE work_item_id = ?`, append(args, v.Item)...)
}
