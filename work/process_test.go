//go:build unix

package work_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"crawl": crawl})
	os.Exit(effort.Main(m))
}

// sharedLimit is that of the source, in all processes.
var sharedLimit = work.Limit{Concurrent: 3, PerSecond: 60, Burst: 5}

// crawl is a worker process: once its input has ended, it crawls until nothing is left. The
// arguments are the file, and whether the source has a limit.
func crawl(args []string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, args[0], &sqlite.Options{LockTimeout: time.Minute})
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, db, onto.TypeOf[Page]())
	if err != nil {
		return err
	}
	defer s.Close()
	q, err := work.Open(s)
	if err != nil {
		return err
	}
	o := &work.RunOptions{
		Workers: 4, Lease: time.Second, MaxAttempts: 100, Poll: 20 * time.Millisecond, BackoffBase: 10 * time.Millisecond,
		Log: slog.New(slog.DiscardHandler),
	}
	if limited, err := strconv.ParseBool(args[1]); err != nil {
		return err
	} else if limited {
		o.Limits = work.Limits{"docs": sharedLimit}
		o.Workers = sharedLimit.Concurrent - 1 // one process alone does not reach the limit
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	sum, err := crawler(q, s, work.HTTP(loopback())).Run(ctx, o)
	if err == nil && sum.Failed > 0 {
		err = fmt.Errorf("%d items have failed", sum.Failed)
	}
	return err
}

// crew is worker processes that are started again when they are killed.
type crew struct {
	t       *testing.T
	args    []string
	members []*child.Process
	gone    chan int
	running int
	failed  atomic.Pointer[error]
}

func startCrew(t *testing.T, n int, args ...string) *crew {
	c := &crew{t: t, args: args, members: make([]*child.Process, n), gone: make(chan int, n)}
	for i := range n {
		c.members[i] = child.Start(t, "crawl", args...)
	}
	for _, p := range c.members {
		p.Until(t, "ready")
	}
	for i := range n { // so that none is done before another has begun
		c.release(i)
	}
	return c
}

// release lets a member crawl, and waits for its end.
func (c *crew) release(i int) {
	p := c.members[i]
	p.Stdin.Close()
	c.running++
	go func() {
		if err := p.Wait(); err != nil && p.ProcessState != nil && p.ProcessState.Exited() {
			c.failed.Store(&err)
		}
		c.gone <- i
	}()
}

// work lets the crew work until all are done. Whenever due says so, one of them is killed.
// It returns how many were killed while they ran.
func (c *crew) work(limit time.Duration, due func() bool) (kills int) {
	c.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(limit)
	for c.running > 0 {
		select {
		case i := <-c.gone:
			c.running--
			if !c.members[i].ProcessState.Exited() { // it was killed
				kills++
				c.members[i] = child.Start(c.t, "crawl", c.args...)
				c.release(i)
			}
		case <-look.C:
			if due() {
				_ = c.members[kills%len(c.members)].Process.Kill()
			}
		case <-deadline:
			c.t.Fatal("the crew is not done in time")
		}
	}
	if err := c.failed.Load(); err != nil {
		c.t.Error(*err)
	}
	return kills
}

// contents are the pages of a store.
func contents(t *testing.T, s *store.Store) []Page {
	t.Helper()
	var list []Page
	for p, err := range store.Find[Page](s.Now()).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// Three processes crawl a site, and one of them is killed again and again. Every page is
// completed by one attempt, others are lost, each item leads back to the first page, and
// the store is that of an undisturbed crawl.
func TestProcessesAreKilled(t *testing.T) {
	t.Parallel()
	pages, random := effort.Count(t, 1000), effort.Rand(t)
	site := newSite(t, pages)
	undisturbed := newWorld(t)
	undisturbed.enqueue(seed(site.URL))
	undisturbed.run(crawler(undisturbed.q, undisturbed.s, work.HTTP(loopback())), &work.RunOptions{Workers: 8})

	site.slow(20 * time.Millisecond)
	path := filepath.Join(t.TempDir(), "work.db")
	w := openFile(t, path)
	w.enqueue(seed(site.URL))
	before := head(t, w.s)
	next := 10
	kills := startCrew(t, 3, path, "false").work(5*time.Minute, func() bool {
		due := site.served() >= next // so that the crawl goes on however slow processes start
		if due {
			next += 10 + random.IntN(20)
		}
		return due
	})

	lost := checkItems(t, w, site)
	commits := head(t, w.s) - before
	t.Logf("%d pages, %d kills, %d attempts lost, %d commits", pages, kills, lost, commits)
	if commits != int64(pages) {
		t.Errorf("got %d commits for %d pages", commits, pages)
	}
	if got, want := contents(t, w.s), contents(t, undisturbed.s); !slices.Equal(got, want) || len(got) != pages {
		t.Errorf("got %d pages, which differ from the %d of an undisturbed crawl", len(got), len(want))
	}
	if kills == 0 || kills > 3 && lost == 0 { // one that has just started has no attempt to lose
		t.Errorf("%d kills, %d attempts lost: nothing was tested", kills, lost)
	}
}

// checkItems checks that all pages are completed by one attempt, and their lineage. It
// returns how many attempts were lost.
func checkItems(t *testing.T, w *world, site *site) (lost int) {
	t.Helper()
	items := map[string]backend.WorkState{}
	var list []backend.WorkState
	for i, err := range w.q.Items(t.Context(), &backend.WorkQuery{Attempts: true}) {
		if err != nil {
			t.Fatal(err)
		}
		items[i.ID] = i
		list = append(list, i)
	}
	if len(list) != site.pages {
		t.Errorf("got %d items for %d pages", len(list), site.pages)
	}
	for _, i := range list {
		done := 0
		for n, a := range i.Attempts {
			switch {
			case a.Number != n+1 || a.Finished.IsZero():
				t.Errorf("%s has the attempt %+v at place %d", i.Resource, a, n)
			case a.Status == onto.AttemptCompleted:
				done++
			case a.Status == onto.AttemptLost:
				lost++
			default:
				t.Errorf("%s has the attempt %+v", i.Resource, a)
			}
		}
		if i.Status != onto.WorkCompleted || done != 1 || i.Attempt != len(i.Attempts) || i.Owner != "" {
			t.Errorf("%s is %s after %d successes in %d attempts, held by %q: %s", i.Resource, i.Status, done, len(i.Attempts), i.Owner, i.Error)
		}
		if i.Resource == "/" {
			continue
		}
		parent, ok := items[i.Parent]
		if !ok || i.Depth != parent.Depth+1 || !site.links(parent.Resource, i.Resource) {
			t.Errorf("%s at depth %d was found in %q at depth %d, which does not link to it", i.Resource, i.Depth, parent.Resource, parent.Depth)
		}
	}
	return lost
}

// Four processes keep the limits of one source together.
func TestProcessesKeepLimits(t *testing.T) {
	t.Parallel()
	site := newSite(t, effort.Count(t, 900))
	site.slow(20 * time.Millisecond)
	path := filepath.Join(t.TempDir(), "work.db")
	w := openFile(t, path)
	w.enqueue(seed(site.URL))
	startCrew(t, 4, path, "true").work(5*time.Minute, func() bool { return false })
	checkItems(t, w, site)

	var starts []time.Time
	workers := map[string]bool{}
	type step struct {
		at time.Time
		by int
	}
	var steps []step
	for i, err := range w.q.Items(t.Context(), &backend.WorkQuery{Attempts: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range i.Attempts {
			starts = append(starts, a.Started)
			steps = append(steps, step{a.Started, 1}, step{a.Finished, -1})
			workers[a.Worker] = true
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	slices.SortFunc(steps, func(x, y step) int { return cmp.Or(x.at.Compare(y.at), x.by-y.by) })
	now, most, rush := 0, 0, 0
	for _, s := range steps {
		now += s.by
		most = max(most, now)
	}
	for n := range starts {
		k := n
		for k < len(starts) && starts[k].Sub(starts[n]) < time.Second {
			k++
		}
		rush = max(rush, k-n)
	}
	t.Logf("%d attempts of %d workers: at most %d at once, %d at the server, %d begun within a second", len(starts), len(workers), most, site.most(), rush)
	if most > sharedLimit.Concurrent || site.most() > sharedLimit.Concurrent {
		t.Errorf("%d at once, %d at the server; the limit is %d", most, site.most(), sharedLimit.Concurrent)
	}
	if limit := int(sharedLimit.PerSecond) + sharedLimit.Burst; rush > limit {
		t.Errorf("%d have begun within a second, the limit is %d", rush, limit)
	}
	if len(workers) < 2 {
		t.Errorf("only %d processes have worked", len(workers))
	}
}
