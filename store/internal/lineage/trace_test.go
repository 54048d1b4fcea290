package lineage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

// A trace tells where the value of each field comes from in a step, also where the
// upgrader fails without the field, and where values are equal by chance.
func TestTrace(t *testing.T) {
	schema := func(fields ...onto.Field) onto.Schema {
		s := onto.Schema{Kind: onto.KindEntity, Name: "T", Key: "id", Fields: append(fields, onto.Field{Name: "id", Type: onto.String})}
		s.SortFields()
		return s
	}
	optional := func(name string) onto.Field { return onto.Field{Name: name, Type: onto.Any, Optional: true} }
	first := schema(optional("a"), optional("b"))
	rename := func(fields map[string]any) (map[string]any, error) {
		if fields["a"] == nil {
			return nil, errors.New("a is missing")
		}
		fields["c"] = fields["a"]
		delete(fields, "a")
		return fields, nil
	}
	for _, c := range []struct {
		name     string
		to       onto.Schema
		upgrader onto.StoredUpgrader
		fields   string
		want     string
	}{
		{"as it is", schema(optional("a"), optional("b"), optional("c")), onto.StoredUpgrader{}, `{"a":1,"id":"x"}`, "map[a:a id:id]"},
		{"a default", schema(optional("a"), optional("b"), onto.Field{Name: "c", Type: onto.Int, Default: []byte("1")}), onto.StoredUpgrader{},
			`{"a":1,"id":"x"}`, "map[a:a id:id]"},
		{"renamed", schema(optional("b"), optional("c")), onto.StoredUpgrader{Program: ".c = .a | del(.a)"}, `{"a":1,"b":1,"id":"x"}`, "map[b:b c:a id:id]"},
		{"renamed to a field with a default", schema(optional("b"), onto.Field{Name: "c", Type: onto.Int, Default: []byte("1")}),
			onto.StoredUpgrader{Program: `if has("a") then .c = .a | del(.a) else . end`}, `{"a":1,"id":"x"}`, "map[c:a id:id]"},
		{"renamed by a function that needs it", schema(optional("b"), optional("c")), onto.StoredUpgrader{Func: true}, `{"a":[1],"id":"x"}`, "map[c:a id:id]"},
		{"swapped", schema(optional("a"), optional("b")), onto.StoredUpgrader{Program: "{id, a: .b, b: .a}"}, `{"a":1,"b":2,"id":"x"}`, "map[id:id]"},
		{"moved over another", schema(optional("b")), onto.StoredUpgrader{Program: ".b = .a | del(.a)"}, `{"a":1,"b":2,"id":"x"}`, "map[b:a id:id]"},
		{"equal by chance", schema(optional("b"), optional("c")), onto.StoredUpgrader{Program: ".c = 1 | del(.a)"}, `{"a":1,"id":"x"}`, "map[id:id]"},
		{"one of two equal ones", schema(optional("c")), onto.StoredUpgrader{Program: ".c = .b | del(.a, .b)"}, `{"a":1,"b":1,"id":"x"}`, "map[c:b id:id]"},
		{"computed", schema(optional("b"), optional("c")), onto.StoredUpgrader{Program: ".c = .a + 1 | del(.a)"}, `{"a":1,"id":"x"}`, "map[id:id]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := []onto.SchemaVersion{
				{Schema: first, Version: 1, Since: 1}, {Schema: c.to, Version: 2, Since: 2, Upgrader: &c.upgrader},
			}
			chain := New(all, all[1], func(string, int) Func { return rename })
			v := onto.Version{Identity: onto.EntityID("T", "x"), Op: onto.Put, Commit: 1, SchemaVersion: 1, Fields: []byte(c.fields)}
			from, err := chain.Trace(t.Context(), &v, 1, time.Minute)
			if got := fmt.Sprint(from); err != nil || got != c.want || v.SchemaVersion != 2 {
				t.Errorf("got %s for %s, error %v; want %s", got, v.Fields, err, c.want)
			}
		})
	}
}

func TestTraceCancelled(t *testing.T) {
	all := life()
	c := New(all, all[1], noFunctions)
	c.Stages[1].Step = Step{Func: func(fields map[string]any) (map[string]any, error) { <-t.Context().Done(); return nil, nil }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := onto.Version{Identity: onto.EntityID("Person", "x"), Op: onto.Put, Commit: 7, SchemaVersion: 2, Fields: []byte(`{"id":"x"}`)}
	if _, err := c.Trace(ctx, &v, 1, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that of the context", err)
	}
}
