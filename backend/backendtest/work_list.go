package backendtest

import (
	"bytes"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func workListStories() []workTale {
	return []workTale{
		{"items are listed as they are asked for", listItems},
		{"attempts are listed only if they are asked for", listAttempts},
		{"items are counted by system, source, run and status", listStats},
		{"a run is started once and saved often", listRuns},
		{"arguments and answers are copies", listCopies},
	}
}

func listItems(s *workStory) {
	s.enqueue(urgentPage(1, 200), pageOf(2, "news"), pageIn(3, "r1"), edited(page(4), func(i *onto.WorkItem) { i.System, i.Key = "feed", "f" }),
		edited(page(5), func(i *onto.WorkItem) { i.Type, i.Parent = "item", itemID(1) }), pageOf(6, "Docs"))
	r := wanted(9)
	r.Systems = []string{"feed"}
	o := doing(backend.WorkFail, s.take(r, "i4")[0])
	o.Error = "status 404: 100%_gone"
	s.finish(o)
	for _, test := range []struct {
		q    backend.WorkQuery
		want string
	}{
		{backend.WorkQuery{}, "i2 i3 i4 i5 i6 i1"},
		{backend.WorkQuery{Limit: 2}, "i2 i3"},
		{backend.WorkQuery{IDs: []string{itemID(1), itemID(3), itemID(9), itemID(3)}}, "i3 i1"},
		{backend.WorkQuery{IDs: []string{}}, ""},
		{backend.WorkQuery{Keys: []string{"f", "F", page(1).Key}}, "i4 i1"},
		{backend.WorkQuery{Keys: []string{}}, ""},
		{backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkFailed, onto.WorkSkipped}}, "i4"},
		{backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending, onto.WorkFailed, onto.WorkPending}, Limit: 3}, "i2 i3 i4"},
		{backend.WorkQuery{Status: []onto.WorkStatus{}}, ""},
		{backend.WorkQuery{System: "feed"}, "i4"},
		{backend.WorkQuery{System: "Feed"}, ""},
		{backend.WorkQuery{Source: "docs"}, "i3 i4 i5 i1"},
		{backend.WorkQuery{Source: "docs", System: "http", Type: "page"}, "i3 i1"},
		{backend.WorkQuery{Type: "item"}, "i5"},
		{backend.WorkQuery{Run: "r1"}, "i3"},
		{backend.WorkQuery{Parent: itemID(1)}, "i5"},
		{backend.WorkQuery{Parent: itemID(1), Source: "news"}, ""},
		{backend.WorkQuery{Error: "404"}, "i4"},
		{backend.WorkQuery{Error: "%_g"}, "i4"},
		{backend.WorkQuery{Error: "_"}, "i4"},
		{backend.WorkQuery{Error: "Status"}, ""},
	} {
		got := list(s.story, s.WorkItems(s.ctx, &test.q), func(w backend.WorkState) string { return itemName(w.ID) })
		if text := strings.Join(got, " "); text != test.want {
			s.Errorf("%+v\n got: %s\nwant: %s", test.q, text, test.want)
		}
		counts, err := s.WorkStats(s.ctx, &backend.WorkQuery{IDs: test.q.IDs, Keys: test.q.Keys, Status: test.q.Status, System: test.q.System,
			Source: test.q.Source, Type: test.q.Type, Run: test.q.Run, Parent: test.q.Parent, Error: test.q.Error})
		s.must(err)
		total := int64(0)
		for _, c := range counts {
			total += c.Items
		}
		if test.q.Limit == 0 && total != int64(len(got)) {
			s.Errorf("%+v: got a count of %d, want %d", test.q, total, len(got))
		}
	}
}

func listAttempts(s *workStory) {
	s.enqueue(page(1), page(2))
	for range 12 {
		s.finish(doing(backend.WorkReturn, s.take(wanted(1), "i1")[0]))
	}
	for w, err := range s.WorkItems(s.ctx, &backend.WorkQuery{}) {
		if s.must(err); w.Attempts != nil {
			s.Errorf("got %d attempts, which were not asked for", len(w.Attempts))
		}
	}
	w := s.item(1)
	for n, a := range w.Attempts {
		if a.Number != n+1 {
			s.Errorf("attempt %d has the number %d", n+1, a.Number)
		}
	}
	if len(w.Attempts) != 12 || len(s.item(2).Attempts) != 0 {
		s.Errorf("got %d and %d attempts, want 12 and none", len(w.Attempts), len(s.item(2).Attempts))
	}
}

func listStats(s *workStory) {
	s.allFates()
	s.enqueue(pageOf(6, "Docs"), pageOf(7, "Docs"), pageIn(8, "r2"), pageIn(9, "r1"), edited(page(10), func(i *onto.WorkItem) { i.System, i.Key = "feed", "f" }))
	counts := func(q backend.WorkQuery) []string {
		s.Helper()
		list, err := s.WorkStats(s.ctx, &q)
		s.must(err)
		return shown(list, showWorkCount)
	}
	s.wantLines("counts", counts(backend.WorkQuery{Limit: 1, Attempts: true}), []string{
		`feed/docs in run "": 1 pending`,
		`http/Docs in run "": 2 pending`,
		`http/docs in run "": 1 completed`,
		`http/docs in run "": 1 failed`,
		`http/docs in run "": 1 in_progress`,
		`http/docs in run "": 1 pending`,
		`http/docs in run "": 1 skipped`,
		`http/docs in run "r1": 1 pending`,
		`http/docs in run "r2": 1 pending`,
	})
	s.wantLines("counts of some", counts(backend.WorkQuery{System: "http", Status: []onto.WorkStatus{onto.WorkPending}, Run: "r1"}),
		[]string{`http/docs in run "r1": 1 pending`})
	s.wantLines("counts of none", counts(backend.WorkQuery{Source: "news"}), nil)
}

func listRuns(s *workStory) {
	runs := func() []string {
		s.Helper()
		list, err := s.WorkRuns(s.ctx)
		s.must(err)
		return shown(list, showRun)
	}
	s.wantLines("no runs", runs(), nil)
	later := onto.WorkRun{ID: "b", Started: s.now().Add(time.Minute + 999), Status: "running", Options: []byte(`{"workers":8}`)}
	s.must(s.SaveRun(s.ctx, later, true))
	s.must(s.SaveRun(s.ctx, onto.WorkRun{ID: "d", Started: s.now(), Status: "running"}, true))
	s.must(s.SaveRun(s.ctx, onto.WorkRun{ID: "c", Started: s.now(), Status: "running"}, false)) // which needs no start
	other := s.also()
	before := runs()
	s.wantCode("start twice", other.SaveRun(s.ctx, onto.WorkRun{ID: "b", Started: s.now(), Status: "failed"}, true), onto.Conflict)
	s.wantLines("runs", runs(), before)
	later.Finished, later.Status, later.Counts = s.now().Add(time.Hour), "finished", []byte(`{"completed":3}`)
	s.must(other.SaveRun(s.ctx, later, false))
	s.must(s.SaveRun(s.ctx, onto.WorkRun{ID: "B", Started: s.now(), Status: "stopped"}, true)) // another one
	s.wantLines("runs", runs(), []string{
		"run B stopped, 12:00:00.000000Z to -, options -, counts -",
		"run c running, 12:00:00.000000Z to -, options -, counts -",
		"run d running, 12:00:00.000000Z to -, options -, counts -",
		`run b finished, 12:01:00.000000Z to 13:00:00.000000Z, options {"workers":8}, counts {"completed":3}`,
	})
}

// listCopies overwrites what was handed in, and what was handed out.
func listCopies(s *workStory) {
	json := func(text string) []byte { return []byte(text) }
	item := edited(page(1), func(i *onto.WorkItem) { i.Headers, i.Metadata = json(`{"a":1}`), json(`{"b":1}`) })
	found := edited(page(2), func(i *onto.WorkItem) { i.Headers, i.Metadata = json(`{"a":2}`), json(`{"b":2}`) })
	run := onto.WorkRun{ID: "r", Started: s.now(), Status: "running", Options: json(`{"c":1}`), Counts: json(`{"d":1}`)}
	s.enqueue(item)
	s.must(s.SaveRun(s.ctx, run, true))
	taken := s.take(wanted(1), "i1")[0]
	o := doing(backend.WorkComplete, taken)
	o.Diagnostic, o.Metadata, o.Discovered = json(`{"e":1}`), json(`{"b":3}`), []onto.WorkItem{found}
	s.finish(o)
	before := s.state()
	spoil := func(list ...[]byte) {
		for _, b := range list {
			fill(b, 'x')
		}
	}
	spoil(item.Headers, item.Metadata, found.Headers, found.Metadata, run.Options, run.Counts, taken.Headers, taken.Metadata, o.Diagnostic, o.Metadata)
	s.wantLines("after arguments were overwritten", s.state(), before)
	for w, err := range s.WorkItems(s.ctx, &backend.WorkQuery{Attempts: true}) {
		s.must(err)
		spoil(w.Headers, w.Metadata)
		for _, a := range w.Attempts {
			spoil(a.Diagnostic)
		}
	}
	runs, err := s.WorkRuns(s.ctx)
	s.must(err)
	for _, r := range runs {
		spoil(r.Options, r.Counts)
	}
	s.wantLines("after answers were overwritten", s.state(), before)
	if again := s.take(wanted(1), "i2")[0]; !bytes.Equal(again.Headers, json(`{"a":2}`)) {
		s.Errorf("got headers %s", again.Headers)
	}
}
