package backendtest

import (
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func enqueueStories() []workTale {
	return []workTale{
		{"an item says what it is", enqueueFields},
		{"what the queue decides is ignored", enqueueDecides},
		{"an item whose key exists changes nothing", enqueueKnown},
		{"an item is known by the key of the original program", enqueueOriginal},
		{"later items have later times", enqueueTimes},
		{"items are in order of priority, then of creation", enqueueOrder},
	}
}

func enqueueFields(s *workStory) {
	s.enqueue(onto.WorkItem{
		ID: itemID(1), System: "http", Source: "Docs ü", Type: "page", Resource: "/a:b%", Key: "http:Docs ü:page:/a:b%", URI: "https://example.org/a?b=c",
		Method: "POST", Headers: []byte(`{"accept":"text/html"}`), Body: "x\ny", Metadata: []byte(`{"etag":"\"1\"","n":12345678901234567890}`), Priority: -7,
		Run: "r1", Parent: itemID(9), Depth: 3, NotBefore: s.now().Add(1234567),
	}, onto.WorkItem{ID: itemID(2), System: "s", Source: "o", Type: "t", Resource: "r", Key: "k", Headers: []byte(`{}`)})
	for range 2 {
		s.wantLines("items", list(s.story, s.WorkItems(s.ctx, &backend.WorkQuery{Attempts: true}), showWork), []string{
			`i1 http/Docs ü/page//a:b%, key "http:Docs ü:page:/a:b%", POST "https://example.org/a?b=c", headers {"accept":"text/html"}, body "x\ny", ` +
				`metadata {"etag":"\"1\"","n":12345678901234567890}, priority -7, run "r1", parent i9, depth 3, not before 12:00:00.001234Z; ` +
				`pending, attempt 0, revised 0, created 12:00:00.000000Z, updated 12:00:00.000000Z, error "", owner "" until -`,
			`i2 s/o/t/r, key "k",  "", headers {}, body "", metadata -, priority 0, run "", parent -, depth 0, not before -; ` +
				`pending, attempt 0, revised 0, created 12:00:00.000001Z, updated 12:00:00.000001Z, error "", owner "" until -`,
		})
		s.reopen()
		s = s.with(s.story)
	}
}

func enqueueDecides(s *workStory) {
	s.enqueue(edited(page(1), func(i *onto.WorkItem) {
		i.Status, i.Attempt, i.Revised, i.Error, i.Owner = onto.WorkCompleted, 7, 3, "failed", "one"
		i.Created, i.Updated, i.Until = s.now().Add(time.Hour), s.now().Add(time.Hour), s.now().Add(time.Hour)
	}))
	s.want("the item", showFate(s.item(1).WorkItem),
		`i1 pending, attempt 0, revised 0, created 12:00:00.000000Z, updated 12:00:00.000000Z, error "", owner "" until -`)
	s.take(wanted(9), "i1")
}

func enqueueKnown(s *workStory) {
	known := func(items []onto.WorkItem, want string) {
		s.Helper()
		fresh, err := s.Enqueue(s.ctx, items)
		s.must(err)
		s.want("fresh", fmt.Sprint(fresh), want)
	}
	again := func(n, of int) onto.WorkItem {
		return edited(urgentPage(n, 1), func(i *onto.WorkItem) { i.Key = page(of).Key })
	}
	known(nil, "[]")
	known([]onto.WorkItem{page(1), again(2, 1), page(3), again(4, 3), again(5, 1)}, "[true false true false false]")
	before := s.state()
	s = s.also()
	known([]onto.WorkItem{again(6, 1), again(7, 3)}, "[false false]")
	s.wantLines("the work", s.state(), before)
	known([]onto.WorkItem{edited(page(8), func(i *onto.WorkItem) { i.Key = "HTTP:docs:page:/1" })}, "[true]") // another key
	s.complete(s.take(wanted(1), "i1")...)
	s.finish(doing(backend.WorkFail, s.take(wanted(1), "i3")[0]))
	known([]onto.WorkItem{again(9, 1), again(10, 3)}, "[false false]") // whatever has become of it
	s.want("items", s.items(backend.WorkQuery{}), "i1 completed, i3 failed, i8 pending")
}

// enqueueOriginal has items whose parts have colons: the original program joins them, and an
// imported item keeps its key.
func enqueueOriginal(s *workStory) {
	of := func(n int, source, typ, key string) onto.WorkItem {
		return edited(page(n), func(i *onto.WorkItem) { i.Source, i.Type, i.Resource, i.Key = source, typ, "X", key })
	}
	const joined, escaped, other = "http:en:wiki:page:X", "http:en%3Awiki:page:X", "http:en:wiki%3Apage:X"
	enqueue := func(s *workStory, want string, items ...onto.WorkItem) {
		s.Helper()
		fresh, err := s.Enqueue(s.ctx, items)
		s.must(err)
		s.want("enqueued", fmt.Sprint(fresh), want)
	}
	bring := func(s *workStory, want string, items ...onto.WorkItem) {
		s.Helper()
		var list []backend.WorkState
		for _, i := range items {
			list = append(list, importedItem(i, 4, s.now()))
		}
		fresh, err := s.ImportItems(s.ctx, list)
		s.must(err)
		s.want("imported", fmt.Sprint(fresh), want)
	}
	bring(s, "[true]", of(1, "en:wiki", "page", joined))
	enqueue(s, "[false]", of(2, "en:wiki", "page", escaped))
	enqueue(s, "[true]", of(3, "en", "wiki:page", other)) // which is joined alike
	enqueue(s.also(), "[false]", of(4, "en", "wiki:page", other))
	bring(s, "[false false]", of(5, "en:wiki", "page", escaped), of(6, "en:wiki", "page", joined))
	s.want("its key", s.item(1).Key, joined)
	s.want("items", s.items(backend.WorkQuery{}), "i1 pending, i3 pending")

	s.enqueue(of(7, "fr:wiki", "page", "http:fr%3Awiki:page:X")) // and the other way round
	bring(s, "[false]", of(8, "fr:wiki", "page", "http:fr:wiki:page:X"))
	bring(s, "[true false]", of(9, "50%", "page", "http:50%:page:X"), of(10, "50%", "page", "http:50%25:page:X"))
	enqueue(s, "[true false]", of(11, "a:b", "c", "http:a%3Ab:c:X"), of(12, "a:b", "c", "http:a:b:c:X"))
	enqueue(s, "[true false]", of(13, "a:b", "c", "http:a%3Ab:c:X\x1frun=1"), of(14, "a:b", "c", "http:a%3Ab:c:X\x1frun=1")) // a run has keys of its own
}

func enqueueTimes(s *workStory) {
	for n, move := range []time.Duration{0, 0, time.Second, 0, -time.Hour, 0, 999 * time.Nanosecond} {
		s.move(move)
		s.enqueue(page(2*n+1), page(2*n+2))
		s = s.also()
	}
	last := onto.WorkItem{}
	for n := range 14 {
		i := s.item(n + 1).WorkItem
		if n > 0 && !i.Created.After(last.Created) || !i.Updated.Equal(i.Created) || i.Created.Nanosecond()%1000 != 0 {
			s.Errorf("%s comes after %s", showFate(i), showFate(last))
		}
		last = i
	}
	s.want("the last", showTime(last.Created), "12:00:01.000009Z")
	s.want("items", itemNames(s.take(wanted(99), "i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12 i13 i14")[:2]), "i1 i2")
}

func enqueueOrder(s *workStory) {
	s.enqueue(urgentPage(1, 100), urgentPage(2, 5), urgentPage(3, 100), urgentPage(4, -1))
	s.move(-time.Minute)
	s.enqueue(urgentPage(5, 5), urgentPage(6, 100), urgentPage(7, 1000), pageOf(8, "news"))
	s.want("items", s.items(backend.WorkQuery{}),
		"i4 pending, i2 pending, i5 pending, i1 pending, i3 pending, i6 pending, i8 pending, i7 pending")
	s.take(wanted(3), "i4 i2 i5")
	s.also().take(wanted(2), "i1 i3")
	s.enqueue(urgentPage(9, 0))
	s.take(wanted(3), "i9 i6 i8")
	s.want("items", s.items(backend.WorkQuery{Limit: 3}), "i4 in_progress, i9 in_progress, i2 in_progress")
}
