package work_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/work"
)

// Failures are retried with pauses that grow, until the attempts are used up.
func TestFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("flaky"), item("broken"), item("good"))
		var times []time.Time
		tries := 0
		r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
			switch i.Resource {
			case "flaky":
				if tries++; tries < 3 {
					return nil, errors.New("try again")
				}
			case "broken":
				times = append(times, time.Now())
				return nil, errors.New("no luck")
			}
			return &work.Record{}, nil
		})
		sum := w.run(r, &work.RunOptions{MaxAttempts: 4, BackoffBase: time.Second, BackoffMax: time.Minute})
		if sum.Completed != 2 || sum.Failed != 1 || sum.Retried != 5 {
			t.Errorf("got %+v", sum)
		}
		w.expect("flaky", onto.WorkCompleted, "failed failed completed")
		w.expect("good", onto.WorkCompleted, "completed")
		s := w.expect("broken", onto.WorkFailed, "failed failed failed failed")
		w.says(s.Error, "given up after 4 attempts", "no luck")
		w.says(string(s.Attempts[0].Diagnostic), `"stage":"fetch"`, "no luck")
		if s.Attempts[0].RetryAfter.IsZero() || !s.Attempts[3].RetryAfter.IsZero() {
			t.Errorf("got %+v", s.Attempts)
		}
		for n := 1; n < len(times); n++ {
			if pause := times[n].Sub(times[n-1]); pause < time.Second<<(n-1) {
				t.Errorf("pause %d took %v", n, pause)
			}
		}
	})
}

// A source that asks to wait is waited for; one that asks for too much, only for a day.
func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ asks, waits time.Duration }{{time.Hour, time.Hour}, {1000 * time.Hour, work.MaxRetryAfter}} {
			w := newWorld(t)
			w.enqueue(item("busy"))
			var times []time.Time
			sum := w.run(w.connect(func(context.Context, *onto.WorkItem) (*work.Record, error) {
				if times = append(times, time.Now()); len(times) == 1 {
					return nil, work.Temporary(errors.New("busy"), c.asks)
				}
				return &work.Record{}, nil
			}), nil)
			if pause := times[1].Sub(times[0]); sum.Completed != 1 || pause < c.waits || pause > c.waits+time.Minute {
				t.Errorf("waited for %v, want %v; %+v", pause, c.waits, sum)
			}
		}
	})
}

// A run does not wait longer than it was told.
func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		soon, late := item("soon"), item("late")
		soon.Delay, late.Delay = time.Minute, 2*time.Hour
		w.enqueue(soon, late)
		sum := w.run(w.connect(fetched), &work.RunOptions{MaxWait: time.Hour})
		if sum.Completed != 1 || sum.Status != work.RunStopped {
			t.Errorf("got %+v", sum)
		}
		w.expect("soon", onto.WorkCompleted, "completed")
		w.expect("late", onto.WorkPending, "")
	})
}

func TestErrorsThatStay(t *testing.T) {
	w := newWorld(t)
	errs := map[string]error{
		"permanent": work.Permanent(errors.New("gone")),
		"code":      onto.Errorf(onto.Refused, "a private address"),
		"skip":      work.SkipItem("100% disallowed by robots.txt"),
		"wrapped":   fmt.Errorf("connector: %w", work.SkipItem("not wanted")),
	}
	for id := range errs {
		w.enqueue(item(id))
	}
	other := item("other")
	other.System = "gopher"
	w.enqueue(other, item("good"))
	sum := w.run(w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		return &work.Record{}, errs[i.Resource]
	}), nil)
	if sum.Completed != 1 || sum.Failed != 3 || sum.Skipped != 2 {
		t.Errorf("got %+v", sum)
	}
	w.says(w.expect("permanent", onto.WorkFailed, "failed").Error, "gone")
	w.says(w.expect("code", onto.WorkFailed, "failed").Error, "a private address")
	w.says(w.expect("skip", onto.WorkSkipped, "skipped").Error, "100% disallowed by robots.txt")
	w.says(w.expect("wrapped", onto.WorkSkipped, "skipped").Error, "not wanted")
	s := w.expect("other", onto.WorkFailed, "failed")
	w.says(s.Error, `no connector for the source system "gopher" of source "site"`)
	if s.Attempts[0].Class != "unknown_system" {
		t.Errorf("got %+v", s.Attempts)
	}
}

// Items that are not well formed fail and say why.
func TestMalformedItems(t *testing.T) {
	w := newWorld(t)
	w.enqueue(item("good"))
	for id, change := range map[string]func(*onto.WorkItem){
		"headers":     func(i *onto.WorkItem) { i.Headers = []byte("Accept: x") },
		"metadata":    func(i *onto.WorkItem) { i.Metadata = []byte("[1") },
		"list":        func(i *onto.WorkItem) { i.Metadata = []byte("[1]") },
		"request URI": func(i *onto.WorkItem) { i.URI = "w/api.php" },
	} {
		i := w.state("good").WorkItem
		i.ID, i.Key, i.Resource = id, id, id
		change(&i)
		if _, err := w.m.full.Enqueue(t.Context(), []onto.WorkItem{i}); err != nil {
			t.Fatal(err)
		}
	}
	sum := w.run(w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		if i.Resource != "good" {
			t.Errorf("%s was fetched", i.Resource)
		}
		return &work.Record{}, nil
	}), nil)
	for _, id := range []string{"headers", "metadata", "request URI"} {
		w.says(w.expect(id, onto.WorkFailed, "failed").Error, id)
	}
	if sum.Completed != 1 || sum.Failed != 4 {
		t.Errorf("got %+v", sum)
	}
}

// A panic in any part is a failure of its item alone, with the stack.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, part := range []string{"fetch", "write", "discover"} {
			w := newWorld(t)
			w.enqueue(item("bad"), item("good"), item("exits"))
			blow := func(at string, i *onto.WorkItem) {
				if at != part {
					return
				}
				switch i.Resource {
				case "bad":
					panic(strings.Repeat("boom ", 10000))
				case "exits":
					runtime.Goexit()
				}
			}
			r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
				blow("fetch", i)
				return &work.Record{}, nil
			})
			r.Writers = []work.Writer{work.WriterFunc(func(_ context.Context, rec *work.Record) error {
				blow("write", rec.Item)
				return nil
			})}
			r.Discover = []work.Discovery{work.DiscoveryFunc(func(_ context.Context, rec *work.Record) ([]work.Item, error) {
				blow("discover", rec.Item)
				return nil, nil
			})}
			sum := w.run(r, &work.RunOptions{MaxAttempts: 2})
			if sum.Completed != 1 || sum.Failed != 2 || sum.Retried != 2 {
				t.Errorf("%s: got %+v", part, sum)
			}
			w.expect("exits", onto.WorkFailed, "failed failed")
			s := w.expect("bad", onto.WorkFailed, "failed failed")
			w.says(s.Error, "panic: boom")
			w.says(string(s.Attempts[0].Diagnostic), `"stage":"`+part+`"`, "failure_test.go")
			if len(s.Error) > 5000 || len(s.Attempts[0].Diagnostic) > 10000 || s.Attempts[0].Class != "panic" {
				t.Errorf("%s: the error has %d bytes, the diagnostic %d, the class is %q", part, len(s.Error), len(s.Attempts[0].Diagnostic), s.Attempts[0].Class)
			}
		}
	})
}

// An item that a discovery makes badly fails the item that it was found in, and no other.
func TestDiscoveredItemsAreChecked(t *testing.T) {
	w := newWorld(t)
	w.enqueue(item("bad"), item("good"))
	r := w.connect(fetched)
	r.Discover = []work.Discovery{work.DiscoveryFunc(func(_ context.Context, rec *work.Record) ([]work.Item, error) {
		if rec.Item.Resource == "bad" {
			return []work.Item{{URI: "test://fine"}, {URI: "not absolute"}}, nil
		}
		return nil, nil
	})}
	sum := w.run(r, nil)
	w.says(w.expect("bad", onto.WorkFailed, "failed").Error, "not absolute", `source "site"`)
	if sum.Completed != 1 || sum.Discovered != 0 {
		t.Errorf("got %+v", sum)
	}
}

// An attempt that takes too long fails; one that ignores it loses its item.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("slow"), item("deaf"))
		r := w.connect(func(ctx context.Context, i *onto.WorkItem) (*work.Record, error) {
			if i.Resource == "deaf" {
				if i.Attempt == 1 {
					time.Sleep(time.Hour)
				}
				return &work.Record{}, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		sum := w.run(r, &work.RunOptions{Timeout: time.Minute, MaxAttempts: 2, Lease: 10 * time.Second})
		s := w.expect("slow", onto.WorkFailed, "failed failed")
		w.says(s.Error, "longer than 1m0s")
		if s.Attempts[1].Class != "timeout" {
			t.Errorf("got %+v", s.Attempts[1])
		}
		w.expect("deaf", onto.WorkCompleted, "lost completed")
		if sum.Failed != 1 || sum.Completed != 1 || sum.Lost != 1 || sum.Recovered != 1 {
			t.Errorf("got %+v", sum)
		}
	})
}

// An item whose attempts are lost again and again is given up without another one.
func TestItemsThatKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("killer"), item("good"))
		for range 3 {
			got, err := w.m.full.Dequeue(t.Context(), &backend.WorkRequest{Worker: "dead", Limit: 1, Lease: time.Minute})
			if err != nil || len(got.Items) != 1 || got.Items[0].Resource != "killer" {
				t.Fatalf("got %+v, %v", got, err)
			}
			time.Sleep(2 * time.Minute)
		}
		sum := w.run(w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
			if i.Resource == "killer" {
				t.Error("it was tried again")
			}
			return &work.Record{}, nil
		}), &work.RunOptions{MaxAttempts: 3})
		w.says(w.expect("killer", onto.WorkFailed, "lost lost lost failed").Error, "given up after 3 attempts, the last one lost")
		if sum.Failed != 1 || sum.Completed != 1 || sum.Recovered != 1 {
			t.Errorf("got %+v", sum)
		}
	})
}

// A run does not start an item that earlier runs have tried as often as it would: the item
// fails for what went wrong with it, and no crash is told of.
func TestItemsOfAMorePatientRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("down"))
		down := w.connect(func(context.Context, *onto.WorkItem) (*work.Record, error) { return nil, errors.New("no luck") })
		w.run(down, &work.RunOptions{MaxAttempts: 5, MaxItems: 2})
		w.expect("down", onto.WorkPending, "failed failed")
		var seen []work.Observation
		sum := w.run(w.connect(func(context.Context, *onto.WorkItem) (*work.Record, error) {
			t.Error("it was tried again")
			return &work.Record{}, nil
		}), &work.RunOptions{MaxAttempts: 2, Observe: func(o work.Observation) { seen = append(seen, o) }})
		s := w.expect("down", onto.WorkFailed, "failed failed failed")
		w.says(s.Error, "given up after 2 attempts: this run makes at most 2", "no luck")
		if strings.Contains(s.Error, "lost") || s.Attempts[2].Class != "fetch" || s.Attempts[2].Started != s.Attempts[2].Finished {
			t.Errorf("got %q by %+v", s.Error, s.Attempts[2])
		}
		if sum.Failed != 1 || sum.Status != work.RunFinished || len(seen) != 1 || seen[0].What != work.Failed || seen[0].Err.Error() != s.Error {
			t.Errorf("got %+v, observed %+v", sum, seen)
		}
	})
}
