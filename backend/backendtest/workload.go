package backendtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/effort"
)

// runWorkload takes random steps on two handles of a work queue and on the reference until
// there were enough that call it.
func runWorkload(t *testing.T, target Target) {
	if !isWorkQueue(t, target) {
		return
	}
	want := effort.Count(t, 3*cmp.Or(target.Operations, 10_000))
	dir := t.TempDir()
	counts := trafficTally{}
	effort.CheckUntil(t, func() bool { return counts["operations"] >= want }, func(rt *rapid.T) {
		r := newWorkload(t, rt, target, newPlace(t, dir), counts)
		defer r.end()
		shifts := workloads().Draw(rt, "workload")
		jumps := clockJumps().Draw(rt, "jumps")
		if len(jumps) > 0 {
			r.latest = startOfClocks().Add(10 * decade) // delays may end early
		}
		for i, m := range shifts {
			m.Clock += jumps[i]
			r.step(i, m)
		}
		r.compare()
		if len(jumps) > 0 {
			r.completeAll()
		}
		if err := check(r.handles[1]); err != nil {
			rt.Fatalf("check: %v", err)
		}
	})
	t.Log(counts)
}

// workload is one run of random steps.
type workload struct {
	*rapid.T
	outer  *testing.T
	target Target
	place  *Place
	counts trafficTally

	reference caller
	handles   [2]backend.Backend // both on the store under test
	compared  int

	latest time.Time       // that the clock has shown
	made   int             // how many items
	taken  []onto.WorkItem // as they were handed out

	imports map[string]backend.WorkState // items that were imported, as they were
}

func newWorkload(t *testing.T, rt *rapid.T, target Target, p *Place, counts trafficTally) *workload {
	r := &workload{T: rt, outer: t, target: target, place: p, counts: counts, imports: map[string]backend.WorkState{}}
	r.reference = caller{memory.New(&memory.Options{Now: p.Now}).Open()}
	for i := range r.handles {
		r.handles[i] = target.Open(t, p)
	}
	for _, b := range []backend.Backend{r.reference, r.handles[0]} {
		if _, err := b.Register(rt.Context(), &backend.Registration{Schemas: testSchemas(), Runtime: "test", Reason: "initial"}); err != nil {
			rt.Fatal(err)
		}
	}
	counts["runs"]++
	return r
}

// end closes what is open and removes the place.
func (r *workload) end() {
	for _, b := range r.handles {
		if err := b.Close(); err != nil && !errors.Is(err, onto.Closed) {
			r.Errorf("close: %v", err)
		}
	}
	discard(r.outer, r.place)
}

// step takes a step on both sides and compares the answers.
func (r *workload) step(i int, m shift) {
	r.counts["step "+string(m.Do)]++
	r.place.clock.move(m.Clock)
	if now := r.place.Now(); now.After(r.latest) {
		r.latest = now
	}
	if m.Do == reopenChore {
		if err := r.handles[m.Handle].Close(); err != nil {
			r.Fatalf("close: %v", err)
		}
		r.handles[m.Handle] = r.target.Open(r.outer, r.place)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if m.Cancel {
		cancel()
		r.counts["cancelled"]++
	}
	if call := r.call(&m); call != nil {
		r.counts["operations"]++
		got, want := call(ctx, r.handles[m.Handle], false), call(ctx, r.reference, true)
		if got != want {
			r.Fatalf("step %d: %s\n got: %s\nwant: %s", i, m, got, want)
		}
	}
	if i%10 == 9 {
		r.compare()
	}
}

// compare asks both for everything, and requires that attempts explain it.
func (r *workload) compare() {
	r.compared++
	r.counts["comparisons"]++
	got, want := r.everything(r.handles[r.compared%2]), r.everything(r.reference)
	if got != want {
		r.Fatalf("everything\n got: %s\nwant: %s", got, want)
	}
}

// everything formats all that can be asked about work.
func (r *workload) everything(b backend.Backend) string {
	ctx := r.Context()
	q := workOf(b)
	counts, err := q.WorkStats(ctx, &backend.WorkQuery{})
	runs, err2 := q.WorkRuns(ctx)
	return strings.Join([]string{
		lines(q.WorkItems(ctx, &backend.WorkQuery{Attempts: true}), func(w backend.WorkState) string {
			r.counts["items explained"]++
			if err := unexplained(w, r.imports[w.ID], r.latest); err != nil {
				r.Fatal(err)
			}
			return showWork(w)
		}),
		outcome(showAll(counts, showWorkCount), err),
		outcome(showAll(runs, showRun), err2),
	}, "\n      ")
}

func workOf(b backend.Backend) backend.WorkQueue {
	q, _ := backend.As[backend.WorkQueue](b)
	return q
}

func showAll[T any](list []T, show func(T) string) string {
	var text []string
	for _, v := range list {
		text = append(text, show(v))
	}
	return strings.Join(text, "\n      ")
}

// call returns the call of a step, or nil if there is none to make.
func (r *workload) call(m *shift) trafficCall {
	switch m.Do {
	case enqueueChore:
		items := r.items(m.Items)
		return func(ctx context.Context, b backend.Backend, count bool) string {
			fresh, err := workOf(b).Enqueue(ctx, items)
			r.countFresh(fresh, count)
			return outcome(fmt.Sprint(fresh), err)
		}
	case importChore:
		return r.importing(m)
	case dequeueChore:
		return r.dequeuing(m)
	case finishChore:
		return r.finishing(m)
	case reviseChore:
		return r.revising(m)
	case runChore:
		return r.saving(m)
	case cleanChore:
		return r.cleaning(m)
	case askChore:
		q := m.Query.query()
		return func(ctx context.Context, b backend.Backend, _ bool) string {
			counts, err := workOf(b).WorkStats(ctx, &q)
			return lines(workOf(b).WorkItems(ctx, &q), showWork) + "\n      " + outcome(showAll(counts, showWorkCount), err)
		}
	case commitChore:
		d := draft(put(person("ada"), m.Value))
		return func(ctx context.Context, b backend.Backend, _ bool) string {
			_, err := b.Append(ctx, d)
			return outcome("done", err)
		}
	}
	return nil
}

// items makes the items of a step.
func (r *workload) items(sketches []itemSketch) []onto.WorkItem {
	var list []onto.WorkItem
	for _, k := range sketches {
		r.made++
		list = append(list, k.item(r.made, r.place.Now()))
	}
	return list
}

// importing imports items in states that they can have had elsewhere.
func (r *workload) importing(m *shift) trafficCall {
	var list []backend.WorkState
	for _, i := range r.items(m.Items) {
		list = append(list, importedItem(i, (m.Value+len(list))%importedWays, r.place.Now()))
	}
	return func(ctx context.Context, b backend.Backend, count bool) string {
		fresh, err := workOf(b).ImportItems(ctx, list)
		for n, isNew := range fresh {
			if count && isNew {
				r.counts["imported"]++
				r.imports[list[n].ID] = list[n]
			}
		}
		return outcome(fmt.Sprint(fresh), err)
	}
}

func (r *workload) countFresh(fresh []bool, count bool) {
	for _, isNew := range fresh {
		if count {
			r.counts[map[bool]string{true: "enqueued", false: "known"}[isNew]]++
		}
	}
}

func (r *workload) dequeuing(m *shift) trafficCall {
	q := workLimits()[m.Limits]
	q.Worker, q.Run, q.OnlyRun, q.Limit, q.Lease = workers()[m.Worker], workRuns()[m.Run], m.OnlyRun, m.Limit, m.Lease
	q.MaxTries = m.MaxTries
	if !slices.Contains(m.Systems, -1) {
		q.Systems = names(workSystems(), m.Systems)
	}
	q.Finish = r.outcomes(m)
	return func(ctx context.Context, b backend.Backend, count bool) string {
		got, err := workOf(b).Dequeue(ctx, &q)
		r.countVerdicts(q.Finish, got.Verdicts, count)
		if count {
			r.taken = append(r.taken, got.Items...)
			r.counts["taken"] += len(got.Items)
			r.counts["lost"] += got.Lost
			r.counts["given up"] += len(got.GivenUp)
			if err == nil && len(got.Items) < m.Limit && m.Limits > 0 {
				r.counts["fewer than asked for, under limits"]++
			}
			if !got.Next.IsZero() {
				r.counts["next told"]++
			}
		}
		return outcome(showTaken(got), err)
	}
}

// outcomes makes the outcomes of a step.
func (r *workload) outcomes(m *shift) []backend.WorkOutcome {
	var list []backend.WorkOutcome
	for _, e := range m.Ends {
		if len(r.taken) == 0 {
			break
		}
		i := r.taken[len(r.taken)-1-e.Which%len(r.taken)]
		o := backend.WorkOutcome{
			Item: i.ID, Attempt: i.Attempt, Worker: i.Owner, Do: e.Do, Lease: e.Lease, Delay: e.Delay,
			Error: workErrors()[e.Say%4], Discovered: r.items(e.Discovered),
		}
		if e.Say > 3 {
			o.Class, o.Diagnostic, o.Metadata = "status", fmt.Appendf(nil, `{"code":%d}`, e.Say), fmt.Appendf(nil, `{"etag":"%d"}`, e.Say)
		}
		switch e.Forge {
		case 1:
			o.Worker = workers()[(slices.Index(workers(), i.Owner)+1)%len(workers())]
		case 2:
			o.Attempt++
		}
		list = append(list, o)
	}
	return list
}

// countVerdicts counts what became of outcomes.
func (r *workload) countVerdicts(list []backend.WorkOutcome, verdicts []backend.WorkVerdict, count bool) {
	for n, v := range verdicts {
		r.countFresh(v.Fresh, count)
		if count {
			r.counts[showDo(list[n].Do)+map[bool]string{true: " done", false: " stale"}[v.Err == nil]]++
			r.forget(&list[n], v.Err)
		}
	}
}

func (r *workload) finishing(m *shift) trafficCall {
	list := r.outcomes(m)
	return func(ctx context.Context, b backend.Backend, count bool) string {
		verdicts, err := workOf(b).Finish(ctx, list)
		r.countVerdicts(list, verdicts, count)
		return outcome(showVerdicts(verdicts), err)
	}
}

// forget forgets most items that are not held any more, so that other ones are finished.
func (r *workload) forget(o *backend.WorkOutcome, stale error) {
	if stale != nil && o.Attempt%4 != 0 || stale == nil && o.Do != backend.WorkExtend && o.Attempt%4 != 1 {
		r.taken = slices.DeleteFunc(r.taken, func(i onto.WorkItem) bool { return i.ID == o.Item && i.Attempt == o.Attempt && i.Owner == o.Worker })
	}
}

func (r *workload) revising(m *shift) trafficCall {
	v := &backend.WorkRevision{Items: m.Query.query(), Do: m.Revise, By: onto.Operator("ana"), Run: workRuns()[m.Run],
		Reason: []string{"", "because", `a "quoted" <reason>`, "ü"}[m.Value]}
	return func(ctx context.Context, b backend.Backend, count bool) string {
		n, err := workOf(b).Revise(ctx, v)
		if count {
			r.counts["revised: "+showRevising(m.Revise)] += int(n)
		}
		return outcome(fmt.Sprint(n), err)
	}
}

func (r *workload) saving(m *shift) trafficCall {
	run := onto.WorkRun{ID: workRuns()[m.Run], Started: r.place.Now(), Status: "running"}
	switch m.Value {
	case 1:
		run.Finished, run.Status, run.Counts = r.place.Now(), "finished", []byte(`{"completed":1}`)
	case 2:
		run.Options, run.Started = []byte(`{"workers":8}`), r.place.Now().Add(-time.Hour)
	}
	return func(ctx context.Context, b backend.Backend, _ bool) string {
		return outcome("saved", workOf(b).SaveRun(ctx, run, m.Start))
	}
}

func (r *workload) cleaning(m *shift) trafficCall {
	c := m.Clean
	c.Of = m.Query.query()
	if m.Age >= 0 {
		c.Before = r.place.Now().Add(-m.Age)
	}
	return func(ctx context.Context, b backend.Backend, count bool) string {
		plan, err := workOf(b).CleanWork(ctx, &c, nil)
		if count && err == nil && c.Apply {
			r.counts["cleaned items"] += int(plan.Items)
			r.counts["cleaned attempts"] += int(plan.Attempts)
			r.counts["cleaned runs"] += int(plan.Runs)
			forgetAttempts(ctx, workOf(b), r.imports)
		}
		return outcome(showCleaned(plan), err)
	}
}
