package object_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// The shard of an object follows from its key. What is no object is looked for, also where only
// some of the shards know its type.
func TestShardOf(t *testing.T) {
	type Note struct {
		ID string `json:"id" onto:"key"`
	}
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		insert(t, acme, 10)
		list, err := acme.SelectAllWithMetadata(ctx)
		must(t, err)
		for _, o := range list {
			s, err := v.ShardOf(ctx, "chat", "acme", onto.EntityID("Message", onto.ShardedKey(string(o.Object.Chat), string(o.Object.ID))))
			if err != nil || s.Name != o.Metadata.Shard {
				t.Errorf("%s is on %s: got %v, %v", o.Object.ID, o.Metadata.Shard, s, err)
			}
		}
		shards, err := v.Shards(ctx, "chat", "acme")
		must(t, err)
		last := shards[len(shards)-1]
		must(t, last.Store.Register(ctx, onto.TypeOf[Note]()))
		_, err = last.Store.Commit(ctx, onto.Draft{}.Ensure(Note{"n"}))
		must(t, err)
		if s, err := v.ShardOf(ctx, "chat", "acme", onto.EntityID("Note", "n")); err != nil || s.Name != last.Name {
			t.Errorf("the note is on %s: got %v, %v", last.Name, s, err)
		}
		_, err = v.ShardOf(ctx, "chat", "acme", onto.EntityID("Note", "nothing"))
		wantCode(t, err, onto.NotFound)
		_, err = v.ShardOf(ctx, "chat", "acme", onto.EntityID("Nothing", "n"))
		wantCode(t, err, onto.Invalid)
		_, err = v.ShardOf(ctx, "chat", "acme", onto.EntityID("Message", "m001"))
		wantCode(t, err, onto.Invalid)
	})
}
