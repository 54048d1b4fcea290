package object_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// Pages show all objects once, in order, as they were when the first page was read.
func TestPages(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		all := insert(t, acme, 60)
		moment := time.Now()
		for name, c := range map[string]struct {
			where     object.Selection
			shardKeys []ChatID
		}{
			"all": {object.All(), nil}, "one shard key": {object.All(), []ChatID{"c3"}},
			"ordered":   {object.All().OrderBy("sent"), nil},
			"down":      {object.All().OrderByDesc("place.city").OrderBy("stars").OrderByDesc("sent"), []ChatID{"c1", "c2", "c3", "c4"}},
			"some":      {object.Where().Key("sender").In("ana", "bob").Selection, nil},
			"searched":  {object.Where().Search("hello").OrderByDesc("sender"), nil},
			"a missing": {object.Where().Key("stars").IsNull().OrderBy("stars"), nil},
		} {
			want, err := acme.SelectWithMetadata(ctx, c.where, c.shardKeys...)
			must(t, err)
			for _, size := range []int{1, 7, len(want), len(want) + 1} {
				if size == 1 && name != "one shard key" {
					continue
				}
				var got []Message
				var full []object.WithMetadata[Message]
				cursor, cursorFull := "", ""
				for n := 0; ; n++ {
					page, err := acme.Page(ctx, c.where.Limit(size).Cursor(cursor), c.shardKeys...)
					must(t, err)
					pageFull, err := acme.PageWithMetadata(ctx, c.where.Limit(size).Cursor(cursorFull), c.shardKeys...)
					must(t, err)
					got, full = append(got, page.Objects...), append(full, pageFull.Objects...)
					if n == 2 && size == 7 { // other writers change what follows, and the pages do not
						changed := all[1]
						changed.Sent, changed.Sender, changed.Stars = int64(100+n), "zoe", nil
						must(t, acme.Upsert(ctx, changed))
						must(t, acme.Delete(ctx, all[2].DBKey(), all[3].DBKey()))
						must(t, acme.Upsert(ctx, message(77)))
					}
					cursor, cursorFull = page.Next, pageFull.Next
					if (cursor == "") != (cursorFull == "") || cursor != "" && len(page.Objects) != size || n > 70 {
						t.Fatalf("%s by %d: page %d has %d objects, and goes on at %q and %q", name, size, n, len(page.Objects), cursor, cursorFull)
					}
					if cursor == "" {
						break
					}
				}
				if !reflect.DeepEqual(full, want) || len(got) != len(want) || !slices.EqualFunc(got, want, func(m Message, o object.WithMetadata[Message]) bool { return reflect.DeepEqual(m, o.Object) }) {
					t.Errorf("%s by %d: got %v, want %d", name, size, ids(got), len(want))
				}
				must(t, acme.Delete(ctx, message(77).DBKey()))
				must(t, acme.Upsert(ctx, all[1:4]...))
				if want, err = acme.SelectWithMetadata(ctx, c.where, c.shardKeys...); err != nil {
					t.Fatal(err)
				}
			}
		}
		// As of a time, from the first page on.
		must(t, acme.Upsert(ctx, message(88)))
		var then []Message
		for cursor := ""; ; {
			page, err := acme.AsOf(moment).Page(ctx, object.All().Limit(13).Cursor(cursor))
			must(t, err)
			then = append(then, page.Objects...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if len(then) != 60 {
			t.Errorf("as of a time: got %d objects", len(then))
		}
		if page, err := acme.Page(ctx, nil); err != nil || page.Next != "" || len(page.Objects) != 61 {
			t.Errorf("without a limit: got %d objects, %q, %v", len(page.Objects), page.Next, err)
		}
		if page, err := acme.Page(ctx, object.All().Offset(2).Limit(3)); err != nil || page.Next == "" || len(page.Objects) != 3 {
			t.Errorf("with an offset: got %v, %v", ids(page.Objects), err)
		}
		_, err := acme.Page(ctx, object.All().LimitPerShard(3))
		wantCode(t, err, onto.Invalid)
	})
}

// A cursor goes on with Select, Process and Each as well.
func TestCursorOfOtherReads(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		insert(t, acme, 30)
		want, err := acme.Select(ctx, object.All().OrderBy("sent"))
		must(t, err)
		first, err := acme.Page(ctx, object.All().OrderBy("sent").Limit(10))
		must(t, err)
		rest, err := acme.Select(ctx, object.All().OrderBy("sent").Cursor(first.Next))
		if err != nil || !reflect.DeepEqual(append(first.Objects, rest...), want) {
			t.Errorf("got %v, %v", ids(rest), err)
		}
		var each []Message
		for m, err := range acme.Each(ctx, object.All().OrderBy("sent").Cursor(first.Next).Limit(5)) {
			must(t, err)
			each = append(each, m)
		}
		if !reflect.DeepEqual(each, want[10:15]) {
			t.Errorf("got %v", ids(each))
		}
	})
}
