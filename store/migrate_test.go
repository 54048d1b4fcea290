package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store"
)

// entityOf is a type with an id and the fields given as "name type", "name type?"
// for optional and "name type=default".
func entityOf(name string, fields ...string) onto.Type {
	s := onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	for _, text := range fields {
		field, typ, _ := strings.Cut(text, " ")
		typ, def, hasDefault := strings.Cut(typ, "=")
		f := onto.Field{Name: field, Type: onto.FieldType(strings.TrimSuffix(typ, "?")), Optional: strings.HasSuffix(typ, "?")}
		if hasDefault {
			f.Default = []byte(def)
		}
		s.Fields = append(s.Fields, f)
	}
	s.SortFields()
	return onto.Untyped(s)
}

func relationOf(name, left, right string) onto.Type {
	return onto.Untyped(onto.Schema{Kind: onto.KindRelation, Name: name, Left: left, Right: right})
}

// people is a store with two versions of two people, one of them gone.
func people(t *testing.T) backend.Backend {
	t.Helper()
	b, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		backendtest.Check(t, b)
		b.Close()
	})
	s := keepOpen(t, b, entityOf("Person", "name string", "age int?"), relationOf("Knows", "Person", "Person"))
	put := func(key, fields string) onto.Entity {
		return onto.Entity{Type: "Person", Key: key, Fields: []byte(fields)}
	}
	mustCommit(t, s, onto.Draft{}.Ensure(put("ada", `{"name":"Ada","age":36}`), put("bob", `{"name":"Bob"}`),
		onto.Relation{Type: "Knows", Left: "ada", Right: "bob"}))
	mustCommit(t, s, onto.Draft{}.Ensure(put("ada", `{"name":"Ada L","age":37}`)))
	return b
}

// keepOpen opens a store on a backend that is closed elsewhere.
func keepOpen(t *testing.T, b backend.Backend, types ...onto.Type) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), kept{b}, types...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept is a backend that its store does not close.
type kept struct{ backend.Backend }

func (kept) Close() error              { return nil }
func (k kept) Unwrap() backend.Backend { return k.Backend }

// migrate plans and applies.
func migrate(t *testing.T, b backend.Backend, m *store.Migration) (onto.Result, error) {
	t.Helper()
	plan, err := store.PlanMigration(t.Context(), b, m)
	if err != nil {
		return onto.Result{}, err
	}
	res, _, err := store.Migrate(t.Context(), b, m, &store.ApplyOptions{Token: plan.Token})
	return res, err
}

// unchanged runs f and fails if the types or the head have changed afterwards.
func unchanged(t *testing.T, b backend.Backend, f func()) {
	t.Helper()
	before, err := b.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head, _ := b.Resolve(t.Context(), onto.Point{})
	f()
	after, _ := b.Schemas(t.Context())
	now, _ := b.Resolve(t.Context(), onto.Point{})
	if typelist.Hash(before) != typelist.Hash(after) || head.ID != now.ID {
		t.Errorf("something has changed: head %d → %d", head.ID, now.ID)
	}
	leases, err := b.(backend.Leaser).Leases(t.Context())
	if err != nil || len(leases) > 0 {
		t.Errorf("leases are left: %v, %v", leases, err)
	}
}

func TestMigrationPlan(t *testing.T) {
	b := people(t)
	m := &store.Migration{
		Types: []onto.Type{
			entityOf("Person", "full_name string", "age float?", "tier string=\"Silver\"", "note string?"),
			entityOf("Place", "name string"),
			relationOf("Knows", "Person", "Person"),
		},
		Upgraders: []store.Upgrader{store.RenameField("Person", 1, "name", "full_name")},
	}
	var plan *store.MigrationPlan
	unchanged(t, b, func() {
		var err error
		if plan, err = store.PlanMigration(t.Context(), b, m); err != nil {
			t.Fatal(err)
		}
	})
	got := fmt.Sprintf("head %d", plan.Head)
	for _, p := range plan.Types {
		got += fmt.Sprintf("\n%s %s %d→%d live %d rewrite %t: %s", p.Kind, p.Name, p.From, p.To, p.Live, p.Rewrite, p.Difference)
		for _, s := range p.Steps {
			got += "\n  " + s.Name + ": " + s.How
		}
	}
	want := `head 2
entity Person 1→2 live 2 rewrite true: Person: + full_name, + note, + tier, - name, ~ age: int optional → float optional
  Person 1 → 2: rename field name to full_name
entity Place 0→1 live 0 rewrite false: Place: + id, + name`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMigrationRefuses(t *testing.T) {
	person := entityOf("Person", "name string", "age int?")
	loop := func(fields map[string]any) (map[string]any, error) { select {} }
	for _, c := range []struct {
		name  string
		m     store.Migration
		code  onto.Code
		texts []string
	}{
		{"a step without an upgrader", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int")}},
			onto.UpgraderMissing, []string{"Person 1 → 2", "age is required and was optional", "--upgraders"}},
		{"a program that fails", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: `if .age then . else error("no age") end`}}},
			onto.UpgraderFailed, []string{"Person 1 → 2", `Person "bob"`, "no age", `{"id":"bob","name":"Bob"}`}},
		{"a program that returns a wrong shape", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: `.age = "old"`}}},
			onto.UpgraderFailed, []string{"Person 1 → 2", `Person "ada"`, "field age", "expected int"}},
		{"a program that returns too much", store.Migration{Types: []onto.Type{entityOf("Person", "name string")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: `.`}}},
			onto.UpgraderFailed, []string{`Person "ada"`, "no field age"}},
		{"a program that changes the key", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: `.id = "x"`}}},
			onto.UpgraderFailed, []string{`Person "ada"`, `the key is "ada", but field id says "x"`}},
		{"a program that never ends", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: `last(repeat(.))`}}},
			onto.UpgraderFailed, []string{`Person "ada"`, "did not end within"}},
		{"a program that is not jq", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: `.age |`}}},
			onto.Invalid, []string{"Person 1 → 2"}},
		{"a function that fails", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Func: func(map[string]any) (map[string]any, error) { return nil, errors.New("no luck") }}}},
			onto.UpgraderFailed, []string{`Person "ada"`, "no luck"}},
		{"a function that panics", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Func: func(map[string]any) (map[string]any, error) { panic("oh") }}}},
			onto.UpgraderFailed, []string{`Person "ada"`, "panicked: oh"}},
		{"a function that never ends", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Func: loop}}},
			onto.UpgraderFailed, []string{`Person "ada"`, "did not end within"}},
		{"a function that returns nothing", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Func: func(map[string]any) (map[string]any, error) { return nil, nil }}}},
			onto.UpgraderFailed, []string{`Person "ada"`, "returned nothing"}},
		{"an upgrader for a step that is not there", store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 2, Program: `.`}}}, onto.Invalid, []string{"Person 2 → 3", "only 2 versions"}},
		{"an upgrader for a type that is not there", store.Migration{Types: []onto.Type{person},
			Upgraders: []store.Upgrader{{Type: "Persn", From: 1, Program: `.`}}}, onto.Invalid, []string{"Persn", "did you mean Person"}},
		{"a type renamed by mistake", store.Migration{Types: []onto.Type{entityOf("Persn", "name string", "age int?")}},
			onto.Conflict, []string{"Persn is not stored", "Person", "renamed_from: Person"}},
		{"a renaming to what exists", store.Migration{Types: []onto.Type{relationOf("Knows", "Person", "Person"), person},
			Upgraders: []store.Upgrader{store.RenameType("Nobody", "Person")}}, onto.Invalid, []string{"Nobody does not exist"}},
		{"a renaming that leaves a relation behind", store.Migration{Types: []onto.Type{entityOf("Human", "name string", "age int?")},
			Upgraders: []store.Upgrader{store.RenameType("Person", "Human")}}, onto.Invalid, []string{"relation Knows has the endpoint Person"}},
		{"another endpoint", store.Migration{Types: []onto.Type{person, entityOf("Place"), relationOf("Knows", "Person", "Place")}},
			onto.Invalid, []string{"Knows: the right endpoint is Place and was Person"}},
		{"an unknown endpoint", store.Migration{Types: []onto.Type{relationOf("Likes", "Person", "Thing")}}, onto.Invalid, []string{"Thing"}},
		{"another kind", store.Migration{Types: []onto.Type{relationOf("Person", "Person", "Person")}}, onto.Conflict, []string{"Person"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := people(t)
			unchanged(t, b, func() {
				_, err := migrateWithin(t, b, &c.m, 50*time.Millisecond)
				wantError(t, err, c.code, c.texts...)
			})
		})
	}
}

func migrateWithin(t *testing.T, b backend.Backend, m *store.Migration, limit time.Duration) (onto.Result, error) {
	res, _, err := store.Migrate(t.Context(), b, m, &store.ApplyOptions{Force: true, UpgradeTimeout: limit})
	return res, err
}

func TestMigrationToken(t *testing.T) {
	b := people(t)
	add := func(field string) *store.Migration {
		return &store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int?", field+" string?")}}
	}
	plan := func(m *store.Migration) string {
		p, err := store.PlanMigration(t.Context(), b, m)
		if err != nil {
			t.Fatal(err)
		}
		return p.Token
	}
	apply := func(m *store.Migration, o *store.ApplyOptions) error {
		_, _, err := store.Migrate(t.Context(), b, m, o)
		return err
	}
	unchanged(t, b, func() {
		wantError(t, apply(add("x"), nil), onto.Invalid, "no token")
		wantError(t, apply(add("x"), &store.ApplyOptions{}), onto.Invalid, "no token")
		wantError(t, apply(add("x"), &store.ApplyOptions{Token: "hello"}), onto.Invalid, `"hello" is not a token`)
		wantError(t, apply(add("x"), &store.ApplyOptions{Token: plan(add("x")), Force: true}), onto.Invalid, "contradict")
		wantError(t, apply(add("x"), &store.ApplyOptions{Token: plan(add("y"))}), onto.MigrationToken, "another", "plan it again")
	})
	stale := plan(add("x"))
	s := keepOpen(t, b)
	mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Person", "bob")))
	unchanged(t, b, func() {
		wantError(t, apply(add("x"), &store.ApplyOptions{Token: stale}), onto.MigrationToken, "head 2")
		// Force leaves out the token and nothing else.
		wantError(t, apply(&store.Migration{Types: []onto.Type{entityOf("Person")}}, &store.ApplyOptions{Force: true}), onto.UpgraderMissing)
	})
	if err := apply(add("x"), &store.ApplyOptions{Force: true}); err != nil {
		t.Error(err)
	}
}

// A schema-only change makes no commit, and old rows stay as they are.
func TestMigrationOfSchemaOnly(t *testing.T) {
	b := people(t)
	res, err := migrate(t, b, &store.Migration{Types: []onto.Type{entityOf("Person", "name any", "age float?", "mail string?")}})
	if err != nil || res.Changed() {
		t.Fatalf("got %+v, %v; want no commit", res, err)
	}
	s := keepOpen(t, b)
	mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: "bob", Fields: map[string]any{"name": "Bob", "mail": "b@x"}}))
	n, err := s.At(1).Find("Person").Where(onto.Path("age").Ge(36)).Count(t.Context())
	if n != 1 || err != nil {
		t.Errorf("got %d, %v; want 1", n, err)
	}
	all, _ := s.Schemas(t.Context())
	for _, v := range typelist.Newest(all) {
		if v.Schema.Name == "Person" && (v.Version != 2 || v.Since != 3 || v.Reason != "migration") {
			t.Errorf("got version %d since %d, reason %s; want 2, 3, migration", v.Version, v.Since, v.Reason)
		}
	}
}

// reading is each kind of read of Person and Knows, by name.
func reading(ctx context.Context, s *store.Store) map[string]func() error {
	return map[string]func() error{
		"get":   func() error { _, err := s.Now().Get(ctx, onto.EntityID("Person", "ada")); return err },
		"count": func() error { _, err := s.Now().Find("Person").Count(ctx); return err },
		"exists": func() error {
			_, err := s.At(1).Find("Person").Where(onto.Path("name").Eq("Nobody")).Exists(ctx)
			return err
		},
		"group": func() error { _, err := s.Now().Find("Person").Compute(ctx, onto.Path("age").Sum()); return err },
		"page":  func() error { _, err := s.Now().Find("Person").Limit(1).Page(ctx); return err },
		"endpoint": func() error {
			_, err := s.Now().Find("Knows").Where(onto.Left("name").Eq("Ada")).Count(ctx)
			return err
		},
		"diff": func() error {
			for _, err := range s.Diff(ctx, store.DiffOptions{From: onto.AtCommit(1), Type: "Person"}) {
				return err
			}
			return nil
		},
		"history": func() error {
			for _, err := range s.History(ctx, onto.EntityID("Person", "ada")) {
				return err
			}
			return nil
		},
	}
}

// A program that was opened with the old types continues beside a compatible change,
// and its writes keep the fields that it does not know.
func TestMigrationBesideAnOldProgram(t *testing.T) {
	for name := range reading(t.Context(), nil) {
		t.Run(name, func(t *testing.T) {
			b := people(t)
			old := keepOpen(t, b)
			if _, err := migrate(t, b, &store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int?", "tier int=1")}}); err != nil {
				t.Fatal(err)
			}
			mustCommit(t, keepOpen(t, b), onto.Draft{}.Ensure(
				onto.Entity{Type: "Person", Key: "eve", Fields: map[string]any{"name": "Eve", "tier": 7}}))
			put := func(key string) {
				t.Helper()
				mustCommit(t, old, onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: key, Fields: map[string]any{"name": "New"}}))
			}
			put("eve") // before it has read anything, and after
			if err := reading(t.Context(), old)[name](); err != nil {
				t.Error(err)
			}
			put("bob")
			v, err := old.Now().Get(t.Context(), onto.EntityID("Person", "eve"))
			if want := `{"id":"eve","name":"New","tier":7}`; err != nil || string(v.Fields) != want {
				t.Errorf("got %s, %v; want %s", v.Fields, err, want)
			}
			v, err = old.Now().Get(t.Context(), onto.EntityID("Person", "bob"))
			if want := `{"id":"bob","name":"New","tier":1}`; err != nil || string(v.Fields) != want {
				t.Errorf("got %s, %v; want %s", v.Fields, err, want)
			}
		})
	}
}

// human is a Person as an old program has it.
type human struct {
	ID   string `json:"id" onto:"key"`
	Name string `json:"name"`
	Age  *int   `json:"age"`
}

// After an incompatible change, an old program learns types anew that it knows by name;
// for its Go structs it is told what has changed.
func TestMigrationBesideAnOutdatedProgram(t *testing.T) {
	for name := range reading(t.Context(), nil) {
		b := people(t)
		old := keepOpen(t, b, onto.TypeOf[human]().As("Person"))
		if _, err := store.Get[human](t.Context(), old.Now(), "ada"); err != nil {
			t.Fatal(err)
		}
		rename := &store.Migration{Types: []onto.Type{entityOf("Person", "called string", "age int?")}, Upgraders: []store.Upgrader{store.RenameField("Person", 1, "name", "called")}}
		if _, err := migrate(t, b, rename); err != nil {
			t.Fatal(err)
		}
		err := reading(t.Context(), old)[name]()
		if renamed := name == "exists" || name == "endpoint"; renamed {
			wantError(t, err, onto.Invalid, "name")
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err = store.Get[human](t.Context(), old.Now(), "ada")
		wantError(t, err, onto.SchemaOutdated, "type Person has changed", "Person: + name, - called")
		_, err = store.Find[human](old.Now()).Count(t.Context())
		wantError(t, err, onto.SchemaOutdated, "type Person has changed")
		_, err = old.Commit(t.Context(), onto.Draft{}.Ensure(human{ID: "eve", Name: "Eve"}))
		wantError(t, err, onto.SchemaOutdated, "Person: + name, - called")
		mustCommit(t, old, onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: "eve", Fields: map[string]any{"called": "Eve"}}))
	}

	b := people(t)
	old := keepOpen(t, b)
	if _, err := migrate(t, b, &store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int?", "tier int")}, Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: ".tier = 1"}}}); err != nil {
		t.Fatal(err)
	}
	_, err := old.Commit(t.Context(), onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: "eve", Fields: map[string]any{"name": "Eve"}}))
	wantError(t, err, onto.SchemaOutdated)
	var e *onto.Error
	if !errors.As(err, &e) || len(e.Differences) != 1 || e.Differences[0].String() != "Person: - tier" {
		t.Errorf("got differences %v, want Person: - tier", e)
	}
}

// Go functions belong to programs: a program without them is told so, and can still
// read what needs none of them.
func TestMigrationByFunction(t *testing.T) {
	b := people(t)
	upgrader := store.Upgrader{Type: "Person", From: 1, Func: func(fields map[string]any) (map[string]any, error) {
		fields["initial"] = fields["name"].(string)[:1]
		return fields, nil
	}}
	types := []onto.Type{entityOf("Person", "name string", "age int?", "initial string")}
	if _, err := migrate(t, b, &store.Migration{Types: types, Upgraders: []store.Upgrader{upgrader}}); err != nil {
		t.Fatal(err)
	}
	first := func(s *store.Store) (onto.Version, error) {
		return s.At(1).Get(t.Context(), onto.EntityID("Person", "ada"))
	}
	without := keepOpen(t, b)
	_, err := first(without)
	wantError(t, err, onto.UpgraderMissing, "Person 1 → 2", "Go function", "Upgraders")
	if _, err := without.Now().Get(t.Context(), onto.EntityID("Person", "ada")); err != nil {
		t.Error(err)
	}
	with, err := store.OpenWith(t.Context(), kept{b}, &store.Options{Upgraders: []store.Upgrader{upgrader}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := first(with)
	if want := `{"age":36,"id":"ada","initial":"A","name":"Ada"}`; err != nil || string(v.Fields) != want {
		t.Errorf("got %s, %v; want %s", v.Fields, err, want)
	}
}

// A cancelled migration leaves everything as it was.
func TestMigrationCancelled(t *testing.T) {
	b := people(t)
	ctx, cancel := context.WithCancel(t.Context())
	upgrader := store.Upgrader{Type: "Person", From: 1, Func: func(fields map[string]any) (map[string]any, error) {
		cancel()
		return fields, nil
	}}
	unchanged(t, b, func() {
		_, _, err := store.Migrate(ctx, b, &store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age any?")}, Upgraders: []store.Upgrader{upgrader}},
			&store.ApplyOptions{Force: true})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want canceled", err)
		}
	})
}
