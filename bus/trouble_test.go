package bus_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

// A commit that fails for the store's reasons costs no attempt. One whose outcome is
// unknown is made once, whether it was made the first time or not.
func TestTheStoreFails(t *testing.T) {
	for name, c := range map[string]struct {
		fail    func(call func() (onto.Result, error)) (onto.Result, error)
		calls   int // that go wrong
		started int
		lost    int // observed so: what became of the commit is not known
	}{
		"locked":            {fails(onto.LockContention), 3, 4, 0},
		"full":              {fails(onto.Full), 3, 4, 0},
		"unavailable":       {fails(onto.Unavailable), 3, 4, 0},
		"unknown, not made": {fails(onto.OutcomeUnknown), 2, 1, 0},
		"unknown for long":  {fails(onto.OutcomeUnknown), 4, 2, 0},
		"unknown, made": {func(call func() (onto.Result, error)) (onto.Result, error) {
			_, _ = call()
			return onto.Result{}, onto.Errorf(onto.OutcomeUnknown, "planted")
		}, 1, 1, 0},
		"unknown for long, made": {func(call func() (onto.Result, error)) (onto.Result, error) {
			_, _ = call()
			return onto.Result{}, onto.Errorf(onto.OutcomeUnknown, "planted")
		}, 100, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, &bus.Options{MaxAttempts: 2})
				w.emit(Ping{1})
				left := c.calls
				w.m.append = func(_ context.Context, d *backend.Draft, call func() (onto.Result, error)) (onto.Result, error) {
					if left--; left >= 0 {
						return c.fail(call)
					}
					return call()
				}
				w.runFor(10*time.Minute, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
					c.Ensure(Order{ID: "o", State: time.Now().String()}) // each start would be seen
					return nil
				}))
				w.wantStates("net.ping acked h 0/1")
				head, err := w.s.Head(t.Context())
				if n := w.counts(); n[bus.Started] != c.started || n[bus.Lost] != c.lost || err != nil || head.ID != 1 {
					t.Errorf("observed %v, want %d starts and %d lost; head %d, want 1 (%v)", n, c.started, c.lost, head.ID, err)
				}
			})
		})
	}
}

func fails(code onto.Code) func(func() (onto.Result, error)) (onto.Result, error) {
	return func(func() (onto.Result, error)) (onto.Result, error) {
		return onto.Result{}, onto.Errorf(code, "planted")
	}
}

// A commit that the handler asked for in a wrong way is a failure of the handler.
func TestACommitIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		w.runFor(time.Hour, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			c.Ensure(Order{ID: "o"})
			c.Draft = c.Draft.ExpectHead(77)
			return nil
		}).Attempts(3))
		if l := w.letters(); len(l) != 1 || l[0].Attempts != 3 || !strings.Contains(l[0].Error, "77") {
			t.Errorf("got dead letters %+v", l)
		}
	})
}

// A program with outdated types stops, and leaves the event to newer ones.
func TestOutdatedTypesEndRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1}, Ping{2}, Ping{3})
		w.m.append = func(_ context.Context, _ *backend.Draft, call func() (onto.Result, error)) (onto.Result, error) {
			return fails(onto.SchemaOutdated)(call)
		}
		err := w.b.Run(t.Context(), bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			c.Ensure(Order{ID: "o"})
			return nil
		}))
		if onto.CodeOf(err) != onto.SchemaOutdated {
			t.Errorf("got %v, want SchemaOutdated", err)
		}
		w.wantStates("net.ping pending h 0/0", "net.ping pending h 0/0", "net.ping pending h 0/0")
	})
}

// A store that is closed ends Run.
func TestAClosedStoreEndsRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		err := w.b.Run(t.Context(), bus.On("h", func(context.Context, *bus.Claim[Ping]) error { return w.s.Close() }))
		if onto.CodeOf(err) != onto.Closed {
			t.Errorf("got %v, want Closed", err)
		}
	})
}

// A file that was replaced under the store ends Run: nothing succeeds until it is opened
// again.
func TestAReplacedFileEndsRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	w := openWorld(t, func() full {
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}, nil)
	w.emit(Ping{1})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := w.b.Run(ctx, bus.On("h", func(context.Context, *bus.Claim[Ping]) error { return os.Rename(path, path+".old") }))
	if !errors.Is(err, backend.ErrReopen) {
		t.Errorf("got %v, want that the store has to be opened again", err)
	}
}

// Claims, settlements and beats that fail for a while are tried again, and no event is
// lost or handled twice.
func TestTheBusFailsForAWhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 50 {
			w.emit(Ping{i})
		}
		var turn atomic.Int64
		often := func() error {
			if turn.Add(1)%3 != 0 {
				return onto.Errorf(onto.Unavailable, "planted")
			}
			return nil
		}
		w.m.claim = func(*backend.ClaimRequest) error { return often() }
		w.m.settle = func([]backend.Settlement) error { return often() }
		w.m.beat = func(*backend.Beat) error { return often() }
		w.runFor(10*time.Minute, bus.On("h", nothing))
		if n := w.counts(); n[bus.Started] != 50 || n[bus.Acked] != 50 || n[bus.Troubled] == 0 {
			t.Errorf("observed %v, want 50 events handled once", n)
		}
		for i := range 50 {
			w.emit(Ping{i})
		}
		w.idle(bus.On("h", nothing))
		if n := w.counts(); n[bus.Started] != 100 || n[bus.Acked] != 100 {
			t.Errorf("observed %v, want 100 events handled once", n)
		}
	})
}

// A session that cannot renew its claims loses them: the event is handled by another
// one, and what the first wants to commit then is refused.
func TestALostClaim(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newWorld(t, nil)
		b := a.again(nil)
		a.emit(Ping{1})
		var cut atomic.Bool
		off := func() error {
			if cut.Load() {
				return onto.Errorf(onto.Unavailable, "planted")
			}
			return nil
		}
		a.m.beat = func(*backend.Beat) error { return off() }
		a.m.claim = func(*backend.ClaimRequest) error { return off() }
		release := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- a.b.Run(ctx, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
				cut.Store(true)
				<-release
				c.Ensure(Order{ID: "first"})
				return nil
			}))
		}()
		synctest.Wait()
		b.runFor(time.Minute, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			if !c.Lost {
				t.Error("the second claim does not say that the first was lost")
			}
			c.Ensure(Order{ID: "second"})
			return nil
		}))
		close(release)
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if l := a.observed(bus.Lost); len(l) != 1 || onto.CodeOf(l[0].Err) != onto.LeaseExpired {
			t.Errorf("observed %+v, want that the claim was lost", l)
		}
		for o, err := range store.Find[Order](a.s.Now()).All(t.Context()) {
			if err != nil || o.ID != "second" {
				t.Errorf("got %v and error %v, want the second order alone", o, err)
			}
		}
		a.wantStates("net.ping acked h 0/1")
	})
}

// A beat that finds a claim lost ends the context of its handler.
func TestALostClaimEndsTheContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Session: "first"})
		w.emit(Ping{1})
		started := make(chan *bus.Claim[Ping], 1)
		var cause error
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- w.b.Run(ctx, bus.On("h", func(ctx context.Context, c *bus.Claim[Ping]) error {
				started <- c
				<-ctx.Done()
				cause = context.Cause(ctx)
				return cause
			}))
		}()
		c := <-started
		if _, err := w.m.full.Settle(ctx, []backend.Settlement{{Claim: c.Claim, Do: backend.Ack}}); err != nil { // behind its back
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil || cause == nil || !strings.Contains(cause.Error(), "lost") {
			t.Errorf("the context ended with %v, Run with %v", cause, err)
		}
		w.wantStates("net.ping acked h 0/1")
	})
}

// A claim that waits here until its lease has ended is not started before a beat has
// shown that it is still held.
func TestAClaimIsLostWhileItWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newWorld(t, &bus.Options{BackoffBase: time.Millisecond, BackoffMax: time.Millisecond}) // it rests less than it beats
		b := a.again(nil)
		for i := range 40 {
			a.emit(Ping{i})
		}
		var cut atomic.Bool
		off := func() error {
			if cut.Load() {
				return onto.Errorf(onto.Unavailable, "planted")
			}
			return nil
		}
		a.m.beat = func(*backend.Beat) error { return off() }
		a.m.claim = func(*backend.ClaimRequest) error { return off() }
		a.m.settle = func([]backend.Settlement) error { return off() }
		ctx, cancel := context.WithCancel(t.Context())
		release, done := make(chan struct{}), make(chan error)
		var last atomic.Int64
		go func() {
			done <- a.b.Run(ctx, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
				if last.Store(int64(c.Payload.N)); c.Payload.N == 10 { // others are claimed by now, since it was fast
					cut.Store(true)
					<-release
				}
				return nil
			}).Concurrency(1))
		}()
		synctest.Wait()
		b.runFor(2*time.Minute, bus.On("h", nothing))
		time.Sleep(500 * time.Millisecond) // between two beats
		cut.Store(false)
		close(release)
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := a.counts(); last.Load() != 10 || n[bus.Lost] < 10 {
			t.Errorf("event %d was started last, want 10; observed %v", last.Load(), n)
		}
		for i, s := range a.states() {
			if s != "net.ping acked h 0/1" {
				t.Errorf("event %d: %s", i, s)
			}
		}
	})
}

// While a handler runs its claim is renewed, with one beat for all.
func TestRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newWorld(t, nil)
		b := a.again(nil)
		for i := range 8 {
			a.emit(Ping{i})
		}
		beats := 0
		a.m.beat = func(*backend.Beat) error { beats++; return nil }
		slow := bus.On("h", func(context.Context, *bus.Claim[Ping]) error { time.Sleep(5 * time.Minute); return nil })
		done := make(chan struct{})
		go func() { defer close(done); a.runFor(6*time.Minute, slow) }()
		synctest.Wait()
		b.runFor(6*time.Minute, bus.On("h", nothing))
		<-done
		if n := a.counts(); n[bus.Acked] != 8 || b.counts()[bus.Started] != 0 {
			t.Errorf("observed %v and %v, want all handled by the first", n, b.counts())
		}
		if beats < 70 || beats > 80 {
			t.Errorf("got %d beats in 6 minutes, want one each 5 seconds", beats)
		}
	})
}

// A handler that heeds its timeout has failed; one that ignores it loses its claim, and is
// counted when it returns.
func TestTimeouts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		w.runFor(time.Hour, bus.On("h", func(ctx context.Context, _ *bus.Claim[Ping]) error {
			<-ctx.Done()
			return ctx.Err()
		}).Timeout(time.Minute).Attempts(2))
		if l := w.letters(); len(l) != 1 || l[0].Attempts != 2 || l[0].Error != "the handler took longer than its timeout of 1m0s" {
			t.Errorf("got dead letters %+v", l)
		}
	})
}

// A handler that never returns loses its claim, and its event is a dead letter in the
// end. It does not hold up other events, also if one runs at a time.
func TestATimeoutIsIgnored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{MaxAttempts: 3})
		w.emit(Ping{1}, Ping{2})
		free := make(chan struct{})
		var handled time.Duration
		began := time.Now()
		w.runFor(time.Hour, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			if c.Payload.N == 1 {
				<-free
				return nil
			}
			handled = time.Since(began)
			return nil
		}).Timeout(time.Minute).Concurrency(1))
		w.wantStates("net.ping dead_lettered h 0/3", "net.ping acked h 0/1", "event.dead_letter pending")
		n := w.counts()
		if n[bus.Started] != 5 || n[bus.Overdue] != 4 || handled > 2*time.Minute {
			t.Errorf("observed %v, the other event was handled after %v", n, handled)
		}
		if l := w.letters(); len(l) != 1 || !strings.Contains(l[0].Error, "started 3 times") {
			t.Errorf("got dead letters %+v", l)
		}
		close(free)
		synctest.Wait()
		w.wantStates("net.ping dead_lettered h 0/3", "net.ping acked h 0/1", "event.dead_letter pending")
	})
}

// A handler that ignores its timeout, and whose event nobody takes, has failed when it
// returns. Other events go on meanwhile.
func TestALateReturnIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1}, Ping{2})
		w.runFor(time.Hour, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			if c.Payload.N == 1 && c.Attempts == 0 {
				time.Sleep(80 * time.Second) // its lease outlasts it
			}
			return nil
		}).Timeout(time.Minute))
		w.wantStates("net.ping acked h 1/2", "net.ping acked h 0/1")
	})
}

// After a sleep of the machine claims are renewed before anything is started: what was
// lost meanwhile is not started.
func TestTheMachineSleeps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var asleep atomic.Int64
		w := newWorld(t, &bus.Options{Poll: time.Second, Now: func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) }})
		var mu sync.Mutex // guards calls
		var calls []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, what)
		}
		noted := func() (list []string) {
			mu.Lock()
			defer mu.Unlock()
			list, calls = calls, nil
			return list
		}
		w.m.beat = func(*backend.Beat) error {
			time.Sleep(100 * time.Millisecond)
			note("beat")
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- w.b.Run(ctx, bus.On("h", func(context.Context, *bus.Claim[Ping]) error { note("start"); return nil }))
		}()
		time.Sleep(5600 * time.Millisecond) // half way between two looks, after a beat
		noted()
		asleep.Store(int64(6 * time.Minute))
		w.emit(Ping{1})
		time.Sleep(time.Second)
		if got := noted(); !slices.Equal(got, []string{"beat", "start"}) {
			t.Errorf("after a sleep: %q, want a beat first", got)
		}
		asleep.Add(int64(4 * time.Minute))
		w.emit(Ping{2})
		time.Sleep(time.Second)
		if got := noted(); !slices.Equal(got, []string{"start"}) {
			t.Errorf("after a small step of the clock: %q", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

type bomb struct{}

func (bomb) EventType() string            { return "bomb" }
func (bomb) MarshalJSON() ([]byte, error) { panic("at the commit") }

// What a handler emits may panic when it is encoded.
func TestACommitPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		w.runFor(time.Hour, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			c.Emit(bomb{})
			return nil
		}).Attempts(2))
		if l := w.letters(); len(l) != 1 || l[0].Attempts != 2 {
			t.Errorf("got %+v", l)
		}
	})
}
