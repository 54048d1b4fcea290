package object_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// program is a program that works with the messages of a tenant.
type program struct {
	messages
	set *messageSet
}

// twoVaults are two programs on the same shards.
func twoVaults(t *testing.T, l layout) [2]program {
	config := object.Config{"chat": {"acme": l.uris(t.TempDir(), "acme")}}
	var programs [2]program
	for i := range programs {
		v := open(t, config)
		if err := v.Init(t.Context(), "chat", "acme"); err != nil {
			t.Fatal(err)
		}
		set := messagesOf(v)
		programs[i] = program{set.Tenant("acme"), set}
	}
	return programs
}

// noLeases fails if a lease is left on any shard, also one that has expired.
func noLeases(t *testing.T, tenant messages) {
	t.Helper()
	locks, err := tenant.Locks(context.Background())
	if err != nil || len(locks) > 0 {
		t.Errorf("got locks %+v, %v", locks, err)
	}
}

// The life of locks between two programs, which leaves nothing behind.
func TestLocksOfTwoPrograms(t *testing.T) {
	for _, l := range []layout{{"sqlite", 2}, {"lake", 2}} {
		t.Run(l.String(), func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			both := twoVaults(t, l)
			ctx := t.Context()
			one, two := both[0], both[1]
			key := object.KeyOf[MessageID, ChatID]("it's/%2F\n\"", "日本")
			lock, err := one.Lock(ctx, key, "hostile \"description\"\n")
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range both { // also the program that holds it
				_, err = other.Lock(ctx, key, "mine")
				wantError(t, "a second lock", err, onto.LockContention, "Message", "hostile \"description\"")
			}
			other, err := two.Lock(ctx, object.KeyOf[MessageID, ChatID]("it's/%2F\n\"", "other"), "")
			if err != nil {
				t.Fatalf("another key: %v", err)
			}
			if err := other.Unlock(ctx); err != nil {
				t.Error(err)
			}
			locks, err := two.Locks(ctx)
			if err != nil || len(locks) != 1 || locks[0].ID != string(key.ID) || locks[0].ShardKey != string(key.ShardKey) || locks[0].Set != "Message" {
				t.Errorf("got %+v, %v", locks, err)
			}

			resumed, err := two.ResumeLock(ctx, key, lock.Token())
			if err != nil {
				t.Fatal(err)
			}
			lock.Leave()
			for _, wrong := range []string{"", "x", lock.Token() + "x", lock.Token()[1:], strings.ToUpper(lock.Token())} {
				if _, err := two.ResumeLock(ctx, key, wrong); err == nil {
					t.Errorf("the token %q is taken", wrong)
				}
			}
			_, err = two.ResumeLock(ctx, object.KeyOf[MessageID, ChatID]("else", "日本"), lock.Token())
			wantError(t, "a token of another lock", err, onto.Invalid, "another lock", "else")
			if err := resumed.Unlock(ctx); err != nil {
				t.Error(err)
			}
			wantError(t, "releasing again", resumed.Unlock(ctx), onto.LeaseExpired, "lost")
			wantError(t, "releasing what another program has released", lock.Unlock(ctx), onto.LeaseExpired)
			_, err = two.ResumeLock(ctx, key, lock.Token())
			wantCode(t, err, onto.LeaseExpired)
			noLeases(t, one.messages)

			wantCode(t, two.BreakLock(ctx, key, onto.Operator("ana"), "nobody holds it"), onto.NotFound)
			lock, err = one.Lock(ctx, key, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := two.BreakLock(ctx, key, onto.Operator("ana"), "it was forgotten"); err != nil {
				t.Fatal(err)
			}
			carried := object.With(ctx, onto.Draft{Lease: leaseOf(lock)})
			wantCode(t, one.Upsert(carried, Message{ID: key.ID, Chat: key.ShardKey}), onto.LeaseExpired)
			second, err := two.Lock(ctx, key, "mine")
			if err != nil {
				t.Fatal(err)
			}
			wantCode(t, lock.Unlock(ctx), onto.LeaseExpired) // which does not end that of another holder
			if err := two.Upsert(object.With(ctx, onto.Draft{Lease: leaseOf(second)}), Message{ID: key.ID, Chat: key.ShardKey}); err != nil {
				t.Errorf("with the lock: %v", err)
			}
			if err := second.Unlock(ctx); err != nil {
				t.Error(err)
			}
			noLeases(t, one.messages)
			_, err = one.Lock(ctx, key, strings.Repeat("d", onto.MaxLeaseNote))
			wantCode(t, err, onto.TooLarge)
			noLeases(t, one.messages)
		})
	}
}

func leaseOf(l *object.Lock) *onto.Lease {
	lease := l.Current()
	return &lease
}

// Of programs that want one lock at once, one has it at a time.
func TestLockIsHeldByOne(t *testing.T) {
	both := twoVaults(t, layout{"sqlite", 2})
	key := object.KeyOf[MessageID, ChatID]("m", "c")
	var holders, took atomic.Int32
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for range 15 {
				lock, err := both[i%2].Lock(t.Context(), key, "")
				if onto.CodeOf(err) == onto.LockContention {
					time.Sleep(time.Millisecond)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				took.Add(1)
				holders.Add(-1)
				if err := lock.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if took.Load() == 0 {
		t.Error("nobody had the lock")
	}
	noLeases(t, both[0].messages)
}

// A holder learns that its lock was lost, by the channel and by its commits.
func TestLostLock(t *testing.T) {
	both := twoVaults(t, layout{"sqlite", 1})
	key := object.KeyOf[MessageID, ChatID]("m", "c")
	lock, err := both[0].Lock(t.Context(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-lock.Lost():
		t.Error("it is lost at once")
	default:
	}
	if err := lock.Err(); err != nil {
		t.Errorf("while it is held: %v", err)
	}
	lock.Leave()
	if err := lock.Err(); err != nil {
		t.Errorf("after it was left: %v", err)
	}
	<-lock.Lost()
	lock.Leave()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lock.Unlock(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Errorf("after that: %v", err)
	}
	noLeases(t, both[0].messages)
}

// The context with which a lock was taken may end: the lock is held until it is released.
func TestLockOutlivesItsContext(t *testing.T) {
	both := twoVaults(t, layout{"sqlite", 1})
	key := object.KeyOf[MessageID, ChatID]("m", "c")
	ctx, cancel := context.WithCancel(t.Context())
	lock, err := both[0].Lock(ctx, key, "")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	locks, err := both[1].Locks(t.Context())
	if err != nil || !slices.ContainsFunc(locks, func(l object.LockInfo) bool { return l.ID == "m" }) {
		t.Errorf("got %+v, %v", locks, err)
	}
	select {
	case <-lock.Lost():
		t.Error("it is not renewed any more")
	case <-time.After(20 * time.Millisecond):
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// A lock whose program has died is another's once it has expired, and its holder cannot use it any
// more.
func TestExpiredLock(t *testing.T) {
	for _, l := range []layout{{"memory", 1}, {"sqlite", 1}, {"lake", 1}} {
		t.Run(l.String(), func(t *testing.T) {
			v := open(t, object.Config{"chat": {"acme": l.uris(t.TempDir(), "acme")}})
			if err := v.Init(t.Context(), "chat", "acme"); err != nil {
				t.Fatal(err)
			}
			acme, ctx := messagesOf(v).Tenant("acme"), t.Context()
			key := object.KeyOf[MessageID, ChatID]("m", "c")
			lock, err := acme.Lock(ctx, key, "short")
			if err != nil {
				t.Fatal(err)
			}
			held := lock.Current()
			if err := lock.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
			// The same lease, as of a program that does not renew it.
			dead, err := shardsOf(t, v)[0].Store.Lease(ctx, held.Name, &store.LeaseOptions{TTL: 400 * time.Millisecond, Note: held.Note})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := acme.Lock(ctx, key, ""); err == nil && !dead.Current().Expired(time.Now()) {
				t.Error("two hold the lock")
			} else if err != nil {
				wantError(t, "a lock", err, onto.LockContention, "short")
				time.Sleep(450 * time.Millisecond)
				if lock, err = acme.Lock(ctx, key, "second"); err != nil {
					t.Fatalf("after it has expired: %v", err)
				}
				wantCode(t, dead.Renew(ctx), onto.LeaseExpired)
				late := object.With(ctx, onto.Draft{Lease: leaseNow(dead)})
				wantCode(t, acme.Insert(late, Message{ID: "m", Chat: "c"}), onto.LeaseExpired)
				if err := lock.Unlock(ctx); err != nil {
					t.Error(err)
				}
				noLeases(t, acme)
			}
		})
	}
}

func leaseNow(l *store.Lease) *onto.Lease {
	lease := l.Current()
	return &lease
}
