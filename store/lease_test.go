package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/lease"
)

// task is something to commit.
type task struct {
	ID string `json:"id" onto:"key"`
}

// openTasks opens a handle of a store.
func openTasks(t *testing.T, b backend.Backend, runtime string) *Store {
	t.Helper()
	s, err := OpenWith(t.Context(), b, &Options{Runtime: runtime}, onto.TypeOf[task]().As("Task"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustLease(t *testing.T, s *Store, name string, opts *LeaseOptions) *Lease {
	t.Helper()
	l, err := s.Lease(t.Context(), name, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func wantCode(t *testing.T, what string, err error, code onto.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

// Two programs use the write lease one after the other.
func TestLeaseStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(nil)
		ana, bo := openTasks(t, log.Open(), "ana"), openTasks(t, log.Open(), "bo")
		l := mustLease(t, ana, onto.WriteLease, nil)
		if c := l.Current(); c.Owner != "ana" || c.Epoch != 1 || c.Expires.Sub(c.Acquired) != DefaultLeaseTTL {
			t.Errorf("got %+v, want the defaults", c)
		}
		_, err := bo.Lease(t.Context(), onto.WriteLease, &LeaseOptions{Wait: -1})
		wantCode(t, "held", err, onto.LockContention)
		_, err = bo.Commit(t.Context(), onto.Draft{}.Ensure(task{"b"}))
		wantCode(t, "commit beside the holder", err, onto.LockContention)
		current := l.Current()
		if r, err := ana.Commit(t.Context(), onto.Draft{Lease: &current}.Ensure(task{"a"})); err != nil || r.ID != 1 {
			t.Errorf("the holder: got commit %d, error %v", r.ID, err)
		}
		time.Sleep(DefaultLeaseTTL)
		if err := l.Renew(t.Context()); err != nil {
			t.Errorf("a lease that ran out stays its holder's: %v", err)
		}
		second := mustLease(t, bo, onto.WriteLease, &LeaseOptions{Wait: time.Hour, TTL: time.Minute, Owner: "bo's job"})
		if c := second.Current(); c.Owner != "bo's job" || c.Epoch != 2 || c.Expires.Sub(c.Acquired) != time.Minute {
			t.Errorf("got %+v, want what was asked for", c)
		}
		_, err = ana.Commit(t.Context(), onto.Draft{Lease: &current}.Ensure(task{"late"}))
		wantCode(t, "commit with the old lease", err, onto.LeaseExpired)
		wantCode(t, "renew", l.Renew(t.Context()), onto.LeaseExpired)
		wantCode(t, "release", l.Release(t.Context()), onto.LeaseExpired)
		if err := second.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if head, err := ana.Head(t.Context()); err != nil || head.ID != 1 {
			t.Errorf("head: got %d, error %v; want 1", head.ID, err)
		}
	})
}

// Keep keeps a lease as long as it is needed.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(nil)
		ana, bo := openTasks(t, log.Open(), "ana"), openTasks(t, log.Open(), "bo")
		l := mustLease(t, ana, "nightly", nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Keep(ctx) }()
		_, err := bo.Lease(t.Context(), "nightly", &LeaseOptions{Wait: time.Hour})
		wantCode(t, "an hour later", err, onto.LockContention)
		if left := time.Until(l.Current().Expires); left < DefaultLeaseTTL/2 {
			t.Errorf("it ends in %s, want it renewed each third of %s", left, DefaultLeaseTTL)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the context ended: got %v, want nil", err)
		}
		go func() { done <- l.Keep(t.Context()) }()
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("released: got %v, want nil", err)
		}
	})
}

// Keep notices when the lease is lost.
func TestKeepOfABrokenLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTasks(t, memory.New(nil).Open(), "ana")
		l := mustLease(t, s, "nightly", nil)
		done := make(chan error, 1)
		go func() { done <- l.Keep(t.Context()) }()
		record, err := s.BreakLease(t.Context(), "nightly", onto.Operator("bo"), "hangs")
		if err != nil || record.Lease != l.Current() || record.Runtime != "ana" || record.Actor != onto.Operator("bo") || record.Reason != "hangs" {
			t.Errorf("got %+v, error %v", record, err)
		}
		wantCode(t, "broken", <-done, onto.LeaseExpired)
		if list, err := s.LeaseBreaks(t.Context()); err != nil || len(list) != 1 || list[0] != record {
			t.Errorf("got %+v, error %v; want %+v", list, err, record)
		}
		if list, err := s.Leases(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("got %v, error %v; want no leases", list, err)
		}
	})
}

// flaky is a backend whose leases cannot be renewed while it fails.
type flaky struct {
	*memory.Backend
	fails  atomic.Bool
	failed atomic.Int32
}

func (f *flaky) Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error) {
	if f.fails.Load() {
		f.failed.Add(1)
		return onto.Lease{}, onto.Errorf(onto.Unavailable, "planted")
	}
	return f.Backend.Renew(ctx, l, ttl)
}

// Keep survives failures that are shorter than the lease, and no others.
func TestKeepTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{Backend: memory.New(nil).Open()}
		l := mustLease(t, openTasks(t, f, "ana"), "nightly", nil)
		done := make(chan error, 1)
		go func() { done <- l.Keep(t.Context()) }()
		f.fails.Store(true)
		time.Sleep(20 * time.Second)
		if n := f.failed.Load(); n < 5 {
			t.Errorf("tried %d times in 10 seconds, want more", n)
		}
		f.fails.Store(false)
		time.Sleep(time.Minute)
		select {
		case err := <-done:
			t.Fatalf("ended with %v after failures that passed", err)
		default:
		}
		f.fails.Store(true)
		before := time.Now()
		err := <-done
		wantCode(t, "failing for good", err, onto.LeaseExpired)
		if !strings.Contains(err.Error(), "planted") {
			t.Errorf("got %v, want the cause in it", err)
		}
		if took := time.Since(before); took > DefaultLeaseTTL+lease.KeepPace {
			t.Errorf("ended %s after the failures began, want the time of the lease", took)
		}
	})
}

// After the machine has slept, Keep finds out at once whether the lease is held.
func TestKeepAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(nil)
		s := openTasks(t, log.Open(), "ana")
		var slept atomic.Int64
		start := func() (*Lease, chan error) {
			l := mustLease(t, s, "long", &LeaseOptions{TTL: 24 * time.Hour, Wait: -1})
			l.held.Wall = func() time.Time { return time.Now().Round(0).Add(time.Duration(slept.Load())) }
			done := make(chan error, 1)
			go func() { done <- l.Keep(t.Context()) }()
			return l, done
		}
		l, done := start()
		before := l.Current().Expires
		time.Sleep(time.Minute)
		slept.Store(int64(4 * time.Minute))
		time.Sleep(time.Minute)
		if !l.Current().Expires.Equal(before) {
			t.Error("renewed after 4 minutes, want it left alone")
		}
		slept.Store(int64(6 * time.Minute))
		time.Sleep(2 * lease.KeepPace)
		if l.Current().Expires.Equal(before) {
			t.Error("not renewed after the clocks went apart")
		}
		if _, err := s.BreakLease(t.Context(), "long", onto.Actor{}, ""); err != nil {
			t.Fatal(err)
		}
		slept.Store(int64(-6 * time.Minute)) // set back counts too
		at := time.Now()
		wantCode(t, "lost while asleep", <-done, onto.LeaseExpired)
		if took := time.Since(at); took > 2*lease.KeepPace {
			t.Errorf("noticed after %s, want at once", took)
		}
	})
}

// noLeases is a backend without leases.
type noLeases struct{ backend.Backend }

func TestLeaseRefusals(t *testing.T) {
	none := openTasks(t, noLeases{memory.New(nil).Open()}, "ana")
	s := openTasks(t, memory.New(nil).Open(), "ana")
	for _, c := range []struct {
		name string
		s    *Store
		of   string
		opts *LeaseOptions
		want onto.Code
	}{
		{"no leases", none, "x", nil, onto.UnsupportedOperation},
		{"no name", s, "", nil, onto.Invalid},
		{"a name with a space", s, "a b", nil, onto.Invalid},
		{"negative", s, "x", &LeaseOptions{TTL: -1}, onto.Invalid},
		{"for ever", s, "x", &LeaseOptions{TTL: 1 << 62}, onto.Invalid},
		{"an owner that is no text", s, "x", &LeaseOptions{Owner: "\xff"}, onto.Invalid},
	} {
		_, err := c.s.Lease(t.Context(), c.of, c.opts)
		wantCode(t, c.name, err, c.want)
	}
	_, err := none.Leases(t.Context())
	wantCode(t, "leases", err, onto.UnsupportedOperation)
	_, err = none.LeaseBreaks(t.Context())
	wantCode(t, "breaks", err, onto.UnsupportedOperation)
	_, err = s.BreakLease(t.Context(), "x", onto.Actor{Kind: "alien", ID: "x"}, "")
	wantCode(t, "an actor that is none", err, onto.Invalid)
	_, err = s.BreakLease(t.Context(), "x", onto.Actor{}, strings.Repeat("x", onto.MaxComment+1))
	wantCode(t, "a long reason", err, onto.Invalid)
	_, err = s.BreakLease(t.Context(), "x", onto.Actor{}, "")
	wantCode(t, "nobody's", err, onto.NotFound)
	if list, err := s.Leases(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %v, error %v; want no leases", list, err)
	}
}
