package object_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// survey returns a survey that is closed at the end of the test.
func survey(t *testing.T, v *object.Vaults, tenant string) *object.Survey {
	t.Helper()
	y, err := v.Survey(t.Context(), "chat", tenant)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := y.Close(); err != nil {
			t.Error(err)
		}
	})
	return y
}

// wantStates compares the states of the shards, in the order of the list.
func wantStates(t *testing.T, y *object.Survey, want ...object.ShardState) {
	t.Helper()
	for i, s := range y.Shards {
		if i >= len(want) || s.State != want[i] {
			t.Errorf("shard %d, %s, is %s, want %v: %v", i, s, s.State, want, s.Err)
		}
		if (s.State == object.ShardOpen) != (s.Err == nil) {
			t.Errorf("shard %d is %s, and what is wrong is %v", i, s.State, s.Err)
		}
	}
	if len(y.Shards) != len(want) {
		t.Errorf("%d shards, want %d", len(y.Shards), len(want))
	}
}

func TestSurveyOfATenantThatIsWhole(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		y := survey(t, v, "acme")
		buckets := 0
		for _, s := range y.Shards {
			buckets += len(s.Buckets)
			if s.State != object.ShardOpen || s.Err != nil || s.Name == "" || s.Store == nil {
				t.Errorf("got %s, state %s: %v", s, s.State, s.Err)
			}
		}
		if buckets != object.Buckets || y.Unowned != 0 || y.Err != nil {
			t.Errorf("%d buckets, %d without an owner: %v", buckets, y.Unowned, y.Err)
		}
		if _, err := v.Survey(t.Context(), "chat", "nobody"); onto.CodeOf(err) != onto.NotFound {
			t.Errorf("got %v", err)
		}
	})
}

// A layout that no tenant can have is told shard by shard, by vaults that have not opened it, and
// nothing is made.
func TestSurveyOfATenantThatCannotBeOpened(t *testing.T) {
	for _, kind := range []string{"sqlite", "lake", "mixed"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			uri := func(name string) string {
				if kind == "lake" || kind == "mixed" && name == "b-1" {
					return "file://" + filepath.Join(dir, name)
				}
				return "sqlite:///" + filepath.Join(dir, name+".db")
			}
			config := object.Config{"chat": {"a": {uri("a-1"), uri("a-2"), uri("a-3")}, "b": {uri("b-1")}}}
			for _, tenant := range []string{"a", "b"} {
				if err := open(t, config).Init(t.Context(), "chat", tenant); err != nil {
					t.Fatal(err)
				}
			}
			used := uri("used")
			if v := open(t, object.Config{"mail": {"c": {used}}}); v.Init(t.Context(), "mail", "c") != nil {
				t.Fatal("the other vault was not made")
			}
			v := open(t, object.Config{"chat": {
				"a": {uri("a-3"), uri("b-1"), uri("none"), uri("a-1"), used}, "gap": {uri("b-1")}, "none": {uri("none"), uri("none-2")},
			}})
			y := survey(t, v, "a")
			wantStates(t, y, object.ShardOpen, object.ShardStranger, object.ShardNotMade, object.ShardOpen, object.ShardStranger)
			if y.Shards[1].Buckets != nil || y.Shards[0].Name != "shard-3" || y.Unowned != 341 || y.Err != nil {
				t.Errorf("got %+v", y)
			}
			y = survey(t, v, "gap")
			wantStates(t, y, object.ShardStranger)
			if y.Unowned != object.Buckets || onto.CodeOf(y.Err) != onto.Conflict {
				t.Errorf("%d buckets without an owner: %v", y.Unowned, y.Err)
			}
			for range 2 { // the first has made nothing
				wantStates(t, survey(t, v, "none"), object.ShardNotMade, object.ShardNotMade)
			}
		})
	}
}

func TestSurveyNamesBothThatOverlap(t *testing.T) {
	dir := t.TempDir()
	a, b := layout{"sqlite", 2}.uris(dir, "acme"), layout{"sqlite", 3}.uris(dir, "other")
	for _, uris := range [][]string{a, b} {
		if err := open(t, object.Config{"chat": {"acme": uris}}).Init(t.Context(), "chat", "acme"); err != nil {
			t.Fatal(err)
		}
	}
	y := survey(t, open(t, object.Config{"chat": {"acme": {a[0], b[1], a[1]}}}), "acme")
	wantStates(t, y, object.ShardOverlapping, object.ShardOverlapping, object.ShardOverlapping)
	for _, s := range y.Shards {
		if onto.CodeOf(s.Err) != onto.Conflict || onto.HintOf(s.Err).Text == "" {
			t.Errorf("%s: %v", s, s.Err)
		}
	}
	y = survey(t, open(t, object.Config{"chat": {"acme": {a[0], b[1]}}}), "acme")
	if y.Err == nil || y.Unowned == 0 {
		t.Errorf("%d buckets without an owner: %v", y.Unowned, y.Err)
	}
}

func TestShardOfAThing(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		messages, chats := messagesOf(v), object.NewSet[Chat](v, "chat").Ready()
		acme := messages.Tenant("acme")
		for i := range 30 {
			if err := acme.Insert(ctx, message(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := chats.Tenant("acme").Insert(ctx, Chat{ID: "a/b"}); err != nil {
			t.Fatal(err)
		}
		has := func(id onto.Identity) {
			t.Helper()
			s, err := v.ShardOf(ctx, "chat", "acme", id)
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			if _, err := s.Store.Now().Get(ctx, id); err != nil {
				t.Errorf("%s is not on %s: %v", id, s, err)
			}
		}
		for i := range 30 {
			m := message(i)
			has(onto.EntityID("Message", onto.ShardedKey(string(m.Chat), string(m.ID))))
		}
		has(onto.EntityID("Chat", "a%2Fb"))
		for key, want := range map[string]onto.Code{"m001": onto.Invalid, "c1/": onto.Invalid, "c1/a%2": onto.Invalid, "c1/m1/x": onto.Invalid} {
			if _, err := v.ShardOf(ctx, "chat", "acme", onto.EntityID("Message", key)); onto.CodeOf(err) != want || onto.HintOf(err).Text == "" {
				t.Errorf("%s: got %v, want %s", key, err, want)
			}
		}
		if _, err := v.ShardOf(ctx, "chat", "acme", onto.EntityID("Chat", "a/b")); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("got %v", err)
		}
		if _, err := v.ShardOf(ctx, "chat", "rival", onto.EntityID("Message", "c1/m1")); err == nil {
			t.Error("a tenant without the type has the thing")
		}
	})
}

// Things whose keys are not computed are looked for; one that is on two shards is told.
func TestShardOfAThingWithoutAComputedKey(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		shards, err := v.Shards(ctx, "chat", "acme")
		if err != nil {
			t.Fatal(err)
		}
		type Note struct {
			ID string `json:"id" onto:"key"`
		}
		last := shards[len(shards)-1]
		if err := last.Store.Register(ctx, onto.TypeOf[Note]()); err != nil {
			t.Fatal(err)
		}
		put := func(s *store.Store, id string) {
			t.Helper()
			if _, err := s.Commit(ctx, onto.Draft{}.Ensure(Note{id})); err != nil {
				t.Fatal(err)
			}
		}
		put(last.Store, "n1")
		got, err := v.ShardOf(ctx, "chat", "acme", onto.EntityID("Note", "n1"))
		if err != nil || got.Name != last.Name {
			t.Errorf("got %s, %v, want %s", got, err, last)
		}
		if _, err := v.ShardOf(ctx, "chat", "acme", onto.EntityID("Note", "n2")); onto.CodeOf(err) != onto.NotFound {
			t.Errorf("got %v", err)
		}

		// Shards without the type are empty to those who ask by name.
		notes, err := v.Versions(ctx, "chat", "acme", "Note")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := notes.Count(ctx, object.All()); err != nil || n != 1 {
			t.Errorf("counted %d, %v", n, err)
		}
		page, err := notes.Page(ctx, object.All().Order(onto.Order{Operand: onto.Path("id"), Desc: true}).Limit(5))
		if err != nil || len(page.Objects) != 1 || page.Objects[0].Key != "n1" {
			t.Errorf("got %v, %v", page, err)
		}
		if len(shards) == 1 {
			return
		}
		if err := shards[0].Store.Register(ctx, onto.TypeOf[Note]()); err != nil {
			t.Fatal(err)
		}
		put(shards[0].Store, "n1")
		if _, err := v.ShardOf(ctx, "chat", "acme", onto.EntityID("Note", "n1")); onto.CodeOf(err) != onto.Conflict {
			t.Errorf("got %v", err)
		}
	})
}

func TestVersionsInAnOrder(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		for i := range 20 {
			if err := acme.Insert(ctx, message(i)); err != nil {
				t.Fatal(err)
			}
		}
		versions, err := v.Versions(ctx, "chat", "acme", "Message")
		if err != nil {
			t.Fatal(err)
		}
		if s := versions.Schema(); s.Name != "Message" || s.ComputedKey() == nil {
			t.Errorf("got the type %+v", s)
		}
		by := object.All().Order(onto.Order{Operand: onto.Path("place", "city")}, onto.Order{Operand: onto.Path("id"), Desc: true})
		want, err := acme.Select(ctx, object.All().OrderBy("place.city").OrderByDesc("id"))
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for got, err := range versions.Each(ctx, by) {
			if err != nil {
				t.Fatal(err)
			}
			m := want[i]
			if got.Key != onto.ShardedKey(string(m.Chat), string(m.ID)) {
				t.Errorf("row %d is %s, want %s", i, got.Key, m.ID)
			}
			i++
		}
		if i != 20 {
			t.Errorf("%d rows", i)
		}
	})
}

func TestConfigOnly(t *testing.T) {
	c := object.Config{"chat": {"acme": {"a"}, "rival": {"r"}}, "mail": {"acme": {"m"}}}
	for _, k := range []struct {
		vault, tenant string
		vaults, all   int
		code          onto.Code
	}{
		{"", "", 2, 3, ""}, {"chat", "", 1, 2, ""}, {"", "acme", 2, 2, ""}, {"", "rival", 1, 1, ""}, {"mail", "acme", 1, 1, ""},
		{"shop", "", 0, 0, onto.NotFound}, {"mail", "rival", 0, 0, onto.NotFound}, {"", "nobody", 0, 0, onto.NotFound},
	} {
		got, err := c.Only(k.vault, k.tenant)
		n := 0
		for _, tenants := range got {
			n += len(tenants)
		}
		if onto.CodeOf(err) != k.code || len(got) != k.vaults || n != k.all || err != nil && onto.HintOf(err).Text == "" {
			t.Errorf("%s %s: got %v, %v", k.vault, k.tenant, got, err)
		}
	}
}

// The options reach the stores: commits name the run, and drafts have their limit.
func TestOpenWithOptions(t *testing.T) {
	ctx := context.Background()
	config := object.Config{"chat": {"acme": layout{"mixed", 3}.uris(t.TempDir(), "acme")}}
	v, err := object.OpenWith(ctx, config, &store.Options{Runtime: "the-run", MaxBatch: 2}, sqlite.Opener, memory.Opener, lake.Opener)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.Init(ctx, "chat", "acme"); err != nil {
		t.Fatal(err)
	}
	shards, err := v.Shards(ctx, "chat", "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shards {
		if head, err := s.Store.Head(ctx); err != nil || head.Runtime != "the-run" {
			t.Errorf("%s: the run is %q, %v", s, head.Runtime, err)
		}
	}
}
