package store_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// What store.Migrate, onto migrate --help and the README promise to a program that was
// started with the old types: after a compatible change it reads, writes and starts
// again; after any other each of these fails with SchemaOutdated.
func TestWhatAMigrationStops(t *testing.T) {
	for _, c := range []struct {
		name       string
		fields     []string
		upgrader   string
		compatible bool
	}{
		{"a new optional field", []string{"name string", "age int?", "note string?"}, "", true},
		{"a new field with a default", []string{"name string", "age int?", "tier int=1"}, "", true},
		{"a required field becomes optional", []string{"name string?", "age int?"}, "", true},
		{"a wider type", []string{"name any", "age float?"}, "", true},
		{"all of these", []string{"name any?", "age float?", "note string?", "tier int=1"}, "", true},
		{"a compatible type with an upgrader", []string{"name string", "age int?", "note string?"}, `.note = "x"`, false},
		{"a new required field", []string{"name string", "age int?", "tier int"}, ".tier = 1", false},
		{"a field less", []string{"name string"}, "del(.age)", false},
		{"another name", []string{"called string", "age int?"}, ".called = .name | del(.name)", false},
		{"another type", []string{"name string", "age string?"}, "if .age then .age |= tostring else . end", false},
		{"an optional field becomes required", []string{"name string", "age int"}, ".age //= 0", false},
		{"an optional field gets a default", []string{"name string", "age int=0"}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := people(t)
			old := keepOpen(t, b, onto.TypeOf[human]().As("Person"))
			m := &store.Migration{Types: []onto.Type{entityOf("Person", c.fields...)}}
			if c.upgrader != "" {
				m.Upgraders = []store.Upgrader{{Type: "Person", From: 1, Program: c.upgrader}}
			}
			if _, err := migrate(t, b, m); err != nil {
				t.Fatal(err)
			}
			_, write := old.Commit(t.Context(), onto.Draft{}.Ensure(human{ID: "eve", Name: "Eve"}))
			_, merge := old.Commit(t.Context(), onto.Draft{}.Merge(human{ID: "ada", Name: "Ada M"}))
			_, get := store.Get[human](t.Context(), old.Now(), "ada")
			_, past := store.Get[human](t.Context(), old.At(1), "ada")
			_, count := store.Find[human](old.Now()).Where(onto.Path("name").Eq("Bob")).Count(t.Context())
			_, again := store.Open(t.Context(), kept{b}, onto.TypeOf[human]().As("Person"))
			for what, err := range map[string]error{"write": write, "merge": merge, "get": get, "past": past, "count": count, "open again": again} {
				if c.compatible && err != nil {
					t.Errorf("%s: %v", what, err)
				} else if !c.compatible {
					if onto.CodeOf(err) != onto.SchemaOutdated {
						t.Errorf("%s: got error %v, want SchemaOutdated", what, err)
					}
				}
			}
			if n, err := old.Now().Find("Person").Count(t.Context()); err != nil || n != map[bool]int64{true: 3, false: 2}[c.compatible] {
				t.Errorf("by name: got %d, %v", n, err)
			}
		})
	}
}
