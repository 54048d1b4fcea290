package object_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// DeleteWhere deletes what matches, and says how many.
func TestDeleteWhere(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		set := messagesOf(v)
		acme := set.Tenant("acme")
		insert(t, acme, 60)
		must(t, set.Tenant("rival").Insert(t.Context(), message(0), message(3)))
		once := object.With(t.Context(), onto.Draft{Actor: onto.Operator("ana"), IdempotencyKey: "clean"})
		for _, c := range []struct {
			what      string
			where     object.Clause
			shardKeys []ChatID
		}{
			{"nothing", object.Where().Key("sender").Equal("mallory"), nil},
			{"a sender", object.Where().Key("sender").Equal("ana").And().Key("sent").LessThan(5), nil},
			{"again", object.Where().Key("sender").Equal("ana").And().Key("sent").LessThan(5), nil},
			{"words", object.Where().Search("word3"), nil},
			{"a shard key", object.Where().Key("sender").NotEqual("ana"), []ChatID{"c1"}},
			{"alternatives", object.Where().Key("sent").Equal(1).Or().Key("sent").Equal(2), []ChatID{"c2", "c3"}},
		} {
			before, err := acme.Count(t.Context(), c.where, c.shardKeys...)
			must(t, err)
			all, err := acme.Count(t.Context(), nil)
			must(t, err)
			n, err := acme.DeleteWhere(as(t, "ana"), c.where, c.shardKeys...)
			after, _ := acme.Count(t.Context(), nil)
			if err != nil || n != before || after != all-before {
				t.Errorf("%s: deleted %d of %d, %v; %d are left of %d", c.what, n, before, err, after, all)
			}
		}
		n, err := acme.DeleteWhere(once, object.All(), "c4")
		must(t, err)
		must(t, acme.Upsert(t.Context(), message(4)))
		again, err := acme.DeleteWhere(once, object.All(), "c4")
		if ok, _ := acme.Exists(t.Context(), message(4).ID, "c4"); err != nil || again != n || !ok {
			t.Errorf("repeated with its idempotency key: deleted %d, then %d, %v; what came after exists: %t", n, again, err, ok)
		}
		if _, err := acme.DeleteWhere(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		left, _ := acme.Count(t.Context(), nil)
		others, err := set.Tenant("rival").Count(t.Context(), nil)
		if left != 0 || others != 2 || err != nil {
			t.Errorf("%d are left, and %d of the other tenant, %v", left, others, err)
		}
	})
}

// Delete takes keys of several shards; what does not exist is no error.
func TestDelete(t *testing.T) {
	onEachWatched(t, func(t *testing.T, v *object.Vaults, w *watch) {
		acme := messagesOf(v).Tenant("acme")
		all := insert(t, acme, 20)
		var keys []object.Key[MessageID, ChatID]
		for _, m := range all[:10] {
			keys = append(keys, m.DBKey())
		}
		keys = append(keys, object.KeyOf[MessageID, ChatID]("nobody", "c1"), keys[0])
		must(t, acme.Delete(as(t, "ana"), keys...))
		if list, err := acme.SelectAll(t.Context()); err != nil || len(list) != 10 {
			t.Errorf("left are %v, %v", ids(list), err)
		}
		must(t, acme.Delete(t.Context()))
		wantCode(t, acme.Delete(t.Context(), all[10].DBKey(), object.KeyOf[MessageID, ChatID]("", "c1")), onto.Invalid)
		w.fails.Store(100)
		wantCode(t, acme.Delete(t.Context(), all[10].DBKey(), all[11].DBKey()), onto.Unavailable)
		w.fails.Store(0)
		if ok, err := acme.Exists(t.Context(), all[10].ID); !ok || err != nil {
			t.Errorf("after deletes that failed: exists %t, %v", ok, err)
		}
	})
}
