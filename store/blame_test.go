package store_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

// showBlame is each field with its commit; the version follows if a migration made the value.
func showBlame(t *testing.T, v store.View, id onto.Identity) string {
	t.Helper()
	list, err := v.Blame(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, b := range list {
		text += fmt.Sprintf("%s=%s@%d", b.Field, b.Value, b.Commit.ID)
		if b.Migration != nil {
			text += fmt.Sprintf("(%s %d)", b.Migration.Schema.Name, b.Migration.Version)
		}
		text += " "
	}
	return text
}

// account is a version of the type Account with other fields than the id.
func account(fields ...string) *store.Migration {
	return &store.Migration{Types: []onto.Type{entityOf("Account", fields...)}}
}

func mustMigrate(t *testing.T, b backend.Backend, m *store.Migration, u ...store.Upgrader) int64 {
	t.Helper()
	m.Upgraders = u
	res, err := migrate(t, b, m)
	if err != nil {
		t.Fatal(err)
	}
	return res.ID
}

// A field that a migration filled in is attributed to the migration; a value that it
// moved to another name keeps the commit that gave it.
func TestBlameAfterMigrations(t *testing.T) {
	put := func(fields string) func(*testing.T, backend.Backend) {
		return func(t *testing.T, b backend.Backend) {
			s := keepOpen(t, b)
			mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Account", Key: "a", Fields: json.RawMessage(fields)}))
		}
	}
	to := func(m *store.Migration, u ...store.Upgrader) func(*testing.T, backend.Backend) {
		return func(t *testing.T, b backend.Backend) { mustMigrate(t, b, m, u...) }
	}
	undo := func(commit int64) func(*testing.T, backend.Backend) {
		return func(t *testing.T, b backend.Backend) {
			if _, _, err := keepOpen(t, b).Revert(t.Context(), onto.Draft{}, store.Revert{Commit: commit}); err != nil {
				t.Fatal(err)
			}
		}
	}
	base := []string{"name string", "age int?"}
	grown := account(append(base, `tier string="Silver"`)...)
	for _, c := range []struct {
		name   string
		steps  []func(*testing.T, backend.Backend)
		now    string
		stored string
	}{
		{"a default", steps(put(`{"name":"Ada"}`), to(grown)),
			`id="a"@1 name="Ada"@1 tier="Silver"@2(Account 2) `, `id="a"@1 name="Ada"@1 tier="Silver"@2 `},
		{"a default and a later change of another field", steps(put(`{"name":"Ada"}`), to(grown), put(`{"name":"Bob"}`)),
			`id="a"@1 name="Bob"@3 tier="Silver"@2(Account 2) `, `id="a"@1 name="Bob"@3 tier="Silver"@2 `},
		{"the value that is there is no change", steps(put(`{"name":"Ada"}`), to(grown), put(`{"name":"Bob","tier":"Silver"}`)),
			`id="a"@1 name="Bob"@3 tier="Silver"@2(Account 2) `, `id="a"@1 name="Bob"@3 tier="Silver"@2 `},
		{"another value, and back", steps(put(`{"name":"Ada"}`), to(grown), put(`{"name":"Ada","tier":"Gold"}`), put(`{"name":"Ada","tier":"Silver"}`)),
			`id="a"@1 name="Ada"@1 tier="Silver"@4 `, `id="a"@1 name="Ada"@1 tier="Silver"@4 `},
		{"a revert", steps(put(`{"name":"Ada"}`), to(grown), put(`{"name":"Bob","tier":"Gold"}`), undo(3)),
			`id="a"@1 name="Ada"@4 tier="Silver"@4 `, `id="a"@1 name="Ada"@4 tier="Silver"@4 `},
		{"an optional field makes no commit", steps(put(`{"name":"Ada"}`), to(account(append(base, "note string?")...)), put(`{"name":"Ada","note":"x"}`)),
			`id="a"@1 name="Ada"@1 note="x"@2 `, `id="a"@1 name="Ada"@1 note="x"@2 `},
		{"a renamed field", steps(put(`{"name":"Ada"}`), put(`{"name":"Bob"}`), to(account("full_name string", "age int?"), store.RenameField("Account", 1, "name", "full_name"))),
			`full_name="Bob"@2 id="a"@1 `, `full_name="Bob"@3 id="a"@1 `},
		{"a renamed field, changed later", steps(put(`{"name":"Ada","age":3}`), to(account("full_name string", "age int?"), store.RenameField("Account", 1, "name", "full_name")),
			put(`{"full_name":"Bob","age":3}`)),
			`age=3@1 full_name="Bob"@3 id="a"@1 `, `age=3@1 full_name="Bob"@3 id="a"@1 `},
		{"two fields of the same value, one renamed", steps(put(`{"name":"3","age":3}`), put(`{"name":"4","age":3}`),
			to(account("years int?", "name string"), store.RenameField("Account", 1, "age", "years"))),
			`id="a"@1 name="4"@2 years=3@1 `, `id="a"@1 name="4"@2 years=3@3 `},
		{"a value that an upgrader makes", steps(put(`{"name":"Ada","age":3}`),
			to(account("label string", "age int?"), store.Upgrader{Type: "Account", From: 1, Program: `.label = .name + "!" | del(.name)`})),
			`age=3@1 id="a"@1 label="Ada!"@2(Account 2) `, `age=3@1 id="a"@1 label="Ada!"@2 `},
		{"a value that an upgrader changes", steps(put(`{"name":"Ada","age":3}`), put(`{"name":"Ada","age":4}`),
			to(account(append(base, "note string?")...), store.Upgrader{Type: "Account", From: 1, Program: `.age += 1`})),
			`age=5@3(Account 2) id="a"@1 name="Ada"@1 `, `age=5@3 id="a"@1 name="Ada"@1 `},
		{"a type that an upgrader changes", steps(put(`{"name":"Ada","age":3}`),
			to(account("name string", "age string?"), store.Upgrader{Type: "Account", From: 1, Program: `.age |= tostring`})),
			`age="3"@2(Account 2) id="a"@1 name="Ada"@1 `, `age="3"@2 id="a"@1 name="Ada"@1 `},
		{"a value like that of a dropped field", steps(put(`{"name":"Ada","age":1}`),
			to(account("name string", "seats int"), store.Upgrader{Type: "Account", From: 1, Program: `.seats = 1 | del(.age)`})),
			`id="a"@1 name="Ada"@1 seats=1@2(Account 2) `, `id="a"@1 name="Ada"@1 seats=1@2 `},
		{"two migrations", steps(put(`{"name":"Ada"}`), to(grown),
			to(account("name string", "age int?", "level string"), store.RenameField("Account", 2, "tier", "level"))),
			`id="a"@1 level="Silver"@2(Account 2) name="Ada"@1 `, `id="a"@1 level="Silver"@3 name="Ada"@1 `},
		{"a renamed field that has its default", steps(put(`{"name":"Ada"}`), to(grown), put(`{"name":"Ada","tier":"Gold"}`), put(`{"name":"Ada"}`),
			to(account("name string", "age int?", `level string="Silver"`), store.RenameField("Account", 2, "tier", "level"))),
			`id="a"@1 level="Silver"@4 name="Ada"@1 `, `id="a"@1 level="Silver"@5 name="Ada"@1 `},
		{"deleted and made again", steps(put(`{"name":"Ada"}`), to(grown), func(t *testing.T, b backend.Backend) {
			mustCommit(t, keepOpen(t, b), onto.Draft{}.Delete(onto.EntityID("Account", "a")))
		}, put(`{"name":"Ada"}`)), `id="a"@4 name="Ada"@4 tier="Silver"@4 `, `id="a"@4 name="Ada"@4 tier="Silver"@4 `},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := memory.New(nil).Open()
			keepOpen(t, b, account(base...).Types...)
			for _, step := range c.steps {
				step(t, b)
			}
			s, id := keepOpen(t, b), onto.EntityID("Account", "a")
			if got := showBlame(t, s.Now(), id); got != c.now {
				t.Errorf("got %s, want %s", got, c.now)
			}
			if got := showBlame(t, s.Now().AsStored(), id); got != c.stored {
				t.Errorf("as stored: got %s, want %s", got, c.stored)
			}
		})
	}
}

func steps(list ...func(*testing.T, backend.Backend)) []func(*testing.T, backend.Backend) {
	return list
}

// Renaming a type does not attribute existing values to the migration.
func TestBlameOfARenamedType(t *testing.T) {
	b := people(t)
	if _, err := migrate(t, b, &store.Migration{
		Types:     []onto.Type{entityOf("Human", "name string", "age int?", "seats int"), relationOf("Knows", "Human", "Human")},
		Upgraders: []store.Upgrader{store.RenameType("Person", "Human"), {Type: "Human", RenamedFrom: "Person", Program: ".seats = 2"}},
	}); err != nil {
		t.Fatal(err)
	}
	s := keepOpen(t, b)
	ada := onto.EntityID("Human", "ada")
	if got, want := showBlame(t, s.Now(), ada), `age=37@2 id="ada"@1 name="Ada L"@2 seats=2@3(Human 1) `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := showBlame(t, s.At(1), ada), `age=36@1 id="ada"@1 name="Ada"@1 seats=2@3(Human 1) `; got != want {
		t.Errorf("at 1: got %s, want %s", got, want)
	}
	if got, want := showBlame(t, s.At(2).AsStored(), onto.EntityID("Person", "ada")), `age=37@2 id="ada"@1 name="Ada L"@2 `; got != want {
		t.Errorf("at 2, as stored: got %s, want %s", got, want)
	}
}

// A migration that rewrites nothing makes no commit. A value of it in a view of the
// past is attributed to no commit, also not to the next one.
func TestBlameWithoutACommit(t *testing.T) {
	b := memory.New(nil).Open()
	s := keepOpen(t, b, account("name string").Types...)
	id := onto.EntityID("Account", "a")
	mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Account", Key: "a", Fields: map[string]any{"name": "Ada"}}))
	mustCommit(t, s, onto.Draft{}.Delete(id))
	if commit := mustMigrate(t, b, account("name string", `tier string="Silver"`)); commit != 0 {
		t.Fatalf("got commit %d, want none", commit)
	}
	for range 2 {
		s = keepOpen(t, b)
		if got, want := showBlame(t, s.At(1), id), `id="a"@1 name="Ada"@1 tier="Silver"@0(Account 2) `; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Account", Key: "a", Fields: map[string]any{"name": "Eve"}}))
	}
}

func TestBlameErrors(t *testing.T) {
	b := memory.New(nil).Open()
	s := keepOpen(t, b, account("name string").Types...)
	id := onto.EntityID("Account", "a")
	mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Account", Key: "a", Fields: map[string]any{"name": "Ada"}}))
	double := func(fields map[string]any) (map[string]any, error) {
		fields["age"] = 2
		return fields, nil
	}
	u := store.Upgrader{Type: "Account", From: 1, Func: double}
	mustMigrate(t, b, account("name string", "age int"), u)
	s, err := store.OpenWith(t.Context(), kept{b}, &store.Options{Upgraders: []store.Upgrader{u}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := showBlame(t, s.Now(), id), `age=2@2(Account 2) id="a"@1 name="Ada"@1 `; got != want {
		t.Errorf("with the upgrader: got %s, want %s", got, want)
	}
	s = keepOpen(t, b)
	_, err = s.Blame(t.Context(), id)
	wantError(t, err, onto.UpgraderMissing, "Account 1 → 2", "--as-stored")
	if got, want := showBlame(t, s.Now().AsStored(), id), `age=2@2 id="a"@1 name="Ada"@1 `; got != want {
		t.Errorf("as stored: got %s, want %s", got, want)
	}
	for what, c := range map[string]struct {
		view store.View
		id   onto.Identity
		code onto.Code
		want string
	}{
		"never there":          {s.Now(), onto.EntityID("Account", "x"), onto.NotFound, "never did"},
		"not there yet":        {s.At(0), id, onto.NotFound, "never did"},
		"an unknown type":      {s.Now(), onto.EntityID("Acount", "a"), onto.Invalid, "did you mean Account?"},
		"a commit to be made":  {s.At(9), id, onto.NotFound, "9"},
		"a key that is none":   {s.Now(), onto.EntityID("Account", ""), onto.Invalid, "key"},
		"as stored, never was": {s.Now().AsStored(), onto.EntityID("Account", "x"), onto.NotFound, "never did"},
	} {
		_, err := c.view.Blame(t.Context(), c.id)
		if onto.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want code %s", what, err, c.code)
			continue
		}
		wantError(t, err, c.code, c.want)
	}
}
