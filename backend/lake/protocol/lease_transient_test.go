package protocol

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// hooked is a bucket that calls a function before an operation, once.
type hooked struct {
	bucket.Bucket
	before map[string]func() // by operation
	held   []string          // keys of deletions that arrive later; nil to let them arrive at once
}

func (h *hooked) run(operation, key string) {
	if f := h.before[operation]; f != nil && strings.HasPrefix(key, transientFolder) {
		delete(h.before, operation)
		f()
	}
}

func (h *hooked) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	h.run("create", key)
	return h.Bucket.Create(ctx, key, data)
}

func (h *hooked) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	h.run("swap", key)
	return h.Bucket.Swap(ctx, key, data, old)
}

func (h *hooked) Delete(ctx context.Context, key string) error {
	h.run("delete", key)
	if h.held != nil {
		h.held = append(h.held, key)
		return bucket.ErrUnknown
	}
	return h.Bucket.Delete(ctx, key)
}

// transientLake is a lake that two clients use, the second through hooks.
func transientLake(t *testing.T) (*hooked, *peer, *peer) {
	t.Helper()
	b, one := leaseLake(t)
	h := &hooked{Bucket: b, before: map[string]func(){}}
	return h, one, plainLog(h, "b")
}

const lockedThing = "object.5d41402abc4b2a76b9719d911017c592aabbccdd"

func takeTransient(t *testing.T, l *peer, owner string, ttl time.Duration) onto.Lease {
	t.Helper()
	taken, err := l.Acquire(t.Context(), &backend.LeaseRequest{Name: lockedThing, Owner: owner, TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// wantLocks requires the locks of transient leases that are there, and that the head names.
func wantLocks(t *testing.T, b bucket.Bucket, l *peer, want ...onto.Lease) {
	t.Helper()
	found, err := b.List(t.Context(), transientFolder, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	tip, err := l.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(want) || len(tip.Head.Locks) != len(want) {
		t.Errorf("got the locks %v and the head's %v, want %d", found, tip.Head.Locks, len(want))
		return
	}
	for i, w := range want {
		if found[i].Key != transientKey(w.Name, w.Epoch) || tip.Head.Locks[w.Name] != w.Epoch {
			t.Errorf("got the lock %v and the head's %v, want %v", found[i], tip.Head.Locks, w)
		}
	}
}

// However a transient lease has ended, its lock is gone, and the head does not name it.
func TestTransientLeaseLeavesNothing(t *testing.T) {
	b, one, two := transientLake(t)
	first := takeTransient(t, one, "ana", time.Minute)
	wantLocks(t, b, one, first)
	wantCode(t, "release", one.Release(t.Context(), first), "")
	wantLocks(t, b, one)
	second := takeTransient(t, two, "ana", time.Minute)
	if _, err := one.Break(t.Context(), onto.LeaseBreak{Lease: onto.Lease{Name: lockedThing}}); err != nil {
		t.Fatal(err)
	}
	wantLocks(t, b, one)
	third := takeTransient(t, one, "ana", time.Millisecond)
	time.Sleep(2 * time.Millisecond)
	fourth := takeTransient(t, two, "bo", time.Minute)
	wantLocks(t, b, one, fourth)
	if !(first.Epoch < second.Epoch && second.Epoch < third.Epoch && third.Epoch < fourth.Epoch) {
		t.Errorf("got the epochs %d, %d, %d and %d", first.Epoch, second.Epoch, third.Epoch, fourth.Epoch)
	}
	for _, lost := range []onto.Lease{first, second, third} {
		wantCode(t, "a lost one is released", one.Release(t.Context(), lost), onto.LeaseExpired)
		wantCode(t, "a draft of a lost one", put(t.Context(), two, &lost, "k"), onto.LeaseExpired)
	}
	wantCode(t, "release", two.Release(t.Context(), fourth), "")
	wantLocks(t, b, one)
}

// A removal that arrives late does not hit the lease of the next holder, and one that never
// arrives is made up for by the janitor, which leaves what is held.
func TestTransientLeaseIsRemovedLate(t *testing.T) {
	b, one, two := transientLake(t)
	b.held = []string{}
	first := takeTransient(t, two, "ana", time.Minute)
	wantCode(t, "release", two.Release(t.Context(), first), "")
	second := takeTransient(t, one, "bo", time.Minute)
	if len(b.held) != 1 {
		t.Fatalf("%q are to be removed", b.held)
	}
	plan, err := one.Plan(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Foreign) > 0 {
		t.Errorf("the janitor does not know %v", plan.Foreign)
	}
	for _, o := range plan.Orphans {
		if o.Key == transientKey(second.Name, second.Epoch) {
			t.Errorf("the janitor wants to remove what is held: %v", o)
		}
	}
	time.Sleep(2 * time.Millisecond)
	if _, err := b.Create(t.Context(), "commits/9-AAAAAAAAAAAAAAAA/manifest.json", []byte("{}")); err != nil { // ages are relative to the newest object
		t.Fatal(err)
	}
	if plan, err = one.Plan(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Sweep(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	wantLocks(t, b, one, second)
	for _, key := range b.held {
		if err := b.Bucket.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := one.Renew(t.Context(), second, time.Minute); err != nil {
		t.Errorf("the next holder: %v", err)
	}
	wantCode(t, "commit", put(t.Context(), one, &second, "k"), "")
}

// A lease that had run out and is renewed while another takes it stays its holder's.
func TestTransientLeaseIsRenewedInTime(t *testing.T) {
	b, one, two := transientLake(t)
	lease := takeTransient(t, one, "ana", time.Millisecond)
	time.Sleep(2 * time.Millisecond)
	b.before["swap"] = func() {
		if _, err := one.Renew(t.Context(), lease, time.Minute); err != nil {
			t.Error(err)
		}
	}
	_, err := two.Acquire(t.Context(), &backend.LeaseRequest{Name: lockedThing, Owner: "bo", TTL: time.Minute})
	wantCode(t, "taken over", err, onto.LockContention)
	wantCode(t, "commit", put(t.Context(), one, &lease, "k"), "")
	wantLocks(t, b, one, lease)
}

// Of two that take the same free lease, one has it; and the epoch of a later one is greater, even
// if it was chosen before.
func TestTransientLeaseIsTakenMeanwhile(t *testing.T) {
	b, one, two := transientLake(t)
	var other onto.Lease
	b.before["create"] = func() { other = takeTransient(t, one, "ana", time.Minute) }
	_, err := two.Acquire(t.Context(), &backend.LeaseRequest{Name: lockedThing, Owner: "bo", TTL: time.Minute})
	wantCode(t, "the slower one", err, onto.LockContention)
	wantLocks(t, b, one, other)
	wantCode(t, "release", one.Release(t.Context(), other), "")

	b.before["create"] = func() {
		other = takeTransient(t, one, "ana", time.Minute)
		wantCode(t, "release", one.Release(t.Context(), other), "")
	}
	lease := takeTransient(t, two, "bo", time.Minute)
	if lease.Epoch <= other.Epoch {
		t.Errorf("got the epoch %d after %d", lease.Epoch, other.Epoch)
	}
	wantLocks(t, b, one, lease)
	if _, err := two.Renew(t.Context(), lease, time.Minute); err != nil {
		t.Error(err)
	}
}

// A taker that is killed before the head names its lease takes nothing; nor does one that is
// killed when it has ended the lease that had run out.
func TestTransientLeaseOfAKilledTaker(t *testing.T) {
	b, one, two := transientLake(t)
	lease := takeTransient(t, one, "ana", time.Millisecond)
	time.Sleep(2 * time.Millisecond)
	ctx, kill := context.WithCancel(t.Context())
	b.before["create"] = kill
	if _, err := two.Acquire(ctx, &backend.LeaseRequest{Name: lockedThing, Owner: "bo", TTL: time.Minute}); err == nil {
		t.Error("a killed taker has the lease")
	}
	_, err := one.Renew(t.Context(), lease, time.Minute)
	wantCode(t, "the lease that was taken over", err, onto.LeaseExpired)
	if list, err := one.List(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("got %v, %v", list, err)
	}
	next := takeTransient(t, one, "cleo", time.Minute)
	if next.Epoch <= lease.Epoch {
		t.Errorf("got the epoch %d after %d", next.Epoch, lease.Epoch)
	}
}

// A lock that was removed by hand ends the lease, as for other leases.
func TestTransientLeaseIsRemovedByHand(t *testing.T) {
	b, one, two := transientLake(t)
	lease := takeTransient(t, one, "ana", time.Minute)
	if err := b.Bucket.Delete(t.Context(), transientKey(lease.Name, lease.Epoch)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a draft", put(t.Context(), one, &lease, "k"), onto.LeaseExpired)
	next := takeTransient(t, two, "bo", time.Minute)
	wantLocks(t, b, one, next)
}

func TestTransientKeys(t *testing.T) {
	if name, epoch, ok := parseTransientKey(transientKey("object.a-5", 7)); name != "object.a-5" || epoch != 7 || !ok {
		t.Errorf("got %s, %d, %v", name, epoch, ok)
	}
	for _, key := range []string{
		"meta/locks/object.a.json", "meta/locks/object.a-07.json", "meta/locks/import-7.json",
		"meta/locks/object.a-7", "object.a-7.json", "meta/locks/object.a-0.json", "meta/locks/object.ä-7.json", "meta/locks/breaks/object.a-7.json",
	} {
		if _, _, ok := parseTransientKey(key); ok {
			t.Errorf("%s is the key of a transient lease", key)
		}
	}
}
