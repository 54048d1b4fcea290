package backendtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// workTale is a named story about a work queue.
type workTale struct {
	name string
	tell func(*workStory)
}

// workStory is a story about a store that keeps ingestion work.
type workStory struct {
	*story
	backend.WorkQueue

	imports map[string]backend.WorkState // items that were imported, as they were
}

// workStories are for backends that are a [backend.WorkQueue].
func workStories(t *testing.T, target Target) []tale {
	if !isWorkQueue(t, target) {
		return nil
	}
	var tales []tale
	for _, t := range slices.Concat(enqueueStories(), importStories(), dequeueStories(), workClockStories(), limitStories(), finishStories(), reviseStories(), cleanWorkStories(), workListStories(), manyStories(),
		workCallStories(), workRaceStories()) {
		tales = append(tales, tale{t.name, func(s *story) {
			w := (&workStory{story: s, imports: map[string]backend.WorkState{}}).with(s)
			t.tell(w)
			w.with(w.through(w.open())).explained()
		}})
	}
	return tales
}

// isWorkQueue reports whether a target keeps work.
func isWorkQueue(t *testing.T, target Target) bool {
	t.Helper()
	b := target.Open(t, newPlace(t, t.TempDir()))
	_, ok := backend.As[backend.WorkQueue](b)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return ok
}

// also continues the story through another handle.
func (s *workStory) also() *workStory {
	s.Helper()
	return s.with(s.through(s.open()))
}

// with is a story about the work queue of another story.
func (s *workStory) with(other *story) *workStory {
	s.Helper()
	q, ok := backend.As[backend.WorkQueue](other.Backend)
	if !ok {
		s.Fatal("one handle keeps work and the other does not")
	}
	return &workStory{other, q, s.imports}
}

// move moves the clock.
func (s *workStory) move(d time.Duration) { s.place.clock.move(d) }

// now is the time as it is stored.
func (s *workStory) now() time.Time { return s.place.Now().Truncate(time.Microsecond) }

// page makes an item of source docs. Its number names it in tests.
func page(n int) onto.WorkItem { return pageOf(n, "docs") }

// pageOf makes an item of a source.
func pageOf(n int, source string) onto.WorkItem {
	return onto.WorkItem{
		ID: itemID(n), System: "http", Source: source, Type: "page", Resource: fmt.Sprint("/", n), Key: fmt.Sprintf("http:%s:page:/%d", source, n),
		URI: fmt.Sprint("https://example.org/", n), Method: "GET", Priority: onto.DefaultWorkPriority,
	}
}

// pageRange makes items of source docs with numbers from first to last.
func pageRange(first, last int) []onto.WorkItem {
	var list []onto.WorkItem
	for n := first; n <= last; n++ {
		list = append(list, page(n))
	}
	return list
}

// edited changes an item.
func edited(i onto.WorkItem, edit func(*onto.WorkItem)) onto.WorkItem {
	edit(&i)
	return i
}

// urgentPage makes an item with a priority.
func urgentPage(n, priority int) onto.WorkItem {
	return edited(page(n), func(i *onto.WorkItem) { i.Priority = priority })
}

// pageIn makes an item of a run.
func pageIn(n int, run string) onto.WorkItem {
	return edited(page(n), func(i *onto.WorkItem) { i.Run = run })
}

// latePage makes an item that waits for its time.
func (s *workStory) latePage(n int, d time.Duration) onto.WorkItem {
	return edited(page(n), func(i *onto.WorkItem) { i.NotBefore = s.now().Add(d) })
}

// enqueue adds items that are new.
func (s *workStory) enqueue(items ...onto.WorkItem) {
	s.Helper()
	fresh, err := s.Enqueue(s.ctx, items)
	if err != nil || len(fresh) != len(items) || slices.Contains(fresh, false) {
		s.Fatalf("enqueue: got %v and error %v, want %d that are new", fresh, err, len(items))
	}
}

// wanted asks for items, for worker one and a minute.
func wanted(limit int) *backend.WorkRequest {
	return &backend.WorkRequest{Worker: "one", Limit: limit, Lease: time.Minute}
}

// limited asks for items under a limit of every source.
func limited(limit int, most backend.WorkLimit) *backend.WorkRequest {
	r := wanted(limit)
	r.Most = most
	return r
}

// asked answers a request that must be accepted.
func (s *workStory) asked(r *backend.WorkRequest) backend.WorkTaken {
	s.Helper()
	got, err := s.Dequeue(s.ctx, r)
	if err != nil {
		s.Fatalf("dequeue: %v", err)
	}
	return got
}

// take takes items, whose names must be these.
func (s *workStory) take(r *backend.WorkRequest, want string) []onto.WorkItem {
	s.Helper()
	got := s.asked(r)
	s.want(r.Worker+" takes", itemNames(got.Items), want)
	if s.Failed() {
		s.FailNow() // what follows needs these items
	}
	return got.Items
}

// next takes items and compares also when to come back.
func (s *workStory) next(r *backend.WorkRequest, items, next string) []onto.WorkItem {
	s.Helper()
	got := s.asked(r)
	s.want(r.Worker+" takes", itemNames(got.Items), items)
	s.want("next", showTime(got.Next), next)
	return got.Items
}

// doing makes an outcome of an item as it was taken.
func doing(do backend.WorkDo, i onto.WorkItem) backend.WorkOutcome {
	o := backend.WorkOutcome{Item: i.ID, Attempt: i.Attempt, Worker: i.Owner, Do: do}
	switch do {
	case backend.WorkExtend:
		o.Lease = time.Minute
	case backend.WorkFail, backend.WorkRetry, backend.WorkSkip:
		o.Error, o.Class = "it failed", "status"
	}
	return o
}

// finish ends attempts that are under way, and returns what was discovered anew.
func (s *workStory) finish(list ...backend.WorkOutcome) []backend.WorkVerdict {
	s.Helper()
	verdicts, err := s.Finish(s.ctx, list)
	if err != nil || len(verdicts) != len(list) {
		s.Fatalf("finish: got %d verdicts and error %v, want %d", len(verdicts), err, len(list))
	}
	for i, v := range verdicts {
		if v.Err != nil {
			s.Fatalf("finish %s: %v", itemName(list[i].Item), v.Err)
		}
	}
	return verdicts
}

// complete completes items.
func (s *workStory) complete(items ...onto.WorkItem) {
	s.Helper()
	for _, i := range items {
		s.finish(doing(backend.WorkComplete, i))
	}
}

// stale requires that an item is not held as it was taken: nothing can be done with it.
func (s *workStory) stale(i onto.WorkItem) {
	s.Helper()
	before := s.state()
	for _, do := range []backend.WorkDo{
		backend.WorkExtend, backend.WorkComplete, backend.WorkFail, backend.WorkRetry, backend.WorkSkip, backend.WorkReturn,
	} {
		o := doing(do, i)
		o.Metadata, o.Discovered = []byte(`{"stale":true}`), []onto.WorkItem{page(999)}
		verdicts, err := s.Finish(s.ctx, []backend.WorkOutcome{o})
		if err != nil || len(verdicts) != 1 || !errors.Is(verdicts[0].Err, onto.LeaseExpired) || slices.Contains(verdicts[0].Fresh, true) {
			s.Fatalf("%s: got verdicts %v and error %v, want %s", showDo(do), verdicts, err, onto.LeaseExpired)
		}
	}
	s.wantLines("the work", s.state(), before)
}

// revising makes a revision.
func revising(do backend.WorkRevising, q backend.WorkQuery) *backend.WorkRevision {
	return &backend.WorkRevision{Items: q, Do: do, By: onto.Operator("ana"), Reason: "because"}
}

// revise revises items, as many as these.
func (s *workStory) revise(r *backend.WorkRevision, want int64) {
	s.Helper()
	if n, err := s.Revise(s.ctx, r); err != nil || n != want {
		s.Fatalf("revise: got %d and error %v, want %d", n, err, want)
	}
}

// state formats everything that can be asked about work.
func (s *workStory) state() []string {
	s.Helper()
	lines := list(s.story, s.WorkItems(s.ctx, &backend.WorkQuery{Attempts: true}), showWork)
	counts, err := s.WorkStats(s.ctx, &backend.WorkQuery{})
	s.must(err)
	for _, c := range counts {
		lines = append(lines, showWorkCount(c))
	}
	runs, err := s.WorkRuns(s.ctx)
	s.must(err)
	for _, r := range runs {
		lines = append(lines, showRun(r))
	}
	return lines
}

// explained requires that attempts explain every item.
func (s *workStory) explained() {
	s.Helper()
	for w, err := range s.WorkItems(s.ctx, &backend.WorkQuery{Attempts: true}) {
		s.must(err)
		if err := unexplained(w, s.imports[w.ID], s.now().Add(24*time.Hour)); err != nil {
			s.Error(err)
		}
	}
}

// items formats items that a query selects as their names and what has become of them.
func (s *workStory) items(q backend.WorkQuery) string {
	s.Helper()
	return strings.Join(list(s.story, s.WorkItems(s.ctx, &q), func(w backend.WorkState) string {
		return itemName(w.ID) + " " + string(w.Status)
	}), ", ")
}

// item returns an item and its attempts.
func (s *workStory) item(n int) backend.WorkState {
	s.Helper()
	for w, err := range s.WorkItems(s.ctx, &backend.WorkQuery{IDs: []string{itemID(n)}, Attempts: true}) {
		s.must(err)
		return w
	}
	s.Fatalf("%s does not exist", itemName(itemID(n)))
	return backend.WorkState{}
}

// last returns the last attempt at an item.
func (s *workStory) last(n int) onto.WorkAttempt {
	s.Helper()
	w := s.item(n)
	if len(w.Attempts) == 0 {
		s.Fatalf("%s has no attempts", itemName(w.ID))
	}
	return w.Attempts[len(w.Attempts)-1]
}
