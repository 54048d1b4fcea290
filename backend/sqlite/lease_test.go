package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// handClock is a wall clock that is moved by hand.
type handClock struct{ at atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.at.Store(time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *handClock) now() time.Time { return time.UnixMicro(c.at.Load()) }

func (c *handClock) move(d time.Duration) { c.at.Add(d.Microseconds()) }

// twoHandles opens a new store twice, as two programs would.
func twoHandles(t *testing.T, c *handClock, timeout time.Duration) (path string, a, b *sqlite.Backend) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	opts := sqlite.Options{LockTimeout: timeout, Now: c.now}
	return path, open(t, path, &opts), open(t, path, &opts)
}

func acquire(t *testing.T, b *sqlite.Backend, name, owner string) onto.Lease {
	t.Helper()
	l, err := b.Acquire(t.Context(), &backend.LeaseRequest{Name: name, Owner: owner, TTL: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// leased is a draft that carries a lease.
func leased(key string, l onto.Lease) *backend.Draft {
	d := thingDraft(key, 1)
	d.Lease = &l
	return d
}

func wantHead(t *testing.T, b backend.Backend, want int64) {
	t.Helper()
	if head, err := b.Resolve(t.Context(), onto.Point{}); err != nil || head.ID != want {
		t.Errorf("head: got %d, error %v; want %d", head.ID, err, want)
	}
}

// An expired lease is taken over; its holder notices at its next call.
func TestLeaseIsTakenOver(t *testing.T) {
	clock := newHandClock()
	path, a, b := twoHandles(t, clock, time.Second)
	first := acquire(t, a, "nightly", "ana")
	_, err := b.Acquire(t.Context(), &backend.LeaseRequest{Name: "nightly", Owner: "bo", TTL: time.Second})
	if !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "ana holds the lease nightly until 2026-02-10T12:00:30.000000+00:00") ||
		!strings.HasSuffix(onto.HintOf(err).String(), ": onto lock show") {
		t.Errorf("held: got %v, hint %q; want LockContention with holder and expiry", err, onto.HintOf(err))
	}
	clock.move(30 * time.Second)
	if _, err := a.Renew(t.Context(), first, time.Minute); err != nil {
		t.Errorf("a lease that ran out and nobody took: %v", err)
	}
	clock.move(time.Minute)
	second := acquire(t, b, "nightly", "bo")
	if second.Epoch != first.Epoch+1 {
		t.Errorf("got epoch %d after %d", second.Epoch, first.Epoch)
	}
	_, renewErr := a.Renew(t.Context(), first, time.Minute)
	_, appendErr := a.Append(t.Context(), leased("k", first))
	_, streamErr := spooled{a}.AppendStream(t.Context(), &backend.Draft{Lease: &first}, seq(thingDraft("k", 1).Writes...))
	for what, err := range map[string]error{
		"renew": renewErr, "release": a.Release(t.Context(), first), "append": appendErr, "stream": streamErr,
	} {
		if !errors.Is(err, onto.LeaseExpired) || !strings.Contains(err.Error(), "bo has taken it") {
			t.Errorf("%s: got %v, want LeaseExpired", what, err)
		}
	}
	wantHead(t, b, 0)
	if got := query(t, path, `SELECT * FROM locks`); got != "nightly|bo|2026-02-10T12:01:30.000000+00:00|2026-02-10T12:02:00.000000+00:00" {
		t.Errorf("the row is %s", got)
	}
}

// A lease that its owner takes again differs from the earlier one by its epoch.
func TestLeaseOfTheSameOwner(t *testing.T) {
	clock := newHandClock()
	_, a, b := twoHandles(t, clock, time.Second)
	first := acquire(t, a, onto.WriteLease, "job")
	if _, err := a.Acquire(t.Context(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: "job", TTL: time.Hour}); !errors.Is(err, onto.LockContention) {
		t.Errorf("taking it twice: got %v, want LockContention", err)
	}
	clock.move(time.Minute)
	second := acquire(t, b, onto.WriteLease, "job")
	if _, err := a.Append(t.Context(), leased("k", first)); !errors.Is(err, onto.LeaseExpired) {
		t.Errorf("the first: got %v, want LeaseExpired", err)
	}
	if r, err := b.Append(t.Context(), leased("k", second)); err != nil || r.ID != 1 {
		t.Errorf("the second: got commit %d, error %v", r.ID, err)
	}
}

// The holder of the write lease commits; every other writer waits and learns who holds
// it.
func TestWriteLeaseKeepsOthersOut(t *testing.T) {
	clock := newHandClock()
	_, a, b := twoHandles(t, clock, 20*time.Millisecond)
	l := acquire(t, a, onto.WriteLease, "migration")
	other := acquire(t, b, "other", "bo") // another name does not block
	for i, backend := range []*sqlite.Backend{a, b} {
		_, err := backend.Append(t.Context(), leased(fmt.Sprint(i), other))
		if !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "migration holds the lease ontology_write until 2026-02-10T12:00:30") {
			t.Errorf("handle %d: got %v, want LockContention with holder and expiry", i, err)
		}
	}
	if _, err := b.AppendStream(t.Context(), &backend.Draft{Lease: &other}, seq()); !errors.Is(err, onto.LockContention) {
		t.Errorf("stream: got %v, want LockContention", err)
	}
	if r, err := a.Append(t.Context(), leased("k", l)); err != nil || r.ID != 1 {
		t.Errorf("the holder: got commit %d, error %v", r.ID, err)
	}
	if r, err := (spooled{b}).AppendStream(t.Context(), &backend.Draft{Lease: &l}, seq(thingDraft("s", 1).Writes...)); err != nil || r.ID != 2 {
		t.Errorf("the holder's stream: got commit %d, error %v", r.ID, err)
	}
	if held, err := a.Leases(t.Context()); err != nil || len(held) != 2 || held[0] != l || held[1] != other {
		t.Errorf("got leases %v, error %v; a commit should leave them alone", held, err)
	}
	if err := a.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Append(t.Context(), thingDraft("free", 1)); err != nil || r.ID != 3 {
		t.Errorf("afterwards: got commit %d, error %v", r.ID, err)
	}
}

// In one process, callers that wait for the holder do not block its commits, renewals
// and release.
func TestHolderIsNotTrappedByThoseWhoWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	b := open(t, path, &sqlite.Options{LockTimeout: time.Minute})
	l := acquire(t, b, onto.WriteLease, "migration")
	ids := make([]int64, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			r, err := b.Append(t.Context(), thingDraft(fmt.Sprint(i), i))
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
			ids[i] = r.ID
		})
	}
	for b.Waiting() < len(ids) {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i := range 3 {
		if r, err := b.Append(ctx, leased(fmt.Sprintf("h%d", i), l)); err != nil || r.ID != int64(i+1) {
			t.Errorf("the holder: got commit %d, error %v; want %d", r.ID, err, i+1)
		}
	}
	l, err := b.Renew(ctx, l, time.Hour)
	if err == nil {
		err = b.Release(ctx, l)
	}
	if err != nil {
		t.Error(err)
	}
	wg.Wait()
	for i, id := range ids {
		if id <= 3 {
			t.Errorf("caller %d has commit %d, want one after the holder's", i, id)
		}
	}
}

// A repeated key is answered before the lease is checked, the lease before
// expectations.
func TestOrderOfVerdictsWithALease(t *testing.T) {
	_, a, _ := twoHandles(t, newHandClock(), time.Second)
	l := acquire(t, a, onto.WriteLease, "job")
	d := leased("k", l)
	d.IdempotencyKey = "once"
	if _, err := a.Append(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := a.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if r, err := a.Append(t.Context(), d); err != nil || !r.Repeated || r.ID != 1 {
		t.Errorf("repeated: got %+v, error %v; want the first result", r, err)
	}
	late := leased("late", l)
	late.Expect = []onto.Expectation{{Head: true, Commit: 99}}
	if _, err := a.Append(t.Context(), late); !errors.Is(err, onto.LeaseExpired) {
		t.Errorf("got %v, want LeaseExpired before HeadMismatch", err)
	}
	wantHead(t, a, 1)
}

// A lease that was broken and taken by another holder: the old one is void, and the
// record says who broke it.
func TestBrokenLease(t *testing.T) {
	clock := newHandClock()
	_, a, b := twoHandles(t, clock, time.Second)
	l := acquire(t, a, onto.WriteLease, "stuck")
	record, err := b.Break(t.Context(), onto.LeaseBreak{
		Lease: onto.Lease{Name: onto.WriteLease}, Runtime: "run-1", Actor: onto.Operator("ana"), Reason: "hangs",
	})
	if err != nil || record.Lease != l || !record.Time.Equal(clock.now()) {
		t.Errorf("got %+v, error %v; want a record of %v", record, err, l)
	}
	if _, err := a.Append(t.Context(), leased("k", l)); !errors.Is(err, onto.LeaseExpired) || !strings.Contains(err.Error(), "broken") {
		t.Errorf("broken: got %v, want LeaseExpired", err)
	}
	again := acquire(t, b, onto.WriteLease, "stuck")
	if again.Epoch != l.Epoch+2 {
		t.Errorf("got epoch %d after %d; breaking should make it grow too", again.Epoch, l.Epoch)
	}
	if _, err := a.Append(t.Context(), leased("k", l)); !errors.Is(err, onto.LeaseExpired) {
		t.Errorf("taken: got %v, want LeaseExpired", err)
	}
	wantHead(t, a, 0)
	if list, err := a.Breaks(t.Context()); err != nil || len(list) != 1 || list[0] != record {
		t.Errorf("got records %+v, error %v; want %+v", list, err, record)
	}
	_, err = a.Break(t.Context(), onto.LeaseBreak{Lease: onto.Lease{Name: "nobody's"}})
	if list, _ := a.Breaks(t.Context()); !errors.Is(err, onto.NotFound) || len(list) != 1 {
		t.Errorf("nobody's: got %v and %d records, want NotFound and 1", err, len(list))
	}
}

// The release that the original documents, with a stock SQLite, releases a lease.
func TestDocumentedRelease(t *testing.T) {
	path, a, _ := twoHandles(t, newHandClock(), 20*time.Millisecond)
	l := acquire(t, a, onto.WriteLease, "ana")
	runSQL(t, path, `DELETE FROM locks WHERE lock_name = 'ontology_write'`)
	if list, err := a.Leases(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %v, error %v; want none", list, err)
	}
	if _, err := a.Append(t.Context(), leased("late", l)); !errors.Is(err, onto.LeaseExpired) {
		t.Errorf("the holder: got %v, want LeaseExpired", err)
	}
	if r, err := a.Append(t.Context(), thingDraft("k", 1)); err != nil || r.ID != 1 {
		t.Errorf("another: got commit %d, error %v", r.ID, err)
	}
	if again := acquire(t, a, onto.WriteLease, "ana"); again.Epoch != l.Epoch+1 {
		t.Errorf("got epoch %d after %d", again.Epoch, l.Epoch)
	}
}

// Many callers that want the same lease get it one after the other, each with an epoch
// of its own.
func TestLeaseRace(t *testing.T) {
	_, a, b := twoHandles(t, newHandClock(), time.Minute)
	const each = 5
	var mu sync.Mutex
	epochs := map[int64]bool{}
	var inside atomic.Int32
	var wg sync.WaitGroup
	for i, handle := range []*sqlite.Backend{a, a, b, b} {
		wg.Go(func() {
			for range each {
				l, err := handle.Acquire(t.Context(), &backend.LeaseRequest{Name: "x", Owner: fmt.Sprint(i), TTL: time.Minute, Wait: time.Minute})
				if err != nil {
					t.Errorf("racer %d: %v", i, err)
					return
				}
				if inside.Add(1) != 1 {
					t.Errorf("racer %d is not alone", i)
				}
				mu.Lock()
				epochs[l.Epoch] = true
				mu.Unlock()
				inside.Add(-1)
				if err := handle.Release(t.Context(), l); err != nil {
					t.Errorf("racer %d: release: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	if len(epochs) != 4*each || !epochs[1] || !epochs[4*each] {
		t.Errorf("got epochs %v, want 1 to %d", epochs, 4*each)
	}
}

// Waiting for a lease ends with the context, and a refused change leaves no row.
func TestLeaseRefusals(t *testing.T) {
	path, a, b := twoHandles(t, newHandClock(), time.Second)
	acquire(t, a, "x", "ana")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.Acquire(ctx, &backend.LeaseRequest{Name: "x", Owner: "bo", TTL: time.Second, Wait: time.Hour})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	never := onto.Lease{Name: "y", Owner: "bo", Epoch: 1}
	if _, err := b.Renew(t.Context(), never, time.Hour); !errors.Is(err, onto.LeaseExpired) {
		t.Errorf("renewing what never was: got %v, want LeaseExpired", err)
	}
	if got := query(t, path, `SELECT lock_name, owner_id FROM locks`); got != "x|ana" {
		t.Errorf("the rows are %q", got)
	}
	if got := query(t, path, `SELECT name, epoch, purpose IS NULL, note IS NULL FROM onto_leases`); got != "x|1|1|1" {
		t.Errorf("the epochs are %q", got)
	}
}

// A file that is opened for reading shows its leases and takes none.
func TestLeasesReadOnly(t *testing.T) {
	path, a, _ := twoHandles(t, newHandClock(), time.Second)
	l := acquire(t, a, "x", "ana")
	r := open(t, path, &sqlite.Options{ReadOnly: true})
	if list, err := r.Leases(t.Context()); err != nil || len(list) != 1 || list[0] != l {
		t.Errorf("got %v, error %v; want %v", list, err, l)
	}
	if _, err := r.Acquire(t.Context(), &backend.LeaseRequest{Name: "y", Owner: "bo", TTL: time.Second}); !errors.Is(err, onto.ReadOnly) {
		t.Errorf("acquire: got %v, want ReadOnly", err)
	}
}

// Of a transient lease that has ended no row stays, however it has ended, but one for all of them
// with the greatest epoch.
func TestTransientLeasesLeaveNoRow(t *testing.T) {
	c := newHandClock()
	path, a, b := twoHandles(t, c, time.Second)
	for i := range 5 {
		l := acquire(t, a, fmt.Sprint("object.", i), "ana")
		if err := b.Release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	acquire(t, a, "object.broken", "ana")
	if _, err := b.Break(t.Context(), onto.LeaseBreak{Lease: onto.Lease{Name: "object.broken"}}); err != nil {
		t.Fatal(err)
	}
	acquire(t, a, "object.expired", "ana")
	c.move(time.Hour)
	last := acquire(t, b, "object.expired", "bo")
	if got := query(t, path, `SELECT name FROM onto_leases ORDER BY name`); got != "object.*\nobject.expired" {
		t.Errorf("while one is held, the epochs are of %q", got)
	}
	if err := b.Release(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if got, want := query(t, path, `SELECT name, epoch FROM onto_leases`), fmt.Sprint("object.*|", last.Epoch); got != want {
		t.Errorf("the epochs are %q, want %q", got, want)
	}
	if got := query(t, path, `SELECT count(*) FROM locks`); got != "0" {
		t.Errorf("%s rows of locks are left", got)
	}
}
