package object_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// An object is inserted, read, changed, deleted and inserted again.
func TestLifeOfAnObject(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		acme := messagesOf(v).Tenant("acme")
		ctx := object.With(t.Context(), onto.Draft{Actor: onto.Operator("ana"), Comment: "import"})
		m := message(1)
		if err := acme.Insert(ctx, m); err != nil {
			t.Fatal(err)
		}
		wantCode(t, acme.Insert(ctx, m), onto.Conflict)
		for _, shardKeys := range [][]ChatID{nil, {m.Chat}} {
			got, err := acme.SelectByID(ctx, m.ID, shardKeys...)
			if err != nil || !reflect.DeepEqual(got, m) {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		_, err := acme.SelectByID(ctx, "nobody")
		wantCode(t, err, onto.NotFound)

		before := time.Now()
		bob := object.With(t.Context(), onto.Draft{Actor: onto.Operator("bob")})
		changed := m
		changed.Text = "changed"
		if err := acme.Update(bob, changed); err != nil {
			t.Fatal(err)
		}
		full, err := acme.SelectByIDWithMetadata(ctx, m.ID, m.Chat)
		if err != nil || !reflect.DeepEqual(full.Object, changed) {
			t.Fatalf("got %+v, %v", full, err)
		}
		md := full.Metadata
		if md.CreatedBy != onto.Operator("ana") || md.UpdatedBy != onto.Operator("bob") || md.UpdatedAt.Before(md.CreatedAt) || md.CreatedAt.IsZero() {
			t.Errorf("got %+v", md)
		}
		if err := acme.Update(ctx, changed); err != nil {
			t.Fatal(err)
		}
		if again, _ := acme.SelectByIDWithMetadata(ctx, m.ID); !reflect.DeepEqual(again, full) {
			t.Errorf("an update that changes nothing made %+v of %+v", again, full)
		}
		was, err := acme.AsOf(before).SelectByID(ctx, m.ID, m.Chat)
		if err != nil || !reflect.DeepEqual(was, m) {
			t.Errorf("as of before the update: got %+v, %v", was, err)
		}

		if err := acme.Delete(ctx, m.DBKey()); err != nil {
			t.Fatal(err)
		}
		if err := acme.Delete(ctx, m.DBKey()); err != nil {
			t.Errorf("deleting again: %v", err)
		}
		exists, err := acme.Exists(ctx, m.ID)
		if exists || err != nil {
			t.Errorf("exists after its delete: %t, %v", exists, err)
		}
		wantCode(t, acme.Update(ctx, changed), onto.NotFound)
		if err := acme.Insert(bob, m); err != nil {
			t.Fatal(err)
		}
		if anew, err := acme.SelectByIDWithMetadata(ctx, m.ID); err != nil || anew.Metadata.CreatedBy != onto.Operator("bob") || anew.Metadata.CreatedAt.Before(md.UpdatedAt) {
			t.Errorf("inserted anew: got %+v, %v", anew, err)
		}
		var texts []string
		for r, err := range acme.History(ctx, m.DBKey()) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Deleted {
				texts = append(texts, "-")
			} else {
				texts = append(texts, r.Object.Text)
			}
		}
		if want := []string{m.Text, "changed", "-", m.Text}; !slices.Equal(texts, want) {
			t.Errorf("the history is %v, want %v", texts, want)
		}
	})
}

// Many objects come back in order, with global limits, whatever the number of shards.
func TestSelect(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		set := messagesOf(v)
		acme := set.Tenant("acme")
		var all []Message
		for i := range 60 {
			all = append(all, message(i))
		}
		if err := acme.Insert(ctx, all...); err != nil {
			t.Fatal(err)
		}
		byKey := func(a, b Message) int {
			if a.Chat != b.Chat {
				return compare(a.Chat, b.Chat)
			}
			return compare(a.ID, b.ID)
		}
		bySent := func(a, b Message) int {
			if a.Sent != b.Sent {
				return int(b.Sent - a.Sent)
			}
			return byKey(a, b)
		}
		type clause = object.Clause
		for name, c := range map[string]struct {
			where     clause
			match     func(Message) bool
			order     func(a, b Message) int
			shardKeys []ChatID
			offset, n int
		}{
			"all":           {object.All(), func(Message) bool { return true }, byKey, nil, 0, 0},
			"nil":           {nil, func(Message) bool { return true }, byKey, nil, 0, 0},
			"equal":         {object.Where().Key("sender").Equal("ana"), func(m Message) bool { return m.Sender == "ana" }, byKey, nil, 0, 0},
			"not equal":     {object.Where().Key("stars").NotEqual(0), func(m Message) bool { return m.Stars != nil && *m.Stars != 0 }, byKey, nil, 0, 0},
			"not in":        {object.Where().Key("stars").NotIn(0, 1), func(m Message) bool { return m.Stars != nil && *m.Stars > 1 }, byKey, nil, 0, 0},
			"in":            {object.Where().Key("sender").In("ana", "eve"), func(m Message) bool { return m.Sender != "bob" }, byKey, nil, 0, 0},
			"null":          {object.Where().Key("stars").IsNull(), func(m Message) bool { return m.Stars == nil }, byKey, nil, 0, 0},
			"not null":      {object.Where().Key("stars").IsNotNull(), func(m Message) bool { return m.Stars != nil }, byKey, nil, 0, 0},
			"nested":        {object.Where().Key("place.city").Equal("Oslo"), func(m Message) bool { return m.Place.City == "Oslo" }, byKey, nil, 0, 0},
			"less":          {object.Where().Key("sent").LessThan(3), func(m Message) bool { return m.Sent < 3 }, byKey, nil, 0, 0},
			"at most":       {object.Where().Key("sent").LessThanOrEqual(3), func(m Message) bool { return m.Sent <= 3 }, byKey, nil, 0, 0},
			"greater":       {object.Where().Key("sent").GreaterThan(3), func(m Message) bool { return m.Sent > 3 }, byKey, nil, 0, 0},
			"at least":      {object.Where().Key("sent").GreaterThanOrEqual(3), func(m Message) bool { return m.Sent >= 3 }, byKey, nil, 0, 0},
			"contains":      {object.Where().Key("text").Contains("d3 h"), func(m Message) bool { return m.Text == "word3 hello" }, byKey, nil, 0, 0},
			"starts":        {object.Where().Key("text").StartsWith("word3"), func(m Message) bool { return m.Text == "word3 hello" }, byKey, nil, 0, 0},
			"ends":          {object.Where().Key("id").EndsWith("7"), func(m Message) bool { return m.ID[3] == '7' }, byKey, nil, 0, 0},
			"and":           {object.Where().Key("sender").Equal("ana").And().Key("sent").Equal(3), func(m Message) bool { return m.Sender == "ana" && m.Sent == 3 }, byKey, nil, 0, 0},
			"or":            {object.Where().Key("sender").Equal("ana").Or().Key("sent").Equal(3).And().Key("sender").Equal("bob"), func(m Message) bool { return m.Sender == "ana" || m.Sent == 3 && m.Sender == "bob" }, byKey, nil, 0, 0},
			"filter":        {object.Where().Filter(onto.Not{Of: onto.Path("sender").Eq("ana")}), func(m Message) bool { return m.Sender != "ana" }, byKey, nil, 0, 0},
			"search":        {object.Where().Search("word2").And().Key("sender").Equal("bob"), func(m Message) bool { return m.Text == "word2 hello" && m.Sender == "bob" }, byKey, nil, 0, 0},
			"search nested": {object.Where().Key("sent").LessThan(5).And().Search("tag1 hell*"), func(m Message) bool { return m.Place.Tags[0] == "tag1" && m.Sent < 5 }, byKey, nil, 0, 0},
			"order":         {object.All().OrderByDesc("sent"), func(Message) bool { return true }, bySent, nil, 0, 0},
			"limit":         {object.All().OrderByDesc("sent").Limit(7), func(Message) bool { return true }, bySent, nil, 0, 7},
			"offset":        {object.All().OrderByDesc("sent").Offset(5).Limit(7), func(Message) bool { return true }, bySent, nil, 5, 7},
			"offset only":   {object.All().Offset(50), func(Message) bool { return true }, byKey, nil, 50, 0},
			"shard key":     {object.All(), func(m Message) bool { return m.Chat == "c3" }, byKey, []ChatID{"c3"}, 0, 0},
			"shard keys":    {object.All().OrderByDesc("sent").Limit(5), func(m Message) bool { return m.Chat == "c3" || m.Chat == "c5" }, bySent, []ChatID{"c3", "c5", "c3"}, 0, 5},
			"nothing":       {object.Where().Key("sender").Equal("mallory"), func(Message) bool { return false }, byKey, nil, 0, 0},
		} {
			var want []Message
			for _, m := range all {
				if c.match(m) {
					want = append(want, m)
				}
			}
			matching := len(want)
			slices.SortFunc(want, c.order)
			want = want[min(c.offset, len(want)):]
			if c.n > 0 {
				want = want[:min(c.n, len(want))]
			}
			got, err := acme.Select(ctx, c.where, c.shardKeys...)
			if err != nil || !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
				t.Errorf("%s: got %d %v, %v; want %d %v", name, len(got), ids(got), err, len(want), ids(want))
			}
			if n, err := acme.Count(ctx, c.where, c.shardKeys...); err != nil || n != int64(matching) {
				t.Errorf("%s: counted %d, %v, want %d", name, n, err, matching)
			}
			full, err := acme.SelectWithMetadata(ctx, c.where, c.shardKeys...)
			if err != nil || len(full) != len(want) {
				t.Errorf("%s: got %d with metadata, %v", name, len(full), err)
			}
			for i, o := range full {
				if !reflect.DeepEqual(o.Object, want[i]) || o.Metadata.CreatedAt.IsZero() || o.Metadata.Shard == "" {
					t.Errorf("%s: got %+v", name, o)
				}
			}
			var seen []Message
			n, err := acme.Process(ctx, c.where, func(_ context.Context, m Message) error {
				seen = append(seen, m)
				return nil
			}, c.shardKeys...)
			if err != nil || n != len(want) || !reflect.DeepEqual(seen, got) {
				t.Errorf("%s: processed %d, %v", name, n, err)
			}
		}
		stop := errors.New("stop")
		if n, err := acme.Process(ctx, nil, func(_ context.Context, m Message) error {
			if m.ID == "m014" {
				return stop
			}
			return nil
		}); err != stop || n != 2 {
			t.Errorf("processed %d, %v", n, err)
		}
		if none, err := set.Tenant("rival").SelectAll(ctx); err != nil || len(none) > 0 {
			t.Errorf("another tenant sees %v, %v", ids(none), err)
		}
	})
}

func compare[S ~string](a, b S) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func ids(list []Message) []MessageID {
	var all []MessageID
	for _, m := range list {
		all = append(all, m.ID)
	}
	return all
}
