package store_test

import (
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Relations whose endpoints were renamed are queried under the present names, or as
// stored under those of their time.
func TestRenamedEndpoints(t *testing.T) {
	b := people(t)
	_, err := migrate(t, b, &store.Migration{
		Types: []onto.Type{entityOf("Human", "full_name string", "age int?"), relationOf("Knows", "Human", "Human")},
		Upgraders: []store.Upgrader{
			store.RenameType("Person", "Human"),
			{Type: "Human", RenamedFrom: "Person", Program: ".full_name = .name | del(.name)"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := keepOpen(t, b)
	head, err := s.Head(t.Context())
	if err != nil || head.ID != 3 {
		t.Fatalf("got head %d, %v; want 3", head.ID, err)
	}
	then, err := s.At(1).Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		view  store.View
		from  string
		field string
	}{
		{"now", s.Now(), "Human", "full_name"},
		{"now, as stored", s.Now().AsStored(), "Human", "full_name"},
		{"before", s.At(1), "Human", "full_name"},
		{"before, as stored", s.At(1).AsStored(), "Person", "name"},
		{"at that time, as stored", s.AsOf(then.Time).AsStored(), "Person", "name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := c.view.Find("Knows").Where(onto.Right(c.field).Eq("Bob")).Count(t.Context())
			if n != 1 || err != nil {
				t.Errorf("filter: got %d, %v; want 1", n, err)
			}
			var groups []string
			for g, err := range c.view.Find("Knows").GroupBy(onto.Right(c.field)).Compute(onto.Count()).All(t.Context()) {
				groups = append(groups, fmt.Sprintf("%s %s %v", g.By, g.Values, err))
			}
			if want := `["Bob"] [1] <nil>`; len(groups) != 1 || groups[0] != want {
				t.Errorf("groups: got %q, want %q", groups, want)
			}
			routes := 0
			for r, err := range c.view.Find(c.from).Traverse(store.Via("Knows")).All(t.Context()) {
				if err != nil || r.Source.Type != c.from || r.Path[0].Entity.Type != c.from {
					t.Fatalf("traverse: got %+v, %v", r, err)
				}
				routes++
			}
			if routes != 1 {
				t.Errorf("traverse: got %d routes, want 1", routes)
			}
		})
	}
	for _, err := range s.Now().AsStored().Find("Knows").Where(onto.Left("full_name").Eq("Ada")).Versions(t.Context(), 0) {
		wantError(t, err, onto.Invalid, "endpoints of Knows were renamed")
	}
	found := 0
	for _, err := range s.Now().Find("Knows").Where(onto.Left("full_name").Eq("Ada")).Versions(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("history: got %d versions, want 1", found)
	}
}

// A name that became free can be used again, and become free again: each name has the
// history that was written under it, and the last one all of it.
func TestRenamedBackAndForth(t *testing.T) {
	b := people(t)
	rename := func(from, to string) {
		t.Helper()
		_, err := migrate(t, b, &store.Migration{
			Types:     []onto.Type{entityOf(to, "name string", "age int?"), relationOf("Knows", to, to)},
			Upgraders: []store.Upgrader{store.RenameType(from, to)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rename("Person", "Human")
	rename("Human", "Person")
	rename("Person", "Being")
	s := keepOpen(t, b)
	history := func(id onto.Identity) string {
		text := ""
		for e, err := range s.History(t.Context(), id) {
			if err != nil {
				return err.Error()
			}
			text += fmt.Sprint(e.Commit.ID, e.Version.Op, " ")
		}
		return text
	}
	if got, want := history(onto.EntityID("Being", "ada")), "1put 2put 3put 4put 5put "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for at, want := range map[int64]int64{1: 2, 2: 2, 3: 2, 4: 2, 5: 2} {
		n, err := s.At(at).Find("Being").Count(t.Context())
		if n != want || err != nil {
			t.Errorf("at %d: got %d, %v; want %d", at, n, err, want)
		}
	}
	for c, err := range s.Diff(t.Context(), store.DiffOptions{From: onto.AtCommit(2)}) {
		t.Errorf("got the difference %v, %v; want none", c, err)
	}
}
