package work

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/attempts"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// isHeld is the condition that a worker holds an item under an attempt.
const isHeld = `status = 'in_progress' AND lease_owner = ? AND attempt = ?`

// Finish ends attempts, one after the other.
func (t *Tx) Finish(list []backend.WorkOutcome) ([]backend.WorkVerdict, error) {
	verdicts := make([]backend.WorkVerdict, len(list))
	for i := 0; i < len(list); {
		n := plainRun(list[i:])
		if n < 2 {
			v, err := t.finish(&list[i])
			if err != nil {
				return nil, err
			}
			verdicts[i] = v
			i++
			continue
		}
		if err := t.complete(list[i:i+n], verdicts[i:i+n]); err != nil {
			return nil, err
		}
		i += n
	}
	return verdicts, nil
}

// plainRun is how many outcomes at the beginning of a list do nothing but complete items
// of one worker under attempts of one number, each item once.
func plainRun(list []backend.WorkOutcome) int {
	seen := map[string]bool{}
	for n := range list {
		o := &list[n]
		if o.Do != backend.WorkComplete || o.Worker != list[0].Worker || o.Attempt != list[0].Attempt || o.Class != "" || o.Error != "" ||
			o.Diagnostic != nil || o.Metadata != nil || len(o.Discovered) > 0 || seen[o.Item] || n == bulk {
			return n
		}
		seen[o.Item] = true
	}
	return len(list)
}

// complete completes items with few statements.
func (t *Tx) complete(list []backend.WorkOutcome, verdicts []backend.WorkVerdict) error {
	ids := make([]any, len(list))
	for i := range list {
		ids[i] = list[i].Item
	}
	in, all := places(ids)
	done := make(map[string]bool, len(list))
	args := append([]any{t.at, list[0].Worker, list[0].Attempt}, all...)
	err := t.w.Each(context.Background(), `UPDATE work_items `+byItem+` SET status = 'completed', error_message = NULL, lease_owner = NULL, lease_until = NULL, updated_at = ?
		WHERE `+isHeld+` AND work_item_id IN (`+in+`) RETURNING work_item_id`, args, func(r *driver.Rows) error {
		done[r.Text(0)] = true
		return nil
	})
	if err != nil {
		return err
	}
	t.Wrote = t.Wrote || len(done) > 0
	var ended []any
	for i := range list {
		if !done[list[i].Item] {
			verdicts[i].Err = refusal.WorkLost(&list[i])
			continue
		}
		ended = append(ended, attempts.ID(list[i].Item, list[i].Attempt))
	}
	if len(ended) == 0 {
		return nil
	}
	in, all = places(ended)
	return t.exec(`UPDATE work_attempts `+byAttempt+` SET status = 'completed', finished_at = ? WHERE attempt_id IN (`+in+`)`, append([]any{t.at}, all...)...)
}

// finish ends one attempt.
func (t *Tx) finish(o *backend.WorkOutcome) (v backend.WorkVerdict, err error) {
	set, args := `lease_until = ?`, []any{codec.FormatTime(t.now.Add(o.Lease))}
	add := func(column string, value any) { set, args = set+`, `+column+` = ?`, append(args, value) }
	var a ending
	if o.Do != backend.WorkExtend {
		set, args = `updated_at = ?, lease_owner = NULL, lease_until = NULL`, []any{t.at}
		if o.Metadata != nil {
			add(`metadata`, string(o.Metadata))
		}
	}
	switch o.Do {
	case backend.WorkComplete:
		a.status = onto.AttemptCompleted
		add(`status`, string(onto.WorkCompleted))
		add(`error_message`, nil)
	case backend.WorkFail:
		a.status, a.why = onto.AttemptFailed, o.Error
		add(`status`, string(onto.WorkFailed))
		add(`error_message`, layout.OrNull(o.Error))
	case backend.WorkSkip:
		a.status, a.why = onto.AttemptSkipped, o.Error
		add(`status`, string(onto.WorkSkipped))
		add(`error_message`, layout.OrNull(o.Error))
	case backend.WorkRetry:
		a.status, a.why, a.retry = onto.AttemptFailed, o.Error, codec.FormatTime(t.now.Add(o.Delay))
		add(`status`, string(onto.WorkPending))
		add(`error_message`, layout.OrNull(o.Error))
		add(`not_before`, a.retry)
	case backend.WorkReturn:
		a.status = onto.AttemptReturned
		add(`status`, string(onto.WorkPending))
		set += `, onto_revised = onto_revised + 1`
	}
	n, err := t.change(`UPDATE work_items `+byItem+` SET `+set+` WHERE work_item_id = ? AND `+isHeld, append(args, o.Item, o.Worker, o.Attempt)...)
	if err != nil {
		return v, err
	}
	if n == 0 {
		v.Err = refusal.WorkLost(o)
		return v, nil
	}
	if o.Do == backend.WorkExtend {
		return v, nil
	}
	if err := t.end(o, a); err != nil {
		return v, err
	}
	if len(o.Discovered) > 0 && (o.Do == backend.WorkComplete || o.Do == backend.WorkSkip) {
		v.Fresh, err = t.Enqueue(o.Discovered)
	}
	return v, err
}

// ending is how an attempt ends.
type ending struct {
	status onto.AttemptStatus
	why    string
	retry  any // the time, as it is stored; nil for none
}

// end closes the attempt of an outcome.
func (t *Tx) end(o *backend.WorkOutcome, a ending) error {
	return t.exec(`UPDATE work_attempts `+byAttempt+` SET status = ?, finished_at = ?, retry_after = ?, error_message = ?, failure_class = ?, diagnostic_json = ? WHERE attempt_id = ?`,
		string(a.status), t.at, a.retry, layout.OrNull(a.why), layout.OrNull(o.Class), layout.OrNull(string(o.Diagnostic)), attempts.ID(o.Item, o.Attempt))
}

// reviseStep is how many items one transaction revises.
const reviseStep = 2000

// Revise revises some items, and returns how many. It is repeated until there are none.
func (t *Tx) Revise(r *backend.WorkRevision) (int64, error) {
	q := r.Items
	q.Status = revisable(r.Do, q.Status)
	if len(q.Status) == 0 {
		return 0, nil
	}
	q.Limit, q.Attempts = reviseStep, false
	var list []onto.WorkItem
	err := Items(&layout.Moment{Conn: t.w, Ctx: context.Background()}, &q, func(s backend.WorkState) error {
		list = append(list, s.WorkItem)
		return nil
	})
	if err != nil {
		return 0, err
	}
	for i := range list {
		if err := t.revise(r, &list[i]); err != nil {
			return 0, err
		}
	}
	return int64(len(list)), nil
}

// revisable is the statuses that a revision changes, of those that are asked for.
func revisable(do backend.WorkRevising, asked []onto.WorkStatus) []onto.WorkStatus {
	can := []onto.WorkStatus{onto.WorkFailed}
	switch do {
	case backend.ReviseRecrawl:
		can = []onto.WorkStatus{onto.WorkCompleted, onto.WorkFailed, onto.WorkSkipped}
	case backend.ReviseSkip:
		can = []onto.WorkStatus{onto.WorkPending, onto.WorkFailed}
	}
	if asked == nil {
		return can
	}
	var both []onto.WorkStatus
	for _, s := range can {
		for _, a := range asked {
			if s == a {
				both = append(both, s)
				break
			}
		}
	}
	return both
}

// revise revises an item.
func (t *Tx) revise(r *backend.WorkRevision, it *onto.WorkItem) error {
	status, ended, why := onto.WorkPending, onto.AttemptRevised, any(nil)
	if r.Do == backend.ReviseSkip {
		status, ended, why = onto.WorkSkipped, onto.AttemptSkipped, layout.OrNull(r.Reason)
	}
	number := it.Attempt + 1
	revised := number
	if r.Do == backend.ReviseSkip {
		revised = it.Revised
	}
	set, args := `status = ?, attempt = ?, onto_revised = ?, error_message = ?, lease_owner = NULL, lease_until = NULL, not_before = NULL, updated_at = ?`,
		[]any{string(status), number, revised, why, t.at}
	if r.Run != "" {
		set, args = set+`, run_id = ?`, append(args, r.Run)
	}
	if err := t.exec(`UPDATE work_items `+byItem+` SET `+set+` WHERE work_item_id = ?`, append(args, it.ID)...); err != nil {
		return err
	}
	return t.exec(`INSERT INTO work_attempts (attempt_id, work_item_id, attempt_no, worker, run_id, started_at, finished_at, status, error_message, diagnostic_json)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		attempts.ID(it.ID, number), it.ID, number, r.By.String(), layout.OrNull(r.Run), t.at, t.at, string(ended), why, string(r.Note(it.Status)))
}
