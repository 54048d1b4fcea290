package store_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store"
)

// lampType is a type of entities with texts as fields, id being the key.
func lampType(name string, fields ...string) onto.Schema {
	s := onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id"}
	for _, f := range append(fields, "id") {
		s.Fields = append(s.Fields, onto.Field{Name: f, Type: onto.String})
	}
	s.SortFields()
	return s
}

// evolveTo changes types and rows in one commit, and opens the store again.
func evolveTo(t *testing.T, s *store.Store, e backend.Evolution, writes ...backend.Write) *store.Store {
	t.Helper()
	all, err := s.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.Base, e.Reason, e.Runtime = typelist.Hash(all), "migration", "test"
	_, err = s.Backend().AppendStream(t.Context(), &backend.Draft{Evolve: &e}, func(yield func(backend.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), s.Backend())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func storedAs(typ, key, fields string, version int) backend.Write {
	return backend.Write{Identity: onto.EntityID(typ, key), Op: onto.Put, Fields: []byte(fields), SchemaVersion: version}
}

func lamp(typ string, fields map[string]any) onto.Draft {
	return onto.Draft{}.Ensure(onto.Entity{Type: typ, Key: "k", Fields: fields})
}

// wantFields fails unless the entity k has these fields now.
func wantFields(t *testing.T, s *store.Store, typ, want string) {
	t.Helper()
	v, err := s.Now().Get(t.Context(), onto.EntityID(typ, "k"))
	if err != nil || string(v.Fields) != want {
		t.Errorf("got %s, %v, want %s", v.Fields, err, want)
	}
}

// grownLamp has commits 1 and 2 with version 1 of the type, and commit 3, which
// migrated to version 2.
func grownLamp(t *testing.T, s *store.Store) *store.Store {
	t.Helper()
	s = evolveTo(t, s, backend.Evolution{Add: []backend.NewVersion{{Schema: lampType("Lamp", "title")}}})
	mustCommit(t, s, lamp("Lamp", map[string]any{"title": "a"}))
	mustCommit(t, s, lamp("Lamp", map[string]any{"title": "b"}))
	return evolveTo(t, s, backend.Evolution{Add: []backend.NewVersion{{
		Schema: lampType("Lamp", "name"), Upgrader: &onto.StoredUpgrader{Program: `.name = .title | del(.title)`},
	}}}, storedAs("Lamp", "k", `{"id":"k","name":"b"}`, 2))
}

// renameLamp gives the type another name; the name of its only entity is given.
func renameLamp(t *testing.T, s *store.Store, name string) *store.Store {
	t.Helper()
	return evolveTo(t, s, backend.Evolution{
		Add: []backend.NewVersion{{Schema: lampType("Light", "name"), Upgrader: &onto.StoredUpgrader{RenamedFrom: "Lamp", FromVersion: 2}}},
		End: []backend.EndedType{{Kind: onto.KindEntity, Type: "Lamp", RenamedTo: "Light"}},
	}, backend.Write{Identity: onto.EntityID("Lamp", "k"), Op: onto.Delete, SchemaVersion: 2},
		storedAs("Light", "k", `{"id":"k","name":"`+name+`"}`, 1))
}

func TestRevertToAnOlderVersionOfAType(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		s = grownLamp(t, s)
		// The migration itself changed nothing that could be undone or could block.
		if got := showPlan(t, revertPlan(t, s, store.Revert{Commit: 3})); got != "[3]" {
			t.Errorf("reverting the migration: got plan %q", got)
		}
		p := revertPlan(t, s, store.Revert{Commit: 2})
		if got := showPlan(t, p); got != "[2] update_version k" {
			t.Errorf("got plan %q", got)
		}
		mustRevert(t, s, store.Revert{Commit: 2})
		wantFields(t, s, "Lamp", `{"id":"k","name":"a"}`)
		mustRevert(t, s, store.Revert{Identity: onto.EntityID("Lamp", "k"), To: 2})
		wantFields(t, s, "Lamp", `{"id":"k","name":"b"}`)
		_, _, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 1})
		wantError(t, err, onto.Refused, `by commits 2, 4, 5`)
	})
}

func TestRevertATypeThatWasRenamed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		s = grownLamp(t, s)
		s = renameLamp(t, s, "b")
		if got := showPlan(t, revertPlan(t, s, store.Revert{Commit: 4})); got != "[4]" {
			t.Errorf("reverting the renaming: got plan %q", got)
		}
		mustRevert(t, s, store.Revert{Commit: 2})
		wantFields(t, s, "Light", `{"id":"k","name":"a"}`)
		mustRevert(t, s, store.Revert{Identity: onto.EntityID("Light", "k"), To: 2})
		wantFields(t, s, "Light", `{"id":"k","name":"b"}`)
	})
}

func TestRevertACorrelationAcrossARenaming(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		s = grownLamp(t, s)
		change := func(typ, name string) {
			d := lamp(typ, map[string]any{"name": name})
			d.Correlation = "mine"
			mustCommit(t, s, d)
		}
		change("Lamp", "c")
		s = renameLamp(t, s, "c")
		change("Light", "d")
		if got := showPlan(t, revertPlan(t, s, store.Revert{Correlation: "mine"})); got != "[4 6] update_version k" {
			t.Errorf("got plan %q", got)
		}
		mustRevert(t, s, store.Revert{Correlation: "mine"})
		wantFields(t, s, "Light", `{"id":"k","name":"b"}`)
	})
}

func TestRevertATypeThatWasDropped(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		s = grownLamp(t, s)
		s = evolveTo(t, s, backend.Evolution{End: []backend.EndedType{{Kind: onto.KindEntity, Type: "Lamp"}}},
			backend.Write{Identity: onto.EntityID("Lamp", "k"), Op: onto.Delete, SchemaVersion: 2})
		for _, commit := range []int64{2, 4} {
			_, _, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: commit, Over: true})
			wantError(t, err, onto.Invalid, `Lamp "k" cannot be reverted: type Lamp was dropped by commit 4`)
		}
		_, err := s.PlanRevert(t.Context(), store.Revert{Identity: onto.EntityID("Lamp", "k"), To: 1})
		wantError(t, err, onto.Invalid, "type Lamp was dropped by commit 4")
	})
}
