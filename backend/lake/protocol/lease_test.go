package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// leaseLake is a lake in memory, seen by one client.
func leaseLake(t *testing.T) (bucket.Bucket, *peer) {
	t.Helper()
	b := memory.New(&memory.Options{SameTag: true})
	l := plainLog(b, "a")
	if _, err := l.MakeLake(t.Context(), "store"); err != nil {
		t.Fatal(err)
	}
	return b, l
}

// taking asks for the write lease for a minute, without waiting.
func taking(owner string) *backend.LeaseRequest {
	return &backend.LeaseRequest{Name: onto.WriteLease, Owner: owner, TTL: time.Minute}
}

func mustTake(t *testing.T, l *peer, owner string) onto.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), taking(owner))
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func wantCode(t *testing.T, what string, err error, want onto.Code) {
	t.Helper()
	if got := onto.CodeOf(err); got != want || want == "" && err != nil {
		t.Errorf("%s: got %q (%v), want %q", what, got, err, want)
	}
}

// put commits one key, with a lease or without.
func put(ctx context.Context, l *peer, lease *onto.Lease, key string) error {
	_, err := l.commitAs(ctx, lease, func(t *Tip) (*Round, error) { return roundOf(t, []string{key}), nil })
	return err
}

// The object of a lease has the members that other programs know, and is free
// once it is gone.
func TestLeaseObject(t *testing.T) {
	ctx := t.Context()
	b, l := leaseLake(t)
	lease := mustTake(t, l, "one")
	read := func() map[string]any {
		t.Helper()
		o, err := b.Get(ctx, "meta/locks/ontology_write.json", bucket.Range{}, "")
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(o.Data, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := []string{"acquired_at", "attempt", "epoch", "expires_at", "lease_ttl_ms", "owner_id"}
	if got := slices.Sorted(maps.Keys(read())); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if m := read(); m["owner_id"] != "one" || m["lease_ttl_ms"] != 60000.0 {
		t.Errorf("got %v, want a minute of one", m)
	}
	if err := l.Release(ctx, lease); err != nil {
		t.Fatal(err)
	}
	if m := read(); m["released_at"] == nil {
		t.Errorf("got %v, want it to say when it was released", m)
	}
	second := mustTake(t, l, "two")
	if err := b.Delete(ctx, lockKey(onto.WriteLease)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a commit after the lock was removed", put(ctx, l, nil, "x"), "")
	wantCode(t, "a commit with the lease that was removed", put(ctx, l, &second, "y"), onto.LeaseExpired)
	if third := mustTake(t, plainLog(b, "b"), "three"); third.Epoch <= second.Epoch || second.Epoch <= lease.Epoch {
		t.Errorf("epochs %d, %d, %d: want them to grow", lease.Epoch, second.Epoch, third.Epoch)
	}
}

// A lock that cannot be read, or that another program has written, is an error that names
// it, and is no lease.
func TestUnreadableLock(t *testing.T) {
	ctx := t.Context()
	b, l := leaseLake(t)
	patience := l.set.Patience
	for _, body := range []string{
		"nonsense", `{"owner_id":"writer-a","acquired_at":"2026-02-10T12:34:56+00:00","expires_at":"2226-02-10T12:35:26.789012+00:00","lease_ttl_ms":30000}`,
	} {
		if _, err := b.Create(ctx, lockKey(onto.WriteLease), []byte(body)); err != nil {
			t.Fatal(err)
		}
		l.set.Patience = 0
		_, err := l.Acquire(ctx, taking("one"))
		wantCode(t, "taking it", err, onto.Corrupt)
		_, err = l.List(ctx)
		wantCode(t, "listing it", err, onto.Corrupt)
		l.set.Patience = patience
		if err := b.Delete(ctx, lockKey(onto.WriteLease)); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "releasing one that was taken then", l.Release(ctx, mustTake(t, l, "one")), "")
		if err := b.Delete(ctx, lockKey(onto.WriteLease)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.Acquire(ctx, &backend.LeaseRequest{Name: "../head", Owner: "one", TTL: time.Minute})
	wantCode(t, "a bad name", err, onto.Invalid)
}

// A lease whose holder's clock is ahead ends when it was watched long enough, unless it
// is renewed.
func TestLeaseIsWatched(t *testing.T) {
	for _, renewed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			b, holder := leaseLake(t)
			holder.set.Now = func() time.Time { return time.Now().Add(48 * time.Hour) }
			lease := mustTake(t, holder, "ahead")
			if renewed {
				time.AfterFunc(40*time.Second, func() {
					if _, err := holder.Renew(ctx, lease, time.Minute); err != nil {
						t.Error(err)
					}
				})
			}
			r := taking("other")
			r.Wait = 80 * time.Second
			_, err := plainLog(b, "b").Acquire(ctx, r)
			want := onto.Code("")
			if renewed {
				want = onto.LockContention
			}
			wantCode(t, "waiting", err, want)
		})
	}
}

// A writer that loses its lease during its decision does not commit: its swap loses to
// the head of the new holder, and then the lease is checked again.
func TestLeaseIsLostWhileDeciding(t *testing.T) {
	ends := map[string]func(t *testing.T, other *peer){
		"it is taken over": func(t *testing.T, other *peer) {
			other.set.Now = func() time.Time { return time.Now().Add(time.Hour) }
			mustTake(t, other, "two")
		},
		"it is broken": func(t *testing.T, other *peer) {
			if _, err := other.Break(t.Context(), onto.LeaseBreak{Lease: onto.Lease{Name: onto.WriteLease}}); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			b, l := leaseLake(t)
			lease := mustTake(t, l, "one")
			asked := 0
			_, err := l.commitAs(t.Context(), &lease, func(tip *Tip) (*Round, error) {
				if asked++; asked == 1 {
					end(t, plainLog(b, "b"))
				}
				return roundOf(tip, []string{"late"}), nil
			})
			wantCode(t, "the commit", err, onto.LeaseExpired)
			now, err := plainLog(b, "c").Load(t.Context())
			if err != nil || now.Head.CommitID != 0 || asked != 1 {
				t.Errorf("got %+v, %v after %d decisions; want no commit and one", now, err, asked)
			}
		})
	}
}

// A writer that decides while the write lease is taken commits before that, or not at
// all.
func TestWriterLosesToLease(t *testing.T) {
	b, l := leaseLake(t)
	other := plainLog(b, "b")
	asked := 0
	_, err := l.commitAs(t.Context(), nil, func(tip *Tip) (*Round, error) {
		if asked++; asked == 1 {
			mustTake(t, other, "two")
		}
		return roundOf(tip, []string{"late"}), nil
	})
	wantCode(t, "the commit", err, onto.LockContention)
	if err == nil || !strings.Contains(err.Error(), "two holds the lease") {
		t.Errorf("got %v, want it to name the holder", err)
	}
}

// Commits check leases only while the head names the write lease.
func TestLeaseRequests(t *testing.T) {
	ctx := t.Context()
	b, holder := leaseLake(t)
	w := newCounting(b)
	l := plainLog(w, "w")
	gets := func(what, key string, lease *onto.Lease, want int) {
		t.Helper()
		w.n["get"] = 0
		if err := put(ctx, l, lease, key); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if w.n["get"] != want {
			t.Errorf("%s: got %d reads, want %d", what, w.n["get"], want)
		}
	}
	if err := put(ctx, l, nil, "first"); err != nil {
		t.Fatal(err)
	}
	gets("without leases", "k1", nil, 0)
	other, err := holder.Acquire(ctx, &backend.LeaseRequest{Name: "import", Owner: "one", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Load(ctx); err != nil {
		t.Fatal(err)
	}
	gets("beside another lease", "k2", nil, 0)
	gets("with another lease", "k3", &other, 1)
	lease := mustTake(t, holder, "one")
	if _, err := l.Load(ctx); err != nil {
		t.Fatal(err)
	}
	gets("with the write lease", "k4", &lease, 1)
	h, err := holder.readLock(ctx, onto.WriteLease, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := holder.newLock(h.lease, h.ttl)
	if _, err := holder.writeLock(ctx, h, holder.freed(k, k.Epoch)); err != nil { // the head still names it
		t.Fatal(err)
	}
	gets("after the write lease", "k5", nil, 1)
	gets("after somebody has noticed", "k6", nil, 0)
	if _, ok := l.Last().Head.Locks["import"]; !ok || len(l.Last().Head.Locks) != 1 {
		t.Errorf("got %v, want import", l.Last().Head.Locks)
	}
}

// noHeads is a bucket whose head cannot be swapped.
type noHeads struct{ bucket.Bucket }

func (n noHeads) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	if key == HeadKey {
		return "", onto.Errorf(onto.ReadOnly, "the head is not yours")
	}
	return n.Bucket.Swap(ctx, key, data, old)
}

// A lease that cannot be published is not taken.
func TestLeaseWithoutHead(t *testing.T) {
	b, _ := leaseLake(t)
	_, err := plainLog(noHeads{b}, "b").Acquire(t.Context(), taking("one"))
	wantCode(t, "taking it", err, onto.ReadOnly)
	mustTake(t, plainLog(b, "c"), "two")
}

// A late renewal makes the swaps fail of clients that have found the lease expired.
func TestLateRenewal(t *testing.T) {
	b, holder := leaseLake(t)
	lease := mustTake(t, holder, "one")
	l := plainLog(b, "b")
	past := time.Now().Add(2 * time.Minute)
	for _, x := range []*peer{holder, l} {
		x.set.Now = func() time.Time { return past }
	}
	asked := 0
	_, err := l.commitAs(t.Context(), nil, func(tip *Tip) (*Round, error) {
		if asked++; asked == 1 {
			if _, err := holder.Renew(t.Context(), lease, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		return roundOf(tip, []string{"late"}), nil
	})
	wantCode(t, "the commit", err, onto.LockContention)
}

func TestAwaitWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		b, holder := leaseLake(t)
		lease := mustTake(t, holder, "one")
		l := plainLog(b, "b")
		tip, err := l.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, "a short wait", l.AwaitWrite(ctx, tip, time.Second), onto.LockContention)
		gone, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		if err := l.AwaitWrite(gone, tip, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: got %v", err)
		}
		time.AfterFunc(10*time.Second, func() { _ = holder.Release(ctx, lease) })
		wantCode(t, "a long wait", l.AwaitWrite(ctx, tip, time.Minute), "")
	})
}

// Breaks are recorded, and read oldest first.
func TestLeaseBreaks(t *testing.T) {
	ctx := t.Context()
	b, l := leaseLake(t)
	now := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	l.set.Now = func() time.Time { now = now.Add(time.Second); return now }
	for _, name := range []string{"z", "a"} {
		if _, err := l.Acquire(ctx, &backend.LeaseRequest{Name: name, Owner: "one", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Break(ctx, onto.LeaseBreak{Lease: onto.Lease{Name: name}, Actor: onto.Operator("ana"), Reason: "it hangs"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.Break(ctx, onto.LeaseBreak{Lease: onto.Lease{Name: "a"}})
	wantCode(t, "breaking what is free", err, onto.NotFound)
	list, err := plainLog(b, "b").Breaks(ctx)
	if err != nil || len(list) != 2 || list[0].Lease.Name != "z" || list[1].Lease.Name != "a" || list[1].Actor != onto.Operator("ana") {
		t.Errorf("got %v, %v; want z and a", list, err)
	}
	if left, err := l.List(ctx); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v; want no leases", left, err)
	}
}
