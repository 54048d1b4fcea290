package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

func drop(t *testing.T, b backend.Backend, d *store.Drop) (onto.Result, error) {
	t.Helper()
	plan, err := store.PlanDrop(t.Context(), b, d)
	if err != nil {
		return onto.Result{}, err
	}
	res, _, err := store.DropTypes(t.Context(), b, d, &store.ApplyOptions{Token: plan.Token})
	return res, err
}

// shown is what a view has of a type, on one line.
func shown(t *testing.T, v store.View, name string) string {
	t.Helper()
	var list []string
	for found, err := range v.Find(name).All(t.Context()) {
		if err != nil {
			return err.Error()
		}
		list = append(list, string(found.Fields))
	}
	return strings.Join(list, " ")
}

// differences is a diff on one line.
func differences(t *testing.T, s *store.Store, from, to int64) string {
	t.Helper()
	var list []string
	for c, err := range s.Diff(t.Context(), store.DiffOptions{From: onto.AtCommit(from), To: onto.AtCommit(to)}) {
		if err != nil {
			return err.Error()
		}
		list = append(list, c.String())
	}
	return strings.Join(list, ", ")
}

// A reused name stands for two types, each with its own time.
func TestNameUsedAgain(t *testing.T) {
	b := people(t)
	if res, err := drop(t, b, &store.Drop{Kind: onto.KindEntity, Type: "Person", Cascade: true}); err != nil || res.ID != 3 {
		t.Fatalf("got %+v, %v", res, err)
	}
	s := keepOpen(t, b, entityOf("Person", "badge int"))
	mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: "ada", Fields: map[string]any{"badge": 7}}))
	for at, want := range map[int64]string{
		1: `{"age":36,"id":"ada","name":"Ada"} {"id":"bob","name":"Bob"}`,
		3: ``,
		4: `{"badge":7,"id":"ada"}`,
	} {
		if got := shown(t, s.At(at), "Person"); got != want {
			t.Errorf("at %d: got %s, want %s", at, got, want)
		}
	}
	for _, c := range []struct {
		from, to int64
		want     string
	}{
		{0, 2, `insert Person "ada", insert Person "bob", insert Knows "ada" → "bob"`},
		{2, 3, `delete Person "ada", delete Person "bob", delete Knows "ada" → "bob"`},
		{3, 4, `insert Person "ada"`},
		{2, 4, `delete Person "ada", delete Person "bob", insert Person "ada", delete Knows "ada" → "bob"`},
	} {
		if got := differences(t, s, c.from, c.to); got != c.want {
			t.Errorf("diff %d %d: got %s, want %s", c.from, c.to, got, c.want)
		}
	}
	history := ""
	for e, err := range s.History(t.Context(), onto.EntityID("Person", "ada")) {
		if err != nil {
			t.Fatal(err)
		}
		history += fmt.Sprint(e.Commit.ID, " ")
	}
	if history != "4 " {
		t.Errorf("got history %s, want that of the type as it is now", history)
	}
	_, err := s.PlanRevert(t.Context(), store.Revert{Commit: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 2, Over: true})
	wantError(t, err, onto.Invalid, `Person "ada" cannot be reverted`, "was dropped by commit 3")
	// The new type changes as if the old one had never existed.
	if _, err := migrate(t, b, &store.Migration{Types: []onto.Type{entityOf("Person", "badge int", "tier int=1")}}); err != nil {
		t.Error(err)
	}
}

// A purge removes a type under all the names it had, and nothing of others.
func TestPurgeOfRenamedType(t *testing.T) {
	b := people(t)
	_, err := migrate(t, b, &store.Migration{
		Types:     []onto.Type{entityOf("Human", "name string", "age int?"), relationOf("Knows", "Human", "Human")},
		Upgraders: []store.Upgrader{store.RenameType("Person", "Human")},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := keepOpen(t, b, entityOf("Person", "badge int"))
	mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: "x", Fields: map[string]any{"badge": 7}}))
	_, err = drop(t, b, &store.Drop{Kind: onto.KindEntity, Type: "Human", Cascade: true, Purge: true})
	wantError(t, err, onto.Refused, "what is stored under Person is also the history of Person")
	if _, err := drop(t, b, &store.Drop{Kind: onto.KindEntity, Type: "Person"}); err != nil {
		t.Fatal(err)
	}
	_, err = drop(t, b, &store.Drop{Kind: onto.KindEntity, Type: "Person", Purge: true})
	wantError(t, err, onto.Refused, "also the history of Human")
}

func TestPurge(t *testing.T) {
	b := people(t)
	_, err := migrate(t, b, &store.Migration{
		Types:     []onto.Type{entityOf("Human", "name string", "age int?"), relationOf("Knows", "Human", "Human")},
		Upgraders: []store.Upgrader{store.RenameType("Person", "Human")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drop(t, b, &store.Drop{Kind: onto.KindEntity, Type: "Human", Cascade: true, Purge: true}); err != nil {
		t.Fatal(err)
	}
	s := keepOpen(t, b)
	for at := range int64(4) {
		for _, name := range []string{"Person", "Human", "Knows"} {
			if got := shown(t, s.At(at).AsStored(), name); strings.Contains(got, "{") {
				t.Errorf("%s at %d: got %s, want nothing", name, at, got)
			}
		}
		c, err := s.At(at).Commit(t.Context())
		if err != nil || c.Operations != 0 {
			t.Errorf("commit %d holds %d versions, %v; want none", at, c.Operations, err)
		}
	}
	all, _ := s.Schemas(t.Context())
	var purged []string
	for _, v := range all {
		if v.End != nil && v.End.Purged {
			purged = append(purged, fmt.Sprint(v.Schema.Name, " ", v.End.Versions))
		}
	}
	if want := []string{"Human 2", "Person 5", "Knows 1"}; !slices.Equal(purged, want) {
		t.Errorf("got %q, want %q", purged, want)
	}
}

// Relations of a dropped type see their endpoints as these were.
func TestEndpointsOfDroppedTypes(t *testing.T) {
	b := people(t)
	_, err := migrate(t, b, &store.Migration{
		Types:     []onto.Type{entityOf("Person", "full_name string", "age int?"), relationOf("Knows", "Person", "Person")},
		Upgraders: []store.Upgrader{store.RenameField("Person", 1, "name", "full_name")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drop(t, b, &store.Drop{Kind: onto.KindEntity, Type: "Person", Cascade: true}); err != nil {
		t.Fatal(err)
	}
	s := keepOpen(t, b)
	for _, at := range []int64{1, 3} {
		n, err := s.At(at).Find("Knows").Where(onto.Right("full_name").Eq("Bob")).Count(t.Context())
		if n != 1 || err != nil {
			t.Errorf("at %d: got %d, %v; want 1", at, n, err)
		}
	}
}

// The name of a dropped entity type can become that of a relation type.
func TestNameOfAnotherKind(t *testing.T) {
	b := people(t)
	if _, err := drop(t, b, &store.Drop{Kind: onto.KindEntity, Type: "Person", Cascade: true}); err != nil {
		t.Fatal(err)
	}
	s := keepOpen(t, b, entityOf("Place"), relationOf("Person", "Place", "Place"))
	mustCommit(t, s, onto.Draft{}.Ensure(onto.Relation{Type: "Person", Left: "a", Right: "b"}))
	if got := shown(t, s.Now(), "Person"); got != "{}" {
		t.Errorf("got %s, want the relation", got)
	}
}

// A cursor is for the types of its time.
func TestCursorAcrossAMigration(t *testing.T) {
	b := people(t)
	s := keepOpen(t, b)
	page, err := s.At(1).Find("Person").OrderBy(onto.Path("name").Asc()).Limit(1).Page(t.Context())
	if err != nil || page.Next == "" {
		t.Fatalf("got %+v, %v", page, err)
	}
	if _, err := migrate(t, b, &store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int?", "n int=1")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.At(1).Find("Person").OrderBy(onto.Path("name").Asc()).Limit(1).After(page.Next).Page(t.Context()); err != nil {
		t.Errorf("after a compatible migration: %v", err)
	}
	drop := &store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int?")}, Upgraders: []store.Upgrader{store.DropField("Person", 2, "n")}}
	if _, err := migrate(t, b, drop); err != nil {
		t.Fatal(err)
	}
	_, err = keepOpen(t, b).At(1).Find("Person").OrderBy(onto.Path("name").Asc()).Limit(1).After(page.Next).Page(t.Context())
	wantError(t, err, onto.Invalid, "another query", "a migration that is not compatible ends it too")
}
