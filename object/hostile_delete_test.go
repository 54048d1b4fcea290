package object_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// Beside writers that never rest, a delete by a filter ends, and deletes nothing that did not match when
// it was committed.
func TestDeleteBesideWriters(t *testing.T) {
	for l, deletes := range map[layout]int{{"memory", 2}: 40, {"sqlite", 2}: 40, {"lake", 2}: 5} {
		t.Run(l.String(), func(t *testing.T) {
			v := open(t, object.Config{"chat": {"acme": l.uris(t.TempDir(), "acme")}})
			if err := v.Init(t.Context(), "chat", "acme"); err != nil {
				t.Fatal(err)
			}
			acme := messagesOf(v).Tenant("acme")
			const objects, writers = 12, 4
			write := func(ctx context.Context, i, sent int) error {
				m := message(i)
				m.Sent = int64(sent % 2)
				return acme.Upsert(ctx, m)
			}
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for w := range writers {
				running.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						for i := w; i < objects; i += writers {
							if l.kind == "lake" {
								time.Sleep(2 * time.Millisecond) // each commit is a file that a read opens
							}
							if err := write(context.WithoutCancel(ctx), i, n+i); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			deleted := int64(0)
			for range deletes {
				for n, err := int64(0), error(nil); n == 0 && err == nil; {
					n, err = acme.Count(t.Context(), object.Where().Key("sent").Equal(1))
				}
				began := time.Now()
				n, err := acme.DeleteWhere(t.Context(), object.Where().Key("sent").Equal(1))
				if err != nil {
					t.Error(err)
				}
				deleted += n
				if spent := time.Since(began); spent > 20*time.Second {
					t.Errorf("a delete took %v", spent)
				}
			}
			stop()
			running.Wait()
			found := int64(0)
			for i := range objects {
				was := int64(-1)
				for r, err := range acme.History(t.Context(), message(i).DBKey()) {
					if err != nil {
						t.Fatal(err)
					}
					if r.Deleted {
						found++
						if was != 1 {
							t.Errorf("%d: an object was deleted while it was at %d", i, was)
						}
					}
					was = r.Object.Sent
				}
			}
			if found != deleted || found == 0 {
				t.Errorf("%d deletes are said, and %d were made", deleted, found)
			}
			for _, s := range shardsOf(t, v) {
				if leases, err := s.Store.Leases(t.Context()); err != nil || s.Name == "" {
					t.Error(leases, err)
				} else if len(leases) > 0 {
					t.Errorf("%s has the leases %v", s.Name, leases)
				}
			}
		})
	}
}

func shardsOf(t *testing.T, v *object.Vaults) []object.Shard {
	t.Helper()
	shards, err := v.Shards(t.Context(), "chat", "acme")
	if err != nil {
		t.Fatal(err)
	}
	return shards
}

// Many objects are deleted at once, and once for an idempotency key, whatever has come since.
func TestDeleteMany(t *testing.T) {
	for _, l := range []layout{{"sqlite", 2}, {"mixed", 3}} {
		t.Run(l.String(), func(t *testing.T) {
			v := open(t, object.Config{"chat": {"acme": l.uris(t.TempDir(), "acme")}})
			if err := v.Init(t.Context(), "chat", "acme"); err != nil {
				t.Fatal(err)
			}
			acme := messagesOf(v).Tenant("acme")
			const many = 30_000
			list := make([]Message, many+10)
			for i := range list {
				list[i] = Message{ID: MessageID(fmt.Sprintf("m%06d", i)), Chat: ChatID(fmt.Sprint("c", i%50)), Sent: int64(i / many)}
			}
			if err := acme.Insert(t.Context(), list...); err != nil {
				t.Fatal(err)
			}
			ctx := object.With(t.Context(), onto.Draft{IdempotencyKey: "once"})
			old := object.Where().Key("sent").Equal(0)
			for i := range 3 {
				if n, err := acme.DeleteWhere(ctx, old); n != many || err != nil {
					t.Errorf("deleted %d, %v", n, err)
				}
				if n, err := acme.Count(t.Context(), nil); err != nil || n != int64(10+i) {
					t.Errorf("%d are left, %v", n, err)
				}
				if err := acme.Insert(t.Context(), list[i]); err != nil { // which matches again
					t.Fatal(err)
				}
			}
			wantCode(t, acme.Insert(ctx, list[5]), onto.IdempotencyConflict)
			other := object.With(t.Context(), onto.Draft{IdempotencyKey: "insert"})
			if err := acme.Insert(other, list[6:9]...); err != nil {
				t.Fatal(err)
			}
			_, err := acme.DeleteWhere(other, object.Where().Key("id").Equal(string(list[6].ID)))
			wantCode(t, err, onto.IdempotencyConflict)
			if n, err := acme.DeleteWhere(t.Context(), old); n != 6 || err != nil {
				t.Errorf("without a key: deleted %d, %v", n, err)
			}
		})
	}
}
