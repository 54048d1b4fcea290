package work

import (
	"context"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Revision says which items are to be changed, by whom and why. Each changed item keeps an
// attempt that tells so.
type Revision struct {
	Items  backend.WorkQuery // which; Limit and Attempts do not count
	All    bool              // all that can be changed, if Items selects none; not needed for Retry
	By     onto.Actor
	Reason string
	Run    string // they belong to this run from now on; "" to leave that; not for Skip
}

// Retry makes failed items pending, and returns how many.
func (q *Queue) Retry(ctx context.Context, r Revision) (int64, error) {
	r.All = true
	return q.revise(ctx, &r, backend.ReviseRetry, "retry")
}

// Recrawl makes completed, failed and skipped items pending, so that they are fetched
// again, and returns how many.
func (q *Queue) Recrawl(ctx context.Context, r Revision) (int64, error) {
	return q.revise(ctx, &r, backend.ReviseRecrawl, "recrawl")
}

// Skip skips items that are pending or failed, and returns how many.
func (q *Queue) Skip(ctx context.Context, r Revision) (int64, error) {
	if r.Run != "" {
		return 0, onto.Errorf(onto.Invalid, "items that are skipped cannot move to run %.80q", r.Run).WithHint("leave Revision.Run empty; Items.Run selects")
	}
	return q.revise(ctx, &r, backend.ReviseSkip, "skip")
}

func (q *Queue) revise(ctx context.Context, r *Revision, do backend.WorkRevising, verb string) (int64, error) {
	r.Items.Limit, r.Items.Attempts = 0, false
	if err := r.By.Check(); err != nil {
		return 0, err
	}
	if err := checkText("the reason", r.Reason, 0, onto.MaxComment); err != nil {
		return 0, err
	}
	if err := checkText("the run id", r.Run, 0, onto.MaxKey); err != nil {
		return 0, err
	}
	for _, s := range r.Items.Status {
		if !known(s) {
			return 0, onto.Errorf(onto.Invalid, "the status %.80q is unknown", s).WithHint("use one of %v", onto.WorkStatuses())
		}
	}
	if !r.All && reflect.ValueOf(r.Items).IsZero() {
		return 0, onto.Errorf(onto.Invalid, "nothing says which items to %s", verb).WithHint("select some, or set All")
	}
	return q.port.Revise(ctx, &backend.WorkRevision{Items: r.Items, Do: do, By: r.By, Reason: r.Reason, Run: r.Run})
}

func known(s onto.WorkStatus) bool {
	for _, k := range onto.WorkStatuses() {
		if k == s {
			return true
		}
	}
	return false
}
