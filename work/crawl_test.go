package work_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

// crawler is a runner that crawls a site into the store of its queue.
func crawler(q *work.Queue, s *store.Store, c work.Connector) *work.Runner {
	return &work.Runner{
		Queue: q, Connectors: map[string]work.Connector{"http": c},
		Writers: []work.Writer{work.Ensure(s, toPage)}, Discover: []work.Discovery{work.Links(nil)},
	}
}

// head is how many commits a store has.
func head(t *testing.T, s *store.Store) int64 {
	t.Helper()
	c, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// A crawl finds every page once. A second one of the unchanged site makes no commit, and
// one changed page makes one.
func TestCrawl(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testCrawl(t, newWorld(t)) })
	t.Run("sqlite", func(t *testing.T) { testCrawl(t, openFile(t, filepath.Join(t.TempDir(), "work.db"))) })
}

func testCrawl(t *testing.T, w *world) {
	site := newSite(t, 60)
	site.busy["/p/7"] = 2
	w.enqueue(seed(site.URL))
	r := crawler(w.q, w.s, work.HTTP(loopback()))
	before := head(t, w.s)
	sum := w.run(r, &work.RunOptions{Workers: 4, BackoffBase: time.Millisecond})
	if sum.Completed != 60 || sum.Failed != 0 || sum.Discovered != 59 || sum.Retried != 2 {
		t.Errorf("got %+v", sum)
	}
	full, same := site.answers()
	if commits := head(t, w.s) - before; commits != 60 || full != 60 || same != 0 {
		t.Errorf("%d commits, %d answers, %d unchanged", commits, full, same)
	}
	c, err := w.s.Head(t.Context())
	if err != nil || c.Actor != onto.Daemon("work") {
		t.Errorf("got %+v, %v", c, err)
	}
	if i, err := w.q.Item(t.Context(), c.Correlation); err != nil || i.Status != onto.WorkCompleted {
		t.Errorf("the last commit is of %+v, %v", i, err)
	}

	again := func(run string) (work.Summary, int64) {
		t.Helper()
		before := head(t, w.s)
		if n, err := w.q.Recrawl(t.Context(), work.Revision{All: true, By: onto.Operator("ana"), Run: run}); n != 60 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		return w.run(r, &work.RunOptions{Run: run}), head(t, w.s) - before
	}
	sum, commits := again("second")
	if full, same := site.answers(); sum.NotModified != 60 || commits != 0 || full != 0 || same != 60 {
		t.Errorf("got %+v, %d commits, %d answers, %d unchanged", sum, commits, full, same)
	}
	site.change(23, "news")
	sum, commits = again("third")
	if full, _ := site.answers(); sum.NotModified != 59 || sum.Completed != 60 || commits != 1 || full != 1 {
		t.Errorf("got %+v, %d commits, %d answers", sum, commits, full)
	}
	p, err := store.Get[Page](t.Context(), w.s.Now(), "/p/23")
	if err != nil || p.Text != "news" {
		t.Errorf("got %+v, %v", p, err)
	}

	// Without conditional requests everything is fetched, and still nothing is new.
	o := loopback()
	o.Unconditional = true
	r = crawler(w.q, w.s, work.HTTP(o))
	sum, commits = again("fourth")
	if full, _ := site.answers(); sum.NotModified != 0 || sum.Completed != 60 || commits != 0 || full != 60 {
		t.Errorf("got %+v, %d commits, %d answers", sum, commits, full)
	}
}

// Links are followed up to a depth, and not to where they should not lead.
func TestLinksAreFollowed(t *testing.T) {
	w := newWorld(t)
	site := newSite(t, 40)
	w.enqueue(seed(site.URL))
	r := crawler(w.q, w.s, work.HTTP(loopback()))
	r.Discover = []work.Discovery{work.Links(&work.LinkOptions{Depth: 2})}
	sum := w.run(r, nil)
	deepest := 0
	for n, err := range w.q.Tree(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		deepest = max(deepest, n.Depth)
		if n.Level != n.Depth {
			t.Errorf("%s has depth %d at level %d", n.Resource, n.Depth, n.Level)
		}
	}
	if sum.Failed != 0 || deepest != 2 || sum.Completed < 7 || sum.Completed >= 40 {
		t.Errorf("got %+v down to depth %d", sum, deepest)
	}
}

func TestRobots(t *testing.T) {
	w := newWorld(t)
	site := newSite(t, 3)
	private := seed(site.URL)
	private.ID, private.URI = "/private/x", site.URL+"/private/x"
	w.enqueue(seed(site.URL), private)
	sum := w.run(crawler(w.q, w.s, work.HTTP(loopback())), nil)
	w.says(w.expect("/private/x", onto.WorkSkipped, "skipped").Error, "robots.txt")
	if sum.Completed != 3 || sum.Skipped != 1 {
		t.Errorf("got %+v", sum)
	}
	o := loopback()
	o.IgnoreRobots = true
	if _, err := w.q.Recrawl(t.Context(), work.Revision{All: true}); err != nil {
		t.Fatal(err)
	}
	w.run(crawler(w.q, w.s, work.HTTP(o)), nil)
	s := w.expect("/private/x", onto.WorkFailed, "skipped revised failed")
	w.says(s.Error, http.StatusText(http.StatusNotFound))
	if s.Attempts[2].Class != "status" {
		t.Errorf("got %+v", s.Attempts[2])
	}
}
