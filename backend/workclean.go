package backend

import (
	"cmp"
	"slices"
	"time"

	"github.com/ontologia/onto"
)

// WorkCleaning says what to remove of work that is over, see [WorkQueue].CleanWork.
type WorkCleaning struct {
	Items, Attempts, Runs bool // of which kind

	// Of selects the items, and those of the attempts; what is pending or in progress does
	// not count, nor do Limit and Attempts. Runs are not selected by it.
	Of WorkQuery

	// Before and Keep both have to allow it.
	Before time.Time // only what is over since before; zero for any time
	Keep   int       // not the newest: so many items, attempts at each item, and runs

	Apply bool // remove it
}

// WorkCleanPlan is what a cleaning of work removes, or has removed.
type WorkCleanPlan struct {
	Items, Attempts, Runs int64 // Attempts at these items, and at items that stay
	Sources               []WorkCleanSource
}

// WorkCleanSource is what is removed of items of one source and status, by System, Source and
// Status in order of bytes.
type WorkCleanSource struct {
	System, Source  string
	Status          onto.WorkStatus // of the items
	Items, Attempts int64
}

// Old reports whether something that is over since a time is old enough to be removed.
func (c *WorkCleaning) Old(since time.Time) bool { return c.Before.IsZero() || since.Before(c.Before) }

// WorkOver reports whether an item of that status can be removed.
func WorkOver(s onto.WorkStatus) bool {
	return s == onto.WorkCompleted || s == onto.WorkFailed || s == onto.WorkSkipped
}

// Over is the statuses of the items that the cleaning is about.
func (c *WorkCleaning) Over() []onto.WorkStatus {
	return slices.DeleteFunc(onto.WorkStatuses(), func(s onto.WorkStatus) bool {
		return !WorkOver(s) || c.Of.Status != nil && !slices.Contains(c.Of.Status, s)
	})
}

// KeepFrom returns the number of the first attempt at an item that stays, given that of the
// last attempt and that of the first one that is not old, or 0 if all are. The last one
// explains what the item is, so it always stays.
func (c *WorkCleaning) KeepFrom(last, recent int) int {
	from := last - max(c.Keep, 1) + 1
	if recent > 0 {
		from = min(from, recent)
	}
	return from
}

// OldRuns returns the runs to be removed, of all in order of WorkRuns, given which are still
// needed.
func (c *WorkCleaning) OldRuns(all []onto.WorkRun, needed func(id string) (bool, error)) ([]onto.WorkRun, error) {
	all = slices.Clone(all)
	slices.Reverse(all)
	slices.SortStableFunc(all, func(x, y onto.WorkRun) int { return runOver(&y).Compare(runOver(&x)) })
	var old []onto.WorkRun
	for n := range all {
		if n < c.Keep || !c.Old(runOver(&all[n])) {
			continue
		}
		kept, err := needed(all[n].ID)
		if err != nil {
			return nil, err
		}
		if !kept {
			old = append(old, all[n])
		}
	}
	return old, nil
}

// runOver is since when a run is over. One whose process was killed has no end.
func runOver(r *onto.WorkRun) time.Time {
	if r.Finished.IsZero() {
		return r.Started
	}
	return r.Finished
}

// Add counts items and attempts of a source.
func (p *WorkCleanPlan) Add(s WorkCleanSource) {
	p.Items += s.Items
	p.Attempts += s.Attempts
	n, found := slices.BinarySearchFunc(p.Sources, s, compareCleaned)
	if !found {
		p.Sources = slices.Insert(p.Sources, n, s)
		return
	}
	p.Sources[n].Items += s.Items
	p.Sources[n].Attempts += s.Attempts
}

func compareCleaned(x, y WorkCleanSource) int {
	return cmp.Or(cmp.Compare(x.System, y.System), cmp.Compare(x.Source, y.Source), cmp.Compare(x.Status, y.Status))
}
