package object_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// A lock keeps out others, says who holds it, and is free again when it is released.
func TestLock(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		set := messagesOf(v)
		acme := set.Tenant("acme")
		all := insert(t, acme, 10)
		m := all[1]
		lock, err := acme.Lock(ctx, m.DBKey(), "being moderated")
		must(t, err)
		if lock.Err() != nil {
			t.Error(lock.Err())
		}
		_, err = acme.Lock(ctx, m.DBKey(), "mine")
		wantCode(t, err, onto.LockContention)
		if err == nil || !strings.Contains(err.Error(), "being moderated") || !strings.Contains(err.Error(), lock.Current().Owner) {
			t.Errorf("the error does not say who holds the lock and why: %v", err)
		}
		other, err := acme.Lock(ctx, all[2].DBKey(), "another object")
		must(t, err)
		rivals, err := set.Tenant("rival").Lock(ctx, m.DBKey(), "another tenant")
		must(t, err)
		missing, err := acme.Lock(ctx, object.KeyOf[MessageID, ChatID]("nobody", "c1"), "an object to come")
		must(t, err)
		chats := object.NewSet[Chat](v, "chat").Ready().Tenant("acme")
		ofChat, err := chats.Lock(ctx, object.KeyOf[ChatID, ChatID]("c1", "c1"), "another set")
		must(t, err)

		locks, err := acme.Locks(ctx)
		held := map[string]string{}
		for _, l := range locks {
			held[l.ID] = l.Description
			if l.Set != "Message" || l.ShardKey == "" || l.Lease.Owner == "" || l.Lease.Expires.IsZero() {
				t.Errorf("got %+v", l)
			}
		}
		if len(held) != 3 || held["m001"] != "being moderated" || held["m002"] != "another object" || held["nobody"] != "an object to come" || err != nil {
			t.Errorf("held are %v, %v", held, err)
		}

		m.Text = "changed beside the lock"
		must(t, acme.Update(ctx, m)) // a lock does not keep out writers
		m.Text = "changed under the lock"
		must(t, acme.Update(object.With(ctx, onto.Draft{Lease: current(lock)}), m))

		must(t, lock.Unlock(ctx))
		<-lock.Lost()
		if lock.Err() != nil {
			t.Errorf("released, it was %v", lock.Err())
		}
		wantCode(t, lock.Unlock(ctx), onto.LeaseExpired)
		again, err := acme.Lock(ctx, m.DBKey(), "mine")
		must(t, err)
		for _, l := range []*object.Lock{again, other, rivals, missing, ofChat} {
			must(t, l.Unlock(ctx))
		}
		if locks, err := acme.Locks(ctx); len(locks) > 0 || err != nil {
			t.Errorf("in the end, held are %+v, %v", locks, err)
		}
		_, err = acme.Lock(ctx, m.DBKey(), strings.Repeat("x", onto.MaxLeaseNote))
		wantCode(t, err, onto.TooLarge)
		_, err = acme.Lock(ctx, object.KeyOf[MessageID, ChatID]("", "c1"), "")
		wantCode(t, err, onto.Invalid)
	})
}

func current(l *object.Lock) *onto.Lease {
	lease := l.Current()
	return &lease
}

// A lock can be broken; then its holder cannot write with it any more.
func TestBreakLock(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		m := insert(t, acme, 2)[1]
		wantCode(t, acme.BreakLock(ctx, m.DBKey(), onto.Operator("ana"), "nobody holds it"), onto.NotFound)
		lock, err := acme.Lock(ctx, m.DBKey(), "stuck")
		must(t, err)
		must(t, acme.BreakLock(ctx, m.DBKey(), onto.Operator("ana"), "stuck"))
		m.Text = "too late"
		wantCode(t, acme.Update(object.With(ctx, onto.Draft{Lease: current(lock)}), m), onto.LeaseExpired)
		err = lock.Unlock(ctx)
		wantCode(t, err, onto.LeaseExpired)
		if err == nil || !strings.Contains(err.Error(), "m001") {
			t.Errorf("the error does not name the object: %v", err)
		}
		next, err := acme.Lock(ctx, m.DBKey(), "next")
		must(t, err)
		must(t, next.Unlock(ctx))
	})
}

// A lock goes from one program to another by its token.
func TestResumeLock(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		all := insert(t, acme, 9)
		m := all[1]
		lock, err := acme.Lock(ctx, m.DBKey(), "handed on")
		must(t, err)
		token := lock.Token()
		lock.Leave()
		if lock.Err() != nil {
			t.Errorf("left, it was %v", lock.Err())
		}
		_, err = acme.Lock(ctx, m.DBKey(), "in between")
		wantCode(t, err, onto.LockContention)
		_, err = acme.ResumeLock(ctx, all[8].DBKey(), token) // which has the same shard key
		wantCode(t, err, onto.Invalid)
		_, err = acme.ResumeLock(ctx, m.DBKey(), token+"x")
		wantCode(t, err, onto.Invalid)
		resumed, err := acme.ResumeLock(ctx, m.DBKey(), token)
		must(t, err)
		m.Text = "by the other program"
		must(t, acme.Update(object.With(ctx, onto.Draft{Lease: current(resumed)}), m))
		locks, err := acme.Locks(ctx)
		if err != nil || len(locks) != 1 || locks[0].Description != "handed on" {
			t.Errorf("held are %+v, %v", locks, err)
		}
		must(t, resumed.Unlock(ctx))
		_, err = acme.ResumeLock(ctx, m.DBKey(), token)
		wantCode(t, err, onto.LeaseExpired)
	})
}

// A lock is renewed for as long as it is held, and its holder learns when it is lost.
func TestLockIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := open(t, object.Config{"chat": {"acme": {"memory://"}}})
		must(t, v.Init(t.Context(), "chat", "acme"))
		acme := messagesOf(v).Tenant("acme")
		m := insert(t, acme, 1)[0]
		lock, err := acme.Lock(t.Context(), m.DBKey(), "for long")
		must(t, err)
		time.Sleep(10 * store.DefaultLeaseTTL)
		_, err = acme.Lock(t.Context(), m.DBKey(), "mine")
		wantCode(t, err, onto.LockContention)
		select {
		case <-lock.Lost():
			t.Error("it was lost")
		default:
		}
		must(t, acme.BreakLock(t.Context(), m.DBKey(), onto.Operator("ana"), "too long"))
		<-lock.Lost()
		wantCode(t, lock.Err(), onto.LeaseExpired)

		// One that is left expires.
		lock, err = acme.Lock(t.Context(), m.DBKey(), "left")
		must(t, err)
		lock.Leave()
		time.Sleep(2 * store.DefaultLeaseTTL)
		if locks, err := acme.Locks(t.Context()); len(locks) > 0 || err != nil {
			t.Errorf("held are %+v, %v", locks, err)
		}
		next, err := acme.Lock(t.Context(), m.DBKey(), "next")
		must(t, err)
		must(t, next.Unlock(t.Context()))
	})
}
