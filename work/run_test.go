package work_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/work"
)

// A lease is renewed for as long as an attempt takes: a second run gets nothing.
func TestLeasesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("long"))
		fetches := 0
		r := w.connect(func(context.Context, *onto.WorkItem) (*work.Record, error) {
			fetches++
			time.Sleep(time.Minute)
			return &work.Record{}, nil
		})
		o := &work.RunOptions{Lease: 5 * time.Second}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { w.run(r, o) })
		}
		group.Wait()
		w.expect("long", onto.WorkCompleted, "completed")
		if fetches != 1 {
			t.Errorf("it was fetched %d times", fetches)
		}
	})
}

// An attempt whose lease was lost is told so, writes nothing, and decides nothing.
func TestALeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("contested"))
		var cut atomic.Bool // the first run does not reach the store
		cut.Store(true)
		w.m.finish = func(list []backend.WorkOutcome, call func() ([]backend.WorkVerdict, error)) ([]backend.WorkVerdict, error) {
			if cut.Load() && list[0].Attempt == 1 {
				return nil, onto.Errorf(onto.Unavailable, "no connection")
			}
			return call()
		}
		var ended error
		first := w.connect(func(ctx context.Context, _ *onto.WorkItem) (*work.Record, error) {
			<-ctx.Done()
			ended = context.Cause(ctx)
			return &work.Record{}, nil
		})
		first.Writers = []work.Writer{work.WriterFunc(func(context.Context, *work.Record) error {
			t.Error("it was written by the worker that had lost it")
			return nil
		})}
		var group sync.WaitGroup
		group.Go(func() {
			sum := w.run(first, &work.RunOptions{Lease: 10 * time.Second, Timeout: time.Hour})
			if sum.Lost != 1 || sum.Completed != 0 {
				t.Errorf("the first run: got %+v", sum)
			}
		})
		synctest.Wait()
		time.Sleep(20 * time.Second)
		if sum := w.run(w.connect(fetched), nil); sum.Completed != 1 || sum.Recovered != 1 {
			t.Errorf("the second run: got %+v", sum)
		}
		cut.Store(false)
		group.Wait()
		w.expect("contested", onto.WorkCompleted, "lost completed")
		if ended == nil || !strings.Contains(ended.Error(), "lost") {
			t.Errorf("the attempt ended with %v", ended)
		}
		if n := w.count(work.Lost); n != 1 {
			t.Errorf("%d were observed as lost", n)
		}
	})
}

// A worker that does not know that its lease was lost finds out before it writes.
func TestALeaseIsLostUnnoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("contested"))
		var cut atomic.Bool
		cut.Store(true)
		w.m.finish = func(list []backend.WorkOutcome, call func() ([]backend.WorkVerdict, error)) ([]backend.WorkVerdict, error) {
			if cut.Load() && list[0].Attempt == 1 {
				return nil, onto.Errorf(onto.Unavailable, "no connection")
			}
			return call()
		}
		fetch := make(chan struct{})
		first := w.connect(func(context.Context, *onto.WorkItem) (*work.Record, error) {
			<-fetch
			return &work.Record{Body: []byte("old")}, nil
		})
		first.Writers = []work.Writer{work.WriterFunc(func(context.Context, *work.Record) error {
			t.Error("it was written by the worker that had lost it")
			return nil
		})}
		var group sync.WaitGroup
		group.Go(func() {
			if sum := w.run(first, &work.RunOptions{Lease: 10 * time.Second, Timeout: time.Hour}); sum.Lost != 1 || sum.Completed != 0 {
				t.Errorf("the first run: got %+v", sum)
			}
		})
		synctest.Wait()
		time.Sleep(20 * time.Second)
		if sum := w.run(w.connect(fetched), nil); sum.Completed != 1 || sum.Recovered != 1 {
			t.Errorf("the second run: got %+v", sum)
		}
		cut.Store(false)
		close(fetch)
		group.Wait()
		w.expect("contested", onto.WorkCompleted, "lost completed")
	})
}

// When the context ends, attempts may end in their time. Those that need longer are
// cancelled and returned; one that ignores that is left behind, and its lease runs out.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("quick"), item("slow"), item("deaf"), item("unstarted"))
		ctx, cancel := context.WithCancel(t.Context())
		wake := make(chan struct{})
		r := w.connect(func(ctx context.Context, i *onto.WorkItem) (*work.Record, error) {
			switch i.Resource {
			case "quick":
				time.Sleep(5 * time.Second)
			case "slow":
				<-ctx.Done()
				return nil, ctx.Err()
			case "deaf":
				<-wake
			}
			return &work.Record{}, nil
		})
		time.AfterFunc(time.Second, cancel)
		sum, err := r.Run(ctx, w.options(&work.RunOptions{Workers: 3, Drain: 10 * time.Second}))
		if err != nil || sum.Status != work.RunStopped || sum.Completed != 1 || sum.Returned != 1 || sum.Lost != 1 {
			t.Errorf("got %+v, %v", sum, err)
		}
		if n := w.count(work.Stopping); n != 1 {
			t.Errorf("it was observed %d times that the run stops", n)
		}
		w.expect("quick", onto.WorkCompleted, "completed")
		w.expect("slow", onto.WorkPending, "returned")
		w.expect("deaf", onto.WorkInProgress, "running")
		w.expect("unstarted", onto.WorkPending, "")
		close(wake)
		synctest.Wait()
		w.expect("deaf", onto.WorkInProgress, "running")

		if s := w.state("slow"); s.Tries() != 0 {
			t.Errorf("it has %d tries", s.Tries())
		}
		sum = w.run(w.connect(fetched), nil)
		w.expect("slow", onto.WorkCompleted, "returned completed")
		w.expect("deaf", onto.WorkCompleted, "lost completed")
		if sum.Completed != 3 || sum.Recovered != 1 || sum.Status != work.RunFinished {
			t.Errorf("got %+v", sum)
		}
	})
}

// Items that are taken while the run is told to end are returned.
func TestUnstartedItemsAreReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("a"), item("b"))
		ctx, cancel := context.WithCancel(t.Context())
		w.m.dequeue = func(*backend.WorkRequest) error {
			cancel()
			time.Sleep(time.Second)
			return nil
		}
		sum, err := w.connect(fetched).Run(ctx, w.options(nil))
		if err != nil || sum.Returned != 2 || sum.Completed != 0 || sum.Status != work.RunStopped {
			t.Errorf("got %+v, %v", sum, err)
		}
		w.expect("a", onto.WorkPending, "returned")
	})
}

func TestMaxItemsAndDepth(t *testing.T) {
	w := newWorld(t)
	w.enqueue(item("0"))
	r := w.connect(fetched)
	r.Discover = []work.Discovery{work.DiscoveryFunc(func(_ context.Context, rec *work.Record) ([]work.Item, error) {
		id := rec.Item.Resource + ".0"
		return []work.Item{{ID: id, URI: "test://site/" + id}}, nil
	})}
	if sum := w.run(r, &work.RunOptions{MaxItems: 2, MaxDepth: 3}); sum.Completed != 2 || sum.Status != work.RunStopped {
		t.Errorf("got %+v", sum)
	}
	if sum := w.run(r, &work.RunOptions{MaxDepth: 3}); sum.Completed != 2 || sum.Status != work.RunFinished {
		t.Errorf("got %+v", sum)
	}
	if s := w.expect("0.0.0.0", onto.WorkCompleted, "completed"); s.Depth != 3 {
		t.Errorf("got depth %d", s.Depth)
	}
}

// A run that has a name is refused while it is under way and after it, and can be resumed.
func TestOneRunOfAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("a"), item("b"))
		slow := w.connect(func(context.Context, *onto.WorkItem) (*work.Record, error) {
			time.Sleep(10 * time.Minute)
			return &work.Record{}, nil
		})
		const name = "a run: with words, and ünusual letters"
		var group sync.WaitGroup
		group.Go(func() { w.run(slow, &work.RunOptions{Run: name, MaxItems: 1, Timeout: time.Hour}) })
		time.Sleep(time.Second)
		for _, resume := range []bool{false, true} {
			_, err := slow.Run(t.Context(), w.options(&work.RunOptions{Run: name, Resume: resume}))
			w.says(code(t, err, onto.Conflict), "is under way")
		}
		group.Wait()
		_, err := slow.Run(t.Context(), w.options(&work.RunOptions{Run: name}))
		w.says(code(t, err, onto.Conflict), "exists already")
		_, err = slow.Run(t.Context(), w.options(&work.RunOptions{Run: "other", Resume: true}))
		w.says(code(t, err, onto.NotFound), `run "other" does not exist`)

		sum := w.run(w.connect(fetched), &work.RunOptions{Run: name, Resume: true})
		if sum.Completed != 2 || sum.Status != work.RunFinished {
			t.Errorf("got %+v, want the figures of both parts", sum)
		}
		runs, err := w.q.Runs(t.Context())
		if err != nil || len(runs) != 1 || !runs[0].Finished.After(runs[0].Started.Add(9*time.Minute)) {
			t.Errorf("got %+v, %v", runs, err)
		}
	})
}

// A run of its own items ends without waiting for the work of others.
func TestOnlyRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		mine := item("mine")
		mine.Run = "r"
		w.enqueue(mine, item("other"))
		if _, err := w.m.full.Dequeue(t.Context(), &backend.WorkRequest{Worker: "w", Limit: 1, Lease: backend.MaxLease, OnlyRun: true}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		sum := w.run(w.connect(fetched), &work.RunOptions{Run: "r", OnlyRun: true})
		if sum.Completed != 1 || time.Since(began) > time.Minute {
			t.Errorf("got %+v after %v", sum, time.Since(began))
		}
		w.expect("other", onto.WorkInProgress, "running")
	})
}

func TestRunsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for says, o := range map[string]*work.RunOptions{
		"Workers":                      {Workers: -1},
		"Lease":                        {Lease: -1},
		"none is named":                {Resume: true},
		"control":                      {Run: "a\nb"},
		"negative":                     {Limits: work.Limits{"s": {Concurrent: -1}}},
		"burst":                        {Limits: work.Limits{"s": {Burst: 2}}},
		"cannot have":                  {Limits: work.Limits{"s": {PerSecond: -1}}},
		"cannot have a rate of 0.0002": {Limits: work.Limits{"s": {PerSecond: 1 / 3601.}}},
		"a burst of 61":                {Limits: work.Limits{"s": {PerSecond: 1 / 60., Burst: 61}}},
		"at most 1h":                   {Lease: time.Hour + 1},
		"items a second":               {Limits: work.Limits{"s": {PerSecond: 1e9}}},
	} {
		_, err := w.connect(fetched).Run(t.Context(), o)
		w.says(code(t, err, onto.Invalid), says)
	}
	_, err := (&work.Runner{Queue: w.q}).Run(t.Context(), nil)
	w.says(code(t, err, onto.Invalid), "no connectors")
	if runs, err := w.q.Runs(t.Context()); err != nil || len(runs) != 0 {
		t.Errorf("got %+v, %v", runs, err)
	}
}

// Several runs together keep the limits of a source; other sources have none.
func TestLimitsOfASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const items, burst, rate = 60, 3, 5
		for n := range items {
			free := item(fmt.Sprint("free", n))
			free.Source = "free"
			w.enqueue(item(fmt.Sprint(n)), free)
		}
		var mu sync.Mutex
		now, most := 0, 0
		var starts []time.Time
		r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
			if i.Source == "free" {
				return &work.Record{}, nil
			}
			mu.Lock()
			starts = append(starts, time.Now())
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(700 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
			return &work.Record{}, nil
		})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				w.run(r, &work.RunOptions{Workers: 8, Limits: work.Limits{"site": {Concurrent: 2, PerSecond: rate, Burst: burst}}})
			})
		}
		group.Wait()
		if most != 2 || len(starts) != items {
			t.Errorf("%d ran at once, %d in all", most, len(starts))
		}
		slices.SortFunc(starts, time.Time.Compare)
		for n := range starts {
			k := n
			for k < len(starts) && starts[k].Sub(starts[n]) < time.Second {
				k++
			}
			if k-n > rate+burst {
				t.Errorf("%d began within a second", k-n)
			}
		}
	})
}

func TestRevisions(t *testing.T) {
	w := newWorld(t)
	w.enqueue(item("fails"), item("done"), item("skip"))
	by := work.Revision{By: onto.Operator("ana"), Reason: "not needed"}
	_, err := w.q.Skip(t.Context(), by)
	w.says(code(t, err, onto.Invalid), "which items to skip")
	_, err = w.q.Recrawl(t.Context(), by)
	w.says(code(t, err, onto.Invalid), "which items to recrawl")
	some := by
	some.Items.IDs = []string{w.state("skip").ID}
	if n, err := w.q.Skip(t.Context(), some); n != 1 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	failing := true
	r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		if i.Resource == "fails" && failing {
			return nil, work.Permanent(errors.New("not today"))
		}
		return &work.Record{}, nil
	})
	w.run(r, nil)
	failing = false
	if n, err := w.q.Retry(t.Context(), work.Revision{By: onto.Operator("ana"), Reason: "it works now"}); n != 1 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	w.run(r, nil)
	s := w.expect("fails", onto.WorkCompleted, "failed revised completed")
	w.says(string(s.Attempts[1].Diagnostic), "operator:ana", "it works now")
	w.expect("skip", onto.WorkSkipped, "skipped")
	again := work.Revision{All: true, By: onto.Operator("ana"), Run: "second"}
	if n, err := w.q.Recrawl(t.Context(), again); n != 3 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	w.run(r, &work.RunOptions{Run: "second", OnlyRun: true})
	w.expect("done", onto.WorkCompleted, "completed revised completed")
	w.expect("skip", onto.WorkCompleted, "skipped revised completed")

	for _, bad := range []work.Revision{
		{All: true, By: onto.Actor{Kind: "cat", ID: "x"}},
		{All: true, Reason: "a\x00b"},
		{All: true, Run: "a\nb"},
		{Items: backend.WorkQuery{Status: []onto.WorkStatus{"unheard"}}},
	} {
		if _, err := w.q.Recrawl(t.Context(), bad); !errors.Is(err, onto.Invalid) {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

// Progress is told some times a second, and at the end.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for n := range 50 {
			w.enqueue(item(fmt.Sprint(n)))
		}
		var seen []work.Summary
		w.run(w.connect(func(context.Context, *onto.WorkItem) (*work.Record, error) {
			time.Sleep(100 * time.Millisecond)
			return &work.Record{}, nil
		}), &work.RunOptions{Workers: 1, Progress: func(s work.Summary) { seen = append(seen, s) }})
		last := seen[len(seen)-1]
		if len(seen) < 10 || len(seen) > 40 || last.Completed != 50 || last.Status != work.RunFinished || seen[5].Status != work.RunRunning || seen[5].Completed >= 50 {
			t.Errorf("got %d reports, the last is %+v", len(seen), last)
		}
	})
}
