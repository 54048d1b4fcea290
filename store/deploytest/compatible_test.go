package deploytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

func TestStructWithAFieldOfAnotherType(t *testing.T) {
	type text struct {
		ID  string `json:"id" onto:"key"`
		Age string `json:"age"`
	}
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1()), personV1{"ada", "Ada", 36})
		w.refused(onto.SchemaOutdated, func() error {
			_, err := store.Open(w.Context(), w.handle(), onto.TypeOf[text]().As("Person"))
			return err
		}, "~ age: int → string")
	})
}

// Programs may all migrate when they start. To the same version that happens once; of
// two others one wins, and the second is told that it would drop a field.
func TestMigrationsAtOnce(t *testing.T) {
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1(), knows), personV1{"ada", "Ada", 36})
		atOnce := func(upgraders []store.Upgrader, types ...onto.Type) []error {
			errs := make([]error, len(types))
			var wg sync.WaitGroup
			for i, typ := range types {
				wg.Go(func() { errs[i] = w.tryMigrate(typ, upgraders...) })
			}
			wg.Wait()
			return errs
		}
		if err := errors.Join(atOnce(nil, typeV2(), typeV2(), typeV2(), typeV2())...); err != nil {
			w.Error(err)
		}
		errs := atOnce(nil, person("name string", "age int", "mail string?", "tier int=1", "x int?"), person("name string", "age int", "mail string?", "tier int=1", "y int?"))
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), onto.UpgraderMissing) {
			w.Errorf("got %v, want that one migrated", errs)
		}
		s := w.open()
		all, err := s.Schemas(w.Context())
		if err != nil || typelist.NextVersion(all, onto.TypeName{Kind: onto.KindEntity, Name: "Person"}) != 4 {
			w.Errorf("got %+v, %v; want 3 versions", all, err)
		}
		w.want(s, "ada", `{"age":36,"id":"ada","name":"Ada","tier":1}`)

		last := person("called string", "tier int=1")
		upgraders := []store.Upgrader{{Type: "Person", From: 3, Program: ".called = .name | del(.name, .age, .mail, .x, .y)"}}
		if err := errors.Join(atOnce(upgraders, last, last, last, last)...); err != nil {
			w.Error(err)
		}
		w.want(s, "ada", `{"called":"Ada","id":"ada","tier":1}`)
		if all, err = s.Schemas(w.Context()); err != nil || typelist.NextVersion(all, onto.TypeName{Kind: onto.KindEntity, Name: "Person"}) != 5 {
			w.Errorf("got %+v, %v; want 4 versions", all, err)
		}
	})
}

// A program that migrates at start to an earlier version than is stored leaves it,
// since it can go on; an upgrader leads back.
func TestMigrationToAnEarlierVersion(t *testing.T) {
	everywhere(t, func(w world) {
		w.open(typeV1(), knows)
		w.migrate(typeV2())
		w.commit(w.open(typeV2()), personV2{"ada", "Ada", 36, nil, 7})
		plan, err := store.PlanMigration(w.Context(), w.handle(), &store.Migration{Types: []onto.Type{typeV1()}})
		if err != nil || !plan.Empty() || len(plan.Newer) != 1 || plan.Newer[0].String() != "Person: - mail, - tier" {
			w.Errorf("got %+v, %v; want nothing to do", plan, err)
		}
		w.migrate(typeV1())
		w.want(w.open(typeV1()), "ada", `{"age":36,"id":"ada","name":"Ada","tier":7}`)
		w.migrate(typeV1(), store.Upgrader{Type: "Person", From: 2, Program: "del(.mail, .tier)"})
		w.want(w.open(typeV1()), "ada", `{"age":36,"id":"ada","name":"Ada"}`)
		w.refused(onto.UpgraderMissing, func() error { return w.tryMigrate(person("name string")) }, "age is gone")
	})
}

// A field of a wider type stops an old program only where a value does not fit.
func TestWidenedFields(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(typeV1(), knows)
		w.commit(old, personV1{"ada", "Ada", 36})
		w.migrate(person("name any", "age float"))
		next := w.open()
		w.commit(next, named("bob", map[string]any{"name": "Bob", "age": 40.5}), named("eve", map[string]any{"name": []any{"E"}, "age": 1}))
		w.commit(old, personV1{"ada", "Ada", 37})
		w.want(old, "ada", `{"age":37,"id":"ada","name":"Ada"}`)
		for key, texts := range map[string][]string{"bob": {`Person "bob"`, "field age"}, "eve": {`Person "eve"`, "field name"}} {
			w.refused(onto.SchemaOutdated, func() error {
				_, err := store.Get[personV1](w.Context(), old.Now(), key)
				return err
			}, texts...)
			w.refused(onto.SchemaOutdated, func() error {
				for _, err := range store.History[personV1](w.Context(), old, key) {
					return err
				}
				return nil
			}, texts...)
		}
		w.refused(onto.SchemaOutdated, func() error {
			for _, err := range store.Find[personV1](old.Now()).All(w.Context()) {
				if err != nil {
					return err
				}
			}
			return nil
		}, `Person "bob"`, "field age")
		w.commit(next, named("zoe", map[string]any{"name": "Zoe", "age": 9}))
		var seen []string // the rows behind those that do not fit follow
		for p, err := range store.Find[personV1](old.Now()).All(w.Context()) {
			if seen = append(seen, p.ID); err != nil {
				seen[len(seen)-1] = string(onto.CodeOf(err))
			}
		}
		for v, err := range store.Find[personV1](old.Now()).Versions(w.Context(), 0) {
			if seen = append(seen, v.Value.ID); err != nil {
				seen[len(seen)-1] = string(onto.CodeOf(err))
			}
		}
		if got, want := strings.Join(seen, " "), "ada schema_outdated schema_outdated zoe ada schema_outdated schema_outdated ada zoe"; got != want {
			w.Errorf("got %s, want %s", got, want)
		}
		w.want(old, "bob", `{"age":40.5,"id":"bob","name":"Bob"}`)
		w.want(old, "eve", `{"age":1,"id":"eve","name":["E"]}`)
		w.commit(old, personV1{"bob", "Bob", 41}) // it is replaced by what fits
		got, err := store.Get[personV1](w.Context(), old.Now(), "bob")
		if err != nil || got.Age != 41 {
			w.Errorf("got %+v, %v", got, err)
		}
	})
}

// The first question after a change is about values that the known type did not have.
func TestFirstQuestionAfterAChange(t *testing.T) {
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1(), knows), personV1{"ada", "Ada", 36})
		for _, c := range []struct {
			t      onto.Type
			fields map[string]any
			where  onto.Filter
		}{
			{person("name string", "age int?"), map[string]any{"name": "Bob"}, onto.Path("age").IsNull()},
			{person("name string", "age float?"), map[string]any{"name": "Bob", "age": 40.5}, onto.Path("age").Gt(40)},
			{person("name any", "age float?"), map[string]any{"name": 5}, onto.Path("name").Ne("Ada")},
		} {
			asks := map[string]func(s *store.Store) (int64, error){
				"count": func(s *store.Store) (int64, error) {
					return s.Now().Find("Person").Where(c.where).Count(w.Context())
				},
				"find": func(s *store.Store) (n int64, err error) {
					for _, err := range s.Now().Find("Person").Where(c.where).All(w.Context()) {
						if n++; err != nil {
							return n, err
						}
					}
					return n, nil
				},
				"sort": func(s *store.Store) (int64, error) { // what is missing comes last
					page, err := s.Now().Find("Person").OrderBy(onto.Path("age").Asc()).Limit(5).Page(w.Context())
					if err == nil && (len(page.Items) != 2 || page.Items[0].Key != "ada") {
						err = fmt.Errorf("got %v", page.Items)
					}
					return 1, err
				},
			}
			olds := map[string]*store.Store{}
			for ask := range asks {
				olds[ask] = w.open()
			}
			w.migrate(c.t)
			w.commit(w.open(), named("bob", c.fields))
			for name, ask := range asks {
				if n, err := ask(olds[name]); n != 1 || err != nil {
					w.Errorf("%s of %v: got %d, %v; want 1", name, c.where, n, err)
				}
			}
		}
	})
}

// A relation goes on while the types of its ends change.
func TestRelationBesideChangedEnds(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(typeV1(), knows)
		w.commit(old, personV1{"ada", "Ada", 36}, personV1{"bob", "Bob", 40}, onto.Relation{Type: "Knows", Left: "ada", Right: "bob"})
		w.migrate(typeV2())
		count := func(s *store.Store, want int64) {
			w.Helper()
			n, err := s.Now().Find("Knows").Where(onto.Left("age").Gt(30), onto.Right("name").Eq("Bob")).Count(w.Context())
			if n != want || err != nil {
				w.Errorf("got %d, %v; want %d", n, err, want)
			}
			for r, err := range s.Now().Find("Person").Traverse(store.Via("Knows")).All(w.Context()) {
				if err != nil || r.Path[0].Entity.Key != "bob" {
					w.Errorf("got %v, %v", r, err)
				}
			}
		}
		count(old, 1)
		w.commit(old, personV1{"eve", "Eve", 50}, onto.Relation{Type: "Knows", Left: "eve", Right: "bob"})
		count(old, 2)
		count(w.open(typeV1(), knows), 2)
		if _, err := old.Commit(w.Context(), onto.Draft{}.Delete(onto.RelationID("Knows", "ada", "bob"))); err != nil {
			w.Error(err)
		}
		count(w.open(typeV2(), knows), 1)
	})
}

// Programs with an older or a smaller type change no flags.
func TestFlagsStay(t *testing.T) {
	type marked struct {
		ID   string  `json:"id" onto:"key"`
		Name string  `json:"name" onto:"index,search"`
		Age  int64   `json:"age" onto:"index"`
		Mail *string `json:"mail" onto:"search"`
		Tier int64   `json:"tier" onto:"default=1"`
	}
	type smaller struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name"`
		Age  int64  `json:"age"`
		Tier int64  `json:"tier" onto:"index,default=1"`
	}
	everywhere(t, func(w world) {
		old := w.open(typeV1())
		w.migrate(typeV2())
		w.open(onto.TypeOf[marked]().As("Person"))
		flags := func() string {
			s, err := w.open().Type("Person")
			if err != nil {
				w.Fatal(err)
			}
			return fmt.Sprint(s.Fields)
		}
		before := flags()
		if !strings.Contains(before, "true") {
			w.Fatalf("nothing is marked: %s", before)
		}
		w.commit(old, personV1{"ada", "Ada", 36})
		w.open(typeV1())
		w.commit(w.open(onto.TypeOf[smaller]().As("Person")), smaller{"bob", "Bob", 40, 2})
		if plan, err := store.PlanTypes(w.Context(), w.handle(), typeV1()); err != nil || len(plan.New)+len(plan.Retuned) > 0 {
			w.Errorf("got %+v, %v; want no change", plan, err)
		}
		if after := flags(); after != before {
			w.Errorf("got %s, want %s", after, before)
		}
		n, err := w.open().Now().Find("Person").Search("bob").Count(w.Context())
		if n != 1 || err != nil {
			w.Errorf("a search finds %d, %v; want 1", n, err)
		}
	})
}

// Streams and imports of old programs keep what they do not know.
func TestStreamsOfOldPrograms(t *testing.T) {
	everywhere(t, func(w world) {
		running := w.open(typeV1())
		w.migrate(typeV2())
		mail := "m@x"
		for name, old := range map[string]*store.Store{"running": running, "restarted": w.open(typeV1())} {
			w.commit(w.open(typeV2()), personV2{"ada", "Ada", 36, &mail, 7}, personV2{"bob", "Bob", 40, &mail, 8})
			_, err := old.CommitStream(w.Context(), onto.Draft{}.Ensure(personV1{"ada", "Ada", 50}), func(yield func(any, error) bool) {
				_ = yield(personV1{"bob", "Bob", 51}, nil) && yield(personV1{name, "New", 52}, nil)
			})
			if err != nil {
				w.Error(err)
			}
			w.want(old, "ada", `{"age":50,"id":"ada","mail":"m@x","name":"Ada","tier":7}`)
			w.want(old, "bob", `{"age":51,"id":"bob","mail":"m@x","name":"Bob","tier":8}`)
			w.want(old, name, fmt.Sprintf(`{"age":52,"id":%q,"name":"New","tier":1}`, name))

			file := `{"kind":"entity","type":"Person","key":"ada","fields":{"id":"ada","name":"Imported","age":60}}` + "\n"
			opts := &records.ImportOptions{Format: records.JSONL, OnConflict: records.Upsert}
			for i, want := range []records.Outcome{{Updates: 1}, {Unchanged: 1}} {
				plan, err := records.Plan(w.Context(), old, strings.NewReader(file), opts)
				if err != nil || plan.Updates != want.Updates || plan.Unchanged != want.Unchanged {
					w.Errorf("%s: plan %d: got %d updates, %d unchanged, %v", name, i, plan.Updates, plan.Unchanged, err)
				}
				done, err := records.Import(w.Context(), old, strings.NewReader(file), opts)
				if err != nil || done.Updates != want.Updates || done.Unchanged != want.Unchanged {
					w.Errorf("%s: import %d: got %d updates, %d unchanged, %v", name, i, done.Updates, done.Unchanged, err)
				}
			}
			w.want(old, "ada", `{"age":60,"id":"ada","mail":"m@x","name":"Imported","tier":7}`)
		}
	})
}

// A draft is the same one when its program runs again beside a newer type.
func TestIdempotencyKeyAfterARestart(t *testing.T) {
	everywhere(t, func(w world) {
		draft := onto.Draft{IdempotencyKey: "k"}.Ensure(personV1{"ada", "Ada", 36}, named("bob", map[string]any{"name": "Bob", "age": 1}))
		running := w.open(typeV1())
		first, err := running.Commit(w.Context(), draft)
		if err != nil {
			w.Fatal(err)
		}
		w.migrate(typeV2())
		w.migrate(person("name string", "age float", "mail string?", "tier int=1", "x int?"))
		for _, s := range []*store.Store{running, w.open(typeV1())} {
			if again, err := s.Commit(w.Context(), draft); err != nil || !again.Repeated || again.ID != first.ID {
				w.Errorf("got %+v, %v; want commit %d again", again, err, first.ID)
			}
			if again, err := s.CommitStream(w.Context(), draft, func(func(any, error) bool) {}); err != nil || !again.Repeated {
				w.Errorf("got %+v, %v; want commit %d again", again, err, first.ID)
			}
		}
		w.refused(onto.IdempotencyConflict, func() error {
			_, err := running.Commit(w.Context(), onto.Draft{IdempotencyKey: "k"}.Ensure(personV1{"ada", "Ada", 37}))
			return err
		})
	})
}

// A preview tells what a commit would do, also of an old program.
func TestPreviewOfAnOldProgram(t *testing.T) {
	everywhere(t, func(w world) {
		running := w.open(typeV1())
		w.migrate(typeV2())
		mail := "m@x"
		w.commit(w.open(typeV2()), personV2{"ada", "Ada", 36, &mail, 7})
		for _, old := range []*store.Store{running, w.open(typeV1())} {
			for want, things := range map[string][]any{
				"[false true]": {personV1{"ada", "Ada", 36}, personV1{"new", "New", 1}},
				"[true]":       {personV1{"ada", "Ada", 37}},
			} {
				var got []bool
				for p, err := range old.Preview(w.Context(), func(yield func(any, error) bool) {
					for _, thing := range things {
						if !yield(thing, nil) {
							return
						}
					}
				}) {
					if err != nil {
						w.Fatal(err)
					}
					got = append(got, p.Changes)
				}
				if fmt.Sprint(got) != want {
					w.Errorf("%v: got changes %v, want %s", things, got, want)
				}
			}
		}
	})
}

// A revert brings back the whole thing, whatever the program knows of it.
func TestRevertByAnOldProgram(t *testing.T) {
	everywhere(t, func(w world) {
		running := w.open(typeV1())
		w.migrate(typeV2())
		next, mail := w.open(typeV2()), "m@x"
		restarted := w.open(typeV1())
		for _, old := range []*store.Store{running, restarted} {
			before := w.commit(next, personV2{"ada", "Ada", 36, nil, 7})
			after := w.commit(next, personV2{"ada", "Ada L", 37, &mail, 8})
			plan, err := old.PlanRevert(w.Context(), store.Revert{Commit: after.ID})
			if err != nil {
				w.Fatal(err)
			}
			for c, err := range plan.Changes {
				if err != nil || string(c.Then.Fields) != `{"age":36,"id":"ada","name":"Ada","tier":7}` {
					w.Errorf("got %+v, %v", c, err)
				}
			}
			if _, _, err := old.Revert(w.Context(), onto.Draft{}, store.Revert{Commit: after.ID}); err != nil {
				w.Fatal(err)
			}
			w.want(old, "ada", `{"age":36,"id":"ada","name":"Ada","tier":7}`)
			for range 2 {
				res, _, err := old.Revert(w.Context(), onto.Draft{}, store.Revert{Identity: onto.EntityID("Person", "ada"), To: before.ID})
				if err != nil || res.Changed() {
					w.Errorf("got %+v, %v; want nothing to do", res, err)
				}
			}
			if _, err := next.Commit(w.Context(), onto.Draft{}.Delete(onto.EntityID("Person", "ada"))); err != nil {
				w.Fatal(err)
			}
		}
	})
}

// A cursor goes on across compatible changes, and ends with others.
func TestCursorAcrossChanges(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(typeV1(), knows)
		for i := range 6 {
			w.commit(old, personV1{fmt.Sprint("p", i), fmt.Sprint("n", 5-i), int64(i)})
		}
		read := func(ctx context.Context, s *store.Store, cursor string) (store.Page[personV1], error) {
			return store.Find[personV1](s.Now()).Where(onto.Path("age").Ge(0)).OrderBy(onto.Path("name").Asc()).Limit(2).After(cursor).Page(ctx)
		}
		page, err := read(w.Context(), old, "")
		if err != nil {
			w.Fatal(err)
		}
		w.migrate(typeV2())
		w.commit(w.open(typeV2()), personV2{"later", "n9", 9, nil, 1})
		keys := ""
		for i, s := range []*store.Store{old, w.open(typeV1())} {
			if page, err = read(w.Context(), s, page.Next); err != nil {
				w.Fatal(err)
			}
			for _, p := range page.Items {
				keys += p.ID + " "
			}
			if i == 0 {
				w.migrate(person("name string", "age int?", "mail string?", "tier int=1"))
			}
		}
		if keys != "p3 p2 p1 p0 " || page.Next != "" {
			w.Errorf("got %s and %q, want p3 p2 p1 p0 and no more", keys, page.Next)
		}
		page, err = read(w.Context(), old, "")
		if err != nil {
			w.Fatal(err)
		}
		w.migrate(person("called string", "age int?"), store.Upgrader{Type: "Person", From: 3, Program: ".called = .name | del(.name, .mail, .tier)"})
		w.refused(onto.SchemaOutdated, func() error { _, err := read(w.Context(), old, page.Next); return err }, "Person")
	})
}
