package upkeep

import (
	"context"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/audit"
)

// workPatience is how long after the end of its lease an item counts as left behind: runs
// that are under way take it long before.
const workPatience = 10 * time.Minute

// workSurvey reports work that does not get done: items of workers that are gone, and,
// unless it is to be quick, sources that only fail, for which all items are counted.
func workSurvey(ctx context.Context, q backend.WorkQueue, opts *Options) iter.Seq2[onto.Finding, error] {
	return func(yield func(onto.Finding, error) bool) {
		found, err := surveyWork(ctx, q, opts)
		switch onto.CodeOf(err) {
		case onto.Unsupported: // a file of an older format that is only read
			return
		case onto.Corrupt: // the check, which follows, tells more
			f := audit.CheckStopped.Finding("the work queue could not be examined: %v", err)
			f.Remedy = onto.HintOf(err)
			found, err = append(found, f), nil
		}
		for _, f := range found {
			if !yield(f, nil) {
				return
			}
		}
		if err != nil {
			yield(onto.Finding{}, err)
		}
	}
}

func surveyWork(ctx context.Context, q backend.WorkQueue, opts *Options) (found []onto.Finding, err error) {
	held := audit.Held{Now: opts.now(), Patience: workPatience}
	for w, err := range q.WorkItems(ctx, &backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkInProgress}}) {
		if err != nil {
			return found, err
		}
		held.Add(&w.WorkItem)
	}
	if f, ok := held.Finding(); ok {
		found = append(found, f)
	}
	if opts.Quick {
		return found, nil
	}
	counts, err := q.WorkStats(ctx, &backend.WorkQuery{})
	if err != nil {
		return found, err
	}
	for len(counts) > 0 {
		first, n := counts[0], 0
		var failed, completed int64
		for ; n < len(counts) && counts[n].System == first.System && counts[n].Source == first.Source; n++ {
			switch counts[n].Status {
			case onto.WorkFailed:
				failed += counts[n].Items
			case onto.WorkCompleted:
				completed += counts[n].Items
			}
		}
		counts = counts[n:]
		if failed == 0 || completed > 0 {
			continue
		}
		example, err := failure(ctx, q, first.System, first.Source)
		if err != nil {
			return found, err
		}
		if f, ok := audit.OnlyFails(first.System, first.Source, failed, completed, example); ok {
			found = append(found, f)
		}
	}
	return found, nil
}

// failure is the error of a failed item of a source.
func failure(ctx context.Context, q backend.WorkQueue, system, source string) (string, error) {
	query := &backend.WorkQuery{System: system, Source: source, Status: []onto.WorkStatus{onto.WorkFailed}, Limit: 1}
	for w, err := range q.WorkItems(ctx, query) {
		return w.Error, err
	}
	return "", nil
}
