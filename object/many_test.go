package object_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// More objects than a batch holds are a stream, which is one commit of each shard as well.
func TestManyObjects(t *testing.T) {
	for _, l := range []layout{{"memory", 2}, {"sqlite", 2}, {"lake", 2}} {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			v := open(t, object.Config{"chat": {"acme": l.uris(t.TempDir(), "acme")}})
			must(t, v.Init(t.Context(), "chat", "acme"))
			acme := messagesOf(v).Tenant("acme")
			const n = 3 * (store.DefaultMaxBatch/3 + 10)
			var all []Message
			for i := range n {
				m := message(i)
				m.ID = MessageID(fmt.Sprintf("m%05d", i))
				if i > 20 {
					m.Chat = "c1"
				}
				all = append(all, m)
			}
			ctx := object.With(t.Context(), onto.Draft{Actor: onto.Operator("ana"), IdempotencyKey: "many"})
			must(t, acme.Insert(ctx, all...))
			must(t, acme.Insert(ctx, all...))
			wantCode(t, acme.Insert(t.Context(), all...), onto.Conflict)
			commits := map[string]map[int64]int{}
			for o, err := range acme.EachWithMetadata(t.Context(), object.All().OrderBy("id")) {
				must(t, err)
				if o.Metadata.CreatedBy != onto.Operator("ana") || o.Metadata.CreatedAt.IsZero() {
					t.Fatalf("got %+v", o)
				}
				if commits[o.Metadata.Shard] == nil {
					commits[o.Metadata.Shard] = map[int64]int{}
				}
				commits[o.Metadata.Shard][o.Metadata.Version]++
			}
			total := 0
			for shard, of := range commits {
				for _, objects := range of {
					total += objects
				}
				if len(of) != 1 {
					t.Errorf("%s has the objects of %d commits", shard, len(of))
				}
			}
			if total != n || len(commits) != 2 {
				t.Errorf("got %d objects, by %v", total, commits)
			}
			if deleted, err := acme.DeleteWhere(t.Context(), object.Where().Key("sender").In("ana", "bob")); err != nil || deleted != n*2/3 {
				t.Errorf("deleted %d, %v", deleted, err)
			}
			seen, err := acme.Process(t.Context(), nil, func(context.Context, Message) error { return nil })
			if seen != n/3 || err != nil {
				t.Errorf("processed %d, %v", seen, err)
			}
		})
	}
}
