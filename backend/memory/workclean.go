package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// CleanWork implements [backend.WorkQueue].
func (b *Backend) CleanWork(ctx context.Context, c *backend.WorkCleaning, progress func(done, total int64)) (backend.WorkCleanPlan, error) {
	plan, err := b.cleanWork(ctx, c)
	if total := plan.Items + plan.Attempts + plan.Runs; err == nil && c.Apply && progress != nil {
		progress(total, total)
	}
	return plan, err
}

func (b *Backend) cleanWork(ctx context.Context, c *backend.WorkCleaning) (backend.WorkCleanPlan, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	may := b.usable
	if c.Apply {
		may = b.writable
	}
	if err := may(ctx); err != nil {
		return backend.WorkCleanPlan{}, err
	}
	d := outdated{WorkCleaning: c, work: &s.work}
	d.newestStay()
	for _, i := range s.work.items {
		d.judge(i)
	}
	if err := d.judgeRuns(); err != nil {
		return backend.WorkCleanPlan{}, err
	}
	if c.Apply && d.plan.Items+d.plan.Attempts+d.plan.Runs > 0 {
		d.remove()
		s.wrote()
	}
	return d.plan, nil
}

// outdated is what a cleaning of work removes.
type outdated struct {
	*backend.WorkCleaning
	work  *work
	stay  map[*workItem]bool // the newest ones, which stay
	items map[*workItem]bool
	cut   map[*workItem]int // from which attempt on those of an item stay
	runs  []onto.WorkRun
	plan  backend.WorkCleanPlan
}

// covers reports whether an item is one that the cleaning is about.
func (d *outdated) covers(i *workItem) bool { return backend.WorkOver(i.Status) && selects(&d.Of, i) }

// newestStay finds the newest items, which stay.
func (d *outdated) newestStay() {
	d.stay, d.items, d.cut = map[*workItem]bool{}, map[*workItem]bool{}, map[*workItem]int{}
	var list []*workItem
	for _, i := range d.work.items {
		if d.covers(i) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(x, y *workItem) int { return cmp.Or(y.Updated.Compare(x.Updated), cmp.Compare(y.ID, x.ID)) })
	for _, i := range list[:min(d.Keep, len(list))] {
		d.stay[i] = true
	}
}

// judge decides what becomes of an item and its attempts.
func (d *outdated) judge(i *workItem) {
	if !d.covers(i) {
		return
	}
	row := backend.WorkCleanSource{System: i.System, Source: i.Source, Status: i.Status}
	switch {
	case d.Items && d.Old(i.Updated) && !d.stay[i]:
		d.items[i] = true
		row.Items, row.Attempts = 1, int64(len(i.attempts))
	case d.Attempts:
		recent := 0
		if n := slices.IndexFunc(i.attempts, func(a onto.WorkAttempt) bool { return !d.Old(a.Finished) }); n >= 0 {
			recent = i.attempts[n].Number
		}
		d.cut[i] = d.KeepFrom(i.Attempt, recent)
		for _, a := range i.attempts {
			if a.Number < d.cut[i] {
				row.Attempts++
			}
		}
	}
	if row.Items+row.Attempts > 0 {
		d.plan.Add(row)
	}
}

// judgeRuns decides which runs are removed.
func (d *outdated) judgeRuns() error {
	if !d.Runs {
		return nil
	}
	needed := map[string]bool{}
	for _, i := range d.work.items {
		if !backend.WorkOver(i.Status) {
			needed[i.Run] = true
		}
		if i.Status == onto.WorkInProgress {
			needed[i.attempts[len(i.attempts)-1].Run] = true
		}
	}
	var err error
	d.runs, err = d.OldRuns(d.work.listRuns(), func(id string) (bool, error) { return needed[id], nil })
	d.plan.Runs = int64(len(d.runs))
	return err
}

func (d *outdated) remove() {
	w := d.work
	for i, from := range d.cut {
		i.attempts = slices.DeleteFunc(i.attempts, func(a onto.WorkAttempt) bool { return a.Number < from })
	}
	w.items = slices.DeleteFunc(w.items, func(i *workItem) bool { return d.items[i] })
	for i := range d.items {
		delete(w.ids, i.ID)
		delete(w.keys, i.Key)
	}
	for _, r := range d.runs {
		delete(w.runs, r.ID)
	}
}
