package work

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
)

// fate is what the attempts at an item say about it, in the form that is stored.
type fate struct {
	status  onto.WorkStatus
	attempt int64
	revised int64
	why     string // the error
	known   bool   // the last attempt has set or cleared the error; otherwise another program may have since
	owner   string
	retry   string // not before that time; "" for at once
}

// follow is the fate after another attempt.
func (f fate) follow(a *attempt) fate {
	next := fate{status: onto.WorkPending, attempt: a.number, revised: f.revised, why: f.why}
	switch a.status {
	case onto.AttemptRunning:
		next.status, next.owner = onto.WorkInProgress, a.worker
	case onto.AttemptCompleted:
		next.status, next.why, next.known = onto.WorkCompleted, "", true
	case onto.AttemptFailed:
		next.why, next.known, next.retry = a.why, true, a.retry
		if a.retry == "" {
			next.status = onto.WorkFailed
		}
	case onto.AttemptSkipped:
		next.status, next.why, next.known = onto.WorkSkipped, a.why, true
	case onto.AttemptReturned:
		next.revised++
	case onto.AttemptRevised:
		next.revised, next.why, next.known = a.number, "", true
	}
	return next
}

// attempt is a row of work_attempts, as far as it explains something.
type attempt struct {
	id, item, worker, started, finished string
	number                              int64
	status                              onto.AttemptStatus
	retry, why                          string
}

// fault tells why no program of ours has written an attempt; "" if one may have.
func (a *attempt) fault() string {
	running := a.status == onto.AttemptRunning
	switch {
	case a.id != attemptID(a.item, int(a.number)) || a.number < 1:
		return fmt.Sprintf("is stored as number %d", a.number)
	case !slices.Contains(attemptStatuses(), a.status):
		return fmt.Sprintf("has the status %q", a.status)
	case running && a.finished != "":
		return "is under way and has ended"
	case !running && a.finished == "":
		return fmt.Sprintf("is %s and has not ended", a.status)
	case a.retry != "" && a.status != onto.AttemptFailed:
		return fmt.Sprintf("is %s and is to be repeated", a.status)
	}
	return ""
}

func attemptStatuses() []onto.AttemptStatus {
	return []onto.AttemptStatus{onto.AttemptRunning, onto.AttemptCompleted, onto.AttemptFailed, onto.AttemptSkipped,
		onto.AttemptReturned, onto.AttemptLost, onto.AttemptRevised}
}

// Verdict is what the attempts at one item tell about it and about each other.
type Verdict struct {
	Item    string
	Missing bool   // there is no such item
	Gap     bool   // a number between two attempts is missing
	Broken  string // what is wrong with an attempt; then the item is not judged
	Differs string // what of the item the attempts do not explain

	want  fate
	until bool // the item has a time at which its lease ends
}

// stored is what an item says of itself.
type stored struct {
	status                            onto.WorkStatus
	attempt, revised                  int64
	why, owner, until, retry, updated string
}

// Explain pushes a verdict for every item that has attempts. An item that was not updated
// when its last attempt began or ended was changed by another program, and is not judged.
// A time to wait for may be gone: a dequeue has seen that it has come, by a clock that may
// have gone back since.
func Explain(ctx context.Context, c *driver.Conn, now time.Time, push func(*Verdict) error) error {
	const sql = `SELECT a.attempt_id, a.work_item_id, a.attempt_no, a.worker, a.started_at, a.finished_at, a.status, a.retry_after, a.error_message,
		i.work_item_id, i.status, i.attempt, i.onto_revised, i.error_message, i.lease_owner, i.lease_until, i.not_before, i.updated_at
		FROM work_attempts a ` + ofItem + ` LEFT JOIN work_items i ` + byItem + ` ON i.work_item_id = a.work_item_id ORDER BY a.work_item_id, a.attempt_no`
	var v *Verdict
	var of stored
	var last attempt
	end := func() error {
		if v == nil {
			return nil
		}
		v.judge(&of, &last, codec.FormatTime(now))
		return push(v)
	}
	err := c.Each(ctx, sql, nil, func(r *driver.Rows) error {
		a := attempt{id: r.Text(0), item: r.Text(1), number: r.Int(2), worker: r.Text(3), started: r.Text(4), finished: r.Text(5),
			status: onto.AttemptStatus(r.Text(6)), retry: r.Text(7), why: r.Text(8)}
		if v == nil || v.Item != a.item {
			if err := end(); err != nil {
				return err
			}
			v = &Verdict{Item: a.item, Missing: r.Null(9)}
			of = stored{status: onto.WorkStatus(r.Text(10)), attempt: r.Int(11), revised: r.Int(12), why: r.Text(13), owner: r.Text(14),
				until: r.Text(15), retry: r.Text(16), updated: r.Text(17)}
		} else {
			v.Gap = v.Gap || a.number > last.number+1
			if last.status == onto.AttemptRunning && v.Broken == "" {
				v.Broken = fmt.Sprintf("attempt %s is under way, and there is a later one", last.id)
			}
		}
		if fault := a.fault(); fault != "" && v.Broken == "" {
			v.Broken = fmt.Sprintf("attempt %s %s", a.id, fault)
		}
		v.want = v.want.follow(&a)
		last = a
		return nil
	})
	if err != nil {
		return err
	}
	return end()
}

// judge compares an item with what its attempts say.
func (v *Verdict) judge(of *stored, last *attempt, now string) {
	at := last.finished
	if at == "" {
		at = last.started
	}
	if v.Missing || v.Broken != "" || of.updated != at {
		return
	}
	v.until = of.until != ""
	w := &v.want
	if of.retry == "" || of.retry != w.retry && w.retry <= now {
		w.retry = ""
	}
	for _, c := range []struct {
		column   string
		is, said any
	}{
		{"status", of.status, w.status},
		{"attempt", of.attempt, w.attempt},
		{"onto_revised", of.revised, w.revised},
		{"lease_owner", of.owner, w.owner},
		{"not_before", of.retry, w.retry},
	} {
		if c.is != c.said {
			v.Differs = fmt.Sprintf("%s is %q, and its attempts say %q", c.column, fmt.Sprint(c.is), fmt.Sprint(c.said))
			return
		}
	}
	switch {
	case w.known && of.why != w.why:
		v.Differs = fmt.Sprintf("error_message is %q, and its attempts say %q", of.why, w.why)
	case v.until != (w.owner != ""):
		v.Differs = fmt.Sprintf("lease_until is %q, and its attempts say that it is %s", of.until, w.status)
	}
}

// Rebuild makes the columns of items anew that follow from attempts, where they differ. A
// lease that has no end has ended.
func Rebuild(ctx context.Context, w *driver.Conn, now time.Time) error {
	var list []*Verdict
	err := Explain(ctx, w, now, func(v *Verdict) error {
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
	f := &v.want
	set, args := `status = ?, attempt = ?, onto_revised = ?, error_message = ?, lease_owner = ?, not_before = ?`,
		[]any{string(f.status), f.attempt, f.revised, layout.OrNull(f.why), layout.OrNull(f.owner), layout.OrNull(f.retry)}
	switch {
	case f.owner == "":
		set += `, lease_until = NULL`
	case !v.until:
		set, args = set+`, lease_until = ?`, append(args, now)
	}
	return c.Exec(`UPDATE work_items `+byItem+` SET `+set+` WHERE work_item_id = ?`, append(args, v.Item)...)
}
