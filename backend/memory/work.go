package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
)

// work is the ingestion work of a store. The store's mutex guards it.
type work struct {
	items []*workItem // as they were added
	ids   map[string]*workItem
	keys  map[string]*workItem
	last  time.Time                        // when the last item was enqueued
	tried time.Time                        // when the last attempt began here
	free  map[backend.WorkSource]time.Time // what is kept of the rate of each source
	runs  map[string]onto.WorkRun
}

// workItem is an item and its attempts, oldest first.
type workItem struct {
	onto.WorkItem
	attempts []onto.WorkAttempt
}

func newWork() work {
	return work{
		ids: map[string]*workItem{}, keys: map[string]*workItem{}, free: map[backend.WorkSource]time.Time{}, runs: map[string]onto.WorkRun{},
	}
}

// source is where an item is from.
func (i *workItem) source() backend.WorkSource {
	return backend.WorkSource{System: i.System, Source: i.Source}
}

// begin adds an attempt.
func (i *workItem) begin(a onto.WorkAttempt) {
	i.Attempt++
	a.ID, a.Item, a.Number = fmt.Sprintf("%s:%d", i.ID, i.Attempt), i.ID, i.Attempt
	i.attempts = append(i.attempts, a)
}

// end ends the attempt that is under way: nothing holds the item any more.
func (i *workItem) end(as onto.AttemptStatus, becomes onto.WorkStatus, now time.Time) *onto.WorkAttempt {
	a := &i.attempts[len(i.attempts)-1]
	a.Status, a.Finished = as, now
	i.Status, i.Updated, i.Owner, i.Until = becomes, now, "", time.Time{}
	return a
}

// inOrder returns the items in their order.
func (w *work) inOrder() []*workItem {
	return slices.SortedFunc(slices.Values(w.items), func(x, y *workItem) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), x.Created.Compare(y.Created), cmp.Compare(x.ID, y.ID))
	})
}

// enqueue adds the items whose keys are new, and reports which are.
func (w *work) enqueue(list []onto.WorkItem, now time.Time) []bool {
	fresh := make([]bool, len(list))
	for n, given := range list {
		if backend.KnownWork(&given, w.keyed) != nil {
			continue
		}
		i := &workItem{WorkItem: copyItem(given)}
		i.Status, i.Attempt, i.Revised, i.Error, i.Owner, i.Until = onto.WorkPending, 0, 0, "", "", time.Time{}
		i.NotBefore, i.Created = stored(given.NotBefore), now
		if !now.After(w.last) {
			i.Created = w.last.Add(time.Microsecond)
		}
		i.Updated, w.last = i.Created, i.Created
		w.add(i)
		fresh[n] = true
	}
	return fresh
}

func (w *work) add(i *workItem) {
	w.items = append(w.items, i)
	w.ids[i.ID], w.keys[i.Key] = i, i
}

// keyed finds an item by its key; nil if there is none.
func (w *work) keyed(key string) *onto.WorkItem {
	if i := w.keys[key]; i != nil {
		return &i.WorkItem
	}
	return nil
}

// Enqueue implements [backend.WorkQueue].
func (b *Backend) Enqueue(ctx context.Context, items []onto.WorkItem) ([]bool, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return nil, err
	}
	fresh := s.work.enqueue(items, s.stamp())
	if slices.Contains(fresh, true) {
		s.wrote()
	}
	return fresh, nil
}

// ImportItems implements [backend.WorkQueue].
func (b *Backend) ImportItems(ctx context.Context, items []backend.WorkState) ([]bool, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return nil, err
	}
	added, fresh, err := s.work.imported(items)
	if err != nil {
		return nil, err
	}
	for _, i := range added {
		s.work.add(i)
	}
	if len(added) > 0 {
		s.wrote()
	}
	return fresh, nil
}

// imported makes the items of another queue whose keys are new, and reports which are.
func (w *work) imported(list []backend.WorkState) (added []*workItem, fresh []bool, err error) {
	fresh = make([]bool, len(list))
	keys, ids := map[string]*onto.WorkItem{}, map[string]bool{}
	for n, given := range list {
		find := func(key string) *onto.WorkItem { return cmp.Or(w.keyed(key), keys[key]) }
		if backend.KnownWork(&given.WorkItem, find) != nil {
			continue
		}
		if w.ids[given.ID] != nil || ids[given.ID] {
			return nil, nil, refusal.WorkIDTaken(&given.WorkItem)
		}
		keys[given.Key], ids[given.ID], fresh[n] = &given.WorkItem, true, true
		i := &workItem{WorkItem: copyItem(given.WorkItem)}
		i.Created, i.Updated, i.NotBefore = stored(i.Created), stored(i.Updated), stored(i.NotBefore)
		for _, a := range given.Attempts {
			a.Started, a.Finished, a.RetryAfter, a.Diagnostic = stored(a.Started), stored(a.Finished), stored(a.RetryAfter), bytes.Clone(a.Diagnostic)
			i.attempts = append(i.attempts, a)
		}
		added = append(added, i)
	}
	return added, fresh, nil
}

// selects reports whether an item is among those that a query is for.
func selects(q *backend.WorkQuery, i *workItem) bool {
	return (q.IDs == nil || slices.Contains(q.IDs, i.ID)) && (q.Keys == nil || slices.Contains(q.Keys, i.Key)) &&
		(q.Status == nil || slices.Contains(q.Status, i.Status)) && (q.System == "" || q.System == i.System) &&
		(q.Source == "" || q.Source == i.Source) && (q.Type == "" || q.Type == i.Type) && (q.Run == "" || q.Run == i.Run) &&
		(q.Parent == "" || q.Parent == i.Parent) && strings.Contains(i.Error, q.Error)
}

// WorkItems implements [backend.WorkQueue].
func (b *Backend) WorkItems(ctx context.Context, q *backend.WorkQuery) iter.Seq2[backend.WorkState, error] {
	return listed(ctx, b, func(s *Store) []backend.WorkState {
		var list []backend.WorkState
		for _, i := range s.work.inOrder() {
			if !selects(q, i) {
				continue
			}
			state := backend.WorkState{WorkItem: copyItem(i.WorkItem)}
			if q.Attempts {
				for _, a := range i.attempts {
					a.Diagnostic = bytes.Clone(a.Diagnostic)
					state.Attempts = append(state.Attempts, a)
				}
			}
			list = append(list, state)
		}
		return first(list, q.Limit)
	})
}

// WorkStats implements [backend.WorkQueue].
func (b *Backend) WorkStats(ctx context.Context, q *backend.WorkQuery) ([]backend.WorkCount, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	counts := map[backend.WorkCount]int64{}
	for _, i := range s.work.items {
		if selects(q, i) {
			counts[backend.WorkCount{System: i.System, Source: i.Source, Run: i.Run, Status: i.Status}]++
		}
	}
	var list []backend.WorkCount
	for c, n := range counts {
		c.Items = n
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y backend.WorkCount) int {
		return cmp.Or(cmp.Compare(x.System, y.System), cmp.Compare(x.Source, y.Source), cmp.Compare(x.Run, y.Run), cmp.Compare(x.Status, y.Status))
	})
	return list, nil
}

// WorkRuns implements [backend.WorkQueue].
func (b *Backend) WorkRuns(ctx context.Context) ([]onto.WorkRun, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	return s.work.listRuns(), nil
}

func (w *work) listRuns() []onto.WorkRun {
	var list []onto.WorkRun
	for _, r := range w.runs {
		list = append(list, copyRun(r))
	}
	slices.SortFunc(list, func(x, y onto.WorkRun) int { return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.ID, y.ID)) })
	return list
}

// SaveRun implements [backend.WorkQueue].
func (b *Backend) SaveRun(ctx context.Context, r onto.WorkRun, start bool) error {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return err
	}
	if _, exists := s.work.runs[r.ID]; exists && start {
		return refusal.RunExists(r.ID)
	}
	r = copyRun(r)
	r.Started, r.Finished = stored(r.Started), stored(r.Finished)
	s.work.runs[r.ID] = r
	s.wrote()
	return nil
}

// copyItem returns the item with JSON of its own.
func copyItem(i onto.WorkItem) onto.WorkItem {
	i.Headers, i.Metadata = bytes.Clone(i.Headers), bytes.Clone(i.Metadata)
	return i
}

// copyRun returns the run with JSON of its own.
func copyRun(r onto.WorkRun) onto.WorkRun {
	r.Options, r.Counts = bytes.Clone(r.Options), bytes.Clone(r.Counts)
	return r
}
