package backendtest_test

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
)

// workMutants lists mistakes with ingestion work.
func workMutants() []mutant {
	return slices.Concat(attemptMutants(), limitMutants(), itemMutants(), cleanWorkMutants())
}

// attemptMutants lists mistakes with leases and attempts.
func attemptMutants() []mutant {
	return []mutant{
		{"attempts are not fenced", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, now onto.WorkItem) { o.Worker, o.Attempt = now.Owner, now.Attempt }
		})},
		{"attempts are fenced by their worker alone", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, now onto.WorkItem) { o.Attempt = now.Attempt }
		})},
		{"attempts are fenced by their number alone", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, now onto.WorkItem) { o.Worker = now.Owner }
		})},
		{"an item is not held when its lease has ended", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, now onto.WorkItem) {
				if !now.Until.After(b.place.Now()) {
					o.Worker = "nobody"
				}
			}
		})},
		{"the lease of an item is not honoured", "work workload", onWork(func(b *foreman) {
			b.request = func(r *backend.WorkRequest) { r.Lease = 0 }
			b.answer = func(r *backend.WorkRequest, t *backend.WorkTaken) {
				for i := range t.Items {
					t.Items[i].Until = t.Items[i].Until.Add(r.Lease.Truncate(time.Microsecond))
				}
			}
		})},
		{"a lease is not extended", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, now onto.WorkItem) {
				if o.Do == backend.WorkExtend && o.Worker == now.Owner {
					o.Lease = now.Until.Sub(b.place.Now())
				}
			}
		})},
		{"a lost attempt is not closed", "work workload", onWork(func(b *foreman) {
			b.show = func(w *backend.WorkState) {
				for i := range w.Attempts {
					if a := &w.Attempts[i]; a.Status == onto.AttemptLost {
						a.Status, a.Finished = onto.AttemptRunning, time.Time{}
					}
				}
			}
		})},
		{"lost attempts are not counted", "work workload", onWork(func(b *foreman) {
			b.answer = func(_ *backend.WorkRequest, t *backend.WorkTaken) { t.Lost = 0 }
		})},
		{"a lost attempt is no try", "work workload", onWork(func(b *foreman) {
			b.revised = func(a onto.WorkAttempt) int { return map[bool]int{true: 1}[a.Status == onto.AttemptLost] }
		})},
		{"a return counts as a try", "work workload", onWork(func(b *foreman) {
			b.revised = func(a onto.WorkAttempt) int { return map[bool]int{true: -1}[a.Status == onto.AttemptReturned] }
		})},
		{"an item that is returned has failed", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, _ onto.WorkItem) {
				if o.Do == backend.WorkReturn {
					o.Do = backend.WorkRetry
				}
			}
		})},
		{"the delay of a failed attempt is ignored", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, _ onto.WorkItem) { o.Delay = 0 }
		})},
		{"a revision leaves no attempt", "work workload", onWork(func(b *foreman) {
			b.show = func(w *backend.WorkState) {
				w.Attempts = slices.DeleteFunc(w.Attempts, func(a onto.WorkAttempt) bool { return a.Status == onto.AttemptRevised })
			}
		})},
		{"a revision takes items from their workers", "work workload", onWork(func(b *foreman) {
			b.revise = func(ctx context.Context, r *backend.WorkRevision) (int64, error) {
				for w, err := range b.WorkQueue.WorkItems(ctx, &r.Items) {
					if err == nil && w.Status == onto.WorkInProgress {
						o := backend.WorkOutcome{Item: w.ID, Attempt: w.Attempt, Worker: w.Owner, Do: backend.WorkFail}
						_, err = b.WorkQueue.Finish(ctx, []backend.WorkOutcome{o})
					}
					if err != nil {
						return 0, err
					}
				}
				return b.WorkQueue.Revise(ctx, r)
			}
		})},
		{"a revision ignores errors", "work workload", onWork(func(b *foreman) {
			b.revise = func(ctx context.Context, r *backend.WorkRevision) (int64, error) {
				wide := *r
				wide.Items.Error = ""
				return b.WorkQueue.Revise(ctx, &wide)
			}
		})},
	}
}

// limitMutants lists mistakes with limits and requests.
func limitMutants() []mutant {
	limits := func(edit func(*backend.WorkLimit)) planting {
		return onWork(func(b *foreman) { b.request = func(r *backend.WorkRequest) { b.relimit(r, edit) } })
	}
	return []mutant{
		{"a concurrency is ignored", "work workload", limits(func(l *backend.WorkLimit) { l.Concurrent = 0 })},
		{"a concurrency is one too many", "work workload", limits(func(l *backend.WorkLimit) {
			if l.Concurrent > 0 {
				l.Concurrent++
			}
		})},
		{"a concurrency is that of a handle", "work workload", onWork(ownConcurrency)},
		{"a rate is ignored", "work workload", limits(func(l *backend.WorkLimit) { l.Every = 0 })},
		{"a burst is ignored", "work workload", limits(func(l *backend.WorkLimit) { l.Burst = 1 })},
		{"a rate is not stored", "work workload", onWork(ownRate)},
		{"systems are ignored", "work workload", onWork(func(b *foreman) { b.request = func(r *backend.WorkRequest) { r.Systems = nil } })},
		{"runs are ignored", "work workload", onWork(func(b *foreman) { b.request = func(r *backend.WorkRequest) { r.OnlyRun = false } })},
		{"workers are not told when to come back", "work workload", onWork(func(b *foreman) {
			b.answer = func(_ *backend.WorkRequest, t *backend.WorkTaken) { t.Next = time.Time{} }
		})},
		{"items that were tried too often are taken", "work workload", onWork(func(b *foreman) { b.request = func(r *backend.WorkRequest) { r.MaxTries = 0 } })},
		{"items are given up a try too early", "work workload", onWork(func(b *foreman) {
			b.request = func(r *backend.WorkRequest) {
				if r.MaxTries > 1 {
					r.MaxTries--
				}
			}
		})},
		{"outcomes come after items are taken", "work workload", onWork(func(b *foreman) {
			b.take = func(ctx context.Context, r *backend.WorkRequest) (backend.WorkTaken, error) {
				first := *r
				first.Finish = nil
				got, err := b.WorkQueue.Dequeue(ctx, &first)
				if err == nil {
					got.Verdicts, err = b.WorkQueue.Finish(ctx, r.Finish)
				}
				return got, err
			}
		})},
		{"the write lease stops work", "work", onWork(func(b *foreman) {
			b.take = func(ctx context.Context, r *backend.WorkRequest) (backend.WorkTaken, error) {
				leases, _ := backend.As[backend.Leaser](b.Backend)
				held, err := leases.Leases(ctx)
				if err == nil && len(held) > 0 && held[0].Name == onto.WriteLease {
					return backend.WorkTaken{}, onto.Errorf(onto.LockContention, "the write lease is held")
				}
				return b.WorkQueue.Dequeue(ctx, r)
			}
		})},
	}
}

// cleanWorkMutants lists mistakes with removing work.
func cleanWorkMutants() []mutant {
	cleaning := func(edit func(*backend.WorkCleaning)) planting { return onWork(func(b *foreman) { b.clean = edit }) }
	return []mutant{
		{"a plan of a cleaning is applied", "work workload", cleaning(func(c *backend.WorkCleaning) { c.Apply = true })},
		{"a cleaning is not applied", "work workload", cleaning(func(c *backend.WorkCleaning) { c.Apply = false })},
		{"a cleaning ignores the age", "work workload", cleaning(func(c *backend.WorkCleaning) { c.Before = time.Time{} })},
		{"a cleaning ignores how many stay", "work workload", cleaning(func(c *backend.WorkCleaning) { c.Keep = 0 })},
		{"a cleaning keeps one too many", "work workload", cleaning(func(c *backend.WorkCleaning) { c.Keep++ })},
		{"a cleaning ignores which items it is for", "work workload", cleaning(func(c *backend.WorkCleaning) { c.Of = backend.WorkQuery{} })},
		{"items are removed with attempts", "work workload", cleaning(func(c *backend.WorkCleaning) { c.Items = c.Items || c.Attempts })},
		{"runs are not removed", "work workload", cleaning(func(c *backend.WorkCleaning) { c.Runs = false })},
	}
}

// itemMutants lists mistakes with items and what is asked about them.
func itemMutants() []mutant {
	return []mutant{
		{"known keys are new", "work workload", onWork(func(b *foreman) {
			b.enqueue = func(i *onto.WorkItem) { i.Key += "\x00" + i.ID }
			b.show = func(w *backend.WorkState) { w.Key, _, _ = strings.Cut(w.Key, "\x00") }
		})},
		{"keys ignore their case", "work workload", onWork(func(b *foreman) {
			b.enqueue = func(i *onto.WorkItem) { i.Key = strings.ToLower(i.Key) }
		})},
		{"higher numbers come first", "work workload", onWork(func(b *foreman) {
			b.enqueue = func(i *onto.WorkItem) { i.Priority = -i.Priority }
			b.show = func(w *backend.WorkState) { w.Priority = -w.Priority }
		})},
		{"the time of an item is ignored", "work workload", onWork(func(b *foreman) {
			b.enqueue = func(i *onto.WorkItem) { i.NotBefore = time.Time{} }
		})},
		{"what was discovered is lost", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, _ onto.WorkItem) { o.Discovered = nil }
		})},
		{"what was discovered counts though the attempt was lost", "work workload", onWork(func(b *foreman) {
			b.finish = func(ctx context.Context, list []backend.WorkOutcome) ([]backend.WorkVerdict, error) {
				verdicts, err := b.WorkQueue.Finish(ctx, list)
				for i, v := range verdicts {
					if v.Err != nil && err == nil {
						_, err = b.WorkQueue.Enqueue(ctx, list[i].Discovered)
					}
				}
				return verdicts, err
			}
		})},
		{"metadata is not replaced", "work workload", onWork(func(b *foreman) {
			b.edit = func(o *backend.WorkOutcome, _ onto.WorkItem) { o.Metadata = nil }
		})},
		{"imported items are pending", "work", onWork(func(b *foreman) {
			b.bring = func(w *backend.WorkState) { w.Status = onto.WorkPending }
		})},
		{"imported items have not been tried", "work workload", onWork(func(b *foreman) {
			b.bring = func(w *backend.WorkState) {
				if len(w.Attempts) == 0 {
					w.Attempt = 0
				}
			}
		})},
		{"attempts of imported items are dropped", "work workload", onWork(func(b *foreman) {
			b.bring = func(w *backend.WorkState) { w.Attempts = nil }
		})},
		{"imported items are created now", "work", onWork(func(b *foreman) {
			b.bring = func(w *backend.WorkState) { w.Created = b.place.Now() }
		})},
		{"a run is started twice", "work workload", onWork(func(b *foreman) { b.start = func(bool) bool { return false } })},
		{"a list of items sees later writes", "work", onWork(func(b *foreman) { b.list = b.restive })},
		{"a cancelled outcome counts", "work workload", onWork(func(b *foreman) {
			b.finish = func(ctx context.Context, list []backend.WorkOutcome) ([]backend.WorkVerdict, error) {
				return b.WorkQueue.Finish(context.WithoutCancel(ctx), list)
			}
		})},
		{"answers about work are shared", "work", onWork(func(b *foreman) {
			var kept sync.Map // from the id of an item to its headers
			b.show = func(w *backend.WorkState) {
				headers, _ := kept.LoadOrStore(w.ID, w.Headers)
				w.Headers = headers.(json.RawMessage)
			}
		})},
	}
}

// foreman is a work queue that can be got wrong.
type foreman struct {
	through
	backend.WorkQueue
	place *backendtest.Place

	enqueue func(*onto.WorkItem)
	bring   func(*backend.WorkState)
	edit    func(o *backend.WorkOutcome, now onto.WorkItem) // now is the item as it is
	show    func(*backend.WorkState)
	revised func(onto.WorkAttempt) int // what an attempt after the last revision adds to Revised; nil for nothing
	request func(*backend.WorkRequest)
	answer  func(*backend.WorkRequest, *backend.WorkTaken)
	start   func(bool) bool
	clean   func(*backend.WorkCleaning)

	take   func(context.Context, *backend.WorkRequest) (backend.WorkTaken, error)
	finish func(context.Context, []backend.WorkOutcome) ([]backend.WorkVerdict, error)
	revise func(context.Context, *backend.WorkRevision) (int64, error)
	list   func(context.Context, *backend.WorkQuery) iter.Seq2[backend.WorkState, error]
}

// onWork plants a mistake into a work queue.
func onWork(spoil func(*foreman)) planting {
	return wrapped(func(b backend.Backend, p *backendtest.Place) backend.Backend {
		q, _ := backend.As[backend.WorkQueue](b)
		m := &foreman{through: through{b}, WorkQueue: q, place: p, take: q.Dequeue, finish: q.Finish, revise: q.Revise, list: q.WorkItems}
		m.bring = func(*backend.WorkState) {}
		m.enqueue, m.edit, m.show = func(*onto.WorkItem) {}, func(*backend.WorkOutcome, onto.WorkItem) {}, func(*backend.WorkState) {}
		m.request, m.answer = func(*backend.WorkRequest) {}, func(*backend.WorkRequest, *backend.WorkTaken) {}
		m.start, m.clean = func(start bool) bool { return start }, func(*backend.WorkCleaning) {}
		spoil(m)
		return m
	})
}

func (b *foreman) Enqueue(ctx context.Context, items []onto.WorkItem) ([]bool, error) {
	return b.WorkQueue.Enqueue(ctx, b.enqueued(items))
}

func (b *foreman) ImportItems(ctx context.Context, items []backend.WorkState) ([]bool, error) {
	list := slices.Clone(items)
	for i := range list {
		b.bring(&list[i])
	}
	return b.WorkQueue.ImportItems(ctx, list)
}

func (b *foreman) enqueued(items []onto.WorkItem) []onto.WorkItem {
	list := slices.Clone(items)
	for i := range list {
		b.enqueue(&list[i])
	}
	return list
}

func (b *foreman) Dequeue(ctx context.Context, r *backend.WorkRequest) (backend.WorkTaken, error) {
	asked := *r
	asked.Finish = b.edited(ctx, r.Finish)
	b.request(&asked)
	got, err := b.take(ctx, &asked)
	for i := range got.Items {
		w := backend.WorkState{WorkItem: got.Items[i]}
		b.shown(ctx, &w)
		got.Items[i] = w.WorkItem
	}
	b.answer(r, &got)
	return got, err
}

func (b *foreman) Finish(ctx context.Context, list []backend.WorkOutcome) ([]backend.WorkVerdict, error) {
	return b.finish(ctx, b.edited(ctx, list))
}

func (b *foreman) edited(ctx context.Context, list []backend.WorkOutcome) []backend.WorkOutcome {
	list = slices.Clone(list)
	for i := range list {
		o := &list[i]
		o.Discovered = b.enqueued(o.Discovered)
		if now, ok := b.present(ctx, o.Item); ok {
			b.edit(o, now.WorkItem)
		}
	}
	return list
}

func (b *foreman) Revise(ctx context.Context, r *backend.WorkRevision) (int64, error) {
	return b.revise(ctx, r)
}

func (b *foreman) SaveRun(ctx context.Context, r onto.WorkRun, start bool) error {
	return b.WorkQueue.SaveRun(ctx, r, b.start(start))
}

func (b *foreman) WorkItems(ctx context.Context, q *backend.WorkQuery) iter.Seq2[backend.WorkState, error] {
	return func(yield func(backend.WorkState, error) bool) {
		for w, err := range b.list(ctx, q) {
			if err == nil {
				b.shown(ctx, &w)
			}
			if !yield(w, err) {
				return
			}
		}
	}
}

// shown changes what is shown of an item.
func (b *foreman) shown(ctx context.Context, w *backend.WorkState) {
	if b.revised != nil {
		more := 0
		now, _ := b.present(ctx, w.ID)
		for _, a := range now.Attempts {
			if more += b.revised(a); a.Status == onto.AttemptRevised {
				more = 0
			}
		}
		w.Revised += more
	}
	b.show(w)
}

// present returns an item as it is.
func (b *foreman) present(ctx context.Context, id string) (backend.WorkState, bool) {
	for w, err := range b.WorkQueue.WorkItems(context.WithoutCancel(ctx), &backend.WorkQuery{IDs: []string{id}, Attempts: true}) {
		return w, err == nil
	}
	return backend.WorkState{}, false
}

// relimit edits every limit of a request.
func (b *foreman) relimit(r *backend.WorkRequest, edit func(*backend.WorkLimit)) {
	r.Limits = maps.Clone(r.Limits)
	for source, l := range r.Limits {
		edit(&l)
		r.Limits[source] = l
	}
	edit(&r.Most)
}

// limit returns the limit of a source, which is then named.
func limit(r *backend.WorkRequest, of backend.WorkSource) backend.WorkLimit {
	if l, named := r.Limits[of]; named {
		return l
	}
	return r.Most
}

// ownConcurrency counts only the items that were taken through the handle.
func ownConcurrency(b *foreman) {
	mine := map[string]int{} // from the id of an item to the attempt
	b.take = func(ctx context.Context, r *backend.WorkRequest) (backend.WorkTaken, error) {
		asked := *r
		asked.Limits = map[backend.WorkSource]backend.WorkLimit{}
		maps.Copy(asked.Limits, r.Limits)
		for w, err := range b.WorkQueue.WorkItems(ctx, &backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkInProgress}}) {
			if err != nil {
				return backend.WorkTaken{}, err
			}
			of := backend.WorkSource{System: w.System, Source: w.Source}
			if l := limit(&asked, of); mine[w.ID] != w.Attempt && l.Concurrent > 0 && w.Until.After(b.place.Now()) {
				l.Concurrent++
				asked.Limits[of] = l
			}
		}
		got, err := b.WorkQueue.Dequeue(ctx, &asked)
		for _, i := range got.Items {
			mine[i.ID] = i.Attempt
		}
		return got, err
	}
}

// ownRate keeps the rates of sources in the handle. It takes one item after the other, and
// leaves out the sources at their rate.
func ownRate(b *foreman) {
	free := map[backend.WorkSource]time.Time{}
	b.take = func(ctx context.Context, r *backend.WorkRequest) (backend.WorkTaken, error) {
		var all backend.WorkTaken
		now := b.place.Now().Truncate(time.Microsecond)
		for n := range max(1, r.Limit) {
			asked := *r
			asked.Limit, asked.Limits = min(1, r.Limit), map[backend.WorkSource]backend.WorkLimit{}
			maps.Copy(asked.Limits, r.Limits)
			for of, at := range free {
				l := limit(r, of)
				if ahead := at.Sub(now); l.Every > 0 && ahead > 0 && (ahead-1)/l.Every >= time.Duration(max(1, l.Burst)-1) {
					l.Concurrent = -1 // of which there are never fewer
				}
				asked.Limits[of] = l
			}
			b.relimit(&asked, func(l *backend.WorkLimit) { l.Every = 0 })
			if n > 0 {
				asked.Finish = nil
			}
			got, err := b.WorkQueue.Dequeue(ctx, &asked)
			if err != nil {
				return got, err
			}
			if n == 0 {
				all.Lost, all.Verdicts = got.Lost, got.Verdicts
			}
			all.Next = got.Next
			if len(got.Items) == 0 {
				break
			}
			all.Items = append(all.Items, got.Items[0])
			of := backend.WorkSource{System: got.Items[0].System, Source: got.Items[0].Source}
			if free[of].Before(now) {
				free[of] = now
			}
			free[of] = free[of].Add(limit(r, of).Every.Truncate(time.Microsecond))
		}
		return all, nil
	}
}

// restive lists items as they are when it comes to them.
func (b *foreman) restive(ctx context.Context, q *backend.WorkQuery) iter.Seq2[backend.WorkState, error] {
	return func(yield func(backend.WorkState, error) bool) {
		var ids []string
		for w, err := range b.WorkQueue.WorkItems(ctx, q) {
			if err != nil {
				yield(w, err)
				return
			}
			ids = append(ids, w.ID)
		}
		for _, id := range ids {
			one := *q
			one.IDs, one.Limit = []string{id}, 0
			for w, err := range b.WorkQueue.WorkItems(ctx, &one) {
				if !yield(w, err) {
					return
				}
			}
		}
	}
}

// CleanWork implements [backend.WorkQueue].
func (b *foreman) CleanWork(ctx context.Context, c *backend.WorkCleaning, progress func(done, total int64)) (backend.WorkCleanPlan, error) {
	other := *c
	b.clean(&other)
	return b.WorkQueue.CleanWork(ctx, &other, progress)
}
