package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// itemWorker is a child process that does one thing with work items again and again, and
// prints a line for everything that was acknowledged.
type itemWorker struct {
	b     *sqlite.Backend
	name  string
	lease time.Duration
	made  int
}

// workOnItems is the job of a child, with arguments like those of workOnBus.
func workOnItems(args []string) error {
	return repeat(args, func(b *sqlite.Backend, lease time.Duration) func(context.Context) error {
		w := &itemWorker{b: b, name: args[2], lease: lease}
		return map[string]func(context.Context) error{"enqueue": w.enqueue, "dequeue": w.dequeueSome, "finish": w.finishSome, "revise": w.reviseSome, "limited": w.limited}[args[1]]
	})
}

// enqueue adds two or more items.
func (w *itemWorker) enqueue(ctx context.Context) error {
	w.made++
	var items []onto.WorkItem
	for i := range 2 + w.made%9 {
		items = append(items, newItem(fmt.Sprintf("%s-%d-%d s%d", w.name, w.made, i, i%3)))
	}
	if _, err := w.b.Enqueue(ctx, items); err != nil {
		return err
	}
	_, err := fmt.Printf("enqueued %s-%d- %d\n", w.name, w.made, len(items))
	return err
}

// take takes a few items, and adds more if there are none.
func (w *itemWorker) take(ctx context.Context) ([]onto.WorkItem, error) {
	got, err := w.b.Dequeue(ctx, &backend.WorkRequest{Worker: w.name, Limit: 4, Lease: w.lease})
	if err == nil && len(got.Items) == 0 {
		err = w.enqueue(ctx)
	}
	for _, it := range got.Items {
		fmt.Printf("took %s:%d %s\n", it.ID, it.Attempt, w.name)
	}
	return got.Items, err
}

func (w *itemWorker) dequeueSome(ctx context.Context) error {
	_, err := w.take(ctx)
	return err
}

// finishSome ends attempts in every way. What is completed leads to two more items, unless
// it was discovered itself.
func (w *itemWorker) finishSome(ctx context.Context) error {
	items, err := w.take(ctx)
	if err != nil {
		return err
	}
	var list []backend.WorkOutcome
	for _, it := range items {
		w.made++
		do := []backend.WorkDo{backend.WorkComplete, backend.WorkComplete, backend.WorkFail, backend.WorkRetry, backend.WorkSkip, backend.WorkReturn, backend.WorkComplete}[w.made%7]
		o := outcome(do, it)
		o.Delay = time.Millisecond
		if do == backend.WorkComplete && it.Parent == "" {
			for i := range 2 {
				found := newItem(fmt.Sprintf("found-%s:%d-%d", it.ID, it.Attempt, i))
				found.Parent, found.Depth = it.ID, 1
				o.Discovered = append(o.Discovered, found)
			}
		}
		list = append(list, o)
	}
	return w.finish(ctx, list)
}

// finish ends attempts, and prints those whose lease was not lost.
func (w *itemWorker) finish(ctx context.Context, list []backend.WorkOutcome) error {
	verdicts, err := w.b.Finish(ctx, list)
	if err != nil {
		return err
	}
	word := map[backend.WorkDo]string{backend.WorkComplete: "completed", backend.WorkFail: "failed", backend.WorkRetry: "failed", backend.WorkSkip: "skipped", backend.WorkReturn: "returned"}
	for i, v := range verdicts {
		if v.Err == nil {
			fmt.Printf("%s %s:%d %s %d\n", word[list[i].Do], list[i].Item, list[i].Attempt, w.name, len(list[i].Discovered))
		} else if !errors.Is(v.Err, onto.LeaseExpired) {
			return v.Err
		}
	}
	return nil
}

// reviseSome completes items, and makes those pending again in a run whose name tells how
// many they are.
func (w *itemWorker) reviseSome(ctx context.Context) error {
	items, err := w.take(ctx)
	if err != nil || len(items) == 0 {
		return err
	}
	var list []backend.WorkOutcome
	for _, it := range items {
		list = append(list, outcome(backend.WorkComplete, it))
	}
	verdicts, err := w.b.Finish(ctx, list)
	if err != nil {
		return err
	}
	r := &backend.WorkRevision{Do: backend.ReviseRecrawl, By: onto.Operator("ana"), Reason: "again"}
	for i, v := range verdicts {
		if v.Err == nil {
			r.Items.IDs = append(r.Items.IDs, list[i].Item)
		}
	}
	if r.Items.IDs == nil {
		return nil
	}
	w.made++
	r.Run = fmt.Sprintf("%s-%d-%d", w.name, w.made, len(r.Items.IDs))
	n, err := w.b.Revise(ctx, r)
	if err == nil {
		fmt.Printf("revised %s %d\n", r.Run, n)
	}
	return err
}

// sourceLimit is what several processes together may do on one source.
func sourceLimit() backend.WorkLimit {
	return backend.WorkLimit{Concurrent: 3, Every: 4 * time.Millisecond, Burst: 2}
}

// limited takes items of a source that has limits, and ends attempts with the next dequeue.
func (w *itemWorker) limited(ctx context.Context) error {
	r := &backend.WorkRequest{Worker: w.name, Limit: 2, Lease: w.lease, Most: sourceLimit()}
	for {
		got, err := w.b.Dequeue(ctx, r)
		if err != nil {
			return err
		}
		if r.Finish = nil; len(got.Items) == 0 {
			return nil
		}
		for _, it := range got.Items {
			if _, err := fmt.Printf("took %s:%d %s\n", it.ID, it.Attempt, w.name); err != nil {
				return err
			}
			r.Finish = append(r.Finish, outcome(backend.WorkComplete, it))
		}
	}
}
