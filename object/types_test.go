package object_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// Post and those that follow are one type in programs of different ages.
type Post struct {
	ID   string `json:"id"`
	Chat string `json:"chat"`
	Text string `json:"text"`
}

type longerPost struct {
	Post
	Stars int64    `json:"stars"`
	Tags  []string `json:"tags"`
}

type renamedPost struct {
	ID   string `json:"id"`
	Chat string `json:"chat"`
	Body string `json:"body"`
}

func (p Post) DBKey() key        { return object.KeyOf(p.ID, p.Chat) }
func (p renamedPost) DBKey() key { return object.KeyOf(p.ID, p.Chat) }

func posts(n int) []Post {
	var list []Post
	for i := range n {
		m := message(i)
		list = append(list, Post{string(m.ID), string(m.Chat), m.Text})
	}
	return list
}

// A struct with one more field is deployed beside the old program, and both go on.
func TestOneMoreField(t *testing.T) {
	onEachKept(t, func(t *testing.T, uris []string) {
		ctx := t.Context()
		config := object.Config{"chat": {"acme": uris}}
		older, newer := open(t, config), open(t, config)
		must(t, older.Init(ctx, "chat", "acme"))
		old := object.NewSet[Post](older, "chat").Ready().Tenant("acme")
		all := posts(20)
		must(t, old.Insert(ctx, all...))

		set := object.NewSet[longerPost](newer, "chat").As("Post").WithIndexes("stars").Ready().Tenant("acme")
		list, err := set.SelectAll(ctx)
		if err != nil || len(list) != 20 || list[3].Stars != 0 {
			t.Fatalf("got %d, %v", len(list), err)
		}
		p, err := set.Mutate(ctx, key{all[3].ID, all[3].Chat}, func(p *longerPost) error {
			p.Stars, p.Tags = 5, []string{"good"}
			return nil
		})
		must(t, err)
		if got, err := set.Select(ctx, object.Where().Key("stars").GreaterThan(0)); err != nil || !reflect.DeepEqual(got, []longerPost{p}) {
			t.Errorf("got %+v, %v", got, err)
		}
		if n, err := set.Count(ctx, object.Where().Key("stars").Equal(0)); n != 19 || err != nil {
			t.Errorf("counted %d, %v", n, err)
		}

		// The old program goes on, and what it does not know stays.
		got, err := old.SelectByID(ctx, all[3].ID)
		if err != nil || got != all[3] {
			t.Errorf("got %+v, %v", got, err)
		}
		got.Text = "by the old program"
		must(t, old.Update(ctx, got))
		must(t, old.Insert(ctx, Post{"new", "c1", "hello"}))
		if p, err := set.SelectByID(ctx, all[3].ID); err != nil || p.Text != got.Text || p.Stars != 5 {
			t.Errorf("got %+v, %v", p, err)
		}
		if p, err := set.SelectByID(ctx, "new"); err != nil || p.Text != "hello" || p.Stars != 0 {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}

// A migration goes over all shards of all tenants. One that fails in the middle is resumed.
func TestMigrate(t *testing.T) {
	dir := t.TempDir()
	config := object.Config{"chat": {"acme": layout{"sqlite", 3}.uris(dir, "acme"), "rival": layout{"lake", 1}.uris(dir, "rival")}}
	ctx := t.Context()
	before := open(t, config)
	old := object.NewSet[Post](before, "chat").Ready()
	for _, tenant := range []string{"acme", "rival"} {
		must(t, before.Init(ctx, "chat", tenant))
		must(t, old.Tenant(tenant).Insert(ctx, posts(20)...))
	}
	moment := time.Now()
	must(t, before.Close())

	w := &watch{}
	v, err := object.Open(ctx, config, w.openers()...)
	must(t, err)
	defer v.Close()
	set := object.NewSet[renamedPost](v, "chat").As("Post").Ready()
	_, err = set.Tenant("acme").SelectAll(ctx)
	wantCode(t, err, onto.SchemaOutdated)
	if err == nil || !strings.Contains(err.Error(), "tenant acme: shard-") {
		t.Errorf("the error does not name the shard: %v", err)
	}
	if _, err := v.PlanMigration(ctx, "chta", nil); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("got %v", err)
	}
	without, err := v.PlanMigration(ctx, "chat", nil)
	must(t, err)
	if len(without.Shards) != 4 || len(without.Shards[0].Plan.Missing()) == 0 {
		t.Errorf("without an upgrader: got %+v", without.Shards)
	}

	m := &store.Migration{Upgraders: []store.Upgrader{{Type: "Post", From: 1, Program: `.body = .text | del(.text)`}}}
	plan, err := v.PlanMigration(ctx, "chat", m)
	must(t, err)
	if plan.Empty() || len(plan.Shards) != 4 || plan.Shards[0].Tenant != "acme" || plan.Shards[3].Tenant != "rival" {
		t.Fatalf("got %+v", plan)
	}
	_, err = v.Migrate(ctx, "chat", m, "another token")
	wantCode(t, err, onto.MigrationToken)

	ana := as(t, "ana")
	w.spare.Store(1) // the second shard fails
	w.fails.Store(1)
	_, err = v.Migrate(ana, "chat", m, plan.Token)
	wantCode(t, err, onto.Unavailable)
	hint := onto.HintOf(err).String()
	for _, shard := range []string{"tenant acme shard-2", "tenant acme shard-3", "tenant rival shard-1"} {
		if !strings.Contains(hint, shard) || strings.Contains(hint, "acme shard-1") {
			t.Errorf("left behind should be %s: %q", shard, hint)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "tenant acme, shard-2") {
		t.Errorf("the error does not name the shard: %v", err)
	}
	_, err = v.Migrate(ana, "chat", m, plan.Token)
	wantCode(t, err, onto.MigrationToken)
	plan, err = v.PlanMigration(ctx, "chat", m)
	must(t, err)
	if !plan.Shards[0].Plan.Empty() || plan.Shards[1].Plan.Empty() {
		t.Errorf("the plan of the rest is %+v", plan.Shards)
	}
	done, err := v.Migrate(ana, "chat", m, plan.Token)
	if err != nil || len(done.Shards) != 4 {
		t.Fatalf("got %+v, %v", done, err)
	}
	if again, err := v.PlanMigration(ctx, "chat", m); err != nil || !again.Empty() {
		t.Errorf("after it: got %+v, %v", again, err)
	}
	for _, tenant := range []string{"acme", "rival"} {
		list, err := set.Tenant(tenant).SelectAll(ctx)
		if err != nil || len(list) != 20 || list[0].Body != "word0 hello" {
			t.Errorf("%s: got %+v, %v", tenant, list, err)
		}
		past, err := set.Tenant(tenant).AsOf(moment).Count(ctx, object.Where().Key("body").StartsWith("word0"))
		if err != nil || past != 4 {
			t.Errorf("%s: the past has %d, %v", tenant, past, err)
		}
	}
	list, err := set.Tenant("acme").SelectAllWithMetadata(ctx)
	if err != nil || list[0].Metadata.UpdatedBy != onto.Operator("ana") || list[0].Metadata.CreatedBy == onto.Operator("ana") {
		t.Errorf("got %+v, %v", list[0].Metadata, err)
	}
	w.fails.Store(100)
	if err := set.Tenant("acme").Upsert(ctx, renamedPost{"x", "y", "z"}); onto.CodeOf(err) != onto.Unavailable {
		t.Errorf("got %v", err)
	}
	var stop = errors.New("stop")
	if _, err := set.Tenant("acme").Process(ctx, nil, func(context.Context, renamedPost) error { return stop }); err != stop {
		t.Errorf("got %v", err)
	}
}
