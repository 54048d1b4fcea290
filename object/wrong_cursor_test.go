package object_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// A cursor goes on with the question that it is from, also in another process; with another one,
// and with any damage, it is refused.
func TestWrongCursors(t *testing.T) {
	v, set, unchanged := wrongWorld(t)
	acme := set.Tenant("acme")
	ctx := t.Context()
	clause := object.Where().Key("sender").NotEqual("eve").OrderBy("sent").Limit(3)
	first, err := acme.Page(ctx, clause)
	if err != nil || first.Next == "" {
		t.Fatal(first, err)
	}
	second, err := acme.Page(ctx, clause.Cursor(first.Next))
	if err != nil || len(second.Objects) != 3 {
		t.Fatal(second, err)
	}
	refused := func(what string, _ any, err error) {
		t.Helper()
		wantError(t, what, err, onto.Invalid, "cursor")
	}
	page, err := set.Tenant("rival").Page(ctx, clause.Cursor(first.Next))
	refused("another tenant", page, err)
	page, err = acme.Page(ctx, object.Where().Key("sender").NotEqual("bob").OrderBy("sent").Cursor(first.Next))
	refused("another condition", page, err)
	page, err = acme.Page(ctx, object.Where().Key("sender").NotEqual("eve").OrderByDesc("sent").Cursor(first.Next))
	refused("another direction", page, err)
	page, err = acme.Page(ctx, object.Where().Key("sender").NotEqual("eve").OrderBy("text").Cursor(first.Next))
	refused("another order", page, err)
	page, err = acme.Page(ctx, object.Where().Key("sender").NotEqual("eve").Cursor(first.Next))
	refused("no order", page, err)
	page, err = acme.Page(ctx, object.Where().Search("hello").And().Key("sender").NotEqual("eve").OrderBy("sent").Cursor(first.Next))
	refused("a search", page, err)
	page, err = acme.Page(ctx, clause.Cursor(first.Next), "c1")
	refused("shard keys", page, err)
	page, err = acme.AsOf(time.Now()).Page(ctx, clause.Cursor(first.Next))
	refused("a time", page, err)
	page, err = acme.Page(ctx, clause.Offset(1).Cursor(first.Next))
	refused("an offset", page, err)
	chats := object.NewSet[Chat](v, "chat").Ready()
	all, err := acme.Page(ctx, object.All().Limit(3))
	if err != nil {
		t.Fatal(err)
	}
	other, err := chats.Tenant("acme").Page(ctx, object.All().Cursor(all.Next))
	refused("another set", other, err)
	n, err := acme.DeleteWhere(ctx, object.Where().Key("sender").NotEqual("eve").Cursor(first.Next))
	refused("a delete", n, err)

	for i := range len(first.Next) {
		for _, c := range []byte{'A', 'z', '_', '=', '\n', ' ', 0, 0xff, first.Next[i] ^ 1} {
			damaged := []byte(first.Next)
			if damaged[i] == c {
				continue
			}
			damaged[i] = c
			page, err = acme.Page(ctx, clause.Cursor(string(damaged)))
			refused("damaged", page, err)
		}
		if i > 0 {
			page, err = acme.Page(ctx, clause.Cursor(first.Next[:i]))
			refused("cut off", page, err)
		}
		page, err = acme.Page(ctx, clause.Cursor(first.Next[:i]+first.Next[i+1:]))
		refused("without a byte", page, err)
	}
	page, err = acme.Page(ctx, clause.Cursor(first.Next+first.Next))
	refused("doubled", page, err)
	unchanged()
}

// A cursor of a tenant with other shards, or with a shard that was made anew, is refused.
func TestCursorsOfOtherShards(t *testing.T) {
	dir := t.TempDir()
	uris := layout{"sqlite", 3}.uris(dir, "acme")
	clause := object.All().Limit(2)
	next := ""
	for _, c := range []struct {
		shards  []string
		refused bool
	}{
		{uris, false},
		{[]string{uris[2], uris[0], uris[1]}, false}, // the order means nothing
		{layout{"sqlite", 2}.uris(dir, "two"), true},
		{layout{"sqlite", 3}.uris(dir, "anew"), true},
	} {
		v := open(t, object.Config{"chat": {"acme": c.shards}})
		if err := v.Init(t.Context(), "chat", "acme"); err != nil {
			t.Fatal(err)
		}
		acme := messagesOf(v).Tenant("acme")
		for i := range 9 {
			if err := acme.Upsert(t.Context(), message(i)); err != nil {
				t.Fatal(err)
			}
		}
		page, err := acme.Page(t.Context(), clause.Cursor(next))
		if c.refused {
			wantError(t, strings.Join(c.shards, " "), err, onto.Invalid, "cursor")
			continue
		}
		if err != nil || len(page.Objects) != 2 || page.Next == "" {
			t.Fatal(page, err)
		}
		next = page.Next
	}
}

// Numbers at the ends of their range are limits and offsets like others.
func TestLargeLimits(t *testing.T) {
	_, set, _ := wrongWorld(t)
	acme := set.Tenant("acme")
	all, err := acme.SelectAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, shardKeys := range [][]ChatID{nil, {"c1"}} {
		for _, offset := range []int{0, 1, 2, math.MaxInt - 1, math.MaxInt} {
			for _, limit := range []int{1, math.MaxInt - 1, math.MaxInt} {
				var want []Message
				for _, m := range all {
					if shardKeys == nil || slices.Contains(shardKeys, m.Chat) {
						want = append(want, m)
					}
				}
				want = want[min(offset, len(want)):]
				want = want[:min(limit, len(want))]
				got, err := acme.Select(t.Context(), object.All().Limit(limit).Offset(offset), shardKeys...)
				if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
					t.Errorf("limit %d, offset %d: got %d, %v; want %d", limit, offset, len(got), err, len(want))
				}
				page, err := acme.Page(t.Context(), object.All().Limit(limit).Offset(offset), shardKeys...)
				if err != nil || len(page.Objects)+len(want) > 0 && !reflect.DeepEqual(page.Objects, want) {
					t.Errorf("page with limit %d, offset %d: got %d, %v; want %d", limit, offset, len(page.Objects), err, len(want))
				}
			}
		}
	}
	for _, clause := range []object.Clause{object.All().Limit(-1), object.All().Offset(math.MinInt), object.All().LimitPerShard(-1)} {
		_, err := acme.Select(t.Context(), clause)
		wantError(t, "a negative number", err, onto.Invalid, "negative")
	}
}

// A program that knows a type by its name only reads it from all shards, also from those that have not
// met it.
func TestVersionsOfATypeThatOneShardKnows(t *testing.T) {
	v, _, _ := wrongWorld(t)
	chats := object.NewSet[Chat](v, "chat").Ready().Tenant("acme")
	if err := chats.Insert(t.Context(), Chat{ID: "c1"}); err != nil {
		t.Fatal(err)
	}
	versions, err := v.Versions(t.Context(), "chat", "acme", "Chat")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := versions.Count(t.Context(), nil); n != 1 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
	page, err := versions.Page(t.Context(), object.All().Limit(5))
	if err != nil || len(page.Objects) != 1 || page.Objects[0].Key != "c1" {
		t.Errorf("got %v, %v", page, err)
	}
	_, err = v.Versions(t.Context(), "chat", "acme", "Nothing")
	wantError(t, "a type that no shard knows", err, onto.Invalid, "Nothing")
}

// What a function of the program returns as its error comes back as it is.
func TestErrorsOfFunctions(t *testing.T) {
	_, set, unchanged := wrongWorld(t)
	acme := set.Tenant("acme")
	m := message(1)
	for _, code := range []onto.Code{onto.NotFound, onto.VersionMismatch, onto.Unavailable, onto.Conflict} {
		mine := onto.Errorf(code, "mine")
		if _, err := acme.Mutate(t.Context(), m.DBKey(), func(*Message) error { return mine }); err != error(mine) {
			t.Errorf("Mutate: got %v", err)
		}
		if err := acme.Tx(t.Context(), m.Chat, func(*object.Tx) error { return mine }); err != error(mine) {
			t.Errorf("Tx: got %v", err)
		}
	}
	_, err := acme.Mutate(t.Context(), m.DBKey(), nil)
	wantError(t, "Mutate", err, onto.Invalid, "no function")
	wantError(t, "Tx", acme.Tx(t.Context(), m.Chat, nil), onto.Invalid, "no function")
	for _, change := range []func(*Message){func(m *Message) { m.ID = "other" }, func(m *Message) { m.Chat = "other" }, func(m *Message) { *m = Message{} }} {
		_, err := acme.Mutate(t.Context(), m.DBKey(), func(m *Message) error { change(m); return nil })
		wantError(t, "another key", err, onto.Invalid, "Message")
		to := m
		change(&to)
		wantError(t, "another key", acme.SafeUpdate(t.Context(), m, to), onto.Invalid, "Message")
	}
	ctx := object.With(t.Context(), onto.Draft{Causation: 1 << 40})
	eachOperation(func(name string, o operation) { // a cause that is no commit is not an object that does not exist
		if !o.writes || !o.keyed || strings.HasSuffix(name, "Lock") || strings.HasSuffix(name, "Insert") {
			return
		}
		stored, err := acme.SelectByID(t.Context(), m.ID, m.Chat)
		if err != nil {
			t.Fatal(err)
		}
		if name == "Upsert" || name == "Update" || strings.HasPrefix(name, "TxSet.Up") {
			stored.Sent++
		}
		wantError(t, name, o.run(ctx, set, acme, stored), onto.NotFound, "commit")
	})
	unchanged()
}
