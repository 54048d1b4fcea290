package work

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Clean plans the removal of items, attempts and runs that are over, and applies it if asked,
// see [backend.WorkQueue].CleanWork. Nothing is removed unless a program asks for it: at least
// one kind has to be named, and Before or Keep to be set.
//
// A queue knows a resource by its item. Once that is removed, the resource is new: it can be
// enqueued and discovered again, also with [ScopeForever]. To bound what is kept and never
// fetch anything twice, remove attempts and runs only.
func (q *Queue) Clean(ctx context.Context, c *backend.WorkCleaning, progress func(done, total int64)) (backend.WorkCleanPlan, error) {
	switch {
	case !c.Items && !c.Attempts && !c.Runs:
		return backend.WorkCleanPlan{}, onto.Errorf(onto.Invalid, "nothing says what to remove").WithHint("set Items, Attempts or Runs")
	case c.Keep < 0:
		return backend.WorkCleanPlan{}, onto.Errorf(onto.Invalid, "Keep is %d, and cannot be negative", c.Keep)
	case c.Keep == 0 && c.Before.IsZero():
		return backend.WorkCleanPlan{}, onto.Errorf(onto.Invalid, "nothing says what is old").WithHint("set Before or Keep")
	}
	for _, s := range c.Of.Status {
		if !known(s) {
			return backend.WorkCleanPlan{}, onto.Errorf(onto.Invalid, "the status %.80q is unknown", s).WithHint("use one of %v", onto.WorkStatuses())
		}
		if !backend.WorkOver(s) {
			return backend.WorkCleanPlan{}, onto.Errorf(onto.Invalid, "items that are %s are not removed", s).WithHint("name those that are completed, failed or skipped")
		}
	}
	return q.port.CleanWork(ctx, c, progress)
}

// Today is what the age of items, attempts and runs is measured against: the time of the
// clock, or, if that is earlier, the newest time that was stored before the store was opened,
// and what has passed since. A clock that is ahead makes nothing old.
func (q *Queue) Today(ctx context.Context) (time.Time, error) {
	return q.ages.Today(ctx, q.s.Backend(), time.Now())
}
