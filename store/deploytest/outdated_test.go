package deploytest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// An old program that writes a field which was dropped changes nothing.
func TestWriteOfADroppedField(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(typeV1(), knows)
		w.commit(old, personV1{"ada", "Ada", 36})
		w.migrate(person("name string"), store.DropField("Person", 1, "age"))
		for range 2 {
			w.refused(onto.SchemaOutdated, func() error {
				_, err := old.Commit(w.Context(), onto.Draft{}.Ensure(personV1{"bob", "Bob", 40}, personV1{"ada", "Ada", 37}))
				return err
			}, "Person: + age")
		}
		w.refused(onto.SchemaOutdated, func() error {
			_, err := store.Get[personV1](w.Context(), old.Now(), "ada")
			return err
		}, "Person: + age")
		w.commit(old, onto.Relation{Type: "Knows", Left: "ada", Right: "bob"})
	})
}

// A program whose struct is outdated writes by name what it has learned, and keeps what
// came later.
func TestOutdatedProgramKeepsLaterFields(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(typeV1())
		w.commit(old, personV1{"ada", "Ada", 36})
		w.migrate(person("called string"), store.Upgrader{Type: "Person", From: 1, Program: ".called = .name | del(.name, .age)"})
		w.want(old, "ada", `{"called":"Ada","id":"ada"}`)
		w.commit(old, named("ada", map[string]any{"called": "A"}))
		w.migrate(person("called string", "tier int=1", "mail string?"))
		w.commit(w.open(), named("ada", map[string]any{"called": "A", "tier": 7, "mail": "m@x"}))
		for _, called := range []string{"B", "C"} { // before and after it has learned of them
			w.commit(old, named("ada", map[string]any{"called": called}))
			w.want(old, "ada", fmt.Sprintf(`{"called":%q,"id":"ada","mail":"m@x","tier":7}`, called))
		}
		w.refused(onto.SchemaOutdated, func() error {
			_, err := old.Commit(w.Context(), onto.Draft{}.Ensure(personV1{"ada", "Ada", 36}))
			return err
		}, "+ age, + name, - called")
	})
}

// An outdated program is told of what ends it, and not of what it could go on with.
func TestDifferencesThatMatter(t *testing.T) {
	place := func(fields ...onto.Field) onto.Type {
		s := onto.Schema{Kind: onto.KindEntity, Name: "Place", Key: "id", Fields: append(fields, onto.Field{Name: "id", Type: onto.String})}
		s.SortFields()
		return onto.Untyped(s)
	}
	everywhere(t, func(w world) {
		old := w.open(typeV1(), place())
		w.migrate(typeV2())
		w.migrate(place(onto.Field{Name: "zip", Type: onto.String}), store.Upgrader{Type: "Place", From: 1, Program: `.zip = ""`})
		w.refused(onto.SchemaOutdated, func() error {
			_, err := old.Commit(w.Context(), onto.Draft{}.Ensure(personV1{"ada", "Ada", 36}, onto.Entity{Type: "Place", Key: "rome"}))
			var e *onto.Error
			if errors.As(err, &e) && len(e.Differences) != 1 {
				w.Errorf("got %v, want one difference", e.Differences)
			}
			return err
		}, "Place: - zip")
	})
}

// A diff that is the first call after a migration shows both moments as the types are
// now.
func TestDiffRightAfterAMigration(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(typeV1())
		w.commit(old, personV1{"ada", "Ada", 36})
		w.migrate(typeV2())
		w.commit(w.open(typeV2()), personV2{"ada", "Ada", 37, nil, 1})
		for _, typ := range []string{"", "Person"} {
			var got []string
			for c, err := range old.Diff(w.Context(), store.DiffOptions{From: onto.AtCommit(1), Type: typ}) {
				if err != nil {
					w.Fatal(err)
				}
				got = append(got, string(c.Before.Fields)+" "+string(c.After.Fields))
			}
			if want := `[{"age":36,"id":"ada","name":"Ada","tier":1} {"age":37,"id":"ada","name":"Ada","tier":1}]`; fmt.Sprint(got) != want {
				w.Errorf("%q: got %s, want %s", typ, got, want)
			}
			old = w.open(typeV1())
		}
	})
}

// What is stored alike before and after a change of meaning is not the same.
func TestDiffAcrossAChangeOfMeaning(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(typeV1())
		w.commit(s, personV1{"ada", "Ada", 36}, personV1{"bob", "Bob", 40})
		w.migrate(person("name string", "age int", "mail string?"), store.Upgrader{Type: "Person", From: 1, Program: `.mail = "none"`})
		w.commit(w.open(), named("ada", map[string]any{"name": "Ada", "age": 36}))
		var got []string
		for c, err := range s.Diff(w.Context(), store.DiffOptions{From: onto.AtCommit(1)}) {
			if err != nil {
				w.Fatal(err)
			}
			got = append(got, string(c.Before.Fields)+" "+string(c.After.Fields))
		}
		if want := `[{"age":36,"id":"ada","mail":"none","name":"Ada"} {"age":36,"id":"ada","name":"Ada"}]`; fmt.Sprint(got) != want {
			w.Errorf("got %s, want %s", got, want)
		}
	})
}
