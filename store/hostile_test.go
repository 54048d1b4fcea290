package store_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// A program that is kept in the store cannot bring down readers of the past: it is
// stopped within its limits, and everything else can be read.
func TestHostilePrograms(t *testing.T) {
	eve := onto.EntityID("Person", "eve")
	for _, c := range []struct{ name, program, limit string }{
		{"the stack", `.x = (null | setpath([range(30000) | "a"]; 1))`, "a path has more than 10000 steps"},
		{"memory", `.x = ("x" * 1e9 | explode | length)`, "a value has more than 16777216 bytes of JSON"},
		{"a list", `.x = (null | .[500000000] = 1 | length)`, "a list is filled up to index 500000000"},
		{"depth", `.x = (reduce range(20000) as $i (1; [.]) | tojson | length)`, "a value is nested deeper than 10000"},
		{"what is shared", `.x = (reduce range(50) as $i (1; [., .]) | . == [1])`, "a value has more than 16777216 bytes of JSON"},
		{"a text that is taken apart", `.x = ("x" * 16000000 | split("") | length)`, "a text falls into more than 2097152 parts"},
		{"integers", `.x = (reduce range(60) as $i (3; . * .) | tostring | length)`, "an integer has more than 65536 bits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := people(t)
			before := keepOpen(t, b)
			mustCommit(t, before, onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: "eve", Fields: []byte(`{"name":"Eve"}`)}))
			m := &store.Migration{
				Types:     []onto.Type{entityOf("Person", "name string", "age int?", "x any?")},
				Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: `if .name == "Eve" then ` + c.program + ` else . end`}},
			}
			wanted := []string{"Person 1 → 2", `Person "eve"`, "was stopped", c.limit}

			// While Eve is live, the program shows what it is and is not kept.
			unchanged(t, b, func() {
				_, err := migrate(t, b, m)
				wantError(t, err, onto.UpgraderFailed, wanted...)
			})

			// When she is deleted, no live thing shows it, and it is kept.
			mustCommit(t, before, onto.Draft{}.Delete(eve))
			if _, err := migrate(t, b, m); err != nil {
				t.Fatal(err)
			}
			s := keepOpen(t, b)
			_, err := s.At(3).Get(t.Context(), eve)
			wantError(t, err, onto.UpgraderFailed, wanted...)
			for _, err = range s.At(3).Find("Person").All(t.Context()) {
			}
			wantError(t, err, onto.UpgraderFailed, wanted...)

			if _, err := s.At(3).AsStored().Get(t.Context(), eve); err != nil {
				t.Errorf("as stored: %v", err)
			}
			if _, err := s.At(3).Get(t.Context(), onto.EntityID("Person", "ada")); err != nil {
				t.Errorf("another thing: %v", err)
			}
			if _, err := s.At(3).Get(t.Context(), onto.RelationID("Knows", "ada", "bob")); err != nil {
				t.Errorf("another type: %v", err)
			}
			if _, err := s.Now().Get(t.Context(), onto.EntityID("Person", "ada")); err != nil {
				t.Errorf("the present: %v", err)
			}
		})
	}
}
