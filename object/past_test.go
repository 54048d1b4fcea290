package object_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// Every read can be one of the past.
func TestAsOf(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		beginning := time.Now()
		time.Sleep(2 * time.Millisecond)
		all := insert(t, acme, 30)
		m := all[4]
		where := object.Where().Key("sender").Equal("bob").OrderByDesc("sent")
		bobs, err := acme.SelectWithMetadata(ctx, where)
		must(t, err)
		everything, err := acme.SelectAllWithMetadata(ctx)
		must(t, err)
		time.Sleep(2 * time.Millisecond)
		moment := time.Now()
		time.Sleep(2 * time.Millisecond)
		_, err = acme.DeleteWhere(ctx, object.Where().Key("sender").Equal("bob").And().Key("id").NotEqual(m.ID))
		must(t, err)
		changed := m
		changed.Text = "changed"
		must(t, acme.Update(ctx, changed))
		must(t, acme.Insert(ctx, message(31)))

		then := acme.AsOf(moment)
		check := func(what string, got, want any, err error) {
			t.Helper()
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, %v; want %+v", what, got, err, want)
			}
		}
		plain := func(list []object.WithMetadata[Message]) (objects []Message) {
			for _, o := range list {
				objects = append(objects, o.Object)
			}
			return objects
		}
		selected, err := then.Select(ctx, where)
		check("Select", selected, plain(bobs), err)
		full, err := then.SelectWithMetadata(ctx, where)
		check("SelectWithMetadata", full, bobs, err)
		selected, err = then.SelectAll(ctx)
		check("SelectAll", selected, plain(everything), err)
		full, err = then.SelectAllWithMetadata(ctx)
		check("SelectAllWithMetadata", full, everything, err)
		for _, shardKeys := range [][]ChatID{nil, {m.Chat}} {
			one, err := then.SelectByID(ctx, m.ID, shardKeys...)
			check("SelectByID", one, m, err)
			withMetadata, err := then.SelectByIDWithMetadata(ctx, m.ID, shardKeys...)
			check("SelectByIDWithMetadata", withMetadata.Object, m, err)
			exists, err := then.Exists(ctx, "m007", shardKeys...)
			check("Exists", exists, shardKeys == nil, err)
			exists, err = then.Exists(ctx, "m031", shardKeys...)
			check("Exists", exists, false, err)
		}
		n, err := then.Count(ctx, where)
		check("Count", n, int64(len(bobs)), err)
		found, err := then.Count(ctx, object.Where().Search("word4"))
		check("Count of words", found, int64(6), err)
		var seen []Message
		_, err = then.Process(ctx, where, func(_ context.Context, m Message) error {
			seen = append(seen, m)
			return nil
		})
		check("Process", seen, plain(bobs), err)
		seen = nil
		for m, err := range then.Each(ctx, where) {
			must(t, err)
			seen = append(seen, m)
		}
		check("Each", seen, plain(bobs), nil)
		page, err := then.Page(ctx, where.Limit(5))
		check("Page", page.Objects, plain(bobs[:5]), err)
		fullPage, err := then.PageWithMetadata(ctx, where.Limit(5))
		check("PageWithMetadata", fullPage.Objects, bobs[:5], err)
		var texts []string
		for r, err := range then.History(ctx, m.DBKey()) {
			must(t, err)
			texts = append(texts, r.Object.Text)
		}
		check("History", texts, []string{m.Text}, nil)

		none, err := acme.AsOf(beginning).SelectAll(ctx)
		check("before everything", len(none), 0, err)
		_, err = acme.AsOf(beginning).SelectByID(ctx, m.ID, m.Chat)
		wantCode(t, err, onto.NotFound)
	})
}

// The history of an object has every version and every delete, with its commit.
func TestHistory(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		acme := messagesOf(v).Tenant("acme")
		m := insert(t, acme, 10)[3]
		m.Text = "second"
		must(t, acme.Update(as(t, "bob"), m))
		must(t, acme.Update(as(t, "eve"), m)) // changes nothing
		must(t, acme.Delete(as(t, "cy"), m.DBKey()))
		m.Text = "anew"
		must(t, acme.Insert(as(t, "dan"), m))
		type step struct {
			text, actor string
			deleted     bool
		}
		var got []step
		var last int64
		for r, err := range acme.History(t.Context(), m.DBKey()) {
			must(t, err)
			if r.Commit.ID <= last || r.Commit.Time.IsZero() || r.Deleted != reflect.DeepEqual(r.Object, Message{}) {
				t.Errorf("got %+v after commit %d", r, last)
			}
			last = r.Commit.ID
			got = append(got, step{r.Object.Text, r.Commit.Actor.ID, r.Deleted})
		}
		if want := []step{{"word3 hello", "", false}, {"second", "bob", false}, {"", "cy", true}, {"anew", "dan", false}}; !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for range acme.History(t.Context(), m.DBKey()) {
			break
		}
		full, err := acme.SelectByIDWithMetadata(t.Context(), m.ID)
		md := full.Metadata
		if err != nil || md.CreatedBy.ID != "dan" || md.UpdatedBy.ID != "dan" || md.Version != last || !md.CreatedAt.Equal(md.UpdatedAt) {
			t.Errorf("deleted and inserted again: got %+v, %v", md, err)
		}
		for key, code := range map[object.Key[MessageID, ChatID]]onto.Code{
			{ID: "nobody", ShardKey: "c1"}: onto.NotFound, {ID: m.ID, ShardKey: "c6"}: onto.NotFound,
			{ID: m.ID}: onto.Invalid, {ShardKey: "c1"}: onto.Invalid,
		} {
			n := 0
			for _, err := range acme.History(t.Context(), key) {
				wantCode(t, err, code)
				n++
			}
			if n != 1 {
				t.Errorf("the history of %v has %d entries", key, n)
			}
		}
	})
}

// An id that several shard keys have is ambiguous without one of them.
func TestSameID(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		one, two := message(1), message(1)
		two.Chat, two.Text = "c2", "the other"
		must(t, acme.Insert(ctx, one, two))
		_, err := acme.SelectByID(ctx, one.ID)
		wantCode(t, err, onto.Conflict)
		_, err = acme.SelectByID(ctx, one.ID, "c1", "c2")
		wantCode(t, err, onto.Conflict)
		got, err := acme.SelectByID(ctx, one.ID, "c2", "c2", "c5")
		if err != nil || !reflect.DeepEqual(got, two) {
			t.Errorf("got %+v, %v", got, err)
		}
		for what, shardKeys := range map[string][]ChatID{"anywhere": nil, "there": {"c1"}, "in one of two": {"c9", "c2"}} {
			if ok, err := acme.Exists(ctx, one.ID, shardKeys...); !ok || err != nil {
				t.Errorf("exists %s: %t, %v", what, ok, err)
			}
		}
		if ok, err := acme.Exists(ctx, one.ID, "c9"); ok || err != nil {
			t.Errorf("exists with another shard key: %t, %v", ok, err)
		}
		_, err = acme.Exists(ctx, "")
		wantCode(t, err, onto.Invalid)
		must(t, acme.Delete(ctx, one.DBKey()))
		if got, err := acme.SelectByID(ctx, one.ID); err != nil || got.Text != two.Text {
			t.Errorf("after the delete of the one: got %+v, %v", got, err)
		}
	})
}
